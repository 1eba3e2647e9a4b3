/* SPDX-License-Identifier: MIT */
/* Arms a source by a rule's text, without an engine, and takes its hits one by one. For unit tests
 * of sources. */
#pragma once

#include "dump/base/err.h"
#include "trigger/engine/source.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

struct armed {
	const struct source_ops *ops;
	struct source *source;
};

static struct armed arm(const char *text)
{
	struct err err = ERR_INIT;
	struct rule *r;
	struct armed a;

	assert_int_equal(rule_parse(text, &r, NULL), 0);
	a.ops = source_find(r->source);
	assert_non_null(a.ops);
	if (a.ops->open(r, NULL, &a.source, &err))
		fail_msg("%s: %s; %s", text, err.what, err.hint);
	rule_free(r);
	return a;
}

/* Waits up to `ms` for a hit: 1 and the hit, or 0. */
static int hit(const struct armed *a, struct sighting *what, int ms)
{
	uint32_t events = POLLIN;
	struct pollfd p = {.fd = a->ops->fd(a->source, &events), .events = POLLIN};
	struct err err = ERR_INIT;

	for (;; ms -= 10) {
		int rc;

		memset(what, 0, sizeof(*what));
		rc = a->ops->ready(a->source, what, &err);
		if (rc < 0)
			fail_msg("%s", err.what);
		if (rc || ms <= 0)
			return rc;
		poll(&p, 1, 10);
	}
}

/* Takes all pending hits; returns their number. */
static int hits(const struct armed *a)
{
	struct sighting what;
	int n = 0;

	while (hit(a, &what, 0)) {
		n += (int)what.nr_hits;
		sighting_fini(&what);
	}
	return n;
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* `sleep` of just less than the threshold is no hit. On a busy machine it may get longer: anew. */
static inline void is_no_hit(const struct armed *a, int threshold_ms, void (*sleep)(int ms))
{
	int64_t from;

	do {
		hits(a);
		from = now_ms();
		sleep(threshold_ms - 5);
	} while (now_ms() - from >= threshold_ms - 1);
	assert_int_equal(hits(a), 0);
}

static const char *saw(const struct sighting *what, const char *key)
{
	size_t n = strlen(key);

	for (uint32_t i = 0; i < what->nr_saw; i++)
		if (!strncmp(what->saw[i], key, n) && what->saw[i][n] == '=')
			return what->saw[i] + n + 1;
	return "(not there)";
}
