// SPDX-License-Identifier: MIT
/* Opens what an exporter needs and feeds it the records; see export.h. Called by `ringback export`.
 */
#include "dump/view/export/export.h"

#include "dump/base/closest.h"
#include "dump/base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Between two calls of progress(). */
#define PROGRESS_RECORDS 16384u

static const struct exporter *const exporters[] = {
	&export_perf,	&export_pftrace, &export_folded, &export_pprof,
	&export_ndjson, &export_aux,	 NULL,
};

const struct exporter *exporter_nth(size_t i)
{
	return exporters[i];
}

const struct exporter *exporter_find(const char *name, struct err *err)
{
	struct closest near;
	char all[200] = "one of: ";

	closest_init(&near, name);
	for (size_t i = 0; exporters[i]; i++) {
		if (!strcmp(exporters[i]->name, name))
			return exporters[i];
		closest_add(&near, exporters[i]->name, NULL);
		snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s", i ? ", " : "",
			 exporters[i]->name);
	}
	err_set(err, -EINVAL, "there is no format '%s'", name);
	closest_hint(&near, err, all);
	return NULL;
}

/* ---- the output ---- */

/* Whether the output starts at offset 0 and can be overwritten. */
static bool is_seekable(FILE *out)
{
	int flags = fcntl(fileno(out), F_GETFL);

	return flags >= 0 && !(flags & O_APPEND) && !ftello(out);
}

int export_patch(struct export *x, uint64_t off, const void *p, size_t n)
{
	struct text *t = &x->out;

	if (text_flush(t))
		return t->rc;
	if (fseeko(t->out, (off_t)off, SEEK_SET) || fwrite(p, 1, n, t->out) != n ||
	    fseeko(t->out, 0, SEEK_END))
		t->rc = errno ? -errno : -EIO;
	return t->rc;
}

int32_t export_cpu(const struct timeline_record *rec)
{
	return rec->s.have & PERF_SAMPLE_CPU ? (int32_t)rec->s.cpu : rec->window->cpu;
}

void export_who(const struct export *x, const struct timeline_record *rec, uint32_t *pid,
		uint32_t *tid)
{
	const struct fmt_task *t = history_task(x->a.history, rec->tid, rec->time_ns);
	bool has_pid = rec->s.have & PERF_SAMPLE_TID && rec->s.pid != UINT32_MAX;

	*pid = has_pid ? rec->s.pid : t ? t->pid : rec->tid;
	*tid = rec->tid != UINT32_MAX ? rec->tid : *pid;
}

/* ---- the records ---- */

static int each_record(struct export *x, struct timeline *t, uint64_t *nr, struct err *err)
{
	const struct export_options *opt = x->opt;
	uint64_t total = reader_nr_records(x->a.r, opt->from_ns, opt->to_ns);
	struct timeline_record rec;
	int rc;

	while ((rc = timeline_next(t, &rec, err)) > 0) {
		rc = x->exporter->record(x, &rec, err);
		if (rc || text_flush_large(&x->out))
			return rc;
		if (++*nr % PROGRESS_RECORDS == 0 && opt->progress)
			opt->progress(opt->ctx, *nr, total);
	}
	return rc;
}

static int run(struct export *x, struct timeline *t, uint64_t *nr, struct err *err)
{
	const struct exporter *e = x->exporter;
	int rc = e->begin ? e->begin(x, err) : 0;

	if (!rc)
		rc = each_record(x, t, nr, err);
	if (!rc && !x->out.rc && e->end)
		rc = e->end(x, err);
	if (e->drop)
		e->drop(x);
	/* A failed output takes precedence over the exporter's error. */
	if (rc && !x->out.rc)
		return rc;
	text_flush(&x->out);
	if (!x->out.rc && fflush(x->out.out))
		x->out.rc = -errno;
	return x->out.rc ? err_sys(err, x->out.rc, "the output can't be written") : 0;
}

int export_run(struct reader *r, const struct meta *m, const struct exporter *e,
	       const struct export_options *opt, FILE *out, struct export_result *res,
	       struct err *err)
{
	struct export x = {
		.exporter = e,
		.opt = opt,
		.a = {.r = r, .m = m},
		.out = TEXT_INIT(out),
		.seekable = is_seekable(out),
	};
	struct timeline_options o = {
		.from_ns = opt->from_ns,
		.to_ns = opt->to_ns,
		.cpu = -1,
		.nr_helpers = sysconf(_SC_NPROCESSORS_ONLN) > 1 ? 1 : 0,
	};
	struct timeline *t = NULL;
	int rc;

	*res = (struct export_result){0};
	if (e->all)
		return e->all(&x, res, err);
	rc = analysis_open(&x.a, e->needs, err);
	if (!rc)
		rc = timeline_open(r, m, &o, &t, err);
	if (!rc)
		rc = run(&x, t, &res->nr_records, err);
	res->nr_cut = x.nr_cut;
	res->nr_left_out = x.nr_left_out;
	res->nr_areas_left_out = x.nr_areas_left_out;
	res->why_area = x.why_area;
	res->nr_calls_left_out = x.nr_calls_left_out;
	res->nr_bad = x.nr_bad + analysis_nr_broken(&x.a) + (t ? timeline_nr_bad_blocks(t) : 0);
	timeline_close(t);
	analysis_close(&x.a);
	text_free(&x.out);
	return rc;
}
