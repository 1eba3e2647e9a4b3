/* SPDX-License-Identifier: MIT */
/*
 * The core of sources that poll a value and compare it with a threshold: load, mem, rss, cpu. A
 * kind defines a `struct polled_ops` and its own struct that begins with `struct source`. The
 * functions below go into its `struct source_ops`.
 */
#pragma once

#include "trigger/engine/source.h"
#include "trigger/sources/poll_timer.h"
#include "trigger/sources/process.h"
#include "trigger/sources/threshold.h"

#include <stddef.h>

struct polled_ops {
	size_t bytes; /* size of the kind's own struct, which begins with a struct source */
	/* 1: *value, and *began_ns if the value covers a time span; 0: no value yet; -errno: the
	 * rule can't be met any more. */
	int (*look)(struct source *s, uint64_t now_ns, double *value, uint64_t *began_ns,
		    struct err *err);
	void (*value_text)(const struct source *s, double value, char *out, size_t n);
	void (*more)(const struct source *s, struct sighting *what); /* adds lines; or NULL */
};

struct source {
	const struct polled_ops *ops;
	int fd;			/* for look() to read; -1: none */
	struct process process; /* the process measured; pid 0: none */
	struct poll_timer tick;
	struct threshold level;
	unsigned step_s; /* between two polls; 0: depends on the distance from the threshold */
	double fastest;	 /* the most the value changes per second; 0: unknown */
	char threshold[32];
};

/* Allocates a source without descriptors, with the threshold's text from the rule. 0 or -errno. */
int polled_new(const struct polled_ops *ops, const struct rule *r, struct source **out,
	       struct err *err);
/* The last step of opening: starts the timer and sets *out. If `rc` is an error, or this fails,
 * closes the source and returns the error. */
int polled_start(struct source *s, int rc, struct source **out, struct err *err);

int polled_fd(const struct source *s, uint32_t *events);
int polled_ready(struct source *s, struct sighting *what, struct err *err);
void polled_costs(const struct source *s, struct source_plan *out);
void polled_close(struct source *s);

/* The members of struct source_ops that are the same for each kind. */
#define POLLED_OPS .fd = polled_fd, .ready = polled_ready, .close = polled_close

/* Reads s->fd, a file of /proc, into `buf` as a string. 0 or -errno. */
int polled_read(const struct source *s, char *buf, size_t n);
