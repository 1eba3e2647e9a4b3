/* SPDX-License-Identifier: MIT */
/*
 * A file that a command makes (-o FILE): it appears under its name when all of it is there, or not
 * at all. Mode 0600, since what comes out of a dump is as private as the dump. What is there
 * already is only replaced when that was asked for; a pipe or a device is written to as it is.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

struct err;
struct outfile;

/* 0; -EEXIST when `path` is there and not to be replaced; or another errno. */
int outfile_open(const char *path, bool replace, struct outfile **out, struct err *err);
/* To write to; ends with it. */
FILE *outfile_stream(struct outfile *o);
/* Gives it its name. 0 or a negative errno; outfile_close() is due in any case. */
int outfile_commit(struct outfile *o, struct err *err);
/* What was not committed is gone. NULL is fine. */
void outfile_close(struct outfile *o);
