/* SPDX-License-Identifier: MIT */
/*
 * What a source wants of a rule, checked with errors that point at the place; and the values that
 * stand behind a comparison, read and written as people write them.
 */
#pragma once

#include "trigger/engine/rule.h"

#include <stddef.h>
#include <stdint.h>

/* "expected ':' and WHAT, such as EXAMPLE". 0 or -EINVAL, as all of these. */
int rule_check_arg(const struct rule *r, const char *what, const char *example, struct err *err);
int rule_check_no_arg(const struct rule *r, const char *example, struct err *err);
/* A comparison that is one of `ops` (">", "><" for both, "!>", "~"). */
int rule_check_op(const struct rule *r, const char *ops, const char *example, struct err *err);
/* A rule about a value: both, and no while-running. `what` NULL: it takes no argument. */
int rule_check_value(const struct rule *r, const char *what, const char *ops, const char *example,
		     struct err *err);
int rule_check_no_op(const struct rule *r, struct err *err);
/* Nothing is measured, so for= and hysteresis= make no sense; `what` says what it is about: "the
 * end of a process". */
int rule_check_moment(const struct rule *r, const char *what, struct err *err);
/* No while-running. */
int rule_check_no_call(const struct rule *r, struct err *err);

/* The threshold is a plain number. */
int rule_check_number(const struct rule *r, double *out, struct err *err);
/* The threshold is a size ("2G") or a share of `whole` bytes ("10%"). */
int rule_check_size(const struct rule *r, double whole, double *out, struct err *err);
/* The threshold is "AMOUNT/TIME" or, when `per_ns` had a value, "AMOUNT": copies AMOUNT. */
int rule_check_per(const struct rule *r, char *amount, size_t n, int64_t *per_ns, struct err *err);

/* "2.004G", "812M", "4K", "17B": as rules have it. Returns `out`. */
char *value_fmt_size(char *out, size_t n, double bytes);
