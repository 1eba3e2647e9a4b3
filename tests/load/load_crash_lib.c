// SPDX-License-Identifier: MIT
/*
 * Crashes in difficult states, for libringback-crash.so: load_crash_lib HOW [ARG]. The call path is
 * main outer middle crash unless the list says otherwise. Prints "crash NS" right before the crash.
 *
 *	malloc		a fault in malloc(), which holds its arena's lock
 *	top		malloc() finds its heap damaged and calls abort()
 *	mutex		with a mutex held
 *	loader		with the dynamic loader's lock held
 *	loader2		while another thread holds that lock for ever
 *	handler		in a handler of another signal
 *	deep		endless recursion, in a thread
 *	threads		eight threads at once, by different signals
 *	own		with a handler that says "own handler", and then ends by the signal
 *	altstack	likewise, on an alternate signal stack of the program
 *	altdeep		likewise, when its stack is full
 *	altonly		with such a stack and no handler
 *	private		as a process that other users may not read
 *	plain		as own, by signal() and raise()
 *	jump		with a handler that jumps out of it; exits with 0
 *	restore		installs a handler over another and puts the first one back
 *	child		a child crashes, then its parent
 *	away		as nobody, in an empty root directory
 *	closed		with all descriptors closed
 *	gone LIB	calls a function of an unloaded library
 */
#include "tests/helpers/crash_path.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char *how, *arg;
static sigjmp_buf back;
/* Volatile, so that the compiler keeps the calls. */
static void *(*volatile take)(size_t) = malloc;
static void (*volatile give)(void *) = free;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;

static void say_when(void)
{
	struct timespec t;
	char text[64];
	int n;

	clock_gettime(CLOCK_MONOTONIC, &t);
	n = snprintf(text, sizeof(text), "crash %lld\n",
		     (long long)t.tv_sec * 1000000000 + t.tv_nsec);
	if (write(1, text, (size_t)n) != n)
		_exit(9);
}

static void *nothing(void *a)
{
	return a;
}

/* A second thread: with only one, malloc() takes no lock. */
static void *idle(void *a)
{
	pause();
	return a;
}

static __attribute__((noinline)) void heap(void)
{
	pthread_t t;
	size_t *p, *q;

	pthread_create(&t, NULL, idle, NULL);
	p = take(2000);
	q = take(2000);
	say_when();
	if (!strcmp(how, "top")) {
		q[251] = (size_t)-1; /* overwrites the size of the top chunk */
		sink = !take(100000);
	}
	give(p);
	p[1] = 16; /* overwrites the bk link of the free chunk */
	sink = !take(3000);
}

static __attribute__((noinline)) void crash(void)
{
	void (*f)(void);

	if (!strcmp(how, "malloc") || !strcmp(how, "top")) {
		heap();
	} else if (!strcmp(how, "deep") || !strcmp(how, "altdeep")) {
		sink = deep(0);
	} else if (!strcmp(how, "gone")) {
		void *h = dlopen(arg, RTLD_NOW);

		*(void **)&f = dlsym(h, "there");
		dlclose(h);
		say_when();
		f();
	} else {
		*nowhere = 1;
	}
	sink++;
}

static void on_usr1(int sig)
{
	outer();
	sink++;
}

static int in_loader(struct dl_phdr_info *info, size_t n, void *wait)
{
	if (wait) {
		pthread_barrier_wait(&barrier);
		pause();
	}
	outer();
	return 1;
}

static void *hold_loader(void *a)
{
	dl_iterate_phdr(in_loader, &barrier);
	return a;
}

static void loader2(void)
{
	pthread_t t;

	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&t, NULL, hold_loader, NULL);
	pthread_barrier_wait(&barrier);
	say_when();
	outer();
}

static void *in_thread(void *a)
{
	if (a)
		pthread_barrier_wait(&barrier);
	if ((size_t)a % 2)
		abort();
	outer();
	return a;
}

static void threads(size_t nr)
{
	pthread_t t[8];

	pthread_create(&t[0], NULL, nothing, NULL);
	pthread_join(t[0], NULL);
	pthread_barrier_init(&barrier, NULL, (unsigned)nr);
	say_when();
	for (size_t i = 0; i < nr; i++)
		pthread_create(&t[i], NULL, in_thread, (void *)(nr > 1 ? i + 1 : 0));
	for (size_t i = 0; i < nr; i++)
		pthread_join(t[i], NULL);
}

static void own(int sig, siginfo_t *info, void *ucontext)
{
	static const char text[] = "own handler\n";
	stack_t now;

	/* The handler was installed without SA_ONSTACK, so it runs on the thread's own stack. */
	sigaltstack(NULL, &now);
	if (info->si_addr != (void *)16 || now.ss_flags & SS_ONSTACK)
		_exit(8);
	sink = (int)write(1, text, sizeof(text) - 1);
	signal(sig, SIG_DFL);
	raise(sig);
}

static char alt[8192];

static void own_on_alt(int sig, siginfo_t *info, void *ucontext)
{
	static const char text[] = "own handler\n";
	const char *here = __builtin_frame_address(0);

	if (here < alt || here >= alt + sizeof(alt) || info->si_signo != SIGSEGV)
		_exit(8);
	sink = (int)write(1, text, sizeof(text) - 1);
	signal(sig, SIG_DFL);
	raise(sig);
}

static void with_alt(void)
{
	struct sigaction a = {.sa_sigaction = own_on_alt, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	stack_t s = {.ss_sp = alt, .ss_size = sizeof(alt)}, was;

	if (sigaltstack(&s, NULL) || sigaltstack(NULL, &was) || was.ss_sp != alt)
		_exit(7);
	if (strcmp(how, "altonly") != 0)
		sigaction(SIGSEGV, &a, NULL);
}

static void plain(int sig)
{
	static const char text[] = "own handler\n";

	sink = (int)write(1, text, sizeof(text) - 1);
	signal(sig, SIG_DFL);
	raise(sig);
}

static void jump(int sig)
{
	siglongjmp(back, 1);
}

static void with_own(void)
{
	struct sigaction a = {.sa_sigaction = own, .sa_flags = SA_SIGINFO}, was;

	sigaction(SIGSEGV, &a, NULL);
	sigaction(SIGSEGV, NULL, &was);
	if (was.sa_sigaction != own || !(was.sa_flags & SA_SIGINFO))
		_exit(7);
}

static void restore(void)
{
	struct sigaction was;

	with_own();
	if (signal(SIGSEGV, jump) == SIG_DFL)
		_exit(6);
	with_own();
	sigaction(SIGSEGV, NULL, &was);
	if (was.sa_sigaction != own)
		_exit(5);
}

static void jumps(void)
{
	signal(SIGSEGV, jump);
	for (volatile int i = 0; i < 1000; i++)
		if (!sigsetjmp(back, 1))
			outer();
	_exit(0);
}

static __attribute__((noinline)) void child(void)
{
	pid_t pid = fork();

	if (pid)
		waitpid(pid, NULL, 0);
	else
		say_when();
	outer();
	sink++;
}

static void away(void)
{
	if (chroot(arg) || chdir("/") || setgid(65534) || setuid(65534))
		_exit(4);
}

int main(int argc, char **argv)
{
	how = argc > 1 ? argv[1] : "";
	arg = argc > 2 ? argv[2] : "";
	if (!strcmp(how, "loader2"))
		loader2();
	else if (!strcmp(how, "deep") || !strcmp(how, "threads"))
		threads(*how == 'd' ? 1 : 8);
	else if (!strcmp(how, "child"))
		child();
	else if (!strcmp(how, "mutex"))
		pthread_mutex_lock(&lock);
	else if (!strcmp(how, "handler"))
		signal(SIGUSR1, on_usr1);
	else if (!strcmp(how, "own"))
		with_own();
	else if (!strncmp(how, "alt", 3))
		with_alt();
	else if (!strcmp(how, "private"))
		prctl(PR_SET_DUMPABLE, 0);
	else if (!strcmp(how, "plain"))
		signal(SIGSEGV, plain);
	else if (!strcmp(how, "restore"))
		restore();
	else if (!strcmp(how, "jump"))
		jumps();
	else if (!strcmp(how, "away"))
		away();
	else if (!strcmp(how, "closed"))
		for (int i = 3; i < 1024; i++)
			close(i);
	say_when();
	if (!strcmp(how, "handler"))
		raise(SIGUSR1);
	else if (!strcmp(how, "loader"))
		dl_iterate_phdr(in_loader, NULL);
	else
		outer();
	return 0;
}
