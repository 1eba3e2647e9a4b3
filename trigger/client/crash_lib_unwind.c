// SPDX-License-Identifier: MIT
/*
 * libringback-crash.so: unwinds the crashed thread with libunwind. libunwind reads memory that may
 * be damaged, and takes the locks of malloc and the dynamic loader, which the crashed thread or
 * another one may hold for ever. So it runs in a separate process that shares the memory and is
 * killed at the timeout; its partial result stays in memory.
 *
 * libunwind is loaded only if a recorder exists when the program starts, since loading takes a
 * fifth of a millisecond. It is loaded RTLD_LOCAL: some of its functions have the names of
 * functions in the C library and the compiler's runtime (backtrace, _Unwind_*).
 */
#include "trigger/client/crash_lib.h"

#include "trigger/client/crash_wire.h"

#define UNW_LOCAL_ONLY
#include <libunwind.h>

#include <dlfcn.h>
#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STACK_BYTES   (256u << 10)
#define HANDLER_BYTES (32u << 10) /* part of STACK_BYTES, for the handler of its faults */
#define KILL_NS	      20000000ull /* limit of the wait after SIGKILL */
#define TEXT_(x)      #x
#define TEXT(x)	      TEXT_(x) /* a macro of libunwind to its symbol name */

static struct {
	int (*init)(unw_cursor_t *, unw_context_t *, int);
	int (*step)(unw_cursor_t *);
	int (*get_reg)(unw_cursor_t *, unw_regnum_t, unw_word_t *);
	int (*get_name)(unw_cursor_t *, char *, size_t, unw_word_t *);
} lib;
static uint8_t *stack;
static struct crash_frames frames;
static pid_t child;
static _Atomic int alive; /* its pid; the kernel clears it when the process ends */

/* ---- at start ---- */

void crash_unwind_start(void)
{
	void *h = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);

	if (!h)
		return;
	*(void **)&lib.init = dlsym(h, TEXT(unw_init_local2));
	*(void **)&lib.step = dlsym(h, TEXT(unw_step));
	*(void **)&lib.get_reg = dlsym(h, TEXT(unw_get_reg));
	*(void **)&lib.get_name = dlsym(h, TEXT(unw_get_proc_name));
	if (lib.init && lib.step && lib.get_reg && lib.get_name)
		stack = crash_stack_map(STACK_BYTES);
}

/* ---- in the child ---- */

static void give_up(int sig)
{
	syscall(SYS_exit_group, 1);
}

/* A fault in this process must end only this process. */
static void catch_faults(void)
{
	static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
	struct sigaction a = {.sa_handler = give_up, .sa_flags = SA_ONSTACK};
	stack_t own = {.ss_sp = stack + CRASH_GUARD_BYTES, .ss_size = HANDLER_BYTES};
	sigset_t set;

	sigemptyset(&set);
	sigaltstack(&own, NULL);
	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++) {
		crash_hook_sigaction(faults[i], &a, NULL);
		sigaddset(&set, faults[i]);
	}
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static bool init(unw_cursor_t *c, const void *ucontext)
{
	return !lib.init(c, (unw_context_t *)ucontext, UNW_INIT_SIGNAL_FRAME);
}

static void find_addresses(const void *ucontext)
{
	unw_cursor_t c;
	unw_word_t ip;

	if (!init(&c, ucontext))
		return;
	do {
		if (lib.get_reg(&c, UNW_REG_IP, &ip) || !ip)
			return;
		frames.ip[frames.nr] = ip;
		__atomic_store_n(&frames.nr, frames.nr + 1, __ATOMIC_RELEASE);
	} while (frames.nr < CRASH_FRAMES && lib.step(&c) > 0);
}

/* Runs after find_addresses(): names need files and memory, and may use up the time. */
static void find_names(const void *ucontext)
{
	unw_cursor_t c;
	unw_word_t offset;

	if (!init(&c, ucontext))
		return;
	for (uint32_t i = 0; i < frames.nr; i++) {
		int rc = lib.get_name(&c, frames.name[i], CRASH_NAME_BYTES, &offset);

		if (rc && rc != -UNW_ENOMEM)
			frames.name[i][0] = '\0';
		else
			frames.offset[i] = (uint32_t)offset;
		if (lib.step(&c) <= 0)
			return;
	}
}

static int unwind(void *ucontext)
{
	catch_faults();
	find_addresses(ucontext);
	find_names(ucontext);
	syscall(SYS_exit_group, 0);
	return 0;
}

/* ---- in the program ---- */

int crash_unwind_begin(const void *ucontext)
{
	if (!stack)
		return -1;
	memset(&frames, 0, sizeof(frames));
	/* Without an exit signal: no SIGCHLD, and only wait() with __WCLONE sees the process. */
	child = clone(unwind, stack + CRASH_GUARD_BYTES + STACK_BYTES,
		      CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_CHILD_CLEARTID |
			      CLONE_PARENT_SETTID,
		      (void *)ucontext, &alive, NULL, &alive);
	return child < 0 ? -1 : 0;
}

static void wait_until(uint64_t until_ns)
{
	uint64_t now;

	while (atomic_load_explicit(&alive, memory_order_acquire) &&
	       (now = crash_now_ns()) < until_ns) {
		struct timespec left = {.tv_nsec = (long)(until_ns - now)};

		syscall(SYS_futex, &alive, FUTEX_WAIT, child, &left, NULL, 0);
	}
}

const struct crash_frames *crash_unwind_end(uint64_t until_ns)
{
	wait_until(until_ns);
	if (atomic_load_explicit(&alive, memory_order_acquire)) {
		kill(child, SIGKILL);
		wait_until(crash_now_ns() + KILL_NS);
	}
	waitpid(child, NULL, WNOHANG | __WCLONE);
	return frames.nr ? &frames : NULL;
}
