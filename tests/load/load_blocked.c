// SPDX-License-Identifier: MIT
/*
 * Processes that wait for something known: a mutex, the other end of a pipe or socket, a file lock;
 * and some with a scheduling of their own. Prints "NAME TID" for each, and for the holders of
 * mutexes, then "ready" when all wait. This process is the other end of all. Ends with its standard
 * input, and its children with it.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define SLACK_NS 123456

static void must(int ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	exit(1);
}

/* Waits until the thread sleeps in this system call. */
static void wait_in(pid_t tid, long nr)
{
	char path[64], text[32] = "";

	snprintf(path, sizeof(path), "/proc/%d/syscall", tid);
	for (;;) {
		FILE *f = fopen(path, "r");

		must(f != NULL, path);
		if (fgets(text, sizeof(text), f) && *text != 'r' && atol(text) == nr) {
			fclose(f);
			return;
		}
		fclose(f);
		usleep(1000);
	}
}

static void say(const char *name, pid_t tid, long nr)
{
	if (nr >= 0)
		wait_in(tid, nr);
	printf("%s %d\n", name, tid);
}

/* A child that runs `wait` with `fd` as descriptor 3 and no others. */
static pid_t child(void (*wait)(int fd), int fd)
{
	pid_t pid = fork();

	must(pid >= 0, "fork");
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (fd >= 0)
		dup2(fd, 3);
	close_range(fd >= 0 ? 4 : 3, ~0U, 0);
	for (;;)
		wait(3);
}

static void in_read(int fd)
{
	char c;

	if (read(fd, &c, 1) < 0)
		exit(1);
}

static void in_write(int fd)
{
	static char page[65536];

	if (write(fd, page, sizeof(page)) < 0)
		exit(1);
}

static void in_poll(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	poll(&p, 1, -1);
}

static void in_epoll(int fd)
{
	struct epoll_event e = {.events = EPOLLIN};
	int set = epoll_create1(0);

	epoll_ctl(set, EPOLL_CTL_ADD, fd, &e);
	epoll_wait(set, &e, 1, -1);
}

static void in_flock(int fd)
{
	flock(open("/proc/self/fd/3", O_RDWR), LOCK_EX);
}

static void in_pause(int fd)
{
	pause();
}

static void on_cpu_0(int fd)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	sched_setaffinity(0, sizeof(one), &one);
	pause();
}

static void with_slack(int fd)
{
	prctl(PR_SET_TIMERSLACK, SLACK_NS);
	pause();
}

static void in_batch(int fd)
{
	struct sched_param none = {0};

	sched_setscheduler(0, SCHED_BATCH, &none);
	setpriority(PRIO_PROCESS, 0, 5);
	pause();
}

static void stopped(int fd)
{
	raise(SIGSTOP);
}

/* ---- mutexes ---- */

struct shared {
	pid_t holder, waiter;
};
static struct shared *shared;
static pthread_mutex_t mutex;

static void *hold(void *arg)
{
	pthread_mutex_lock(&mutex);
	__atomic_store_n(&shared->holder, gettid(), __ATOMIC_RELEASE);
	while (pause())
		;
	return NULL;
}

static void wait_for_lock(int protocol)
{
	pthread_mutexattr_t a;
	pthread_t t;

	pthread_mutexattr_init(&a);
	pthread_mutexattr_setprotocol(&a, protocol);
	pthread_mutex_init(&mutex, &a);
	pthread_create(&t, NULL, hold, NULL);
	while (!__atomic_load_n(&shared->holder, __ATOMIC_ACQUIRE))
		usleep(1000);
	__atomic_store_n(&shared->waiter, gettid(), __ATOMIC_RELEASE);
	pthread_mutex_lock(&mutex);
}

static void in_mutex(int fd)
{
	wait_for_lock(PTHREAD_PRIO_NONE);
}

static void in_pi_mutex(int fd)
{
	wait_for_lock(PTHREAD_PRIO_INHERIT);
}

static void mutex_of(const char *name, void (*wait)(int fd))
{
	char holder[64];

	shared->holder = shared->waiter = 0;
	child(wait, -1);
	while (!__atomic_load_n(&shared->waiter, __ATOMIC_ACQUIRE))
		usleep(1000);
	snprintf(holder, sizeof(holder), "%s_holder", name);
	say(holder, shared->holder, -1);
	say(name, shared->waiter, SYS_futex);
}

/* ---- the other ends ---- */

static void pipes(void)
{
	int in[2], out[2], polled[2], watched[2];

	must(!pipe(in) && !pipe(out) && !pipe(polled) && !pipe(watched), "pipe");
	say("pipe_reader", child(in_read, in[0]), SYS_read);
	say("pipe_writer", child(in_write, out[1]), SYS_write);
	say("poller", child(in_poll, polled[0]), SYS_poll);
	say("epoller", child(in_epoll, watched[0]), SYS_epoll_wait);
	close(in[0]);
	close(out[1]);
	close(polled[0]);
	close(watched[0]);
}

static void unix_sockets(void)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int pair[2], listener = socket(AF_UNIX, SOCK_STREAM, 0), client;
	int n = snprintf(a.sun_path + 1, sizeof(a.sun_path) - 1, "load_blocked.%d", getpid());
	socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);

	must(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair), "socketpair");
	say("unix", child(in_read, pair[0]), SYS_read);
	close(pair[0]);
	must(!bind(listener, (struct sockaddr *)&a, len) && !listen(listener, 8), "listen");
	client = socket(AF_UNIX, SOCK_STREAM, 0);
	must(!connect(client, (struct sockaddr *)&a, len), "connect");
	say("unix_queued", child(in_read, client), SYS_read);
	close(client);
}

static int tcp_client(const struct sockaddr_in *a)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	must(!connect(fd, (const struct sockaddr *)a, sizeof(*a)), "connect");
	return fd;
}

static void inet_sockets(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int listener = socket(AF_INET, SOCK_STREAM, 0), udp = socket(AF_INET, SOCK_DGRAM, 0), fd;
	socklen_t len = sizeof(a);

	must(!bind(listener, (struct sockaddr *)&a, len) && !listen(listener, 8), "listen");
	must(!getsockname(listener, (struct sockaddr *)&a, &len), "getsockname");
	printf("tcp_port %d\n", ntohs(a.sin_port));
	fd = tcp_client(&a);
	must(accept(listener, NULL, NULL) >= 0, "accept");
	say("tcp", child(in_read, fd), SYS_read);
	close(fd);
	fd = tcp_client(&a);
	say("tcp_queued", child(in_read, fd), SYS_read);
	close(fd);

	a.sin_port = 0;
	must(!bind(udp, (struct sockaddr *)&a, len), "bind");
	must(!getsockname(udp, (struct sockaddr *)&a, &len), "getsockname");
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	must(!connect(fd, (struct sockaddr *)&a, sizeof(a)), "connect");
	say("udp", child(in_read, fd), SYS_read);
	close(fd);
}

static void file_lock(void)
{
	char path[] = "/tmp/load_blocked.XXXXXX";
	int fd = mkstemp(path);

	must(fd >= 0 && !flock(fd, LOCK_EX), path);
	say("flock", child(in_flock, fd), SYS_flock);
	unlink(path);
}

static void terminal(void)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY), slave;

	must(master >= 0 && !grantpt(master) && !unlockpt(master), "posix_openpt");
	slave = open(ptsname(master), O_RDWR | O_NOCTTY);
	must(slave >= 0, "pts");
	say("tty", child(in_read, slave), SYS_read);
	close(slave);
}

static void stop(void)
{
	pid_t pid = child(stopped, -1);
	siginfo_t si;

	/* Without WNOWAIT, the kernel would forget the signal. */
	must(!waitid(P_PID, (id_t)pid, &si, WSTOPPED | WNOWAIT), "waitid");
	say("stopped", pid, -1);
}

int main(void)
{
	char c;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	must(shared != MAP_FAILED, "mmap");
	printf("main %d\n", getpid());
	mutex_of("mutex", in_mutex);
	mutex_of("pi_mutex", in_pi_mutex);
	pipes();
	unix_sockets();
	inet_sockets();
	file_lock();
	terminal();
	say("paused", child(in_pause, -1), SYS_pause);
	say("on_cpu_0", child(on_cpu_0, -1), SYS_pause);
	say("with_slack", child(with_slack, -1), SYS_pause);
	say("in_batch", child(in_batch, -1), SYS_pause);
	stop();
	puts("ready");
	fflush(stdout);
	while (read(0, &c, 1) > 0)
		;
	return 0;
}
