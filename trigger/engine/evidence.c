// SPDX-License-Identifier: MIT
/* Records that prove a hit; see evidence.h. */
#include "trigger/engine/evidence.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct kept_record {
	size_t kind, at, len;
	uint32_t cpu;
};

struct evidence {
	atomic_uint refs;
	pthread_mutex_t lock;
	pthread_cond_t cond;
	unsigned nr_expected;
	bool closed;
	struct evidence_kind kinds[EVIDENCE_MAX_KINDS]; /* owns their texts */
	size_t nr_kinds;
	struct buf bytes, places;
	uint64_t nr_dropped;
	char lines[EVIDENCE_MAX_LINES][192]; /* same length as a sighting's */
	size_t nr_lines;
};

int evidence_new(struct evidence **out)
{
	struct evidence *e = calloc(1, sizeof(*e));
	pthread_condattr_t attr;

	if (!e)
		return -ENOMEM;
	e->refs = 1;
	pthread_mutex_init(&e->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&e->cond, &attr);
	pthread_condattr_destroy(&attr);
	*out = e;
	return 0;
}

struct evidence *evidence_get(struct evidence *e)
{
	if (e)
		e->refs++;
	return e;
}

static void free_kind(struct evidence_kind *k)
{
	free((char *)k->name);
	free((char *)k->filter);
	free((char *)k->target);
}

void evidence_put(struct evidence *e)
{
	if (!e || --e->refs)
		return;
	for (size_t i = 0; i < e->nr_kinds; i++)
		free_kind(&e->kinds[i]);
	buf_free(&e->bytes);
	buf_free(&e->places);
	pthread_cond_destroy(&e->cond);
	pthread_mutex_destroy(&e->lock);
	free(e);
}

/* ---- adding ---- */

static bool copy_text(const char **to, const char *from)
{
	*to = from ? strdup(from) : NULL;
	return *to || !from;
}

int evidence_add_kind(struct evidence *e, const struct evidence_kind *k, size_t *out)
{
	struct evidence_kind copy = {.attr = k->attr};
	int rc = 0;

	if (!copy_text(&copy.name, k->name) || !copy_text(&copy.filter, k->filter) ||
	    !copy_text(&copy.target, k->target)) {
		free_kind(&copy);
		return -ENOMEM;
	}
	pthread_mutex_lock(&e->lock);
	if (e->closed || e->nr_kinds == EVIDENCE_MAX_KINDS) {
		rc = e->closed ? -ESHUTDOWN : -ENOSPC;
	} else {
		*out = e->nr_kinds;
		e->kinds[e->nr_kinds++] = copy;
	}
	pthread_mutex_unlock(&e->lock);
	if (rc)
		free_kind(&copy);
	return rc;
}

static int add_locked(struct evidence *e, size_t kind, uint32_t cpu, struct bytes rec)
{
	struct kept_record p = {.kind = kind, .at = e->bytes.len, .len = rec.len, .cpu = cpu};
	int rc;

	if (e->closed)
		return -ESHUTDOWN;
	if (!span_fits(e->bytes.len, rec.len, EVIDENCE_MAX_BYTES))
		return -ENOSPC;
	rc = buf_reserve(&e->places, sizeof(p));
	if (!rc)
		rc = buf_put(&e->bytes, rec.p, rec.len);
	return rc ? rc : buf_put(&e->places, &p, sizeof(p));
}

int evidence_add(struct evidence *e, size_t kind, uint32_t cpu, struct bytes rec)
{
	int rc;

	pthread_mutex_lock(&e->lock);
	rc = add_locked(e, kind, cpu, rec);
	if (rc)
		e->nr_dropped++;
	pthread_mutex_unlock(&e->lock);
	return rc;
}

void evidence_say(struct evidence *e, const char *fmt, ...)
{
	va_list ap;

	pthread_mutex_lock(&e->lock);
	if (!e->closed && e->nr_lines < EVIDENCE_MAX_LINES) {
		va_start(ap, fmt);
		vsnprintf(e->lines[e->nr_lines++], sizeof(e->lines[0]), fmt, ap);
		va_end(ap);
	}
	pthread_mutex_unlock(&e->lock);
}

/* ---- waiting ---- */

void evidence_expect(struct evidence *e)
{
	pthread_mutex_lock(&e->lock);
	e->nr_expected++;
	pthread_mutex_unlock(&e->lock);
}

void evidence_complete(struct evidence *e)
{
	pthread_mutex_lock(&e->lock);
	if (e->nr_expected)
		e->nr_expected--;
	pthread_cond_broadcast(&e->cond);
	pthread_mutex_unlock(&e->lock);
}

bool evidence_wait(struct evidence *e, uint64_t max_ns)
{
	struct timespec until;
	bool complete;
	int rc = 0;

	clock_gettime(CLOCK_MONOTONIC, &until);
	max_ns += (uint64_t)until.tv_nsec;
	until.tv_sec += (time_t)(max_ns / 1000000000);
	until.tv_nsec = (long)(max_ns % 1000000000);
	pthread_mutex_lock(&e->lock);
	while (e->nr_expected && !rc)
		rc = pthread_cond_timedwait(&e->cond, &e->lock, &until);
	complete = !e->nr_expected;
	e->closed = true;
	pthread_mutex_unlock(&e->lock);
	return complete;
}

/* ---- reading ---- */

size_t evidence_nr_kinds(const struct evidence *e)
{
	return e->nr_kinds;
}

const struct evidence_kind *evidence_kind_at(const struct evidence *e, size_t i)
{
	return &e->kinds[i];
}

size_t evidence_nr(const struct evidence *e)
{
	return e->places.len / sizeof(struct kept_record);
}

struct evidence_record evidence_at(const struct evidence *e, size_t i)
{
	struct kept_record p;

	memcpy(&p, e->places.p + i * sizeof(p), sizeof(p));
	return (struct evidence_record){p.kind, p.cpu, {e->bytes.p + p.at, p.len}};
}

const char *evidence_line(const struct evidence *e, size_t i)
{
	return i < e->nr_lines ? e->lines[i] : NULL;
}

uint64_t evidence_nr_dropped(const struct evidence *e)
{
	return e->nr_dropped;
}
