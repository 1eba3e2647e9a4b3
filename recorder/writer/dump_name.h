/* SPDX-License-Identifier: MIT */
/*
 * The name of a dump: what the store writes, and the only names it ever counts or deletes.
 *
 *	ringback-HOST-20261121T005331.123Z-TRIGGER.rbd[.part]
 *	         └ letters, digits, . -   └ the same and _
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DUMPNAME_BYTES	    192
#define DUMPNAME_TIME_CHARS 20 /* "20261121T005331.123Z" */

/* This machine's name as it stands in file names; at least 65 bytes are wanted. */
void dump_name_host(char *out, size_t n);

/* Without ".part". `host` and `trigger` are made safe and cut where needed. */
void dump_name_make(char out[DUMPNAME_BYTES], const char *host, uint64_t real_ns,
		    const char *trigger);

/* True when `name` has exactly this form; *time points to its time within `name`, so that names
 * order by age with memcmp. */
bool dump_name_parse(const char *name, const char **time, bool *part);
