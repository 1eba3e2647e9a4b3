/* SPDX-License-Identifier: MIT */
/*
 * The output file of a command (-o FILE). The name appears when the file is complete, or not at
 * all. Mode 0600, since exported data is as private as the dump. An existing file is replaced only
 * on request; a pipe or a device is written directly.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

struct err;
struct output_file;

/* 0; -EEXIST when `path` exists and `replace` is false; or another errno. */
int output_file_open(const char *path, bool replace, struct output_file **out, struct err *err);
/* The stream to write to; closed by output_file_close(). */
FILE *output_file_stream(struct output_file *o);
/* Gives the file its name. 0 or a negative errno; the caller must call output_file_close() in any
 * case. */
int output_file_commit(struct output_file *o, struct err *err);
/* Discards a file that was not committed. NULL is allowed. */
void output_file_close(struct output_file *o);
