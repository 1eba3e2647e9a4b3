/* SPDX-License-Identifier: MIT */
/* Checks that sources make on their rules, with errors that point at the position; and conversion
 * of threshold values from and to text. */
#pragma once

#include "trigger/engine/rule.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Requires an argument: "expected ':' and WHAT, such as EXAMPLE". All checks return 0 or -EINVAL.
 */
int rule_check_arg(const struct rule *r, const char *what, const char *example, struct err *err);
int rule_check_no_arg(const struct rule *r, const char *example, struct err *err);
/* Requires a comparison that is one of `ops` (">", "><" for both, "!>", "~"). */
int rule_check_op(const struct rule *r, const char *ops, const char *example, struct err *err);
/* For a rule about a value: argument, comparison and no while-running. `what` NULL: no argument. */
int rule_check_value(const struct rule *r, const char *what, const char *ops, const char *example,
		     struct err *err);
int rule_check_no_op(const struct rule *r, struct err *err);
/* Rejects for= and hysteresis= where nothing is measured. `what` names the event: "the end of a
 * process". */
int rule_check_moment(const struct rule *r, const char *what, struct err *err);
/* Rejects while-running. */
int rule_check_no_call(const struct rule *r, struct err *err);

/* The threshold is a plain number. */
int rule_check_number(const struct rule *r, double *out, struct err *err);
/* The threshold is a size ("2G") or a share of `whole` bytes ("10%"). */
int rule_check_size(const struct rule *r, double whole, double *out, struct err *err);
/* The threshold is "AMOUNT/TIME" or, when *per_ns is set, "AMOUNT". Copies AMOUNT. */
int rule_check_per(const struct rule *r, char *amount, size_t n, int64_t *per_ns, struct err *err);

/* Formats as "2.004G", "812M", "4K", "17B", the syntax of rules. Returns `out`. */
char *value_fmt_size(char *out, size_t n, double bytes);
