/* SPDX-License-Identifier: MIT */
/*
 * The place of a hardware breakpoint: a function or variable of a file, with a different address in
 * each process that maps the file, or an address in one process.
 *
 *	PATH:SYMBOL[+OFF][:MODE]   PID:SYMBOL[+OFF][:MODE]   PID:0xADDRESS[:MODE]
 *
 * MODE is x (executed), w (written) or rw (read or written). A size of 1, 2, 4 or 8 bytes may
 * follow w or rw.
 */
#pragma once

#include "dump/base/elf.h"

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct rule;

struct watch_place {
	char *path;			 /* of the file, symlinks resolved; NULL: an address */
	char *given;			 /* as written: programs may be started by that name */
	char *what;			 /* "PATH:SYMBOL+0x10", for messages */
	pid_t pid;			 /* 0: all processes that map the file */
	bool code;			 /* true: executed; false: read or written */
	bool reading;			 /* reads count too */
	uint8_t bytes;			 /* 1, 2, 4 or 8 */
	uint64_t value;			 /* the symbol's link-time value, or the address */
	uint64_t whole_bytes;		 /* size of the variable; 0: unknown */
	struct elf_segment code_segment; /* locates the file in a process's maps */
	dev_t dev;
	ino_t ino;
};

/* Parses the rule's argument; errors point at it. After success call watch_place_fini(). */
int watch_place_parse(const struct rule *r, struct watch_place *out, struct err *err);
void watch_place_fini(struct watch_place *p);

/* The address in a process; false: the process does not map the file, or can't be read. */
bool watch_place_in(const struct watch_place *p, pid_t pid, uint64_t *addr);

/* Sets type, bp_* and sample_period. */
void watch_place_attr(const struct watch_place *p, uint64_t addr, struct perf_event_attr *attr);
