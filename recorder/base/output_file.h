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
struct output_file;

/* 0; -EEXIST when `path` is there and not to be replaced; or another errno. */
int output_file_open(const char *path, bool replace, struct output_file **out, struct err *err);
/* To write to; ends with it. */
FILE *output_file_stream(struct output_file *o);
/* Gives it its name. 0 or a negative errno; output_file_close() is due in any case. */
int output_file_commit(struct output_file *o, struct err *err);
/* What was not committed is gone. NULL is fine. */
void output_file_close(struct output_file *o);
