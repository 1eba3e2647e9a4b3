/* SPDX-License-Identifier: MIT */
/*
 * Where a reader's bytes come from: a regular file, or memory in tests. Every read is checked
 * against the length found when it was opened; a file that got shorter since gives an error.
 */
#pragma once

#include "dump/base/bytes.h"

struct err;

struct input {
	int fd; /* -1: memory */
	struct bytes mem;
	uint64_t size;
};

/* Regular files only: a FIFO or a device is refused without waiting for it. 0 or -errno with text.
 */
int input_open(const char *path, struct input *out, struct err *err);
void input_close(struct input *in);

/* Exactly `n` bytes at `off`: 0, -EBADMSG outside of the file, or the errno of pread(2). */
int input_read(const struct input *in, uint64_t off, void *dst, size_t n);
