// SPDX-License-Identifier: MIT
/*
 * Parses rule text into struct rule in one pass; called for every -T and every [trigger] of the
 * configuration. Grammar: RULES.md. An accepted rule has the right shape and a name that is safe in
 * a file name; the source checks what argument and threshold mean.
 */
#include "trigger/engine/rule.h"

#include "dump/base/err.h"
#include "dump/base/str.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define RULE_TEXT_MAX 8192
#define MAX_HITS_MAX  10000
#define DEFAULT_STACK 8192
#define MAX_STACK     (63u << 10)

struct parse {
	const char *text;
	size_t at;
	uint32_t seen_options; /* bit: index into options[] */
	struct err *err;
};

struct option {
	const char *name;
	const char *form;
	/* `value` is the text at p->at; errors point there. */
	int (*set)(struct parse *p, struct rule *r, const char *value);
	bool flag; /* takes no value */
};

/* ---- errors ---- */

static bool is_continuation(char c)
{
	return (c & 0xc0) == 0x80;
}

/* The hint: the rule, or the part of a long one around `at`, with a caret under `at`. */
static void point_at(const char *text, size_t at, struct err *err)
{
	size_t len = strlen(text), from = at > 90 ? at - 80 : 0, to = len;
	size_t column = from ? 3 : 0;
	char line[200];
	int n = 0;

	if (to > at + 60)
		to = at + 50;
	while (from && from < at && is_continuation(text[from]))
		from++;
	while (to < len && is_continuation(text[to]))
		to++;
	for (size_t i = from; i < to; i++) {
		line[n++] = iscntrl((unsigned char)text[i]) ? '?' : text[i];
		if (i < at && !is_continuation(text[i]))
			column++;
	}
	err_hint(err, "%s%.*s%s\n%*s^", from ? "..." : "", n, line, to < len ? "..." : "",
		 (int)column, "");
}

int rule_err(const char *text, size_t at, struct err *err, const char *fmt, ...)
{
	char what[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	err_set(err, -EINVAL, "trigger rule, column %zu: %s", at + 1, what);
	if (err)
		point_at(text, at, err);
	return -EINVAL;
}

/* Error "expected X, found Y"; Y is the text at p->at up to the next ';'. */
static int expected(struct parse *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static int expected(struct parse *p, const char *fmt, ...)
{
	const char *found = p->text + p->at;
	size_t n = *found == ';' ? 1 : strcspn(found, ";");
	char what[256], safe[80];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	if (!n)
		return rule_err(p->text, p->at, p->err, "expected %s, found the end of the rule",
				what);
	str_safe(safe, sizeof(safe), found, n > 24 ? 24 : n);
	return rule_err(p->text, p->at, p->err, "expected %s, found '%s'%s", what, safe,
			n > 24 ? "..." : "");
}

/* No caret: there is no text to point at. */
static int empty_rule(struct parse *p)
{
	err_set(p->err, -EINVAL, "the trigger rule is empty");
	err_hint(p->err, "write what to wait for, such as signal:USR1;name=app; "
			 "SIGUSR2 and ringback trigger need no rule");
	return -EINVAL;
}

/* ---- pieces of text ---- */

static char here(const struct parse *p)
{
	return p->text[p->at];
}

static void skip_space(struct parse *p)
{
	while (isspace((unsigned char)here(p)))
		p->at++;
}

/* A copy of [from, p->at) without white space at its ends. */
static char *piece(const struct parse *p, size_t from)
{
	size_t to = p->at;

	while (from < to && isspace((unsigned char)p->text[from]))
		from++;
	while (to > from && isspace((unsigned char)p->text[to - 1]))
		to--;
	return strndup(p->text + from, to - from);
}

static bool is_name_char(char c)
{
	return isalnum((unsigned char)c) || c == '-' || c == '.' || c == '_';
}

/* ---- options ---- */

static int set_name(struct parse *p, struct rule *r, const char *value)
{
	size_t n = strlen(value);

	for (size_t i = 0; i < n; i++) {
		if (!is_name_char(value[i])) {
			p->at += i;
			return expected(p, "a name of letters, digits, '-', '.' and '_'");
		}
	}
	if (n > RULE_NAME_MAX)
		return rule_err(p->text, p->at, p->err,
				"the name has %zu characters; the limit is %d", n, RULE_NAME_MAX);
	r->name = strdup(value);
	return r->name ? 0 : -ENOMEM;
}

static int set_time(struct parse *p, const char *value, int64_t *ns)
{
	int64_t v;

	if (str_time(value, &v, NULL) || v < 0)
		return expected(p, "a time such as 250ms, 10s or 1h");
	*ns = v;
	return 0;
}

static int set_post(struct parse *p, struct rule *r, const char *value)
{
	return set_time(p, value, &r->post_ns);
}

static int set_cooldown(struct parse *p, struct rule *r, const char *value)
{
	return set_time(p, value, &r->cooldown_ns);
}

static int set_for(struct parse *p, struct rule *r, const char *value)
{
	return set_time(p, value, &r->for_ns);
}

/* "5/24h" */
static int set_count(struct parse *p, const char *value, int32_t *nr, int64_t *period_ns)
{
	const char *slash = strchr(value, '/');
	char count[16];
	uint64_t n;
	int64_t period;

	snprintf(count, sizeof(count), "%.*s", (int)(slash ? slash - value : 0), value);
	if (!slash || str_u64(count, &n, NULL) || !n || n > MAX_HITS_MAX ||
	    str_time(slash + 1, &period, NULL) || period <= 0)
		return expected(p, "a number from 1 to %d, '/' and a time, such as 5/24h",
				MAX_HITS_MAX);
	*nr = (int32_t)n;
	*period_ns = period;
	return 0;
}

static int set_max(struct parse *p, struct rule *r, const char *value)
{
	return set_count(p, value, &r->max_hits, &r->max_period_ns);
}

static int set_percent(struct parse *p, const char *value, int32_t *percent)
{
	size_t n = strlen(value);
	char number[16];
	uint64_t v;

	if (value[n - 1] == '%')
		n--;
	snprintf(number, sizeof(number), "%.*s", (int)n, value);
	if (str_u64(number, &v, NULL) || v > 100)
		return expected(p, "0%% to 100%%");
	*percent = (int32_t)v;
	return 0;
}

static int set_min_fill(struct parse *p, struct rule *r, const char *value)
{
	return set_percent(p, value, &r->min_fill_percent);
}

static int set_hysteresis(struct parse *p, struct rule *r, const char *value)
{
	return set_percent(p, value, &r->hysteresis_percent);
}

/* 10% and 0.1 are the same. */
static int set_probability(struct parse *p, struct rule *r, const char *value)
{
	char *end;
	double v = strtod(value, &end);

	if (*end == '%' && end > value) {
		v /= 100;
		end++;
	}
	if (end == value || *end || !(v > 0 && v <= 1))
		return expected(p, "a probability such as 10%% or 0.1");
	r->probability = v;
	return 0;
}

static int set_same(struct parse *p, struct rule *r, const char *value)
{
	return set_count(p, value, &r->max_same, &r->same_period_ns);
}

/* The syntax is that of channels. */
static int set_stack(struct parse *p, struct rule *r, const char *value)
{
	uint64_t bytes = DEFAULT_STACK;

	if (!strcmp(value, "none"))
		r->stack = RULE_STACK_NONE;
	else if (!strcmp(value, "fp"))
		r->stack = RULE_STACK_FP;
	else if (!strncmp(value, "dwarf", 5) && (!value[5] || value[5] == ':'))
		r->stack = RULE_STACK_DWARF;
	else
		return expected(p, "none, fp or dwarf:SIZE");
	if (value[0] == 'd' && value[5] && (str_size(value + 6, &bytes, NULL) || !bytes))
		return expected(p, "none, fp or dwarf:SIZE");
	if (bytes > MAX_STACK)
		return rule_err(p->text, p->at, p->err, "at most 63K of a stack fit into a record");
	r->stack_bytes = (uint32_t)(bytes + 7) / 8 * 8;
	return 0;
}

static int set_pid_from(struct parse *p, struct rule *r, const char *value)
{
	r->pid_from_at = p->at;
	r->pid_from = strdup(value);
	return r->pid_from ? 0 : -ENOMEM;
}

static int set_while_running(struct parse *p, struct rule *r, const char *value)
{
	r->while_running = true;
	return 0;
}

static const struct option options[] = {
	{"name", "name=TEXT", set_name, false},
	{"post", "post=TIME", set_post, false},
	{"cooldown", "cooldown=TIME", set_cooldown, false},
	{"max", "max=N/TIME", set_max, false},
	{"min-fill", "min-fill=PERCENT", set_min_fill, false},
	{"for", "for=TIME", set_for, false},
	{"hysteresis", "hysteresis=PERCENT", set_hysteresis, false},
	{"probability", "probability=PERCENT", set_probability, false},
	{"same", "same=N/TIME", set_same, false},
	{"stack", "stack=none|fp|dwarf:SIZE", set_stack, false},
	{"pid-from", "pid-from=REGEX", set_pid_from, false},
	{"while-running", "while-running", set_while_running, true},
};

#define NR_OPTIONS (sizeof(options) / sizeof(options[0]))

/* The index of the option whose name and '=' (flag: end) begin at `at`, or NR_OPTIONS. */
static size_t option_at(const char *at)
{
	size_t i;

	for (i = 0; i < NR_OPTIONS; i++) {
		size_t n = strlen(options[i].name);

		if (strncmp(at, options[i].name, n))
			continue;
		if (options[i].flag ? !at[n + strspn(at + n, " \t")] || at[n] == ';' : at[n] == '=')
			break;
	}
	return i;
}

static int expected_option(struct parse *p)
{
	char forms[320] = "";

	for (size_t i = 0; i < NR_OPTIONS; i++) {
		size_t n = strlen(forms);

		snprintf(forms + n, sizeof(forms) - n, "%s%s",
			 i == 0		      ? ""
			 : i + 1 < NR_OPTIONS ? ", "
					      : " or ",
			 options[i].form);
	}
	return expected(p, "%s", forms);
}

/* Parses ";name=value"; p->at is behind the ';'. */
static int parse_option(struct parse *p, struct rule *r)
{
	size_t i, end;
	char *value;
	int rc;

	skip_space(p);
	i = option_at(p->text + p->at);
	if (i == NR_OPTIONS)
		return expected_option(p);
	if (p->seen_options & 1u << i)
		return rule_err(p->text, p->at, p->err, "'%s=' is given twice", options[i].name);
	p->seen_options |= 1u << i;
	p->at += strlen(options[i].name);
	if (options[i].flag) {
		skip_space(p);
		return options[i].set(p, r, "");
	}
	p->at++;
	skip_space(p);
	end = p->at + strcspn(p->text + p->at, ";");
	value = piece(&(struct parse){.text = p->text, .at = end}, p->at);
	if (!value)
		return -ENOMEM;
	rc = *value ? options[i].set(p, r, value) : expected(p, "%s", options[i].form);
	free(value);
	if (!rc)
		p->at = end;
	return rc;
}

/* ---- the condition: source, argument, comparison ---- */

static int parse_source(struct parse *p, struct rule *r)
{
	size_t from;

	skip_space(p);
	if (!here(p))
		return empty_rule(p);
	from = p->at;
	while (isalnum((unsigned char)here(p)) ||
	       (p->at > from && (here(p) == '-' || here(p) == '_')))
		p->at++;
	if (p->at == from)
		return expected(p, "a source such as signal, psi or event");
	r->source = piece(p, from);
	return r->source ? 0 : -ENOMEM;
}

/* Skips "[...]". Brackets nest; quoted text in them may contain any character. */
static int skip_brackets(struct parse *p)
{
	size_t open = p->at, depth = 0;

	for (char c; (c = here(p)); p->at++) {
		if (c == '[') {
			depth++;
		} else if (c == ']' && --depth == 0) {
			p->at++;
			return 0;
		} else if (c == '"') {
			const char *end = strchr(p->text + p->at + 1, '"');

			if (!end)
				return rule_err(p->text, p->at, p->err, "missing closing '\"'");
			p->at = (size_t)(end - p->text);
		}
	}
	return rule_err(p->text, open, p->err, "this '[' is never closed: expected ']'");
}

static enum rule_op op_at(const char *at, size_t *len)
{
	*len = 1;
	switch (*at) {
	case '>':
		return RULE_OP_ABOVE;
	case '<':
		return RULE_OP_BELOW;
	case '~':
		return RULE_OP_MATCH;
	case '!':
		*len = 2;
		return at[1] == '=' ? RULE_OP_NOT_EQUAL : RULE_OP_NONE;
	}
	return RULE_OP_NONE;
}

/* The argument ends at the comparison or the options, whichever comes first outside brackets. */
static int parse_arg(struct parse *p, struct rule *r)
{
	size_t from = ++p->at, len;

	skip_space(p);
	r->arg_at = p->at;
	while (here(p) && here(p) != ';' && op_at(p->text + p->at, &len) == RULE_OP_NONE) {
		if (here(p) == '[') {
			int rc = skip_brackets(p);

			if (rc)
				return rc;
		} else {
			p->at++;
		}
	}
	free(r->arg);
	r->arg = piece(p, from);
	if (!r->arg)
		return -ENOMEM;
	if (!*r->arg)
		return expected(p, "an argument after '%s:'", r->source);
	return 0;
}

static size_t skip_number(struct parse *p)
{
	size_t from = p->at;

	while (isdigit((unsigned char)here(p)))
		p->at++;
	if (p->at > from && here(p) == '.' && isdigit((unsigned char)p->text[p->at + 1]))
		for (p->at++; isdigit((unsigned char)here(p));)
			p->at++;
	return p->at - from;
}

static size_t skip_unit(struct parse *p)
{
	size_t from = p->at;

	if (here(p) == '%')
		p->at++;
	else
		while (isalpha((unsigned char)here(p)))
			p->at++;
	return p->at - from;
}

/* Accepts NUMBER[UNIT][/[NUMBER]UNIT]: 16, 200M, 95%/5s, 150ms/1s, 100000/s. */
static int skip_value(struct parse *p)
{
	if (!skip_number(p))
		return expected(p, "a number");
	skip_unit(p);
	if (here(p) == '/') {
		p->at++;
		skip_number(p);
		if (!skip_unit(p))
			return expected(p, "a unit of time after '/', such as 1s");
	}
	skip_space(p);
	if (here(p) && here(p) != ';')
		return expected(p, "';' or the end of the rule");
	return 0;
}

/* A regular expression may contain ';': it ends where an option begins. */
static int skip_regex(struct parse *p)
{
	size_t from = p->at;

	while (here(p)) {
		if (here(p) == ';' && option_at(p->text + p->at + 1) < NR_OPTIONS)
			break;
		p->at++;
	}
	return p->at > from ? 0 : expected(p, "a regular expression after '~'");
}

static int parse_comparison(struct parse *p, struct rule *r)
{
	size_t len;
	int rc;

	r->op_at = p->at;
	r->op = op_at(p->text + p->at, &len);
	if (r->op == RULE_OP_NONE)
		return 0;
	p->at += len;
	if (r->op != RULE_OP_MATCH)
		skip_space(p);
	r->threshold_at = p->at;
	rc = r->op == RULE_OP_MATCH ? skip_regex(p) : skip_value(p);
	if (rc)
		return rc;
	free(r->threshold);
	r->threshold = r->op == RULE_OP_MATCH
			       ? strndup(p->text + r->threshold_at, p->at - r->threshold_at)
			       : piece(p, r->threshold_at);
	return r->threshold ? 0 : -ENOMEM;
}

/* Shortens a long name to the source and the end of the text, from the start of a word if one is
 * near: rules usually differ at the end, not in the path at their beginning. */
static void shorten(char *name, size_t len)
{
	size_t head = strcspn(name, "-"), from;
	const char *word;

	head = head < RULE_NAME_MAX / 3 ? head : RULE_NAME_MAX / 3;
	from = len - (RULE_NAME_MAX - head - 1);
	word = strchr(name + from, '-');
	if (name[from - 1] != '-' && word && word - (name + from) < RULE_NAME_MAX / 3)
		from = (size_t)(word - name) + 1;
	name[head] = '-';
	memmove(name + head + 1, name + from, len - from + 1);
}

/* Replaces each run of characters that are unsafe in a file name with one '-'. */
static char *default_name(const char *text, size_t len)
{
	char *name = malloc(len + 1);
	size_t n = 0;

	if (!name)
		return NULL;
	for (size_t i = 0; i < len; i++) {
		if (is_name_char(text[i]))
			name[n++] = text[i];
		else if (n && name[n - 1] != '-')
			name[n++] = '-';
	}
	while (n && name[n - 1] == '-')
		n--;
	name[n] = '\0';
	if (n > RULE_NAME_MAX)
		shorten(name, n);
	return name;
}

static int parse(struct parse *p, struct rule *r)
{
	size_t condition_end;
	int rc = parse_source(p, r);

	if (!rc && here(p) == ':')
		rc = parse_arg(p, r);
	if (rc)
		return rc;
	skip_space(p);
	rc = parse_comparison(p, r);
	if (rc)
		return rc;
	condition_end = p->at;
	if (here(p) && here(p) != ';')
		return expected(p, "':', '>', '<', '!=', '~' or ';' after '%s'", r->source);
	while (here(p) == ';') {
		p->at++;
		rc = parse_option(p, r);
		if (rc)
			return rc;
	}
	if (!r->name)
		r->name = default_name(p->text, condition_end);
	return r->name ? 0 : -ENOMEM;
}

int rule_parse(const char *text, struct rule **out, struct err *err)
{
	struct parse p = {.text = text, .err = err};
	struct rule *r;
	int rc = -ENOMEM;

	if (strlen(text) > RULE_TEXT_MAX)
		return err_set(err, -EINVAL, "the trigger rule has %zu characters; the limit is %d",
			       strlen(text), RULE_TEXT_MAX);
	r = malloc(sizeof(*r));
	if (!r)
		return err_set(err, -ENOMEM, "out of memory for a trigger rule");
	*r = (struct rule){.post_ns = -1,
			   .cooldown_ns = -1,
			   .for_ns = -1,
			   .max_hits = -1,
			   .max_period_ns = -1,
			   .min_fill_percent = -1,
			   .hysteresis_percent = -1,
			   .probability = 1,
			   .max_same = -1,
			   .same_period_ns = -1,
			   .stack_bytes = DEFAULT_STACK};
	r->text = strdup(text);
	r->arg = strdup("");
	r->threshold = strdup("");
	if (r->text && r->arg && r->threshold)
		rc = parse(&p, r);
	if (rc) {
		if (rc == -ENOMEM)
			err_set(err, rc, "out of memory for a trigger rule");
		rule_free(r);
		return rc;
	}
	*out = r;
	return 0;
}

void rule_free(struct rule *r)
{
	if (!r)
		return;
	free(r->text);
	free(r->name);
	free(r->source);
	free(r->arg);
	free(r->threshold);
	free(r->pid_from);
	free(r);
}

bool rule_is_unlucky(const struct rule *r)
{
	uint32_t dice;

	if (r->probability >= 1 || getrandom(&dice, sizeof(dice), GRND_NONBLOCK) != sizeof(dice))
		return false;
	return dice >= r->probability * UINT32_MAX;
}
