/* SPDX-License-Identifier: MIT */
/*
 * A tracepoint's `print fmt`, compiled once and run for each record. Reads the C that kernels put
 * there (format string, expressions over REC->fields, __print_symbolic() and its like).
 *
 * Not libtraceevent's: a dump comes from elsewhere, and that parser can be made to divide by zero
 * or read through NULL by a format, its printer to read past a record; it also takes all numbers
 * for unsigned. tests/unit/view/t_fields.c holds the text to what libtraceevent prints for
 * well-formed input.
 */
#pragma once

#include "dump/base/tpfields.h"
#include "dump/view/base/text.h"

struct program;

/*
 * Compiles the print fmt of `format`, whose fields are `tp`, which must outlive the program.
 * -EBADMSG: it isn't understood as a whole (print the fields one by one instead). 0 or -ENOMEM
 * besides.
 */
int program_new(struct bytes format, const struct tpfields *tp, struct program **out);
void program_free(struct program *prog);

/* Appends the text of a record; what lies outside of `raw` reads as 0 or "". Safe for a terminal.
 */
void program_run(const struct program *prog, struct bytes raw, struct text *t);
