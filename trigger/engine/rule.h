/* SPDX-License-Identifier: MIT */
/*
 * One trigger rule, as text and as a struct. Grammar: trigger/RULES.md. Parsing knows the grammar;
 * what an argument means is the source's business (source.h).
 *
 *	signal:USR1;name=app;cooldown=10s
 *	└source┘└arg┘└──── options ────┘
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

/* What of the stack is recorded with a hit. */
enum rule_stack {
	RULE_STACK_DEFAULT, /* not given: as DWARF */
	RULE_STACK_NONE,
	RULE_STACK_FP,	  /* the call chain by frame pointers */
	RULE_STACK_DWARF, /* a copy of `stack_bytes`, unwound when the dump is read */
};

enum rule_op { RULE_OP_NONE, RULE_OP_ABOVE, RULE_OP_BELOW, RULE_OP_NOT_EQUAL, RULE_OP_MATCH };

struct rule {
	char *text; /* as written */
	size_t arg_at, op_at,
		threshold_at; /* where these stand in `text`, for rule_err(); 0: nowhere */
	char *name;	      /* ;name=, else made from the text: letters, digits, - . _ only */
	char *source;	      /* "signal", "psi", ... */
	char *arg; /* what stands after the first ':' and before op or ';'; "" when none */
	enum rule_op op;
	char *threshold; /* text after op: "150ms/1s", "200M", "0"; "" when none */
	/* Options; negative: not given, the recorder's own value holds. */
	int64_t post_ns;
	int64_t cooldown_ns;
	int64_t for_ns;
	int32_t max_hits; /* max=N/PERIOD */
	int64_t max_period_ns;
	int32_t min_fill_percent;
	int32_t hysteresis_percent; /* how far below (above, for <) it must go to be armed again */
	double probability;	    /* of a hit to be answered */
	int32_t max_same;	    /* same=N/PERIOD: dumps of one signature */
	int64_t same_period_ns;
	enum rule_stack stack;
	uint32_t stack_bytes;
	char *pid_from;	    /* a regular expression that finds the pid in a line; NULL: none */
	size_t pid_from_at; /* where it stands in `text` */
	bool while_running; /* calls that have not returned yet count too */
};

/*
 * Parses `text`. On failure the error names the position, with the rule and a caret line in the
 * hint: what stands there and what was expected. 0, -EINVAL, -ENOMEM.
 */
int rule_parse(const char *text, struct rule **out, struct err *err);
void rule_free(struct rule *r);

/* What a name may have: letters, digits, '-', '.', '_', at most this many of them. */
#define RULE_NAME_MAX 48

/*
 * An error about the rule `text` at offset `at`: "trigger rule, column N: ..." and as hint the rule
 * with a caret under the place. Also for sources, about their argument or threshold. Returns
 * -EINVAL.
 */
int rule_err(const char *text, size_t at, struct err *err, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Whether ;probability= is against it this time: decided by the kernel's dice, so that restarts do
 * not repeat it. */
bool rule_is_unlucky(const struct rule *r);
