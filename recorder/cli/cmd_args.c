// SPDX-License-Identifier: MIT
/* Options of commands; see cmd_args.h. Called by cmd_*.c. */
#include "recorder/cli/cmd_args.h"

#include "dump/base/closest.h"
#include "dump/base/err.h"
#include "dump/base/str.h"
#include "dump/file/meta.h"
#include "recorder/cli/cmd_dump.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char *name_of(const struct option *longs, int val)
{
	for (; longs->name; longs++)
		if (longs->val == val)
			return longs->name;
	return "";
}

static int unknown_option(const struct command *c, const struct cmd_args *args, const char *typed)
{
	size_t n = strcspn(typed, "=");
	struct closest near;
	struct err err;
	char name[64];

	snprintf(name, sizeof(name), "%.*s", (int)n, typed);
	closest_init(&near, name);
	for (const struct option *o = args->longs; o->name; o++) {
		char dashed[64];

		snprintf(dashed, sizeof(dashed), "--%s", o->name);
		closest_add(&near, dashed, NULL);
	}
	err_set(&err, -EINVAL, "there is no option '%s'", name);
	closest_hint(&near, &err, "");
	return cmd_misuse(c, "%s%s%s", err.what, *err.hint ? ": " : "", err.hint);
}

/* -200ms after --from is an argument, not an option: getopt takes what follows as it is. */
int cmd_args_take(const struct command *c, const struct cmd_args *args, void *ctx, int argc,
		  char **argv)
{
	struct err err = ERR_INIT;
	char shorts[32];
	int val;

	snprintf(shorts, sizeof(shorts), ":%s", args->shorts ? args->shorts : "");
	optind = 0;
	opterr = 0;
	while ((val = getopt_long(argc, argv, shorts, args->longs, NULL)) != -1) {
		if (val == ':')
			return cmd_misuse(c, "%s needs a value", argv[optind - 1]);
		if (val == '?')
			return unknown_option(c, args, argv[optind - 1]);
		if (args->take(ctx, val, optarg, &err))
			return cmd_misuse(c, "--%s: %s%s%s", name_of(args->longs, val), err.what,
					  *err.hint ? ": " : "", err.hint);
	}
	return EXIT_FINE;
}

int cmd_args_path(const struct command *c, int argc, char **argv, const char **path)
{
	if (optind != argc - 1)
		return cmd_misuse(c, "%s", optind == argc ? "which dump?" : "one dump at a time");
	*path = argv[optind];
	return EXIT_FINE;
}

int cmd_args_dump(const struct command *c, const struct cmd_args *args, void *ctx, int argc,
		  char **argv, const char **path)
{
	int code = cmd_args_take(c, args, ctx, argc, argv);

	return code ? code : cmd_args_path(c, argc, argv, path);
}

int cmd_args_none(const struct command *c, const struct cmd_args *args, void *ctx, int argc,
		  char **argv)
{
	int code = cmd_args_take(c, args, ctx, argc, argv);

	if (!code && optind < argc)
		return cmd_misuse(c, "unexpected argument '%s'", argv[optind]);
	return code;
}

/* ---- --from, --to ---- */

int cmd_span_from(struct cmd_span *s, const char *arg, struct err *err)
{
	s->has_from = true;
	return str_time(arg, &s->from_ns, err);
}

int cmd_span_to(struct cmd_span *s, const char *arg, struct err *err)
{
	s->has_to = true;
	return str_time(arg, &s->to_ns, err);
}

int cmd_span_check(const struct command *c, const struct cmd_span *s)
{
	if (s->has_from && s->has_to && s->from_ns > s->to_ns)
		return cmd_misuse(c, "--from is after --to");
	return EXIT_FINE;
}

/* What lies before the clock's beginning or after its end is there. */
static uint64_t moment(uint64_t zero_ns, int64_t rel_ns)
{
	uint64_t back = -(uint64_t)rel_ns;

	if (rel_ns < 0)
		return zero_ns > back ? zero_ns - back : 0;
	return (uint64_t)rel_ns > UINT64_MAX - zero_ns ? UINT64_MAX : zero_ns + (uint64_t)rel_ns;
}

/* When the last ring stopped. */
static uint64_t end_of(const struct meta *m)
{
	uint64_t end_ns = m->trigger.freeze_ns;

	for (size_t i = 0; i < m->nr_windows; i++) {
		const struct fmt_window *w = &m->windows[i];

		if (meta_is_ring(w) && w->paused_ns > end_ns)
			end_ns = w->paused_ns;
	}
	return end_ns;
}

int cmd_span_of(const struct cmd_span *s, const struct cmd_dump *d, uint64_t *from_ns,
		uint64_t *to_ns)
{
	uint64_t zero_ns = d->m->trigger.hit_ns;

	if (s->has_from && s->from_ns > 0 && moment(zero_ns, s->from_ns) > end_of(d->m)) {
		char at[32];

		str_fmt_time(at, sizeof(at), s->from_ns);
		fprintf(stderr,
			"ringback: --from +%s is after the end of the dump\n  hint: times are "
			"relative to the trigger, and negative before it: --from -200ms\n",
			at);
		return EXIT_USAGE;
	}
	*from_ns = s->has_from ? moment(zero_ns, s->from_ns) : 0;
	*to_ns = s->has_to ? moment(zero_ns, s->to_ns) : UINT64_MAX;
	return EXIT_FINE;
}
