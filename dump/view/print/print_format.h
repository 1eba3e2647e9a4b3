/* SPDX-License-Identifier: MIT */
/*
 * A tracepoint's `print fmt`, compiled once and run for each record. Supports the C that kernels use
 * there: format string, expressions over REC->fields, __print_symbolic() and similar functions.
 *
 * libtraceevent is not used because dumps are not trusted: a format can make its parser divide by
 * zero or dereference NULL, and its printer read past a record; it also treats all numbers as
 * unsigned. tests/unit/view/t_fields.c compares the text with libtraceevent's for well-formed input.
 */
#pragma once

#include "dump/base/tpfields.h"
#include "dump/view/base/text.h"

struct program;

/*
 * Compiles the print fmt of `format` with the fields `tp`, which must outlive the program. 0,
 * -ENOMEM, or -EBADMSG when any part of it is unknown: print the fields one by one instead.
 */
int program_new(struct bytes format, const struct tpfields *tp, struct program **out);
void program_free(struct program *prog);

/* Appends the text of a record; data outside of `raw` reads as 0 or "". Safe for a terminal. */
void program_run(const struct program *prog, struct bytes raw, struct text *t);
