// SPDX-License-Identifier: MIT
/* Compares two configurations; see config_changes.h. Called by session.c. */
#include "recorder/config/config_changes.h"

#include "recorder/config/config_row.h"

#include <string.h>

typedef void told(const char *what, const char *how);

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static bool same_list(const void *a, size_t nr_a, const void *b, size_t nr_b, size_t size)
{
	return nr_a == nr_b && (!nr_a || !memcmp(a, b, nr_a * size));
}

static bool same_target(const struct config *a, const struct config *b)
{
	return a->all_cpus == b->all_cpus && a->no_inherit == b->no_inherit &&
	       same_text(a->cgroup, b->cgroup) &&
	       same_list(a->cpus, a->nr_cpus, b->cpus, b->nr_cpus, sizeof(*a->cpus)) &&
	       same_list(a->pids, a->nr_pids, b->pids, b->nr_pids, sizeof(*a->pids)) &&
	       same_list(a->tids, a->nr_tids, b->tids, b->nr_tids, sizeof(*a->tids));
}

/* ---- channels ---- */

static const struct config_channel *find(const struct config_channel *v, size_t nr,
					 const char *name)
{
	for (size_t i = 0; i < nr; i++)
		if (!strcmp(v[i].name, name))
			return &v[i];
	return NULL;
}

static bool same_channel(const struct config_channel *a, const struct config_channel *b)
{
	return !strcmp(a->events, b->events) && a->ring_bytes == b->ring_bytes &&
	       a->horizon_ns == b->horizon_ns && a->stack == b->stack &&
	       a->stack_bytes == b->stack_bytes;
}

static void tell_channel(told *tell, const char *name, const char *how)
{
	char text[256];

	snprintf(text, sizeof(text), "channel %s", name);
	tell(text, how);
}

static int compare_channels(const struct config *old, const struct config *fresh, told *tell,
			    struct err *err)
{
	struct config_channel *a = NULL, *b = NULL;
	struct config as_started = *fresh;
	size_t nr_a = 0, nr_b = 0;
	int rc;

	as_started.plain_preset = old->plain_preset; /* decided by the kernel, not the user */
	rc = config_channels(old, &a, &nr_a, err);
	rc = rc ? rc : config_channels(&as_started, &b, &nr_b, err);
	for (size_t i = 0; i < nr_a && !rc; i++) {
		const struct config_channel *now = find(b, nr_b, a[i].name);

		if (!now || !same_channel(&a[i], now))
			tell_channel(tell, a[i].name, now ? "changed" : "removed");
	}
	for (size_t i = 0; i < nr_b && !rc; i++)
		if (!find(a, nr_a, b[i].name))
			tell_channel(tell, b[i].name, "added");
	config_channels_free(a, nr_a);
	config_channels_free(b, nr_b);
	return rc;
}

/* ---- single settings ---- */

/* Settings that session_reload() applies, and those that are told as a channel or the target. */
static bool is_told_otherwise(const struct option_row *r)
{
	static const char *const names[] = {"post",	    "cooldown",	  "max-dumps", "max-disk",
					    "dump-on-exit", "no-inherit", "mmap-size"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(r->name, names[i]))
			return true;
	return r->group == GROUP_TARGET || !r->in_file;
}

static bool same_setting(const struct option_row *r, const struct config *old,
			 const struct config *fresh)
{
	const char *a = (const char *)old + r->offset, *b = (const char *)fresh + r->offset;

	switch (r->kind) {
	case OPTION_TEXT:
		return same_text(*(char *const *)a, *(char *const *)b);
	case OPTION_FLAG:
		return *(const bool *)a == *(const bool *)b;
	case OPTION_SIZE:
		return *(const uint64_t *)a == *(const uint64_t *)b;
	case OPTION_UINT:
	case OPTION_CHOICE:
		return *(const unsigned *)a == *(const unsigned *)b;
	default:
		return true;
	}
}

int config_changes(const struct config *old, const struct config *fresh, told *tell,
		   struct err *err)
{
	int rc = compare_channels(old, fresh, tell, err);

	if (rc)
		return rc;
	if (!same_target(old, fresh))
		tell("target", "changed");
	if (old->memory.bytes != fresh->memory.bytes ||
	    old->memory.percent != fresh->memory.percent)
		tell("memory", "changed");
	if (old->symbols_ns != fresh->symbols_ns)
		tell("symbols", "changed");
	if (!same_text(old->name, fresh->name))
		tell("name", "changed");
	for (const struct option_row *r = config_options; r->name; r++)
		if (!is_told_otherwise(r) && !same_setting(r, old, fresh))
			tell(r->name, "changed");
	return 0;
}
