/* SPDX-License-Identifier: MIT */
/*
 * What `ringback doctor` finds, as data: one line a check, in groups, each with its state, the
 * reason with the setting's present value, and what to type to allow more. cmd_doctor.c prints it.
 *
 *	doctor_examine()   doctor.c            the frame: machine, verdict, recommendation
 *	  doctor_reach()   doctor_reach.c      what can be recorded
 *	  doctor_limits()  doctor_limits.c     memory and descriptors
 *	  doctor_content() doctor_content.c    what a dump will hold; settings of crashes
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
	DOCTOR_FACT, /* nothing to judge */
};

struct doctor_line {
	const char *group, *name;
	enum doctor_state state;
	bool wanted;	 /* counts in the verdict when it is not ok: somebody can change it */
	char text[400];	 /* why, with values; safe to print */
	char allow[400]; /* a command; "" there is none */
	char keep[300];	 /* how to keep it over a reboot; "" */
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

/* ---- for the files that make the lines ---- */

void doctor_reach(struct doctor *d);
void doctor_limits(struct doctor *d);
void doctor_content(struct doctor *d);

/* Begins a line; `wanted` as above. Text comes from the format, made safe. */
struct doctor_line *doctor_add(struct doctor *d, const char *group, const char *name,
			       enum doctor_state state, bool wanted, const char *fmt, ...)
	__attribute__((format(printf, 6, 7)));
/* The command, for a shell. */
void doctor_allow(struct doctor_line *l, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void doctor_keep(struct doctor_line *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Both for a sysctl: "kernel.perf_event_paranoid". */
void doctor_allow_sysctl(struct doctor_line *l, const char *name, int64_t value);
/* Both for giving this program its capabilities. */
void doctor_allow_setcap(struct doctor_line *l);
