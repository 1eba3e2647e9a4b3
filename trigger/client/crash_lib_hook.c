// SPDX-License-Identifier: MIT
/*
 * libringback-crash.so: keeps our handler first for fault signals. Actions that the program
 * installs by sigaction() or signal() are stored and returned to it as the current action; the
 * kernel gets them only when a signal is handed back. Signals that the program ignores are left
 * alone.
 */
#include "trigger/client/crash_lib.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

#define VISIBLE __attribute__((visibility("default")))

static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};

/*
 * The state of one signal. `former` has two slots: one writer at a time, with all signals blocked,
 * fills the unused one. A handler that reads meanwhile gets the old or the new action, never a mix.
 */
struct hook {
	struct sigaction former[2];
	_Atomic unsigned at; /* current index in `former` */
	bool ours;	     /* our handler is installed */
	_Atomic bool given;  /* handed back to the program, for good */
};

static struct hook hooks[NSIG];
static bool started;
static _Atomic bool lock;
static void (*on_fault)(int, siginfo_t *, void *);
static int (*next_sigaction)(int, const struct sigaction *, struct sigaction *);
static void (*(*next_signal)(int, void (*)(int)))(int);

static void look_up(void)
{
	if (!next_sigaction)
		next_sigaction = (int (*)(int, const struct sigaction *, struct sigaction *))dlsym(
			RTLD_NEXT, "sigaction");
	if (!next_signal)
		next_signal = (void (*(*)(int, void (*)(int)))(int))dlsym(RTLD_NEXT, "signal");
}

int crash_hook_sigaction(int sig, const struct sigaction *act, struct sigaction *old)
{
	if (!next_sigaction)
		look_up();
	if (next_sigaction)
		return next_sigaction(sig, act, old);
	errno = ENOSYS;
	return -1;
}

static bool is_fault(int sig)
{
	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++)
		if (faults[i] == sig)
			return true;
	return false;
}

/* ---- stored actions ---- */

static void take_lock(sigset_t *mask)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, mask);
	while (atomic_exchange_explicit(&lock, true, memory_order_acquire))
		;
}

static void drop_lock(const sigset_t *mask)
{
	atomic_store_explicit(&lock, false, memory_order_release);
	pthread_sigmask(SIG_SETMASK, mask, NULL);
}

static void remember(struct hook *h, const struct sigaction *act)
{
	unsigned next = !h->at;

	h->former[next] = *act;
	atomic_store_explicit(&h->at, next, memory_order_release);
}

static const struct sigaction *former(const struct hook *h)
{
	return &h->former[atomic_load_explicit(&h->at, memory_order_acquire)];
}

/* ---- installing ---- */

/* Takes SA_RESTART from the program's action, so that its system calls behave as it expects. */
static int install(int sig, const struct sigaction *act)
{
	struct sigaction a = {.sa_sigaction = on_fault,
			      .sa_flags = SA_SIGINFO | SA_ONSTACK | (act->sa_flags & SA_RESTART)};

	sigfillset(&a.sa_mask);
	return crash_hook_sigaction(sig, &a, NULL);
}

static int change(int sig, const struct sigaction *act)
{
	struct hook *h = &hooks[sig];
	bool ours = act->sa_handler != SIG_IGN;
	int rc;

	if (ours)
		remember(h, act);
	rc = ours ? install(sig, act) : crash_hook_sigaction(sig, act, NULL);
	if (!rc)
		h->ours = ours;
	return rc;
}

/* Call with the lock held: reading the old action and setting the new one must be atomic. */
static int swap(int sig, const struct sigaction *act, struct sigaction *old)
{
	struct hook *h = &hooks[sig];
	struct sigaction was;
	int rc = 0;

	if (h->given)
		return crash_hook_sigaction(sig, act, old);
	if (h->ours)
		was = *former(h);
	else
		rc = crash_hook_sigaction(sig, NULL, &was);
	if (!rc && act)
		rc = change(sig, act);
	if (!rc && old)
		*old = was;
	return rc;
}

void crash_hook_start(void (*handler)(int, siginfo_t *, void *))
{
	struct sigaction now;

	look_up();
	on_fault = handler;
	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++)
		if (!crash_hook_sigaction(faults[i], NULL, &now) && now.sa_handler != SIG_IGN)
			change(faults[i], &now);
	started = true;
}

void crash_hook_return(int sig, struct sigaction *out)
{
	struct hook *h = &hooks[sig];

	*out = *former(h);
	atomic_store_explicit(&h->given, true, memory_order_release);
	crash_hook_sigaction(sig, out, NULL);
}

/* ---- wrappers ---- */

VISIBLE int sigaction(int sig, const struct sigaction *restrict act, struct sigaction *restrict old)
{
	struct sigaction copy, was;
	sigset_t mask;
	int rc;

	if (!started || !is_fault(sig))
		return crash_hook_sigaction(sig, act, old);
	if (act)
		copy = *act; /* copied here: a bad pointer must not fault while the lock is held */
	take_lock(&mask);
	rc = swap(sig, act ? &copy : NULL, &was);
	drop_lock(&mask);
	if (!rc && old)
		*old = was;
	return rc;
}

VISIBLE void (*signal(int sig, void (*handler)(int)))(int)
{
	struct sigaction act = {.sa_handler = handler, .sa_flags = SA_RESTART}, old;

	if (!next_signal)
		look_up();
	if (started && is_fault(sig))
		return sigaction(sig, &act, &old) ? SIG_ERR : old.sa_handler;
	return next_signal ? next_signal(sig, handler) : SIG_ERR;
}
