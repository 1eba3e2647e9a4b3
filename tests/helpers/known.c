// SPDX-License-Identifier: MIT
/*
 * A program with known addresses, for it_symbols.sh, which builds it without a library, so that all
 * its frames are its own. Process N names itself known-K, K = N % 8, and spends MS milliseconds in
 * spin_K, called by call_K, called by entry, called by _start.
 *
 *	known N MS
 *
 * -DSHIFT moves every function, for a version that must not be mistaken for the other.
 */
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

#if defined(__x86_64__)
static long ask(long nr, long a, long b)
{
	long rc;

	__asm__ volatile("syscall" : "=a"(rc) : "a"(nr), "D"(a), "S"(b) : "rcx", "r11", "memory");
	return rc;
}

__asm__(".globl _start\n.type _start, @function\n_start:\n"
	"xor %ebp, %ebp\nmov %rsp, %rdi\ncall entry\nhlt\n.size _start, .-_start\n");
#else
#error "say here how a program begins and asks the kernel"
#endif

#define KEEP __attribute__((noinline, noclone, noipa, used))

static volatile uint64_t sink;

static uint64_t now_ns(void)
{
	struct timespec t = {0, 0};

	ask(SYS_clock_gettime, CLOCK_MONOTONIC, (long)&t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#ifdef SHIFT
KEEP void moved(void)
{
	for (int i = 0; i < 10; i++)
		sink += sink * 3 + 1, sink ^= sink >> 7, sink *= 11, sink ^= sink >> 5;
}
#endif

#define KNOWN(K)                                                                                   \
	KEEP void spin_##K(uint64_t end)                                                           \
	{                                                                                          \
		do                                                                                 \
			for (int i = 0; i < 20000; i++)                                            \
				sink = sink * 6364136223846793005u + (K);                          \
		while (now_ns() < end);                                                            \
	}                                                                                          \
	KEEP void call_##K(uint64_t end)                                                           \
	{                                                                                          \
		spin_##K(end);                                                                     \
		sink += (K);                                                                       \
	}

/* clang-format off: they are no function */
KNOWN(0)
KNOWN(1)
KNOWN(2)
KNOWN(3)
KNOWN(4)
KNOWN(5)
KNOWN(6)
KNOWN(7)
/* clang-format on */

static uint64_t number(const char *s)
{
	uint64_t n = 0;

	while (*s >= '0' && *s <= '9')
		n = n * 10 + (uint64_t)(*s++ - '0');
	return n;
}

KEEP void entry(long *stack)
{
	static void (*const calls[])(uint64_t) = {call_0, call_1, call_2, call_3,
						  call_4, call_5, call_6, call_7};
	char **argv = (char **)(stack + 1), name[] = "known-0";
	uint64_t k = stack[0] > 1 ? number(argv[1]) % 8 : 0;
	uint64_t ms = stack[0] > 2 ? number(argv[2]) : 1000;

	name[6] = (char)('0' + k);
	ask(SYS_prctl, PR_SET_NAME, (long)name);
	calls[k](now_ns() + ms * 1000000);
	for (;;)
		ask(SYS_exit_group, 0, 0);
}
