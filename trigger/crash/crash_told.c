// SPDX-License-Identifier: MIT
/* Crashes that programs report themselves; see crash_told.h. */
#include "trigger/crash/crash_told.h"

#include "dump/base/signame.h"
#include "dump/base/str.h"
#include "trigger/crash/crash_place.h"
#include "trigger/crash/crash_sample.h"
#include "trigger/client/crash_wire.h"
#include "trigger/engine/evidence.h"
#include "trigger/kernel/clock.h"
#include "trigger/client/ringback.h"
#include "trigger/engine/source.h"
#include "trigger/client/app_socket.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* A later fatal signal of the process within this time is the same crash: its own handler may run
 * first, and take long. */
#define SAME_NS	    10000000000ull
#define MAX_PENDING 4
#define LINE_BYTES  171

/* A crash whose frames are still to come. */
struct pending {
	uint32_t pid, said_tid;
	struct evidence *evidence; /* NULL: free */
};

struct told {
	struct app_socket *tell;
	pid_t pid;
	const char *comm;
	uint64_t answer_to; /* a peer; 0: none */
	uint32_t answer_tid;
	struct pending pending[MAX_PENDING];
	size_t turn;
	uint8_t stack[CRASH_STACK_MAX];
	size_t nr_stack;
	_Alignas(8) uint8_t sample[CRASH_SAMPLE_MAX];
};

int told_new(struct app_socket *tell, pid_t pid, const char *comm, struct told **out)
{
	struct told *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->tell = tell;
	t->pid = pid;
	t->comm = comm;
	*out = t;
	return 0;
}

/* Ends the wait for frames. */
static void settle(struct pending *p)
{
	if (!p->evidence)
		return;
	evidence_complete(p->evidence);
	evidence_put(p->evidence);
	*p = (struct pending){0};
}

void told_free(struct told *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < MAX_PENDING; i++)
		settle(&t->pending[i]);
	free(t);
}

bool told_is_same(const struct told *t, pid_t pid)
{
	uint64_t now = clock_ns();

	return app_socket_nr_taken(t->tell, (uint32_t)pid, now > SAME_NS ? now - SAME_NS : 0);
}

static void reply(struct told *t, uint64_t peer, uint32_t tid)
{
	struct crash_reply r = {RINGBACK_VERSION_1, RINGBACK_CRASH, tid, 1};

	app_socket_reply(t->tell, peer, &r, sizeof(r), -1);
}

void told_answer(struct told *t)
{
	if (t->answer_to)
		reply(t, t->answer_to, t->answer_tid);
	t->answer_to = 0;
}

/* ---- frames ---- */

static struct pending *pending_of(struct told *t, const struct app_socket_message *m)
{
	for (size_t i = 0; i < MAX_PENDING; i++)
		if (t->pending[i].evidence && t->pending[i].pid == m->pid &&
		    t->pending[i].said_tid == m->said_tid)
			return &t->pending[i];
	return NULL;
}

static bool wants_frames(void *ctx, const struct app_socket_message *m)
{
	return pending_of(ctx, m);
}

static size_t write_frame(const struct crash_frames *f, uint32_t i, char *out, size_t n)
{
	char safe[4 * CRASH_NAME_BYTES + 1];
	size_t len = strnlen(f->name[i], CRASH_NAME_BYTES);

	if (!len)
		return (size_t)snprintf(out, n, "0x%llx", (unsigned long long)f->ip[i]);
	str_safe(safe, sizeof(safe), f->name[i], len);
	return (size_t)snprintf(out, n, "%.*s+0x%x", CRASH_NAME_BYTES, safe, f->offset[i]);
}

/* Splits into several lines: "backtrace=crash+0x12 < middle+0x9 < ...", "backtrace.2=...". */
static void say_frames(struct evidence *e, const struct crash_frames *f)
{
	uint32_t nr = f->nr < CRASH_FRAMES ? f->nr : CRASH_FRAMES;
	char line[LINE_BYTES] = "", one[2 * CRASH_NAME_BYTES], key[16] = "backtrace";
	unsigned nr_lines = 0;
	size_t len = 0;

	for (uint32_t i = 0; i < nr; i++) {
		size_t n = write_frame(f, i, one, sizeof(one));

		if (len && len + 3 + n >= LINE_BYTES) {
			evidence_say(e, "%s=%s", key, line);
			snprintf(key, sizeof(key), "backtrace.%u", ++nr_lines + 1);
			len = 0;
		}
		len += (size_t)snprintf(line + len, sizeof(line) - len, "%s%s", len ? " < " : "",
					one);
	}
	if (len)
		evidence_say(e, "%s=%s", key, line);
}

static void take_frames(struct told *t)
{
	struct app_socket_message m;
	struct crash_frames f;

	while (app_socket_take(t->tell, RINGBACK_CRASH_FRAMES, wants_frames, t, &m)) {
		struct pending *p = pending_of(t, &m);

		if (m.nr_more >= sizeof(f)) {
			memcpy(&f, m.more, sizeof(f));
			say_frames(p->evidence, &f);
		}
		free(m.more);
		settle(p);
	}
}

/* ---- the stack ---- */

/* Only what the process has sent: to read its memory can block for ever, for example on a page of
 * a file system that does not answer. */
static void take_stack(struct told *t, const struct app_socket_message *m,
		       const struct crash_tell *c)
{
	const uint8_t *said = m->more + sizeof(*c);
	size_t nr_said = m->nr_more - sizeof(*c), skip = c->nr_skipped;

	t->nr_stack = 0;
	if (!nr_said || skip >= sizeof(t->stack) || nr_said > sizeof(t->stack) - skip)
		return;
	memset(t->stack, 0, skip);
	memcpy(t->stack + skip, said, nr_said);
	t->nr_stack = skip + nr_said;
}

static void expect_frames(struct told *t, const struct app_socket_message *m, struct evidence *e)
{
	struct pending *p = &t->pending[t->turn++ % MAX_PENDING];

	settle(p);
	evidence_expect(e);
	*p = (struct pending){m->pid, m->said_tid, evidence_get(e)};
}

static void add_evidence(struct told *t, const struct app_socket_message *m,
			 const struct crash_tell *c, struct sighting *what)
{
	struct crash_thread th = {m->pid, m->tid, c->cpu, m->ns, c->regs, t->stack, t->nr_stack};
	struct evidence *e;
	size_t n, kind;

	if (evidence_new(&e))
		return;
	n = crash_sample_make(&th, t->sample);
	if (crash_sample_kind(e, &kind) ||
	    evidence_add(e, kind, c->cpu, (struct bytes){t->sample, n})) {
		evidence_put(e);
		return;
	}
	expect_frames(t, m, e);
	what->evidence = e;
}

/* ---- a crash ---- */

static bool wants_crash(void *ctx, const struct app_socket_message *m)
{
	const struct told *t = ctx;
	char comm[16];

	if (t->pid || !*t->comm)
		return !t->pid || (uint32_t)t->pid == m->pid;
	source_comm(m->tid, comm);
	return str_glob(t->comm, comm);
}

static bool has_address(const struct crash_tell *c)
{
	return c->code > 0 && (c->sig == SIGSEGV || c->sig == SIGBUS || c->sig == SIGFPE ||
			       c->sig == SIGILL || c->sig == SIGTRAP);
}

static void fill(struct told *t, const struct app_socket_message *m, const struct crash_tell *c,
		 struct sighting *what)
{
	struct bytes regs = {(const uint8_t *)c->regs, sizeof(c->regs)};
	char name[32], code[32], leader[16] = "", safe[64];
	struct event_frame f = {0};

	what->ns = m->ns;
	what->pid = m->pid;
	what->tid = m->tid;
	what->uid = m->uid;
	what->nr_hits = m->nr;
	sighting_name(what);
	event_user_frame(regs, &f);
	take_stack(t, m, c);
	what->stack_hash = crash_place_hash(regs, (struct bytes){t->stack, t->nr_stack}, c->sig);
	sighting_add(what, "signal=%s", signame(c->sig, name, sizeof(name)));
	sighting_add(what, "code=%s", signame_code(c->sig, c->code, code, sizeof(code)));
	if (m->pid != m->tid)
		source_comm(m->pid, leader);
	if (*leader && strcmp(leader, what->comm) != 0)
		sighting_add(what, "process=%s",
			     str_safe(safe, sizeof(safe), leader, strlen(leader)));
	sighting_add(what, "ip=0x%llx", (unsigned long long)f.ip);
	if (has_address(c))
		sighting_add(what, "address=0x%llx", (unsigned long long)c->addr);
	sighting_add(what, "told_by_pid=%u", m->pid);
	add_evidence(t, m, c, what);
}

bool told_next(struct told *t, struct sighting *what)
{
	struct app_socket_message m;
	struct crash_tell c;

	take_frames(t);
	for (;;) {
		uint64_t now = clock_ns();

		if (!app_socket_take(t->tell, RINGBACK_CRASH, wants_crash, t, &m))
			return false;
		/* Already reported, for example if the handler of the fault aborts. */
		if (app_socket_nr_taken(t->tell, m.pid, now > SAME_NS ? now - SAME_NS : 0) > 1 ||
		    m.nr_more < sizeof(c)) {
			reply(t, m.peer, m.said_tid);
			free(m.more);
			continue;
		}
		memcpy(&c, m.more, sizeof(c));
		fill(t, &m, &c, what);
		free(m.more);
		t->answer_to = m.peer;
		t->answer_tid = m.said_tid;
		return true;
	}
}
