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
#include <sys/stat.h>

#define DUMPNAME_BYTES	    192
#define DUMPNAME_TIME_CHARS 20 /* "20261121T005331.123Z" */
#define DUMPNAME_RULE_BYTES 49

/* Mode bit of a pinned dump, which the limits never delete: the sticky bit, which has no effect on
 * a file, leaves name and permissions as they are, needs no extended attributes, and is kept by
 * rename, cp -p and rsync -a. */
#define DUMPNAME_PINNED S_ISVTX

/* The host name, with the characters that file names allow. `out` should have at least 65 bytes. */
void dump_name_host(char *out, size_t n);

/* Makes a name without ".part". Replaces characters in `host` and `trigger` and cuts both to
 * fit. */
void dump_name_make(char out[DUMPNAME_BYTES], const char *host, uint64_t real_ns,
		    const char *trigger);

/* True when `name` has exactly this form. *time points to its time within `name`: memcmp() of the
 * times orders dumps by age. */
bool dump_name_parse(const char *name, const char **time, bool *part);

/* The rule's name in a name, after the time that dump_name_parse() found. */
void dump_name_rule(char out[DUMPNAME_RULE_BYTES], const char *time);

/* A time as names have it. */
void dump_name_time(char out[DUMPNAME_TIME_CHARS + 1], uint64_t real_ns);
