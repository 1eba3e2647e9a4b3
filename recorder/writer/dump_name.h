/* SPDX-License-Identifier: MIT */
/*
 * Names of dump files. The store writes, counts and deletes only files with names of this form.
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

/* The host name, with the characters that file names allow. `out` should have at least 65 bytes. */
void dump_name_host(char *out, size_t n);

/* Makes a name without ".part". Replaces characters in `host` and `trigger` and cuts both to
 * fit. */
void dump_name_make(char out[DUMPNAME_BYTES], const char *host, uint64_t real_ns,
		    const char *trigger);

/* True when `name` has exactly this form. *time points to its time within `name`: memcmp() of the
 * times orders dumps by age. */
bool dump_name_parse(const char *name, const char **time, bool *part);
