/* SPDX-License-Identifier: MIT */
/*
 * One trigger rule, as text and as a struct. Grammar: trigger/RULES.md. The parser knows the
 * grammar; the source checks what an argument means (source.h).
 *
 *	signal:USR1;name=app;cooldown=10s
 *	└source┘└arg┘└──── options ────┘
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

/* How much of the stack is recorded with a hit. */
enum rule_stack {
	RULE_STACK_DEFAULT, /* not given: same as DWARF */
	RULE_STACK_NONE,
	RULE_STACK_FP,	  /* the call chain by frame pointers */
	RULE_STACK_DWARF, /* a copy of `stack_bytes`, unwound when the dump is read */
};

enum rule_op { RULE_OP_NONE, RULE_OP_ABOVE, RULE_OP_BELOW, RULE_OP_NOT_EQUAL, RULE_OP_MATCH };

struct rule {
	char *text;			    /* as written */
	size_t arg_at, op_at, threshold_at; /* offsets in `text`, for rule_err(); 0: not present */
	char *name;   /* ;name=, or derived from the text: letters, digits, - . _ only */
	char *source; /* "signal", "psi", ... */
	char *arg;    /* text after the first ':', before op or ';'; "" when none */
	enum rule_op op;
	char *threshold; /* text after op: "150ms/1s", "200M", "0"; "" when none */
	/* Options; negative: not given, the recorder's default applies. */
	int64_t post_ns;
	int64_t cooldown_ns;
	int64_t kind_cooldown_ns; /* of its source, beside the recorder's; without ;cooldown= */
	int64_t for_ns;
	int32_t max_hits; /* max=N/PERIOD */
	int64_t max_period_ns;
	int32_t min_fill_percent;
	int32_t hysteresis_percent; /* how far below (above, for <) to arm again */
	double probability;	    /* that a hit gets a dump */
	int32_t max_same;	    /* same=N/PERIOD: dumps per signature */
	int64_t same_period_ns;
	enum rule_stack stack;
	uint32_t stack_bytes;
	char *pid_from;	    /* regular expression that finds the pid in a line; NULL: none */
	size_t pid_from_at; /* its offset in `text` */
	bool while_running; /* calls that have not returned yet also count */
};

/* Parses `text`. On failure the error states the position and what was expected and found; the hint
 * shows the rule with a caret. 0, -EINVAL, -ENOMEM. */
int rule_parse(const char *text, struct rule **out, struct err *err);
void rule_free(struct rule *r);

/* The length limit of a name, which may have letters, digits, '-', '.' and '_'. */
#define RULE_NAME_MAX 48

/* Sets an error about the rule `text` at offset `at`: "trigger rule, column N: ...", with the rule
 * and a caret as hint. Sources use it too, for their argument or threshold. Returns -EINVAL. */
int rule_err(const char *text, size_t at, struct err *err, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Whether ;probability= rejects this hit. Uses the kernel's random numbers, so that restarts do not
 * repeat the sequence. */
bool rule_is_unlucky(const struct rule *r);
