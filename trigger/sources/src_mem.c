// SPDX-License-Identifier: MIT
/*
 * Source "mem:NAME<SIZE": a line of /proc/meminfo. It has to be looked at: the farther from the
 * threshold the less often, so that it is seen in time as long as no more than a tenth of all
 * memory is taken in a second.
 */
#include "trigger/engine/source.h"

#include "dump/base/err.h"
#include "dump/base/str.h"
#include "trigger/sources/threshold.h"
#include "trigger/engine/rule_check.h"
#include "trigger/sources/poll_timer.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define LONGEST_TICK 10 /* s */
#define NAME_MAX_LEN 48

struct source {
	int fd; /* /proc/meminfo */
	struct poll_timer tick;
	struct threshold level;
	double fastest; /* bytes a second that it can be expected to change by; 0: unknown */
	bool is_size;	/* else a count of pages of their own */
	char name[NAME_MAX_LEN]; /* "MemAvailable" */
	char threshold[32];	 /* as written */
};

/* A line of /proc/meminfo. */
struct line {
	char name[NAME_MAX_LEN];
	double value; /* bytes, or a count */
	bool is_size;
};

/* Takes the line at `*at` apart and moves behind it; false at the end. */
static bool next_line(const char **at, struct line *out)
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

static int read_all(int fd, char *buf, size_t n, struct err *err)
{
	ssize_t got = pread(fd, buf, n - 1, 0);

	if (got < 0)
		return err_sys(err, -errno, "can't read /proc/meminfo");
	buf[got] = '\0';
	return 0;
}

/* The line of that name; "available" stands for MemAvailable. */
static bool find_line(const char *text, const char *name, struct line *out)
{
	for (int with_mem = 0; with_mem < 2; with_mem++) {
		const char *at = text;
		struct line l;

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
	struct line l;
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

/*
 * The most that it can be. 0: no such limit: what is promised and what has an address is no memory
 * yet.
 */
static double most_of(const struct line *l, double mem_total, double swap_total)
{
	static const char *const unlimited[] = {"Commit", "Vmalloc", "DirectMap", "Zswapped"};

	if (!l->is_size)
		return 0;
	for (size_t i = 0; i < sizeof(unlimited) / sizeof(unlimited[0]); i++)
		if (!strncmp(l->name, unlimited[i], strlen(unlimited[i])))
			return 0;
	return strncmp(l->name, "Swap", 4) ? mem_total : swap_total;
}

/* A rule that can never be met, or always is. */
static int check_reach(const struct rule *r, const struct line *l, double threshold, double most,
		       struct err *err)
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

static int set_up(struct source *s, const struct rule *r, const char *text, struct err *err)
{
	struct line l, total = {0}, swap = {0};
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
	threshold_init(&s->level, r, threshold, most);
	s->fastest = l.is_size ? total.value / 10 : 0;
	s->is_size = l.is_size;
	snprintf(s->name, sizeof(s->name), "%s", l.name);
	snprintf(s->threshold, sizeof(s->threshold), "%s", r->threshold);
	return 0;
}

static void mem_close(struct source *s)
{
	if (!s)
		return;
	poll_timer_close(&s->tick);
	if (s->fd >= 0)
		close(s->fd);
	free(s);
}

static int mem_open(const struct rule *r, const struct source_env *env, struct source **out,
		    struct err *err)
{
	struct source *s;
	char text[8192];
	int rc = rule_check_arg(r, "a line of /proc/meminfo", "mem:available<200M", err);

	if (!rc)
		rc = rule_check_op(r, "<>", "mem:available<200M", err);
	if (!rc)
		rc = rule_check_no_call(r, err);
	if (rc)
		return rc;
	s = calloc(1, sizeof(*s));
	if (!s)
		return err_set(err, -ENOMEM, "out of memory for a trigger");
	s->tick.fd = -1;
	s->fd = open("/proc/meminfo", O_RDONLY | O_CLOEXEC);
	rc = s->fd < 0 ? err_sys(err, -errno, "can't open /proc/meminfo")
		       : read_all(s->fd, text, sizeof(text), err);
	if (!rc)
		rc = set_up(s, r, text, err);
	if (!rc)
		rc = poll_timer_open(&s->tick, err);
	if (rc) {
		mem_close(s);
		return rc;
	}
	poll_timer_in(&s->tick, poll_timer_now(), 1);
	*out = s;
	return 0;
}

static int mem_fd(const struct source *s, uint32_t *events)
{
	return s->tick.fd;
}

static void add_value(const struct source *s, double value, struct sighting *what)
{
	char size[32];

	if (s->is_size)
		value_fmt_size(size, sizeof(size), value);
	else
		snprintf(size, sizeof(size), "%.0f", value);
	sighting_add(what, "value=%s", size);
	sighting_add(what, "threshold=%s", s->threshold);
	sighting_add(what, "of=%s", s->name);
}

static int mem_ready(struct source *s, struct sighting *what, struct err *err)
{
	uint64_t now = poll_timer_now();
	char text[8192];
	struct line l;
	bool hit;
	int rc;

	if (!poll_timer_is_due(&s->tick, now))
		return 0;
	rc = read_all(s->fd, text, sizeof(text), err);
	if (rc)
		return rc;
	if (!find_line(text, s->name, &l))
		return err_set(err, -ENOENT, "/proc/meminfo has no line %s any more", s->name);
	hit = threshold_feed(&s->level, l.value, now);
	poll_timer_in(&s->tick, now,
		      poll_timer_seconds(threshold_distance(&s->level, l.value), s->fastest,
					 LONGEST_TICK));
	if (!hit)
		return 0;
	what->ns = now;
	what->began_ns = s->level.for_ns ? s->level.began_ns : 0;
	add_value(s, l.value, what);
	return 1;
}

static void mem_plan(const struct source *s, struct source_plan *out)
{
	snprintf(out->watches, sizeof(out->watches), "%s in /proc/meminfo", s->name);
	snprintf(out->costs, sizeof(out->costs),
		 "a look each second near the threshold, each %d s far from it, together with "
		 "other rules that look",
		 LONGEST_TICK);
}

const struct source_ops source_mem = {
	.name = "mem",
	.syntax = "mem:NAME<SIZE",
	.help = "a line of /proc/meminfo (available, SwapFree, Dirty, ...) is below or above",
	.example = "mem:available<200M",
	.open = mem_open,
	.fd = mem_fd,
	.ready = mem_ready,
	.plan = mem_plan,
	.close = mem_close,
};
