// SPDX-License-Identifier: MIT
/*
 * libringback-crash.so: its handler, and the constructor that installs it. See crash_lib.h; what is
 * said to the recorder is in crash_wire.h.
 *
 *	fault ─▶ tell ─▶ wait, at most 100 ms ─▶ the signal is as the program wants it, and sent
 *	                 unwind meanwhile        to the thread again with all that came with it
 *
 * All signals are blocked meanwhile: a fault of our own is none that we would handle, and the
 * kernel ends the program by it at once. The handler is not called by another: it runs when ours
 * returns, by the kernel, on the stack, with the mask and flags that it was installed with. From
 * then on that signal is the program's alone, so one that lives on, and takes faults as a matter of
 * course, is held up once for each signal.
 */
#include "trigger/client/crash_lib.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define WAIT_NS	  100000000ull /* for the recorder */
#define UNWIND_NS 40000000ull
#define OTHER_NS  150000000ull /* for a thread that crashed before */

static _Atomic uint32_t busy; /* the thread that tells; 0: none */
static bool told_dying;	      /* and the program will end by what it told of */

static void wait_while(_Atomic uint32_t *word, uint32_t value, uint64_t until_ns)
{
	uint64_t now;

	while (atomic_load_explicit(word, memory_order_acquire) == value &&
	       (now = crash_now_ns()) < until_ns) {
		struct timespec left = {.tv_nsec = (long)(until_ns - now)};

		syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, &left, NULL, 0);
	}
}

/* False: another is at it, and has been waited for. */
static bool begin(uint32_t tid)
{
	uint64_t until = crash_now_ns() + OTHER_NS;
	uint32_t other = 0;

	if (atomic_compare_exchange_strong_explicit(&busy, &other, tid, memory_order_acq_rel,
						    memory_order_acquire))
		return true;
	/* Of this process? A child may have been made in the middle of it. */
	if (other == tid || syscall(SYS_tgkill, getpid(), other, 0))
		return atomic_compare_exchange_strong_explicit(
			&busy, &other, tid, memory_order_acq_rel, memory_order_acquire);
	wait_while(&busy, other, until);
	/* It ends the program by its signal, not we by ours. */
	if (told_dying) {
		_Atomic uint32_t never = 0;

		wait_while(&never, 0, until);
	}
	return false;
}

static void end(void)
{
	atomic_store_explicit(&busy, 0, memory_order_release);
	syscall(SYS_futex, &busy, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static void tell(int sig, const siginfo_t *info, const void *ucontext)
{
	uint64_t now = crash_now_ns();
	bool unwinds;

	if (!crash_tell(sig, info, ucontext))
		return;
	unwinds = !crash_unwind_begin(ucontext);
	if (crash_tell_wait(now + WAIT_NS))
		crash_tell_frames(unwinds ? crash_unwind_end(now + UNWIND_NS) : NULL);
	else if (unwinds)
		crash_unwind_end(0);
	crash_tell_end();
}

static void on_signal(int sig, siginfo_t *info, void *ucontext)
{
	int saved = errno;
	pid_t pid = getpid();
	uint32_t tid = (uint32_t)syscall(SYS_gettid);
	struct sigaction next;
	bool first = begin(tid);

	if (first)
		tell(sig, info, ucontext);
	crash_hook_return(sig, &next);
	/* Blocked until we return: then it is as if it came now, and to the one that it came to. */
	if (syscall(SYS_rt_tgsigqueueinfo, pid, tid, sig, info))
		syscall(SYS_tgkill, pid, tid, sig);
	if (first) {
		told_dying = next.sa_handler == SIG_DFL;
		end();
	}
	errno = saved;
}

static __attribute__((constructor)) void start(void)
{
	int saved = errno;

	crash_stack_start();
	if (crash_tell_start())
		crash_unwind_start();
	crash_hook_start(on_signal);
	errno = saved;
}
