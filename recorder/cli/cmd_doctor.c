// SPDX-License-Identifier: MIT
/*
 * `ringback doctor`: prints the result of doctor.c as text (100 columns, with commands to paste) or
 * as one JSON object. Always exits with 0: a limit is not a failure.
 */
#include "recorder/cli/cmd.h"

#include "dump/base/err.h"
#include "dump/base/str.h"
#include "recorder/cli/cmd_dump.h"
#include "recorder/coredump/core_state.h"
#include "recorder/cli/doctor.h"
#include "recorder/base/log.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define COLUMNS	    100
#define NAME_COLUMN 2
#define TEXT_COLUMN 31
#define MORE_COLUMN 11

static const struct state_look {
	const char *word, *colour;
} looks[] = {
	[DOCTOR_OK] = {"ok", "\033[32m"},
	[DOCTOR_LIMITED] = {"limited", "\033[33m"},
	[DOCTOR_NO] = {"no", "\033[31m"},
	[DOCTOR_FACT] = {"", ""},
};

/* UTF-8 continuation bytes have no width. */
static size_t columns(const char *s, size_t n)
{
	size_t c = 0;

	for (size_t i = 0; i < n; i++)
		c += ((unsigned char)s[i] & 0xc0) != 0x80;
	return c;
}

/* Prints words from column `at` on. A full line ends with `brk` (" \\" for commands, so that they
 * can be pasted); the next one is indented by `indent`. */
static void print_wrapped(const char *text, size_t at, size_t indent, const char *brk)
{
	bool first = true;

	while (*text) {
		size_t n, w;

		text += strspn(text, " ");
		n = strcspn(text, " ");
		w = columns(text, n);
		if (!n)
			break;
		if (!first && at + 1 + w + strlen(brk) > COLUMNS) {
			printf("%s\n%*s", brk, (int)indent, "");
			at = indent;
			first = true;
		}
		printf("%s%.*s", first ? "" : " ", (int)n, text);
		at += w + !first;
		first = false;
		text += n;
	}
	putchar('\n');
}

static void print_command(const char *label, const char *command)
{
	if (!*command)
		return;
	printf("%*s%-7s", MORE_COLUMN, "", label);
	print_wrapped(command, MORE_COLUMN + 7, MORE_COLUMN + 11, " \\");
}

static void print_line(const struct doctor_line *l, bool colour)
{
	const struct state_look *look = &looks[l->state];

	printf("%*s%s%-7s%s  %-18s  ", NAME_COLUMN, "", colour ? look->colour : "", look->word,
	       colour && *look->colour ? "\033[0m" : "", l->name);
	print_wrapped(l->text, TEXT_COLUMN, TEXT_COLUMN, "");
	if (l->state == DOCTOR_OK || l->state == DOCTOR_FACT)
		return;
	print_command("allow:", l->allow);
	print_command("keep:", l->keep);
}

static void print_text(const struct doctor *d)
{
	bool colour = cmd_dump_color();
	const char *group = "";
	char head[600], mem[32];

	snprintf(head, sizeof(head),
		 "ringback %s on Linux %s (%s), %u of %u CPU%s online, %s of memory, as %s",
		 RINGBACK_VERSION, d->release, d->machine, d->cpus_online, d->cpus_possible,
		 str_plural(d->cpus_possible), str_fmt_size(mem, sizeof(mem), d->mem_bytes),
		 d->user);
	print_wrapped(head, 0, 2, "");
	print_wrapped(d->cpu_model, 0, 2, "");
	for (size_t i = 0; i < d->nr; i++) {
		if (strcmp(d->lines[i].group, group)) {
			group = d->lines[i].group;
			printf("\n%s%s%s\n", colour ? "\033[1m" : "", group,
			       colour ? "\033[0m" : "");
		}
		print_line(&d->lines[i], colour);
	}
	putchar('\n');
	print_wrapped(d->verdict, 0, 2, "");
}

static json_t *json_check(const struct doctor_line *l)
{
	static const char *const states[] = {"ok", "limited", "no", "fact"};
	json_t *o = json_pack("{s:s, s:s, s:s, s:b, s:s}", "group", l->group, "name", l->name,
			      "state", states[l->state], "wanted", l->wanted, "text", l->text);

	if (*l->allow)
		json_object_set_new(o, "allow", json_string(l->allow));
	if (*l->keep)
		json_object_set_new(o, "keep", json_string(l->keep));
	return o;
}

/* Names and values as stored in dumps. */
static json_t *json_caps(const struct caps *c)
{
	char lines[40][96];
	size_t nr = caps_lines(c, lines, 40);
	json_t *o = json_object();

	for (size_t i = 0; i < nr; i++) {
		char *eq = strchr(lines[i], '='), *end;
		long long v;

		*eq++ = '\0';
		v = strtoll(eq, &end, 10);
		json_object_set_new(o, lines[i], *end ? json_string(eq) : json_integer(v));
	}
	return o;
}

static int print_json(const struct doctor *d)
{
	json_t *o, *checks = json_array();
	int rc;

	for (size_t i = 0; i < d->nr; i++)
		json_array_append_new(checks, json_check(&d->lines[i]));
	o = json_pack("{s:s, s:s, s:s, s:s, s:s, s:i, s:i, s:I, s:s, s:I, s:I, s:o, s:o, s:i, s:s}",
		      "version", RINGBACK_VERSION, "kernel", d->release, "machine", d->machine,
		      "cpu_model", d->cpu_model, "user", d->user, "cpus_online",
		      (int)d->cpus_online, "cpus_possible", (int)d->cpus_possible, "memory_bytes",
		      (json_int_t)d->mem_bytes, "clocksource", d->clocksource,
		      "recommended_ring_bytes", (json_int_t)d->ring_bytes,
		      "recommended_total_bytes", (json_int_t)d->total_ring_bytes, "capabilities",
		      json_caps(&d->caps), "checks", checks, "nr_limited", (int)d->nr_limited,
		      "verdict", d->verdict);
	if (!o)
		return EXIT_FAILED;
	rc = json_dumpf(o, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
	putchar('\n');
	json_decref(o);
	return rc ? EXIT_FAILED : EXIT_FINE;
}

static int repair(void)
{
	char former[CORE_PATTERN_BYTES], safe[512];
	struct err err = ERR_INIT;
	enum core_left left;

	if (core_state_left(true, &left, former, &err)) {
		log_err(&err);
		return EXIT_FAILED;
	}
	if (left == CORE_LEFT_RESTORED)
		printf("kernel.core_pattern is restored to '%s'\n",
		       str_safe(safe, sizeof(safe), former, strlen(former)));
	else
		printf("nothing to repair%s\n",
		       left == CORE_LEFT_IN_USE
			       ? ": kernel.core_pattern belongs to a running recorder"
			       : "");
	return EXIT_FINE;
}

/* Options. */
struct doctor_options {
	bool json, repair;
};

static const struct option_row options[] = {
	{"json", 0, NULL, OPTION_FLAG, offsetof(struct doctor_options, json),
	 .help = "one JSON object: facts, checks with state, reason and command, verdict"},
	{"repair", 0, NULL, OPTION_FLAG, offsetof(struct doctor_options, repair),
	 .help = "restore kernel.core_pattern if a killed recorder left its own value there"},
	{.name = NULL},
};

static int run(int argc, char **argv)
{
	struct doctor_options opt = {0};
	struct doctor d;
	char **operands;
	int code = cmd_parse(&cmd_doctor, &opt, argc, argv, &operands);

	if (code)
		return code;
	if (opt.repair)
		return repair();
	doctor_examine(&d);
	if (opt.json)
		return print_json(&d);
	print_text(&d);
	return EXIT_FINE;
}

const struct command cmd_doctor = {
	.name = "doctor",
	.operands = "",
	.help = "what this kernel, user and machine allow, and how to allow more",
	.notes =
		"Each line has a state (ok, limited or no), the reason, and the commands that "
		"allow more\n"
		"now (allow) and after a reboot (keep). doctor changes nothing without --repair.\n",
	.run = run,
	.options = options,
};
