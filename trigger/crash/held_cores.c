// SPDX-License-Identifier: MIT
/* Messages of workers about crashed processes; see held_cores.h. Bounded in crashes and in messages
 * per pass. */
#include "trigger/crash/held_cores.h"

#include "trigger/crash/crash_sample.h"
#include "trigger/engine/evidence.h"
#include "trigger/kernel/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAX_CRASHES 32
#define MAX_PASS    4096
/* A crash without a message for this long gets no more: the process may not be dumpable. */
#define FORGET_NS 2000000000ull

struct crash {
	pid_t pid; /* 0: free */
	uint64_t since_ns;
	struct evidence *e;
	size_t kind;
};

/* Messages of an unknown process wait this many passes: its rule may not have been polled yet. */
#define EARLY_PASSES 8

struct held_cores {
	int fd;
	bool gone;
	unsigned nr_early;
	uint32_t unknown_pid; /* no rule wants it */
	struct crash crashes[MAX_CRASHES];
	struct held_cores_unheld unheld; /* not taken yet */
	_Alignas(8) uint8_t message[sizeof(struct held_cores_message) + CRASH_SAMPLE_MAX];
};

int held_cores_new(int fd, struct held_cores **out)
{
	struct held_cores *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->fd = fd;
	*out = p;
	return 0;
}

static void forget(struct crash *c)
{
	evidence_complete(c->e);
	evidence_put(c->e);
	*c = (struct crash){0};
}

void held_cores_free(struct held_cores *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < MAX_CRASHES; i++)
		if (p->crashes[i].pid)
			forget(&p->crashes[i]);
	close(p->fd);
	free(p);
}

int held_cores_fd(const struct held_cores *p)
{
	return p->fd;
}

void held_cores_expect(struct held_cores *p, pid_t pid, struct evidence *e)
{
	uint64_t now = clock_ns();
	struct crash *c = NULL;
	size_t kind;

	for (size_t i = 0; i < MAX_CRASHES; i++) {
		if (p->crashes[i].pid && now - p->crashes[i].since_ns > FORGET_NS)
			forget(&p->crashes[i]);
		if (!p->crashes[i].pid && !c)
			c = &p->crashes[i];
		else if (p->crashes[i].pid == pid && p->crashes[i].e == e)
			return;
	}
	if (p->unknown_pid == (uint32_t)pid)
		p->unknown_pid = 0;
	if (p->gone || !c || crash_sample_kind(e, &kind))
		return;
	*c = (struct crash){pid, now, evidence_get(e), kind};
	evidence_expect(e);
}

static void add_unheld(struct held_cores *p, struct bytes rest)
{
	struct held_cores_unheld u;

	if (!bytes_get(&rest, &u, sizeof(u)))
		return;
	p->unheld.nr += u.nr;
	p->unheld.nr_refused += u.nr_refused;
}

bool held_cores_take_unheld(struct held_cores *p, struct held_cores_unheld *out)
{
	*out = p->unheld;
	p->unheld = (struct held_cores_unheld){0};
	return out->nr > 0;
}

static void take(struct held_cores *p, const struct held_cores_message *m, struct bytes rest)
{
	if (m->kind == PARKED_UNHELD)
		add_unheld(p, rest);
	for (size_t i = 0; i < MAX_CRASHES; i++) {
		struct crash *c = &p->crashes[i];

		if (!c->pid || c->pid != (pid_t)m->pid)
			continue;
		c->since_ns = clock_ns();
		if (m->kind == PARKED_THREAD && crash_sample_is_one(rest))
			evidence_add(c->e, c->kind, m->cpu, rest);
		else if (m->kind == PARKED_SAY)
			evidence_say(c->e, "%.*s", (int)rest.len, (const char *)rest.p);
		else if (m->kind == PARKED_END)
			forget(c);
	}
}

static bool is_expected(const struct held_cores *p, uint32_t pid)
{
	for (size_t i = 0; i < MAX_CRASHES; i++)
		if (p->crashes[i].pid && p->crashes[i].pid == (pid_t)pid)
			return true;
	return false;
}

/* The signal came before its core, but the rule may not have been polled yet: then wait a pass. */
static bool is_early(struct held_cores *p)
{
	struct held_cores_message m;

	if (recv(p->fd, &m, sizeof(m), MSG_PEEK | MSG_DONTWAIT) != sizeof(m) ||
	    m.kind == PARKED_UNHELD || m.pid == p->unknown_pid || is_expected(p, m.pid)) {
		p->nr_early = 0;
		return false;
	}
	if (++p->nr_early < EARLY_PASSES)
		return true;
	p->nr_early = 0;
	p->unknown_pid = m.pid;
	return false;
}

bool held_cores_pump(struct held_cores *p)
{
	struct held_cores_message m;
	ssize_t n = -1;

	for (int i = 0; !p->gone && i < MAX_PASS; i++) {
		if (is_early(p))
			return true;
		n = recv(p->fd, p->message, sizeof(p->message), MSG_DONTWAIT);
		if (n <= 0)
			break;
		if ((size_t)n < sizeof(m))
			continue;
		memcpy(&m, p->message, sizeof(m));
		if (m.pid == p->unknown_pid && m.kind == PARKED_END)
			p->unknown_pid = 0;
		take(p, &m, (struct bytes){p->message + sizeof(m), (size_t)n - sizeof(m)});
	}
	if (!n || (n < 0 && errno != EAGAIN && errno != EINTR))
		p->gone = true;
	return !p->gone;
}
