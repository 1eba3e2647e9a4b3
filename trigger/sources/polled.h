/* SPDX-License-Identifier: MIT */
/*
 * The core of sources that read a value now and then and compare it with a threshold: load, mem,
 * rss, cpu. A kind is a row of `struct polled_ops` and its own data behind `struct source`; the
 * functions below go into its `struct source_ops`.
 */
#pragma once

#include "trigger/engine/source.h"
#include "trigger/sources/poll_timer.h"
#include "trigger/sources/process.h"
#include "trigger/sources/threshold.h"

#include <stddef.h>

struct polled_ops {
	size_t bytes; /* of the kind's own struct, which begins with a struct source */
	/* 1: *value, and *began_ns when it covers a time; 0: no value yet; -errno: it can't be met
	 * any more. */
	int (*look)(struct source *s, uint64_t now_ns, double *value, uint64_t *began_ns,
		    struct err *err);
	void (*value_text)(const struct source *s, double value, char *out, size_t n);
	void (*more)(const struct source *s, struct sighting *what); /* further lines; or NULL */
};

struct source {
	const struct polled_ops *ops;
	int fd;			/* what look() reads; -1: none */
	struct process process; /* the one it is about; pid 0: none */
	struct poll_timer tick;
	struct threshold level;
	unsigned step_s; /* between two looks; 0: by the distance from the threshold, where */
	double fastest;	 /* the value changes by this much a second at most; 0: unknown */
	char threshold[32];
};

/* A source without descriptors, for the kind to open; the threshold as the rule has it. */
int polled_new(const struct polled_ops *ops, const struct rule *r, struct source **out,
	       struct err *err);
/* The last step of opening: starts the timer. With `rc`, or when that fails, the source is closed;
 * else *out is it. Returns the error. */
int polled_start(struct source *s, int rc, struct source **out, struct err *err);

int polled_fd(const struct source *s, uint32_t *events);
int polled_ready(struct source *s, struct sighting *what, struct err *err);
void polled_costs(const struct source *s, struct source_plan *out);
void polled_close(struct source *s);

/* The rows of struct source_ops that are the same for each kind. */
#define POLLED_OPS .fd = polled_fd, .ready = polled_ready, .close = polled_close

/* A file of /proc into `buf`, as text; -errno. */
int polled_read(const struct source *s, char *buf, size_t n);
