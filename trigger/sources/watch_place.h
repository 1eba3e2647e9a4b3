/* SPDX-License-Identifier: MIT */
/*
 * Where a hardware breakpoint goes: a function or variable of a file, which is at another address
 * in each process that has the file mapped, or an address of one process.
 *
 *	PATH:SYMBOL[+OFF][:MODE]   PID:SYMBOL[+OFF][:MODE]   PID:0xADDRESS[:MODE]
 *
 * MODE is x (executed), w (written) or rw (read or written), and 1, 2, 4 or 8 bytes behind w or rw.
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
	char *path;			 /* of the file, links resolved; NULL: an address */
	char *given;			 /* as written, for programs started by that name */
	char *what;			 /* "PATH:SYMBOL+0x10": for people */
	pid_t pid;			 /* of the one process; 0: all that have the file */
	bool code;			 /* executed; else read or written */
	bool reading;			 /* reads, too */
	uint8_t bytes;			 /* 1, 2, 4 or 8 */
	uint64_t value;			 /* as linked; or the address */
	uint64_t whole_bytes;		 /* of the variable; 0: unknown */
	struct elf_segment code_segment; /* by which the file is found in a process */
	dev_t dev;
	ino_t ino;
};

/* From the rule's argument; errors point at it. On success watch_place_fini() is due. */
int watch_place_parse(const struct rule *r, struct watch_place *out, struct err *err);
void watch_place_fini(struct watch_place *p);

/* Its address in a process; false: that has no such file mapped, or may not be looked into. */
bool watch_place_in(const struct watch_place *p, pid_t pid, uint64_t *addr);

/* type, bp_* and sample_period. */
void watch_place_attr(const struct watch_place *p, uint64_t addr, struct perf_event_attr *attr);

/* The number at its address, as far as it can be read. */
bool watch_place_read(const struct watch_place *p, pid_t pid, uint64_t addr, uint64_t *out);
