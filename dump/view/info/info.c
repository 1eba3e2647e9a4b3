// SPDX-License-Identifier: MIT
/* Collects what info prints; see info.h. Called by `ringback info`. */
#include "dump/view/info/info_impl.h"

#include "dump/base/err.h"
#include "dump/base/str.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct info_span info_ring_span(const struct fmt_window *w)
{
	bool cut = w->overwritten_bytes || w->flags & FMT_WINDOW_BROKEN || !w->armed_ns;

	return (struct info_span){
		.from_ns = cut && w->nr_records ? w->first_ns : w->armed_ns,
		.to_ns = w->paused_ns ? w->paused_ns : w->last_ns,
	};
}

const char *info_channel_name(const struct info *in, const struct fmt_window *w)
{
	return w->channel < in->a.m->nr_channels ? in->a.m->channels[w->channel].name : "";
}

char *info_rel_time(const struct info *in, char *out, size_t n, uint64_t ns)
{
	int64_t rel = (int64_t)(ns - in->a.m->trigger.hit_ns);
	size_t plus = rel >= 0 && n > 1;

	if (plus)
		out[0] = '+';
	str_fmt_time(out + plus, n - plus, rel);
	return out;
}

static int compare_rings(const void *a, const void *b)
{
	const struct fmt_window *x = *(const struct fmt_window *const *)a;
	const struct fmt_window *y = *(const struct fmt_window *const *)b;

	if (x->channel != y->channel)
		return x->channel < y->channel ? -1 : 1;
	if (x->cpu != y->cpu)
		return x->cpu < y->cpu ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return x->ring < y->ring ? -1 : x->ring > y->ring;
}

static int list_rings(struct info *in)
{
	const struct meta *m = in->a.m;

	in->rings = calloc(m->nr_windows + 1, sizeof(*in->rings));
	if (!in->rings)
		return -ENOMEM;
	for (size_t i = 0; i < m->nr_windows; i++)
		if (meta_is_ring(&m->windows[i]))
			in->rings[in->nr_rings++] = &m->windows[i];
	if (in->nr_rings)
		qsort(in->rings, in->nr_rings, sizeof(*in->rings), compare_rings);
	return 0;
}

/* Ignores rings without times, and rings whose CPU went offline: they would narrow the time that
 * the others cover. */
static void find_common(struct info *in)
{
	for (size_t i = 0; i < in->nr_rings; i++) {
		struct info_span s = info_ring_span(in->rings[i]);

		if (in->rings[i]->flags & FMT_WINDOW_OFFLINE || (!s.from_ns && !s.to_ns))
			continue;
		if (!in->shortest || s.from_ns > in->common.from_ns) {
			in->common.from_ns = s.from_ns;
			in->shortest = in->rings[i];
		}
		if (!in->common.to_ns || s.to_ns < in->common.to_ns)
			in->common.to_ns = s.to_ns;
	}
}

int info_collect(struct info *in, struct err *err)
{
	history_counts(in->a.history, &in->nr);
	if (list_rings(in))
		return err_set(err, -ENOMEM, "out of memory for the list of rings");
	find_common(in);
	info_find_losses(in);
	return 0;
}

int info_print(struct reader *r, const struct meta *m, const struct info_options *opt, FILE *out,
	       struct info_result *res, struct err *err)
{
	struct info in = {.a = {.r = r, .m = m}, .opt = opt, .text = TEXT_INIT(out)};
	int rc = analysis_open(&in.a, ANALYSIS_HISTORY, err);

	rc = rc ? rc : info_collect(&in, err);
	rc = rc ? rc : aux_list_load(r, m, &in.areas, err);
	rc = rc ? rc : thread_states_load(r, &in.states, err);
	rc = rc ? rc : cause_find(&in.a, &in.cause, err);
	if (!rc) {
		if (opt->json)
			info_json(&in);
		else
			info_text(&in);
		rc = text_flush(&in.text);
		if (rc)
			err_sys(err, rc, "the output can't be written");
	}
	res->nr_bad = m->nr_broken + in.nr.nr_broken;
	if (in.states)
		res->nr_bad += thread_states_nr_broken(in.states);
	cause_free(&in.cause);
	thread_states_free(in.states);
	analysis_close(&in.a);
	aux_list_free(&in.areas);
	free(in.rings);
	text_free(&in.text);
	return rc;
}

void info_joined(const struct meta *m, struct text *t)
{
	if (m->nr_joined > 1)
		text_fmt(t, ", with the %zu dumps before it (from ", m->nr_joined);
	else if (m->nr_joined)
		text_str(t, ", with the dump before it (");
	else
		return;
	text_safe(t, m->joined[m->nr_joined - 1], strlen(m->joined[m->nr_joined - 1]));
	text_str(t, m->nr_joined > 1 ? " on)" : ")");
}
