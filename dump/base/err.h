/* SPDX-License-Identifier: MIT */
/*
 * An error text: what failed and what to do about it.
 *
 * A function that opens or parses takes a `struct err *` (NULL: the text is dropped), returns 0 or
 * a negative errno, and leaves its results untouched on failure. Library code fills the error; only
 * recorder/base/log.c prints it.
 */
#pragma once

struct err {
	char what[600]; /* one sentence, no newline, no trailing full stop */
	char hint[600]; /* what to type or change; may be empty */
};

#define ERR_INIT                                                                                   \
	{                                                                                          \
		{0},                                                                               \
		{                                                                                  \
			0                                                                          \
		}                                                                                  \
	}

/*
 * Sets `what` (clears `hint`) and returns `code`, a negative errno, so that a function can end with
 * `return err_set(err, -EINVAL, "...")`. The text of the errno is not appended.
 */
int err_set(struct err *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* As err_set, and appends ": " and the text of errno `-code`. */
int err_sys(struct err *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Sets the hint of an error already set. */
void err_hint(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Puts "CONTEXT: " before `what`. */
void err_prefix(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
