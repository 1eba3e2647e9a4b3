// SPDX-License-Identifier: MIT
/*
 * libringback-crash.so: the signal handler, and the constructor that installs it. See crash_lib.h;
 * crash_wire.h has the protocol.
 *
 *	fault ─▶ tell ─▶ wait, at most 100 ms ─▶ restore the program's action; send the signal
 *	                 unwind meanwhile        to the thread again, with its siginfo
 *
 * The handler runs with all signals blocked: on a fault in the handler itself the kernel ends the
 * program at once. The handler does not call the program's handler. The signal sent again is
 * delivered when our handler returns, so the kernel runs the program's handler with its own stack,
 * mask and flags. From then on the signal belongs to the program: a program that handles faults
 * regularly is delayed only once per signal.
 */
#include "trigger/client/crash_lib.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define WAIT_NS	  100000000ull /* for the recorder's reply */
#define UNWIND_NS 40000000ull
#define OTHER_NS  150000000ull /* for another thread's report of a crash */

static _Atomic uint32_t busy; /* tid of the reporting thread; 0: none */
static bool told_dying;	      /* the reported signal will end the program */

static void wait_while(_Atomic uint32_t *word, uint32_t value, uint64_t until_ns)
{
	uint64_t now;

	while (atomic_load_explicit(word, memory_order_acquire) == value &&
	       (now = crash_now_ns()) < until_ns) {
		struct timespec left = {.tv_nsec = (long)(until_ns - now)};

		syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, &left, NULL, 0);
	}
}

/* False: another thread reports a crash; its end, or the timeout, was awaited. */
static bool begin(uint32_t tid)
{
	uint64_t until = crash_now_ns() + OTHER_NS;
	uint32_t other = 0;

	if (atomic_compare_exchange_strong_explicit(&busy, &other, tid, memory_order_acq_rel,
						    memory_order_acquire))
		return true;
	/* In a child forked during the report, that thread does not exist. */
	if (other == tid || syscall(SYS_tgkill, getpid(), other, 0))
		return atomic_compare_exchange_strong_explicit(
			&busy, &other, tid, memory_order_acq_rel, memory_order_acquire);
	wait_while(&busy, other, until);
	/* The first crash's signal ends the program; ours must not come first. */
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
	/* Delivered when this handler returns, as if it came then, to the same thread. */
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
