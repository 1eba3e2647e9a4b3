/* SPDX-License-Identifier: MIT */
/*
 * Source of a reader's bytes: a regular file, or memory in tests. Every read is checked against the
 * length at the time of opening; reading a file that became shorter returns an error.
 */
#pragma once

#include "dump/base/bytes.h"

struct err;

struct input {
	int fd; /* -1: memory */
	struct bytes mem;
	uint64_t size;
};

/* Regular files only: refuses a FIFO or a device without blocking. 0 or -errno. */
int input_open(const char *path, struct input *out, struct err *err);
void input_close(struct input *in);

/* Exactly `n` bytes at `off`: 0, -EBADMSG outside of the file, or the errno of pread(2). */
int input_read(const struct input *in, uint64_t off, void *dst, size_t n);
