// SPDX-License-Identifier: MIT
/* See sigmask.h. */
#include "trigger/engine/sigmask.h"

#include <errno.h>
#include <time.h>

void sigmask_init(struct sigmask *m)
{
	sigemptyset(&m->blocked);
}

static void block(struct sigmask *m, int signo)
{
	sigset_t one, before;

	sigemptyset(&one);
	sigaddset(&one, signo);
	pthread_sigmask(SIG_BLOCK, &one, &before);
	if (!sigismember(&before, signo))
		sigaddset(&m->blocked, signo);
}

/* Consumes pending signals first: they would kill the process once unblocked. */
static void unblock(struct sigmask *m, int signo)
{
	const struct timespec now = {0};
	sigset_t one;

	sigemptyset(&one);
	sigaddset(&one, signo);
	while (sigtimedwait(&one, NULL, &now) > 0 || errno == EINTR)
		;
	pthread_sigmask(SIG_UNBLOCK, &one, NULL);
	sigdelset(&m->blocked, signo);
}

void sigmask_sync(struct sigmask *m, const sigset_t *want)
{
	for (int signo = 1; signo <= SIGRTMAX; signo++) {
		if (sigismember(want, signo) == 1 && !sigismember(&m->blocked, signo))
			block(m, signo);
		else if (sigismember(&m->blocked, signo) == 1 && !sigismember(want, signo))
			unblock(m, signo);
	}
}
