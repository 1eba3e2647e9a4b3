// SPDX-License-Identifier: MIT
/*
 * `ringback export -f aux`: the bytes of one AUX area as the hardware wrote them, oldest first. Of
 * a damaged area, the part after the newest hole; see dump/file/aux_areas.h.
 */
#include "dump/view/export/export.h"

#include "dump/file/aux_areas.h"
#include "dump/base/err.h"
#include "dump/base/str.h"

#include <errno.h>

static bool wanted(const struct export_area *want, const struct dump_area *a)
{
	return (!want->has_cpu || a->cpu == want->cpu) && (!want->has_tid || a->tid == want->tid) &&
	       (!want->channel || !strcmp(want->channel, a->channel ? a->channel->name : ""));
}

/* Adds the options that select this area. */
static void add_choice(char *list, size_t n, const struct dump_area *a)
{
	size_t len = strlen(list);
	char cpu[24] = "", tid[24] = "", name[64] = "";

	if (a->cpu >= 0)
		snprintf(cpu, sizeof(cpu), " --cpu %d", a->cpu);
	if (a->tid >= 0)
		snprintf(tid, sizeof(tid), " --tid %d", a->tid);
	if (a->channel)
		str_safe(name, sizeof(name), a->channel->name, strlen(a->channel->name));
	snprintf(list + len, n - len, "%s --channel %s%s%s", len ? "," : "", name, cpu, tid);
}

static int not_one(const struct export *x, const struct aux_list *l, size_t nr, struct err *err)
{
	const struct export_area *want = &x->opt->area;
	char list[400] = "";

	if (!l->nr) {
		err_set(err, -ENOTSUP, "the dump has no AUX areas");
		err_hint(err, "they come from channels of a PMU that has them: "
			      "record --channel pt:intel_pt//u");
		return -ENOTSUP;
	}
	for (size_t i = 0; i < l->nr; i++)
		if (!nr || wanted(want, &l->v[i]))
			add_choice(list, sizeof(list), &l->v[i]);
	if (nr)
		err_set(err, -EINVAL, "that is %zu AUX areas, one can be exported at a time", nr);
	else
		err_set(err, -EINVAL, "there is no such AUX area in the dump");
	err_hint(err, "one of:%s", list);
	return -EINVAL;
}

static int put(void *ctx, struct bytes b)
{
	struct export *x = ctx;

	errno = 0;
	if (fwrite(b.p, 1, b.len, x->out.out) == b.len)
		return 0;
	x->out.rc = errno ? -errno : -EIO;
	return x->out.rc;
}

static int put_area(struct export *x, const struct dump_area *a, struct err *err)
{
	uint64_t done;
	int rc = aux_walk(x->a.r, a, UINT64_MAX, put, x, &done, err);

	if (!x->out.rc && fflush(x->out.out))
		x->out.rc = -errno;
	return x->out.rc ? err_sys(err, x->out.rc, "the output can't be written") : rc;
}

static int all(struct export *x, struct export_result *res, struct err *err)
{
	const struct dump_area *found = NULL;
	struct aux_list l;
	size_t nr = 0;
	int rc = aux_list_load(x->a.r, x->a.m, &l, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < l.nr; i++)
		if (wanted(&x->opt->area, &l.v[i])) {
			found = &l.v[i];
			nr++;
		}
	rc = nr == 1 ? put_area(x, found, err) : not_one(x, &l, nr, err);
	aux_list_free(&l);
	return rc;
}

const struct exporter export_aux = {
	.name = "aux",
	.help = "the bytes of one AUX area, oldest first: --cpu, --tid, --channel",
	.suffix = ".aux",
	.binary = true,
	.all = all,
};
