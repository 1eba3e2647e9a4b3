// SPDX-License-Identifier: MIT
/* Control groups with limits in info: a line each, and the same as JSON. Called by info_text.c and
 * info_json.c. */
#include "dump/view/info/info_impl.h"

#include "dump/base/str.h"
#include "dump/view/model/cgroup.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MAX_GROUPS 8 /* groups that get a line each without --all */

static void put_group(struct info *in, const struct meta_cgroup *g)
{
	char path[256], name[256], safe[512], quota[32], period[32], time[32], limit[32], used[32];

	info_put_line(in, "cgroup", "%s%s", str_safe(path, sizeof(path), g->path, strlen(g->path)),
		      g->f.flags & FMT_CGROUP_NEW ? ", created since the previous dump" : "");
	cgroup_name(name, sizeof(name), in->a.m, g->path);
	if (cgroup_is_named(in->a.m, g->path))
		info_put_line(in, "", "%s", str_safe(safe, sizeof(safe), name, strlen(name)));
	if (g->f.quota_ns)
		info_put_line(in, "",
			      "%s of CPU time each %s; throttled in %" PRIu64 " period%s, for %s",
			      str_fmt_time(quota, sizeof(quota), (int64_t)g->f.quota_ns),
			      str_fmt_time(period, sizeof(period), (int64_t)g->f.period_ns),
			      g->f.nr_throttled, g->f.nr_throttled == 1 ? "" : "s",
			      str_fmt_time(time, sizeof(time), (int64_t)g->f.throttled_ns));
	if (g->f.memory_limit_bytes)
		info_put_line(
			in, "",
			"%s of %s memory; met the limit %" PRIu64 " time%s, OOM killed %" PRIu64,
			str_fmt_size(used, sizeof(used), g->f.memory_bytes),
			str_fmt_size(limit, sizeof(limit), g->f.memory_limit_bytes),
			g->f.nr_limit_hits, g->f.nr_limit_hits == 1 ? "" : "s", g->f.nr_oom_kills);
}

void info_cgroups_text(struct info *in)
{
	size_t nr = in->a.m->nr_cgroups;

	for (size_t i = 0; i < nr && (in->opt->all || i < MAX_GROUPS); i++)
		put_group(in, &in->a.m->cgroups[i]);
	if (!in->opt->all && nr > MAX_GROUPS)
		info_put_line(in, "", "and %zu more control groups with limits (--all)",
			      nr - MAX_GROUPS);
}

static void put_or_null(struct json *j, const char *key, uint64_t v, bool known)
{
	if (known)
		json_u64(j, key, v);
	else
		json_cstr(j, key, NULL);
}

static void put_json(struct json *j, const struct meta *m, const struct meta_cgroup *g)
{
	bool cpu = g->f.quota_ns, memory = g->f.memory_limit_bytes;

	json_open(j, NULL, '{');
	json_cstr(j, "path", g->path);
	cgroup_json(j, m, g->path);
	json_u64(j, "version", g->f.version);
	json_bool(j, "new", g->f.flags & FMT_CGROUP_NEW);
	json_u64(j, "counted_ns", g->f.at_ns - g->f.since_ns);
	put_or_null(j, "quota_ns", g->f.quota_ns, cpu);
	put_or_null(j, "period_ns", g->f.period_ns, cpu);
	put_or_null(j, "throttled", g->f.nr_throttled, cpu);
	put_or_null(j, "throttled_ns", g->f.throttled_ns, cpu);
	put_or_null(j, "memory_limit_bytes", g->f.memory_limit_bytes, memory);
	put_or_null(j, "memory_bytes", g->f.memory_bytes, memory);
	put_or_null(j, "limit_hits", g->f.nr_limit_hits, memory);
	put_or_null(j, "oom_kills", g->f.nr_oom_kills, memory);
	json_open(j, "pids", '[');
	for (uint32_t k = 0; k < g->f.nr_pids; k++)
		json_u64(j, NULL, meta_cgroup_pid(g, k));
	json_close(j, ']');
	json_close(j, '}');
}

void info_cgroups_json(const struct info *in, struct json *j)
{
	if (!in->a.m->knows_cgroups)
		return;
	json_open(j, "cgroups", '[');
	for (size_t i = 0; i < in->a.m->nr_cgroups; i++)
		put_json(j, in->a.m, &in->a.m->cgroups[i]);
	json_close(j, ']');
}
