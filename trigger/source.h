/* SPDX-License-Identifier: MIT */
/*
 * A kind of trigger as a table row: what it is called, how it is written, and how it turns a rule
 * into file descriptors that become readable when the rule is met. Adding a kind is one src_*.c and
 * one row in source.c.
 */
#pragma once

#include "trigger/rule.h"

#include <signal.h>

struct err;
struct source; /* an armed rule; each kind defines its own */

/* What a rule saw when it was met; goes into the dump as "key=value" lines. */
struct sighting {
	uint64_t ns;		/* CLOCK_MONOTONIC */
	uint32_t pid, tid, uid; /* whom it is about; 0: nobody */
	uint32_t nr_hits;	/* hits in this reading: one signal may stand for many */
	char reason[256];	/* free text of whoever asked; "" when none */
	char saw[8][192];	/* "key=value" */
	uint32_t nr_saw;
};

/* Adds a "key=value" line to a sighting; silently full at its bound. */
void sighting_add(struct sighting *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

struct source_ops {
	const char *name;    /* before the ':' */
	const char *syntax;  /* "signal:NAME", for --help and RULES.md */
	const char *help;    /* one line */
	const char *example; /* a rule that works on most machines */
	/* Called when: once at start (and after SIGHUP). Checks arg, op and threshold. 0 or -errno.
	 */
	int (*open)(const struct rule *r, struct source **out, struct err *err);
	/* The descriptor to wait on (POLLIN unless `events` says otherwise). */
	int (*fd)(const struct source *s, uint32_t *events);
	/* Called when: that descriptor is ready. 1: the rule is met, *what filled in; 0: not (yet).
	 */
	int (*ready)(struct source *s, struct sighting *what, struct err *err);
	/*
	 * The signals it waits on, added to `set`; NULL: none. The engine blocks them while the
	 * source is open and refuses two sources that wait on one signal, since only one of them
	 * would get it.
	 */
	void (*signals)(const struct source *s, sigset_t *set);
	/* Called when: the recorder stops. NULL and half-open allowed. */
	void (*close)(struct source *s);
};

/* All kinds, ended by NULL. */
extern const struct source_ops *const source_table[];
extern const struct source_ops source_signal;
/* The row of that name; NULL when this build has none. */
const struct source_ops *source_find(const char *name);
