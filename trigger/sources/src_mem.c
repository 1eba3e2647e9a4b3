// SPDX-License-Identifier: MIT
/* Source "mem:NAME<SIZE": a line of /proc/meminfo. It is read less often far from the threshold, on
 * the assumption that at most a tenth of all memory is allocated per second. */
#include "trigger/sources/polled.h"

#include "dump/base/err.h"
#include "dump/base/str.h"
#include "trigger/engine/rule_check.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define NAME_MAX_LEN 48

struct mem_source {
	struct source polled;
	bool is_size;		 /* false: a count of huge pages */
	char name[NAME_MAX_LEN]; /* "MemAvailable" */
};

/* A line of /proc/meminfo. */
struct meminfo_line {
	char name[NAME_MAX_LEN];
	double value; /* bytes, or a count */
	bool is_size;
};

/* Parses the line at `*at` and advances it; false at the end. */
static bool next_line(const char **at, struct meminfo_line *out)
{
	const char *colon, *end;
	char *unit;

	for (; **at; *at = end) {
		size_t n;

		end = *at + strcspn(*at, "\n");
		end += *end == '\n';
		colon = memchr(*at, ':', (size_t)(end - *at));
		n = colon ? (size_t)(colon - *at) : 0;
		if (!n || n >= sizeof(out->name))
			continue;
		memcpy(out->name, *at, n);
		out->name[n] = '\0';
		out->value = strtod(colon + 1, &unit);
		out->is_size = !strncmp(unit, " kB", 3);
		if (out->is_size)
			out->value *= 1024;
		*at = end;
		return true;
	}
	return false;
}

/* Finds the line of that name; "available" stands for MemAvailable. */
static bool find_line(const char *text, const char *name, struct meminfo_line *out)
{
	for (int with_mem = 0; with_mem < 2; with_mem++) {
		const char *at = text;
		struct meminfo_line l;

		while (next_line(&at, &l)) {
			bool is_mem = !strncmp(l.name, "Mem", 3);

			if (with_mem && !is_mem)
				continue;
			if (strcasecmp(l.name + (with_mem ? 3 : 0), name))
				continue;
			*out = l;
			return true;
		}
	}
	return false;
}

static int no_such_line(const struct rule *r, const char *text, struct err *err)
{
	char list[400] = "";
	const char *at = text;
	struct meminfo_line l;
	size_t n;

	rule_err(r->text, r->arg_at, err, "/proc/meminfo has no line '%s'", r->arg);
	while (next_line(&at, &l)) {
		n = strlen(list);
		snprintf(list + n, sizeof(list) - n, "%s%s", n ? " " : "", l.name);
	}
	err_hint(err, "it has (and available, free and total stand for MemAvailable, ...): %s",
		 list);
	return -EINVAL;
}

/* The largest possible value of a line; 0: no limit, since committed memory and address space may
 * exceed the memory. */
static double most_of(const struct meminfo_line *l, double mem_total, double swap_total)
{
	static const char *const unlimited[] = {"Commit", "Vmalloc", "DirectMap", "Zswapped"};

	if (!l->is_size)
		return 0;
	for (size_t i = 0; i < sizeof(unlimited) / sizeof(unlimited[0]); i++)
		if (!strncmp(l->name, unlimited[i], strlen(unlimited[i])))
			return 0;
	return strncmp(l->name, "Swap", 4) ? mem_total : swap_total;
}

/* Refuses a rule that is never met, or always. */
static int check_reach(const struct rule *r, const struct meminfo_line *l, double threshold,
		       double most, struct err *err)
{
	char size[32];

	if (r->op == RULE_OP_BELOW && threshold <= 0)
		return rule_err(r->text, r->threshold_at, err,
				"%s is never below %s, so the rule can't be met", l->name,
				r->threshold);
	if (!most && !strncmp(l->name, "Swap", 4))
		return rule_err(r->text, r->arg_at, err,
				"this machine has no swap, so the rule can't be met");
	if (!most)
		return 0;
	value_fmt_size(size, sizeof(size), most);
	if (r->op == RULE_OP_ABOVE && threshold >= most)
		return rule_err(r->text, r->threshold_at, err,
				"there is %s in all, so %s is never above %s", size, l->name,
				r->threshold);
	if (r->op == RULE_OP_BELOW && threshold > most)
		return rule_err(r->text, r->threshold_at, err,
				"there is %s in all, so %s is always below %s", size, l->name,
				r->threshold);
	return 0;
}

static int set_up(struct mem_source *s, const struct rule *r, const char *text, struct err *err)
{
	struct meminfo_line l, total = {0}, swap = {0};
	double threshold, most;
	int rc;

	find_line(text, "MemTotal", &total);
	find_line(text, "SwapTotal", &swap);
	if (!find_line(text, r->arg, &l))
		return no_such_line(r, text, err);
	most = most_of(&l, total.value, swap.value);
	rc = l.is_size ? rule_check_size(r, most ? most : total.value, &threshold, err)
		       : rule_check_number(r, &threshold, err);
	if (!rc)
		rc = check_reach(r, &l, threshold, most, err);
	if (rc)
		return rc;
	threshold_init(&s->polled.level, r, threshold, most);
	s->polled.fastest = l.is_size ? total.value / 10 : 0;
	s->is_size = l.is_size;
	snprintf(s->name, sizeof(s->name), "%s", l.name);
	return 0;
}

static int mem_look(struct source *p, uint64_t now_ns, double *value, uint64_t *began_ns,
		    struct err *err)
{
	const struct mem_source *s = (const struct mem_source *)p;
	struct meminfo_line l;
	char text[8192];
	int rc = polled_read(p, text, sizeof(text));

	if (rc)
		return err_sys(err, rc, "can't read /proc/meminfo");
	if (!find_line(text, s->name, &l))
		return err_set(err, -ENOENT, "/proc/meminfo has no line %s any more", s->name);
	*value = l.value;
	return 1;
}

static void mem_text(const struct source *p, double value, char *out, size_t n)
{
	if (((const struct mem_source *)p)->is_size)
		value_fmt_size(out, n, value);
	else
		snprintf(out, n, "%.0f", value);
}

static void mem_more(const struct source *p, struct sighting *what)
{
	sighting_add(what, "of=%s", ((const struct mem_source *)p)->name);
}

static const struct polled_ops ops = {sizeof(struct mem_source), mem_look, mem_text, mem_more};

static int mem_open(const struct rule *r, const struct source_env *env, struct source **out,
		    struct err *err)
{
	struct source *s;
	char text[8192];
	int rc = rule_check_value(r, "a line of /proc/meminfo", "<>", "mem:available<200M", err);

	if (rc)
		return rc;
	rc = polled_new(&ops, r, &s, err);
	if (rc)
		return rc;
	s->fd = open("/proc/meminfo", O_RDONLY | O_CLOEXEC);
	rc = s->fd < 0 ? -errno : polled_read(s, text, sizeof(text));
	rc = rc ? err_sys(err, rc, "can't read /proc/meminfo")
		: set_up((struct mem_source *)s, r, text, err);
	return polled_start(s, rc, out, err);
}

static void mem_plan(const struct source *s, struct source_plan *out)
{
	snprintf(out->watches, sizeof(out->watches), "%s in /proc/meminfo",
		 ((const struct mem_source *)s)->name);
	polled_costs(s, out);
}

const struct source_ops source_mem = {
	.name = "mem",
	.syntax = "mem:NAME<SIZE",
	.help = "a line of /proc/meminfo (available, SwapFree, Dirty, ...) is below or above",
	.example = "mem:available<200M",
	.open = mem_open,
	.plan = mem_plan,
	POLLED_OPS,
};
