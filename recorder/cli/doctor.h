/* SPDX-License-Identifier: MIT */
/*
 * The result of `ringback doctor` as data: one line for each check, in groups, with its state, the
 * reason with the setting's value, and the command that allows more. cmd_doctor.c prints it.
 *
 *	doctor_examine()   doctor.c            machine, verdict
 *	  doctor_reach()   doctor_reach.c      what can be recorded
 *	  doctor_limits()  doctor_limits.c     memory and descriptors
 *	  doctor_content() doctor_content.c    content of dumps; settings for crashes
 */
#pragma once

#include "trigger/kernel/caps.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum doctor_state {
	DOCTOR_OK,
	DOCTOR_LIMITED,
	DOCTOR_NO,
	DOCTOR_FACT, /* information only */
};

struct doctor_line {
	const char *group, *name;
	enum doctor_state state;
	bool wanted;	 /* true: reported as a limit if not ok, since it can be changed */
	char text[400];	 /* the reason, with values; safe to print */
	char allow[400]; /* a command; "": none */
	char keep[300];	 /* a command that makes it permanent; "": none */
};

struct doctor {
	struct caps caps;
	char release[72], machine[72], user[72], cpu_model[128], clocksource[64];
	unsigned cpus_online, cpus_possible;
	uint64_t mem_bytes;
	uint64_t ring_bytes; /* recommended for -m: per CPU and bank */
	uint64_t total_ring_bytes;
	struct doctor_line lines[40];
	size_t nr;
	unsigned nr_limited;
	char verdict[300];
};

void doctor_examine(struct doctor *d);

/* ---- for doctor_*.c ---- */

void doctor_reach(struct doctor *d);
void doctor_limits(struct doctor *d);
void doctor_content(struct doctor *d);

/* Adds a line; the text is made safe to print. */
struct doctor_line *doctor_add(struct doctor *d, const char *group, const char *name,
			       enum doctor_state state, bool wanted, const char *fmt, ...)
	__attribute__((format(printf, 6, 7)));
/* Sets the shell command. */
void doctor_allow(struct doctor_line *l, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void doctor_keep(struct doctor_line *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Sets both commands for a sysctl: "kernel.perf_event_paranoid". */
void doctor_allow_sysctl(struct doctor_line *l, const char *name, int64_t value);
/* Sets both commands for giving this program capabilities. */
void doctor_allow_setcap(struct doctor_line *l);
