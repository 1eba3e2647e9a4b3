// SPDX-License-Identifier: MIT
/*
 * Reads a core and passes it on; see core_work.h.
 *
 *	ELF header, program headers, notes ──▶ kept until the destination is open
 *	  registers of each thread + its stack, from the memory of the process ──▶ the recorder
 *	head and all that follows ──▶ the destination
 *
 * The process exists until its core is read, with all threads stopped. Stacks are read from its
 * memory, since the stream has them last, after the heap. Only the head is kept in memory, and its
 * size is bounded; the rest is passed on unparsed.
 */
#include "recorder/coredump/core_work.h"

#include "dump/base/signame.h"
#include "dump/base/str.h"
#include "recorder/coredump/core_head.h"
#include "recorder/coredump/core_out.h"
#include "recorder/coredump/core_process.h"
#include "trigger/crash/crash_sample.h"
#include "trigger/kernel/clock.h"
#include "trigger/crash/held_cores.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define HEAD_MAX    ((size_t)32 << 20)
#define CHUNK_BYTES ((size_t)256 << 10)
/* A stream that is silent for this long has ended. */
#define SILENT_MS 30000
/* A program that takes nothing of a core for this long gets no more of it, if too many processes
 * crash at once to hold them. */
#define DIRECT_TAKES_MS 5000
/* The process is delayed no longer than this for reading its threads. */
#define PARK_NS 250000000ull
/* Maximum for all stacks together; the evidence has room for more. */
#define STACKS_MAX ((size_t)48 << 20)

struct core_work_item {
	const struct core_job *job;
	struct core_process v;
	struct buf head;
	struct core_head h;
	struct core_out out;
	bool ended; /* end of the stream */
	int silent_ms;
	size_t nr_told;
	uint8_t *chunk;
};

/* ---- the stream ---- */

/* Reads up to `n` bytes; fewer at the end. */
static size_t take(struct core_work_item *w, uint8_t *to, size_t n)
{
	struct pollfd p = {.fd = w->job->stream, .events = POLLIN};
	size_t got = 0;
	ssize_t r;

	while (got < n && !w->ended) {
		int ready = poll(&p, 1, w->silent_ms);

		if (!ready || (ready < 0 && errno != EINTR)) {
			w->ended = true;
			break;
		}
		r = read(w->job->stream, to + got, n - got);
		if (r > 0)
			got += (size_t)r;
		else if (!r || (errno != EINTR && errno != EAGAIN))
			w->ended = true;
	}
	return got;
}

static bool grow_head(struct core_work_item *w, size_t need)
{
	size_t n = need - w->head.len;

	if (buf_reserve(&w->head, n))
		return false;
	w->head.len += take(w, w->head.p + w->head.len, n);
	return w->head.len == need;
}

static void read_head(struct core_work_item *w)
{
	size_t need;
	int rc;

	do {
		rc = core_head_need((struct bytes){w->head.p, w->head.len}, &need);
	} while (!rc && grow_head(w, need < HEAD_MAX ? need : HEAD_MAX) && need < HEAD_MAX);
	if (core_head_read((struct bytes){w->head.p, w->head.len}, &w->h))
		w->h = (struct core_head){0};
}

/* ---- the recorder ---- */

/* False when the recorder does not read: the core must not wait for it. */
static bool tell(struct core_work_item *w, uint32_t kind, uint32_t cpu, const void *p, size_t n)
{
	struct held_cores_message m = {.kind = kind, .pid = (uint32_t)w->v.names.pid, .cpu = cpu};
	struct iovec v[] = {{&m, sizeof(m)}, {(void *)p, n}};
	struct msghdr h = {.msg_iov = v, .msg_iovlen = 2};
	struct pollfd ready = {.fd = w->job->report, .events = POLLOUT};
	uint64_t spent;

	if (w->job->report < 0)
		return false;
	while (sendmsg(w->job->report, &h, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
		spent = clock_ns() - w->job->began_ns;
		if ((errno != EAGAIN && errno != EINTR) || spent > PARK_NS ||
		    poll(&ready, 1, (int)((PARK_NS - spent) / 1000000 + 1)) <= 0)
			return false;
	}
	return true;
}

static void say(struct core_work_item *w, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void say(struct core_work_item *w, const char *fmt, ...)
{
	char text[192];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	tell(w, PARKED_SAY, 0, text, strlen(text));
}

/* ---- threads ---- */

static bool tell_thread(struct core_work_item *w, const struct core_thread *t, size_t max_stack)
{
	static _Alignas(8) uint8_t record[CRASH_SAMPLE_MAX], stack[CRASH_STACK_MAX];
	uint64_t regs[EVENT_USER_REGS_MAX] = {0};
	pid_t tid = core_process_tid(&w->v, t->own_tid);
	struct crash_thread c = {
		.pid = (uint32_t)w->v.names.pid,
		.tid = (uint32_t)(tid ? tid : t->own_tid),
		.cpu = (uint32_t)w->v.names.cpu,
		.ns = w->job->began_ns,
		.regs = regs,
		.stack = stack,
	};
	struct event_frame f;
	ssize_t n = -1;

	if (!event_regs_of_core(t->regs, regs))
		return true;
	if (event_user_frame((struct bytes){(const uint8_t *)regs,
					    8 * (size_t)__builtin_popcountll(event_user_regs())},
			     &f) &&
	    w->v.mem_fd >= 0)
		n = pread(w->v.mem_fd, stack, max_stack, (off_t)f.sp);
	c.nr_stack_bytes = n > 0 ? (size_t)n : 0;
	if (!tell(w, PARKED_THREAD, c.cpu, record, crash_sample_make(&c, record)))
		return false;
	w->nr_told++;
	return true;
}

static void tell_threads(struct core_work_item *w)
{
	size_t max = w->h.nr_threads ? STACKS_MAX / w->h.nr_threads & ~(size_t)7 : 0;

	if (max > CRASH_STACK_MAX)
		max = CRASH_STACK_MAX;
	for (size_t i = 0; i < w->h.nr_threads; i++)
		if (clock_ns() - w->job->began_ns > PARK_NS ||
		    !tell_thread(w, &w->h.threads[i], max))
			break;
}

static void tell_rest(struct core_work_item *w)
{
	uint64_t parked = clock_ns() - w->job->began_ns;
	char time[32];

	if (w->nr_told == w->h.nr_threads)
		say(w, "threads=%zu", w->h.nr_threads);
	else
		say(w, "threads=%zu of %zu", w->nr_told, w->h.nr_threads);
	if (w->h.has_address)
		say(w, "address=0x%llx", (unsigned long long)w->h.address);
	say(w, "parked=%s", str_fmt_time(time, sizeof(time), (int64_t)parked));
	say(w, "core=%s", w->out.says);
	tell(w, PARKED_END, 0, NULL, 0);
}

/* ---- all ---- */

static void learn(struct core_work_item *w)
{
	if (w->h.sig)
		w->v.names.sig = w->h.sig;
	if (w->h.nr_threads)
		core_process_thread(&w->v, w->h.threads[0].own_tid);
	else
		core_process_thread(&w->v, w->v.names.own_pid);
}

static void copy(struct core_work_item *w)
{
	bool more =
		w->out.fd >= 0 && core_out_write(&w->out, (struct bytes){w->head.p, w->head.len});

	/* The rest is bulk work at normal priority. */
	setpriority(PRIO_PROCESS, 0, 0);
	while (more && !w->ended) {
		size_t n = take(w, w->chunk, CHUNK_BYTES);

		more = core_out_write(&w->out, (struct bytes){w->chunk, n});
	}
	core_out_close(&w->out);
}

void core_work(const struct core_job *j)
{
	const char *sooner = getenv("RINGBACK_CRASH_SILENT_MS"); /* set by tests */
	struct core_work_item w = {.job = j,
				   .chunk = malloc(CHUNK_BYTES),
				   .silent_ms = sooner ? atoi(sooner) : SILENT_MS};
	bool waits = false;

	w.out.fd = -1;
	if (!w.chunk || core_process_open(&w.v, j->pidfd, &j->names))
		goto out;
	read_head(&w);
	learn(&w);
	if (!j->direct)
		tell_threads(&w);
	core_out_open(&w.out, j->pattern, &w.v);
	if (j->direct)
		w.out.takes_ms = DIRECT_TAKES_MS;
	tell_rest(&w);
	copy(&w);
	/* Keeps the process for the program until that has exited, if the kernel would. */
	waits = !j->direct && core_out_waits();
	if (waits)
		core_out_wait(&w.out);
out:
	close(j->stream);
	if (!waits)
		core_out_wait(&w.out);
	core_head_free(&w.h);
	buf_free(&w.head);
	core_process_close(&w.v);
	free(w.chunk);
}
