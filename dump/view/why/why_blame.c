// SPDX-License-Identifier: MIT
/* The blame matrix of the analyzed time, for --json. */
#include "dump/view/base/json.h"
#include "dump/view/model/cgroup.h"
#include "dump/view/schedule/blame.h"
#include "dump/view/why/why_impl.h"

static void put_group(struct json *j, const struct meta *m, const char *path)
{
	char name[256];

	json_cstr(j, "cgroup", path);
	json_cstr(j, "name", cgroup_name(name, sizeof(name), m, path));
	cgroup_json(j, m, path);
}

static void put_row(struct json *j, const struct meta *m, const struct blame_row *r)
{
	json_open(j, NULL, '{');
	put_group(j, m, r->path);
	json_u64(j, "waited_ns", r->waited_ns);
	json_u64(j, "own_ns", r->part_ns[BLAME_OWN]);
	json_u64(j, "quota_ns", r->part_ns[BLAME_QUOTA]);
	json_u64(j, "idle_ns", r->part_ns[BLAME_IDLE]);
	json_u64(j, "unknown_ns", r->part_ns[BLAME_UNKNOWN]);
	json_open(j, "others", '[');
	for (size_t i = 0; i < r->nr_others; i++) {
		json_open(j, NULL, '{');
		put_group(j, m, r->others[i].path);
		json_u64(j, "ns", r->others[i].ns);
		json_close(j, '}');
	}
	json_close(j, ']');
	json_close(j, '}');
}

int why_blame_json(const struct why *w, struct json *j)
{
	struct blame_input in = {.sched = w->a.sched,
				 .history = w->a.history,
				 .m = w->a.m,
				 .from_ns = w->focus_ns,
				 .to_ns = w->end_ns};
	struct blame *b;
	int rc = blame_new(&in, &b);

	if (rc)
		return rc;
	json_open(j, "blame", '[');
	for (size_t i = 0; i < blame_nr(b); i++)
		put_row(j, w->a.m, blame_row(b, i));
	json_close(j, ']');
	blame_free(b);
	return 0;
}
