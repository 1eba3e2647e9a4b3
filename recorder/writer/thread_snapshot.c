// SPDX-License-Identifier: MIT
/* Reads the states of threads in a thread of its own; see thread_snapshot.h. Called by dumper.c. */
#include "recorder/writer/thread_snapshot.h"

#include "dump/base/bytes.h"
#include "dump/base/err.h"
#include "dump/file/writer.h"
#include "recorder/ledger/ledger.h"
#include "recorder/ledger/thread_ends.h"
#include "trigger/kernel/clock.h"
#include "trigger/kernel/memory_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define LIMIT_CPU_NS 50000000ull
#define LIMIT_NS     200000000ull
/* The part of both, in percent, after which no more threads are read. */
#define STATES_SHARE 70
/* On a busy machine an ordinary thread would get a fraction of the CPU time before LIMIT_NS. */
#define NICE -10
/* Of every process so many threads are read before the others, which may be a large idle pool. */
#define FIRST_THREADS 16
#define STACK_BYTES   (256u << 10)

enum snapshot_phase { SNAPSHOT_IDLE, SNAPSHOT_READING, SNAPSHOT_READ, SNAPSHOT_LATE };

/*
 *	IDLE ── start ──▶ READING ──▶ READ ── end ──▶ IDLE
 *	                     └─ end ─▶ LATE ──▶ IDLE
 *
 * The thread holds `lock` except while it reads a thread or the memory of a process: that can block
 * while the process is in exec() or changes its mappings. The dump then has what was read before.
 */
struct thread_snapshot {
	struct ledger *ledger;
	int proc_fd;
	pthread_t thread;
	bool has_thread;
	pthread_mutex_t lock;
	pthread_cond_t cond;
	/* Under `lock`. */
	enum snapshot_phase phase;
	bool quit;
	uint32_t pid, tid;
	uint64_t started_ns, cpu_ns;
	struct fmt_threads read;
	struct buf seen; /* struct thread_seen[] */
	/* Only for the thread. */
	struct memory_reader *reader; /* NULL: not needed yet, or there can be none */
	unsigned nr_asked;
	unsigned share; /* of the limits that may be used now, in percent */
	bool over;
};

static size_t nr_seen(const struct thread_snapshot *s)
{
	return s->seen.len / sizeof(struct thread_seen);
}

static struct thread_seen *seen_at(const struct thread_snapshot *s, size_t i)
{
	return (struct thread_seen *)s->seen.p + i;
}

/* Looks at the clocks once in a while only: the clock of CPU time is a system call. */
static bool is_over(void *ctx)
{
	struct thread_snapshot *s = ctx;

	if (!s->over && s->nr_asked++ % 8 == 0)
		s->over = clock_ns() - s->started_ns > LIMIT_NS / 100 * s->share ||
			  clock_of(CLOCK_THREAD_CPUTIME_ID) - s->cpu_ns >
				  LIMIT_CPU_NS / 100 * s->share;
	return s->over;
}

/* ---- states ---- */

static void read_thread(struct thread_snapshot *s, uint32_t pid, uint32_t tid)
{
	struct thread_seen t;
	bool alive;

	if (s->phase != SNAPSHOT_READING || is_over(s))
		return;
	pthread_mutex_unlock(&s->lock);
	alive = thread_read(s->proc_fd, pid, tid, &t);
	pthread_mutex_lock(&s->lock);
	if (s->phase == SNAPSHOT_READING) {
		s->read.nr_left_out--;
		s->read.nr_denied += alive && t.denied;
		if (alive && !buf_put(&s->seen, &t, sizeof(t)))
			return;
	}
	if (alive)
		thread_seen_free(&t);
}

/*
 * The order in which the i-th of a list by process is read: the thread that met the rule, its
 * process, the first threads of all other processes, the rest of them, kernel threads.
 */
static int rank(const struct thread_snapshot *s, const struct ledger_thread *v, size_t i)
{
	if (v[i].tid == s->tid)
		return 0;
	if (v[i].pid == s->pid)
		return 1;
	if (v[i].kernel)
		return 4;
	return i >= FIRST_THREADS && v[i - FIRST_THREADS].pid == v[i].pid ? 3 : 2;
}

static void read_states(struct thread_snapshot *s)
{
	const struct ledger_thread *v;
	struct buf list = {0};

	if (ledger_living(s->ledger, &list)) {
		buf_free(&list);
		return;
	}
	v = (const struct ledger_thread *)list.p;
	s->read.nr_left_out = (uint32_t)(list.len / sizeof(*v));
	s->share = STATES_SHARE;
	for (int now = 0; now <= 4; now++)
		for (size_t i = 0; i < list.len / sizeof(*v); i++)
			if (rank(s, v, i) == now)
				read_thread(s, v[i].pid, v[i].tid);
	buf_free(&list);
}

/* ---- memory ---- */

/* A thread of the process waits for its mappings to change: its memory can't be read now. */
static bool is_blocked(const struct thread_snapshot *s, uint32_t pid)
{
	for (size_t i = 0; i < nr_seen(s); i++)
		if (seen_at(s, i)->f.pid == pid && strstr(seen_at(s, i)->wchan, "rwsem"))
			return true;
	return false;
}

static void read_memory(struct thread_snapshot *s)
{
	uint32_t pid = 0;
	bool blocked = false;

	/* It inherits the priority. */
	if (!s->reader && memory_reader_open(&s->reader, NULL))
		return;
	for (size_t i = 0; i < nr_seen(s) && s->phase == SNAPSHOT_READING && !is_over(s); i++) {
		struct thread_seen t = *seen_at(s, i);
		enum thread_wait wait = thread_wait_of(&t);

		if (wait != THREAD_WAIT_FUTEX && wait != THREAD_WAIT_POLL)
			continue;
		if (t.f.pid != pid)
			blocked = is_blocked(s, t.f.pid);
		pid = t.f.pid;
		if (blocked)
			continue;
		pthread_mutex_unlock(&s->lock);
		thread_read_memory(s->proc_fd, s->reader, &t);
		pthread_mutex_lock(&s->lock);
		if (s->phase == SNAPSHOT_READING)
			*seen_at(s, i) = t;
		else
			thread_seen_free(&t);
	}
}

/* ---- the thread ---- */

static void read_all(struct thread_snapshot *s)
{
	s->cpu_ns = clock_of(CLOCK_THREAD_CPUTIME_ID);
	s->nr_asked = 0;
	s->over = false;
	s->read = (struct fmt_threads){.from_ns = clock_ns()};
	read_states(s);
	s->over = false;
	s->share = 100;
	read_memory(s);
	if (s->phase == SNAPSHOT_READING)
		s->read.nr_unsearched = thread_ends_find(
			s->proc_fd, (struct thread_seen *)s->seen.p, nr_seen(s), is_over, s);
	s->read.to_ns = clock_ns();
}

static void *run(void *arg)
{
	struct thread_snapshot *s = arg;
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	pthread_setname_np(pthread_self(), "ringback-states");
	setpriority(PRIO_PROCESS, (id_t)gettid(), NICE); /* if it is allowed */
	pthread_mutex_lock(&s->lock);
	while (!s->quit) {
		if (s->phase == SNAPSHOT_LATE) /* ended before this thread began */
			s->phase = SNAPSHOT_IDLE;
		if (s->phase != SNAPSHOT_READING) {
			pthread_cond_wait(&s->cond, &s->lock);
			continue;
		}
		read_all(s);
		s->phase = s->phase == SNAPSHOT_LATE ? SNAPSHOT_IDLE : SNAPSHOT_READ;
		pthread_cond_broadcast(&s->cond);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

int thread_snapshot_new(struct ledger *l, struct thread_snapshot **out, struct err *err)
{
	struct thread_snapshot *s = calloc(1, sizeof(*s));
	pthread_condattr_t monotonic;
	pthread_attr_t attr;
	int rc;

	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	s->ledger = l;
	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&s->cond, &monotonic);
	pthread_condattr_destroy(&monotonic);
	s->proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	rc = s->proc_fd < 0 ? err_sys(err, -errno, "/proc") : 0;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	if (!rc && (rc = -pthread_create(&s->thread, &attr, run, s)))
		err_sys(err, rc, "can't start the thread that reads states");
	pthread_attr_destroy(&attr);
	s->has_thread = !rc;
	if (rc) {
		thread_snapshot_free(s);
		return rc;
	}
	*out = s;
	return 0;
}

static void forget(struct thread_snapshot *s)
{
	for (size_t i = 0; i < nr_seen(s); i++)
		thread_seen_free(seen_at(s, i));
	buf_free(&s->seen);
}

void thread_snapshot_free(struct thread_snapshot *s)
{
	if (!s)
		return;
	if (s->has_thread) {
		pthread_mutex_lock(&s->lock);
		s->quit = true;
		pthread_cond_broadcast(&s->cond);
		pthread_mutex_unlock(&s->lock);
		pthread_join(s->thread, NULL);
	}
	forget(s);
	memory_reader_close(s->reader);
	if (s->proc_fd >= 0)
		close(s->proc_fd);
	pthread_cond_destroy(&s->cond);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

void thread_snapshot_start(struct thread_snapshot *s, uint32_t pid, uint32_t tid)
{
	/* The main loop does not wait: the thread still reads for the dump before. */
	if (pthread_mutex_trylock(&s->lock))
		return;
	if (s->phase == SNAPSHOT_IDLE) {
		s->phase = SNAPSHOT_READING;
		s->pid = pid;
		s->tid = tid;
		s->started_ns = clock_ns();
		pthread_cond_broadcast(&s->cond);
	}
	pthread_mutex_unlock(&s->lock);
}

/* ---- writing ---- */

static void write_one(const struct thread_seen *t, struct writer *w)
{
	struct {
		struct fmt_thread_state f;
		uint64_t cpus[FMT_THREAD_MAX_CPU_WORDS];
	} item = {.f = t->f};
	const struct thread_file *file = t->file;
	char texts[sizeof(t->wchan) + sizeof(*file)];
	int n;

	memcpy(item.cpus, t->cpus, sizeof(item.cpus));
	n = snprintf(texts, sizeof(texts), "%s%c%s%c%s%c%s%c%s", t->wchan, 0,
		     file ? file->link : "", 0, file ? file->protocol : "", 0,
		     file ? file->local : "", 0, file ? file->remote : "");
	writer_item(w, FMT_THREAD_STATE, &item,
		    sizeof(item.f) + t->f.nr_cpu_words * sizeof(item.cpus[0]), texts, (size_t)n + 1,
		    NULL);
}

void thread_snapshot_write(struct thread_snapshot *s, struct writer *w)
{
	uint64_t end_ns;
	struct timespec end;

	pthread_mutex_lock(&s->lock);
	end_ns = s->started_ns + LIMIT_NS;
	end = (struct timespec){(time_t)(end_ns / 1000000000), (long)(end_ns % 1000000000)};
	while (s->phase == SNAPSHOT_READING &&
	       pthread_cond_timedwait(&s->cond, &s->lock, &end) != ETIMEDOUT)
		;
	if (s->phase == SNAPSHOT_READING || s->phase == SNAPSHOT_READ) {
		s->read.nr_threads = (uint32_t)nr_seen(s);
		if (s->phase == SNAPSHOT_READING)
			s->read.to_ns = clock_ns();
		writer_section(w, FMT_THREADS);
		writer_item(w, FMT_THREADS_READ, &s->read, sizeof(s->read), NULL, 0, NULL);
		for (size_t i = 0; i < nr_seen(s); i++)
			write_one(seen_at(s, i), w);
	}
	pthread_mutex_unlock(&s->lock);
}

void thread_snapshot_end(struct thread_snapshot *s)
{
	pthread_mutex_lock(&s->lock);
	forget(s);
	if (s->phase == SNAPSHOT_READING)
		s->phase = SNAPSHOT_LATE;
	else if (s->phase == SNAPSHOT_READ)
		s->phase = SNAPSHOT_IDLE;
	pthread_mutex_unlock(&s->lock);
}
