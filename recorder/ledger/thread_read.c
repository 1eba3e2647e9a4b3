// SPDX-License-Identifier: MIT
/* Reads one thread from /proc; see thread_read.h. The formats of the files are in the kernel's
 * Documentation/filesystems/proc.rst. */
#include "recorder/ledger/thread_read.h"

#include "trigger/kernel/clock.h"
#include "trigger/kernel/memory_reader.h"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int open_proc(int proc_fd, const char *fmt, va_list ap)
{
	char path[64];

	vsnprintf(path, sizeof(path), fmt, ap);
	return openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
}

size_t thread_proc_text(int proc_fd, char *text, size_t size, const char *fmt, ...)
{
	va_list ap;
	ssize_t n;
	int fd;

	va_start(ap, fmt);
	fd = open_proc(proc_fd, fmt, ap);
	va_end(ap);
	n = fd < 0 ? -1 : read(fd, text, size - 1);
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	return n > 0 ? (size_t)n : 0;
}

FILE *thread_proc_lines(int proc_fd, const char *fmt, ...)
{
	va_list ap;
	FILE *f;
	int fd;

	va_start(ap, fmt);
	fd = open_proc(proc_fd, fmt, ap);
	va_end(ap);
	f = fd < 0 ? NULL : fdopen(fd, "r");
	if (!f && fd >= 0)
		close(fd);
	if (f)
		setvbuf(f, NULL, _IOFBF, 65536);
	return f;
}

/* ---- system calls ---- */

struct wait_call {
	long nr;
	enum thread_wait wait;
};

/* clang-format off */
static const struct wait_call wait_calls[] = {
	{SYS_read, THREAD_WAIT_READ}, {SYS_readv, THREAD_WAIT_READ}, {SYS_pread64, THREAD_WAIT_READ},
	{SYS_preadv, THREAD_WAIT_READ}, {SYS_preadv2, THREAD_WAIT_READ}, {SYS_splice, THREAD_WAIT_READ},
	{SYS_recvfrom, THREAD_WAIT_READ}, {SYS_recvmsg, THREAD_WAIT_READ},
	{SYS_recvmmsg, THREAD_WAIT_READ}, {SYS_accept, THREAD_WAIT_READ},
	{SYS_accept4, THREAD_WAIT_READ}, {SYS_write, THREAD_WAIT_WRITE},
	{SYS_writev, THREAD_WAIT_WRITE}, {SYS_pwrite64, THREAD_WAIT_WRITE},
	{SYS_pwritev, THREAD_WAIT_WRITE}, {SYS_pwritev2, THREAD_WAIT_WRITE},
	{SYS_sendto, THREAD_WAIT_WRITE}, {SYS_sendmsg, THREAD_WAIT_WRITE},
	{SYS_sendmmsg, THREAD_WAIT_WRITE}, {SYS_sendfile, THREAD_WAIT_WRITE},
	{SYS_connect, THREAD_WAIT_WRITE}, {SYS_fsync, THREAD_WAIT_FILE},
	{SYS_fdatasync, THREAD_WAIT_FILE}, {SYS_sync_file_range, THREAD_WAIT_FILE},
	{SYS_ftruncate, THREAD_WAIT_FILE}, {SYS_fallocate, THREAD_WAIT_FILE},
	{SYS_getdents64, THREAD_WAIT_FILE}, {SYS_ioctl, THREAD_WAIT_FILE},
	{SYS_io_uring_enter, THREAD_WAIT_FILE}, {SYS_flock, THREAD_WAIT_LOCK},
	{SYS_fcntl, THREAD_WAIT_LOCK}, {SYS_epoll_pwait, THREAD_WAIT_EPOLL},
	{SYS_epoll_pwait2, THREAD_WAIT_EPOLL}, {SYS_ppoll, THREAD_WAIT_POLL},
	{SYS_futex, THREAD_WAIT_FUTEX},
#ifdef SYS_poll /* not on arm64 */
	{SYS_epoll_wait, THREAD_WAIT_EPOLL}, {SYS_poll, THREAD_WAIT_POLL},
#endif
};
/* clang-format on */

enum thread_wait thread_wait_of(const struct thread_seen *t)
{
	/* The stack of a 32-bit process is below 4 GiB, and its system calls have other numbers. */
	if (!(t->f.flags & FMT_THREAD_SYSCALL) || t->f.syscall < 0 || t->f.sp <= UINT32_MAX)
		return THREAD_WAIT_OTHER;
	for (size_t i = 0; i < sizeof(wait_calls) / sizeof(wait_calls[0]); i++)
		if (wait_calls[i].nr == t->f.syscall)
			return wait_calls[i].wait;
	return THREAD_WAIT_OTHER;
}

/* ---- status ---- */

/* "f,ffffffff": groups of 32 bits, the highest first. */
static void parse_mask(const char *s, struct thread_seen *t)
{
	size_t groups = 1, nr = strcspn(s, "\n");

	for (size_t i = 0; i < nr; i++)
		groups += s[i] == ',';
	if (groups > 2 * FMT_THREAD_MAX_CPU_WORDS)
		return;
	while (groups--) {
		char *end;
		uint64_t bits = strtoull(s, &end, 16);

		t->cpus[groups / 2] |= bits << groups % 2 * 32;
		if (bits && t->f.nr_cpu_words <= groups / 2)
			t->f.nr_cpu_words = (uint32_t)(groups / 2 + 1);
		if (*end != ',')
			break;
		s = end + 1;
	}
}

/* The last of "NSpid: 4711 12 1": the id in the innermost namespace. */
static uint32_t last_number(const char *s)
{
	const char *end = s + strcspn(s, "\n");

	while (end > s && end[-1] >= '0' && end[-1] <= '9')
		end--;
	return (uint32_t)strtoul(end, NULL, 10);
}

static void parse_status(const char *text, struct thread_seen *t)
{
	bool has_memory = false;

	for (const char *line = text; line && *line; line = strchr(line, '\n')) {
		const char *value;

		line += *line == '\n';
		value = strchr(line, '\t');
		if (!value)
			continue;
		value++;
		if (!strncmp(line, "State:", 6))
			t->f.state = (uint8_t)*value;
		else if (!strncmp(line, "TracerPid:", 10))
			t->f.tracer_pid = (uint32_t)strtoul(value, NULL, 10);
		else if (!strncmp(line, "NSpid:", 6))
			t->inner_tid = last_number(value);
		else if (!strncmp(line, "VmSize:", 7))
			has_memory = true;
		else if (!strncmp(line, "Cpus_allowed:", 13))
			parse_mask(value, t);
		else if (!strncmp(line, "voluntary_ctxt_switches:", 24))
			t->f.nr_voluntary = strtoull(value, NULL, 10);
		else if (!strncmp(line, "nonvoluntary_ctxt_switches:", 27))
			t->f.nr_involuntary = strtoull(value, NULL, 10);
	}
	if (!has_memory && t->f.state != 'Z' && t->f.state != 'X')
		t->f.flags |= FMT_THREAD_KERNEL;
}

/* The signal of a stop is the exit code, the last field but none of /proc/PID/stat. */
static void read_stop_signal(int proc_fd, struct thread_seen *t)
{
	char text[1024], *at;
	unsigned long code = 0;

	/* With a stopped process, only the file of the whole process has it. */
	if (t->f.state == 'T' ? !thread_proc_text(proc_fd, text, sizeof(text), "%u/stat", t->f.pid)
			      : !thread_proc_text(proc_fd, text, sizeof(text), "%u/task/%u/stat",
						  t->f.pid, t->f.tid))
		return;
	at = strrchr(text, ' ');
	code = at ? strtoul(at, NULL, 10) : 0;
	if (code > 0xff) /* a ptrace stop: event << 8 | signal */
		code &= 0x7f;
	t->f.stop_signal = code <= 64 ? (uint32_t)code : 0;
}

/* As struct sched_attr of sched_setattr(2). */
struct thread_sched {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

static void read_sched(struct thread_seen *t)
{
	struct thread_sched a = {.size = sizeof(a)};

	if (syscall(SYS_sched_getattr, t->f.tid, &a, sizeof(a), 0))
		return;
	t->f.policy = (uint8_t)a.policy;
	t->f.nice = (int8_t)a.nice;
	t->f.rt_priority = (uint8_t)a.priority;
	t->f.flags |= FMT_THREAD_SCHED;
}

/* Skipped for threads of a pool, which wait without a time limit. */
static void read_timer_slack(int proc_fd, struct thread_seen *t)
{
	char text[32];

	if (t->f.tid != t->f.pid && thread_wait_of(t) == THREAD_WAIT_FUTEX && !t->f.args[3])
		return;
	if (thread_proc_text(proc_fd, text, sizeof(text), "%u/timerslack_ns", t->f.tid))
		t->f.timer_slack_ns = strtoull(text, NULL, 10);
}

/* ---- the system call ---- */

static void read_syscall(int proc_fd, struct thread_seen *t)
{
	char text[256];
	long nr;
	uint64_t v[8];
	int n;

	if (!thread_proc_text(proc_fd, text, sizeof(text), "%u/task/%u/syscall", t->f.pid,
			      t->f.tid)) {
		t->denied = true;
		return;
	}
	n = sscanf(text,
		   "%ld %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64
		   " %" SCNx64 " %" SCNx64,
		   &nr, &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6], &v[7]);
	if (n != 3 && n != 9) /* "running" */
		return;
	t->f.flags |= FMT_THREAD_SYSCALL;
	t->f.syscall = n == 9 ? (int32_t)nr : -1;
	t->f.sp = v[n - 3];
	t->f.pc = v[n - 2];
	if (n == 9)
		memcpy(t->f.args, v, sizeof(t->f.args));
}

/* ---- files ---- */

void thread_read_file(int proc_fd, struct thread_seen *t, int fd)
{
	struct thread_file file = {.link = ""};
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "%u/fd/%d", t->f.pid, fd);
	n = readlinkat(proc_fd, path, file.link, sizeof(file.link) - 1);
	t->f.fd = fd;
	if (n <= 0)
		return;
	if (!t->file)
		t->file = malloc(sizeof(*t->file));
	if (t->file)
		*t->file = file;
}

/* Replaces an epoll set of one descriptor by it. */
static void read_epoll(int proc_fd, struct thread_seen *t)
{
	char text[4096], *at;

	if (!t->file || strcmp(t->file->link, "anon_inode:[eventpoll]") ||
	    !thread_proc_text(proc_fd, text, sizeof(text), "%u/fdinfo/%d", t->f.pid, t->f.fd))
		return;
	at = strstr(text, "tfd:");
	if (at && !strstr(at + 4, "tfd:"))
		thread_read_file(proc_fd, t, atoi(at + 4));
}

static void read_waited(int proc_fd, struct thread_seen *t)
{
	switch (thread_wait_of(t)) {
	case THREAD_WAIT_READ:
	case THREAD_WAIT_WRITE:
	case THREAD_WAIT_FILE:
	case THREAD_WAIT_LOCK:
		thread_read_file(proc_fd, t, (int)t->f.args[0]);
		break;
	case THREAD_WAIT_EPOLL:
		thread_read_file(proc_fd, t, (int)t->f.args[0]);
		read_epoll(proc_fd, t);
		break;
	case THREAD_WAIT_POLL: /* thread_read_memory() */
	case THREAD_WAIT_FUTEX:
	case THREAD_WAIT_OTHER:
		break;
	}
}

/* "0": none, or not allowed. The compiler's suffixes, as in "sigsuspend.isra.0", are cut. */
static void read_wchan(int proc_fd, struct thread_seen *t)
{
	thread_proc_text(proc_fd, t->wchan, sizeof(t->wchan), "%u/task/%u/wchan", t->f.pid,
			 t->f.tid);
	t->wchan[strcspn(t->wchan, ".")] = '\0';
	if (!strcmp(t->wchan, "0"))
		t->wchan[0] = '\0';
}

bool thread_read(int proc_fd, uint32_t pid, uint32_t tid, struct thread_seen *out)
{
	struct thread_seen *t = out;
	char text[8192];

	*t = (struct thread_seen){.f = {.tid = tid, .pid = pid, .syscall = -1, .fd = -1}};
	t->f.ns = clock_ns();
	if (!thread_proc_text(proc_fd, text, sizeof(text), "%u/task/%u/status", pid, tid))
		return false;
	parse_status(text, t);
	read_sched(t);
	if (!strchr(t->f.flags & FMT_THREAD_KERNEL ? "D" : "SDTt", t->f.state)) {
		/* Its timers may have been what it waited for until now. */
		if (!(t->f.flags & FMT_THREAD_KERNEL))
			read_timer_slack(proc_fd, t);
		return true;
	}
	read_wchan(proc_fd, t);
	if (t->f.flags & FMT_THREAD_KERNEL)
		return true;
	read_syscall(proc_fd, t);
	read_timer_slack(proc_fd, t);
	if (strchr("Tt", t->f.state))
		read_stop_signal(proc_fd, t);
	read_waited(proc_fd, t);
	return true;
}

void thread_seen_free(struct thread_seen *t)
{
	free(t->file);
	t->file = NULL;
}

/* ---- memory ---- */

/*
 * A contended glibc mutex has 2 in its word and the owner's tid 8 bytes after it; its waiters expect
 * the 2. PI mutexes, robust mutexes and musl's have the owner's tid in the word, with the top bit
 * set while there are waiters (futex(2), FUTEX_WAITERS).
 */
static void read_futex(struct memory_reader *r, struct thread_seen *t)
{
	uint32_t v[3] = {0};
	int op = (int)t->f.args[1] & FUTEX_CMD_MASK;
	bool pi = op == FUTEX_LOCK_PI || op == FUTEX_LOCK_PI2;

	if (op != FUTEX_WAIT && op != FUTEX_WAIT_BITSET && !pi)
		return;
	if (!memory_reader_read(r, (pid_t)t->f.pid, t->f.args[0], v, sizeof(v[0])))
		return;
	t->f.flags |= FMT_THREAD_FUTEX;
	t->f.futex_word = v[0];
	if (pi || v[0] & FUTEX_WAITERS)
		t->futex_names = v[0] & FUTEX_TID_MASK;
	else if (v[0] == 2 && (uint32_t)t->f.args[2] == 2 &&
		 memory_reader_read(r, (pid_t)t->f.pid, t->f.args[0], v, sizeof(v)))
		t->futex_names = v[2];
}

static void read_poll(int proc_fd, struct memory_reader *r, struct thread_seen *t)
{
	struct pollfd p;

	if (t->f.args[1] == 1 &&
	    memory_reader_read(r, (pid_t)t->f.pid, t->f.args[0], &p, sizeof(p)) && p.fd >= 0)
		thread_read_file(proc_fd, t, p.fd);
}

void thread_read_memory(int proc_fd, struct memory_reader *r, struct thread_seen *t)
{
	if (thread_wait_of(t) == THREAD_WAIT_FUTEX)
		read_futex(r, t);
	else if (thread_wait_of(t) == THREAD_WAIT_POLL)
		read_poll(proc_fd, r, t);
}
