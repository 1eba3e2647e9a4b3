// SPDX-License-Identifier: MIT
/* Checks that sources make on their rules; see rule_check.h. */
#include "trigger/engine/rule_check.h"

#include "dump/base/err.h"
#include "dump/base/str.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int rule_check_arg(const struct rule *r, const char *what, const char *example, struct err *err)
{
	if (*r->arg)
		return 0;
	return rule_err(r->text, strlen(r->source), err, "expected ':' and %s, such as %s", what,
			example);
}

int rule_check_no_arg(const struct rule *r, const char *example, struct err *err)
{
	if (!*r->arg)
		return 0;
	return rule_err(r->text, r->arg_at, err, "%s takes no argument: write %s", r->source,
			example);
}

static char op_char(enum rule_op op)
{
	switch (op) {
	case RULE_OP_ABOVE:
		return '>';
	case RULE_OP_BELOW:
		return '<';
	case RULE_OP_NOT_EQUAL:
		return '!';
	case RULE_OP_MATCH:
		return '~';
	case RULE_OP_NONE:
		break;
	}
	return '\0';
}

int rule_check_op(const struct rule *r, const char *ops, const char *example, struct err *err)
{
	char op = op_char(r->op);

	if (op && strchr(ops, op))
		return 0;
	return rule_err(r->text, op ? r->op_at : strcspn(r->text, ";"), err,
			"expected '%c%s'%s and a value, such as %s", ops[0],
			ops[0] == '!' ? "=" : "",
			!ops[1]		? ""
			: ops[1] == '<' ? " or '<'"
					: " or '>'",
			example);
}

int rule_check_no_op(const struct rule *r, struct err *err)
{
	if (r->op == RULE_OP_NONE)
		return 0;
	return rule_err(r->text, r->op_at, err, "%s takes no comparison", r->source);
}

int rule_check_moment(const struct rule *r, const char *what, struct err *err)
{
	const char *option = r->for_ns >= 0		  ? "for="
			     : r->hysteresis_percent >= 0 ? "hysteresis="
							  : NULL;

	if (!option)
		return rule_check_no_call(r, err);
	return rule_err(r->text, strcspn(r->text, ";"), err,
			"%s has no duration or value: %s does not apply", what, option);
}

int rule_check_no_call(const struct rule *r, struct err *err)
{
	if (!r->while_running)
		return 0;
	return rule_err(r->text, strcspn(r->text, ";"), err,
			"while-running is for rules about how long a call takes, not for %s",
			r->source);
}

int rule_check_value(const struct rule *r, const char *what, const char *ops, const char *example,
		     struct err *err)
{
	int rc = what ? rule_check_arg(r, what, example, err) : rule_check_no_arg(r, example, err);

	if (!rc)
		rc = rule_check_op(r, ops, example, err);
	return rc ? rc : rule_check_no_call(r, err);
}

int rule_check_number(const struct rule *r, double *out, struct err *err)
{
	char *end;
	double v = strtod(r->threshold, &end);

	if (end == r->threshold || *end || !isfinite(v))
		return rule_err(r->text, r->threshold_at, err, "expected a number, found '%s'",
				r->threshold);
	*out = v;
	return 0;
}

int rule_check_size(const struct rule *r, double whole, double *out, struct err *err)
{
	uint64_t bytes;
	char *end;
	double v = strtod(r->threshold, &end);

	if (end > r->threshold && !strcmp(end, "%")) {
		*out = whole * v / 100;
		return 0;
	}
	if (str_size(r->threshold, &bytes, NULL))
		return rule_err(r->text, r->threshold_at, err,
				"expected a size such as 200M or 2G, or 10%%, found '%s'",
				r->threshold);
	/* A number below one page without a unit is almost certainly a forgotten unit. */
	if (bytes && bytes < 4096 && strspn(r->threshold, "0123456789.") == strlen(r->threshold))
		return rule_err(r->text, r->threshold_at, err,
				"%s are bytes, less than a page: expected a size such as 200M or "
				"2G, or 10%%",
				r->threshold);
	*out = (double)bytes;
	return 0;
}

int rule_check_per(const struct rule *r, char *amount, size_t n, int64_t *per_ns, struct err *err)
{
	const char *slash = strchr(r->threshold, '/');
	int64_t per = *per_ns;

	if (!slash && !per)
		return rule_err(r->text, r->threshold_at + strlen(r->threshold), err,
				"expected '/' and a time, such as /1s");
	if (slash) {
		char unit[64];

		/* "/s" means "/1s". */
		snprintf(unit, sizeof(unit), "%s%s", strpbrk(slash, "0123456789") ? "" : "1",
			 slash + 1);
		if (str_time(unit, &per, NULL) || per <= 0)
			return rule_err(r->text,
					r->threshold_at + (size_t)(slash + 1 - r->threshold), err,
					"expected a time such as 1s, found '%s'", slash + 1);
	}
	snprintf(amount, n, "%.*s", (int)(slash ? (size_t)(slash - r->threshold) : n),
		 r->threshold);
	*per_ns = per;
	return 0;
}

char *value_fmt_size(char *out, size_t n, double bytes)
{
	static const char units[] = "BKMGT";
	size_t i = 0;

	while (bytes >= 1024 && units[i + 1]) {
		bytes /= 1024;
		i++;
	}
	snprintf(out, n, "%.*f%c", i ? 3 : 0, bytes, units[i]);
	return out;
}
