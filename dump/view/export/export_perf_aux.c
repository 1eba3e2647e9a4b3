// SPDX-License-Identifier: MIT
/* Chooses the AUX areas that perf can decode, and writes them; see export_perf_aux.h. Numbers and
 * layouts are those of perf's util/auxtrace.h and lib/perf/include/perf/event.h. */
#include "dump/view/export/export_perf_aux.h"

#include "dump/base/err.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Record types of perf, not of the kernel. */
#define RECORD_AUXTRACE_INFO 70u
#define RECORD_AUXTRACE	     71u
#define RECORD_TIME_CONV     79u

/* The newest bytes of a larger area are kept. */
#define MAX_AREA_BYTES (1ull << 30)
/* Bytes per write. */
#define PIECE_BYTES (1u << 20)

/* ---- the PMUs ---- */

struct aux_kind {
	const char *pmu; /* prefix of its name */
	uint32_t type;	 /* enum auxtrace_type of perf's */
	/* Puts the words of AUXTRACE_INFO. */
	void (*info)(const struct perf_aux *a, struct text *t);
	/* The part of a trace between two times; NULL: it cannot be cut. */
	struct bytes (*cut)(struct perf_area *area, struct bytes b, uint64_t from_ns,
			    uint64_t to_ns);
	bool time_conv; /* perf takes the clock from a TIME_CONV */
};

static void info_type(const struct perf_aux *a, struct text *t)
{
	perf_u64(t, a->event->attr.type);
}

static void info_spe(const struct perf_aux *a, struct text *t)
{
	info_type(a, t);
	perf_u64(t, a->v[0].d->cpu >= 0); /* an area for each CPU */
}

static const struct aux_kind kinds[] = {
	{"intel_pt", 1, perf_pt_info, perf_pt_cut, false},
	{"arm_spe_", 4, info_spe, NULL, true},
	{"hisi_ptt", 6, info_type, NULL, false},
};

static const struct aux_kind *kind_of(const struct dump_area *d)
{
	for (size_t i = 0; d->event && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strncmp(d->event->pmu, kinds[i].pmu, strlen(kinds[i].pmu)))
			return &kinds[i];
	return NULL;
}

/* ---- the clock ---- */

static uint64_t to_ns(const struct perf_clock *c, uint64_t cycles)
{
	uint64_t rest = cycles & ((1ull << c->shift) - 1);

	return c->zero + (cycles >> c->shift) * c->mult + (rest * c->mult >> c->shift);
}

/* The line through both pairs, with the precision of perf's fields. */
static void by_pairs(const struct fmt_window_aux *f, struct perf_clock *c)
{
	uint64_t ns = f->stop_cycles_ns - f->start_cycles_ns;
	uint64_t cycles = f->stop_cycles - f->start_cycles;

	if (!f->start_cycles || f->start_cycles >= f->stop_cycles ||
	    f->start_cycles_ns >= f->stop_cycles_ns)
		return;
	for (uint32_t shift = 0; shift <= 32; shift++) {
		__uint128_t mult = ((__uint128_t)ns << shift) / cycles;

		if (mult > UINT32_MAX)
			return;
		c->mult = (uint32_t)mult;
		c->shift = shift;
	}
}

/* As aux_time(); perf has one clock for all areas: that of the last stop. */
static struct perf_clock clock_of(const struct fmt_window_aux *f)
{
	struct perf_clock c = {0};

	if (!f->stop_cycles)
		return c;
	if (f->time_mult && f->time_shift <= 32) {
		c.mult = f->time_mult;
		c.shift = f->time_shift;
	} else {
		by_pairs(f, &c);
	}
	c.zero = f->stop_cycles_ns - to_ns(&c, f->stop_cycles);
	return c;
}

/* ---- which areas ---- */

static void leave_out(struct perf_export *p, const struct dump_area *d, const struct aux_kind *kind)
{
	struct export *x = p->x;

	if (x->nr_areas_left_out++)
		return;
	if (!d->event)
		x->why_area = "the dump does not say whose they are";
	else if (!kind)
		x->why_area = "what perf needs to know of their PMU is not in the dump";
	else
		x->why_area = "perf takes areas of one event only";
}

static void choose(struct perf_export *p, struct perf_aux *a)
{
	uint64_t newest_ns = 0;

	for (size_t i = 0; i < a->list.nr; i++) {
		const struct dump_area *d = &a->list.v[i];
		const struct aux_kind *kind = kind_of(d);

		if (!kind || (a->event && a->event != d->event) ||
		    p->of_event[d->event->f.id] == UINT32_MAX) {
			leave_out(p, d, kind);
			continue;
		}
		a->event = d->event;
		a->kind = kind;
		a->v[a->nr++] = (struct perf_area){.d = d, .first_ns = UINT64_MAX};
		if (d->f.stop_cycles && d->f.stop_ns >= newest_ns) {
			newest_ns = d->f.stop_ns;
			a->clock = clock_of(&d->f);
		}
	}
}

int perf_aux_new(struct perf_export *p, struct perf_aux **out, struct err *err)
{
	struct perf_aux *a = calloc(1, sizeof(*a));
	int rc;

	if (!a)
		return err_set(err, -ENOMEM, "out of memory");
	rc = aux_list_load(p->x->a.r, p->x->a.m, &a->list, err);
	if (!rc) {
		a->v = calloc(a->list.nr + 1, sizeof(*a->v));
		rc = a->v ? 0 : err_set(err, -ENOMEM, "out of memory for the AUX areas");
	}
	if (!rc)
		choose(p, a);
	if (!rc && a->nr)
		rc = perf_switch_find(p, a, err);
	if (rc || !a->nr) {
		perf_aux_free(a);
		return rc;
	}
	/* Otherwise perf ignores PERF_RECORD_SWITCH. */
	if (a->switches)
		p->evsels[p->of_event[a->event->f.id]].attr.context_switch = 1;
	*out = a;
	return 0;
}

void perf_aux_free(struct perf_aux *a)
{
	if (!a)
		return;
	aux_list_free(&a->list);
	free(a->v);
	free(a);
}

/* ---- the description ---- */

static void put_time_conv(struct perf_export *p)
{
	const struct perf_clock *c = &p->aux->clock;
	uint64_t v[] = {c->shift, c->mult, c->zero, 0, UINT64_MAX, c->mult > 0};

	perf_rec_begin(p, RECORD_TIME_CONV, 0);
	perf_rec_add(p, v, sizeof(v));
	perf_rec_put(p);
}

static int put_info(struct perf_export *p)
{
	uint32_t type[] = {p->aux->kind->type, 0};
	struct text t = TEXT_INIT(NULL);
	int rc;

	if (p->aux->kind->time_conv)
		put_time_conv(p);
	p->aux->kind->info(p->aux, &t);
	perf_rec_begin(p, RECORD_AUXTRACE_INFO, 0);
	perf_rec_add(p, type, sizeof(type));
	perf_rec_add(p, t.b.p, t.b.len);
	rc = t.rc ? t.rc : perf_rec_put(p);
	text_free(&t);
	return rc;
}

/* ---- bytes ---- */

struct auxtrace {
	struct perf_event_header h;
	uint64_t size, offset, reference;
	uint32_t idx, tid, cpu, reserved;
};

_Static_assert(sizeof(struct auxtrace) == 48, "perf_record_auxtrace");

/* The record and its bytes must be contiguous. */
static void put_bytes(struct perf_export *p, size_t i, struct bytes b)
{
	static const uint8_t zeros[8];
	struct perf_area *area = &p->aux->v[i];
	const struct fmt_window_aux *f = &area->d->f;
	size_t rest = align_up(b.len, sizeof(zeros)) - b.len;
	struct auxtrace r = {
		.h = {.type = RECORD_AUXTRACE, .size = sizeof(r)},
		.size = b.len + rest,
		.offset = f->head > b.len ? f->head - b.len : 0,
		.reference = f->stop_cycles,
		.idx = (uint32_t)i,
		.tid = area->d->cpu < 0 ? (uint32_t)area->d->tid : UINT32_MAX,
		.cpu = (uint32_t)area->d->cpu,
	};
	struct bytes piece;

	area->off = p->off;
	perf_put(p, &r, sizeof(r));
	while (b.len) {
		bytes_take(&b, b.len < PIECE_BYTES ? b.len : PIECE_BYTES, &piece);
		perf_put(p, piece.p, piece.len);
		text_flush_large(&p->x->out);
	}
	perf_put(p, zeros, rest);
}

/* The part after the newest hole. */
static int put_area(struct perf_export *p, size_t i, struct buf *buf, struct err *err)
{
	struct perf_area *area = &p->aux->v[i];
	const struct export_options *opt = p->x->opt;
	int rc = aux_load(p->x->a.r, area->d, MAX_AREA_BYTES, buf, err);
	struct bytes b = {buf->p, buf->len};

	if (rc && rc != -EBADMSG && rc != -ENOTSUP)
		return rc;
	p->x->nr_bad += rc != 0;
	if (p->aux->kind->cut)
		b = p->aux->kind->cut(area, b, opt->from_ns, opt->to_ns);
	if (b.len)
		put_bytes(p, i, b);
	return p->x->out.rc;
}

int perf_aux_put(struct perf_export *p, struct err *err)
{
	struct buf buf = {0};
	int rc;

	if (!p->aux)
		return 0;
	rc = put_info(p);
	if (rc)
		err_set(err, rc, "out of memory for the AUX areas");
	for (size_t i = 0; i < p->aux->nr && !rc; i++)
		rc = put_area(p, i, &buf, err);
	buf_free(&buf);
	return rc;
}

bool perf_aux_index(struct perf_export *p, struct text *t)
{
	uint64_t nr = 0;

	for (size_t i = 0; p->aux && i < p->aux->nr; i++)
		nr += p->aux->v[i].off > 0;
	perf_u64(t, nr);
	for (size_t i = 0; nr && i < p->aux->nr; i++) {
		if (!p->aux->v[i].off)
			continue;
		perf_u64(t, p->aux->v[i].off);
		perf_u64(t, sizeof(struct auxtrace));
	}
	return nr > 0;
}

/* ---- for the records ---- */

/* A little earlier: perf has one clock for all areas, and rounds. */
#define SLACK_NS 1000u

uint64_t perf_aux_floor(const struct perf_export *p, uint64_t first_ns)
{
	for (size_t i = 0; p->aux && i < p->aux->nr; i++) {
		uint64_t ns = p->aux->v[i].first_ns;

		if (ns != UINT64_MAX && ns > SLACK_NS && ns - SLACK_NS < first_ns)
			first_ns = ns - SLACK_NS;
	}
	return first_ns;
}

size_t perf_aux_nr(const struct perf_export *p)
{
	return p->aux ? p->aux->nr : 0;
}

bool perf_aux_ran(const struct perf_export *p, size_t i, uint64_t *ns)
{
	*ns = p->aux->v[i].run_ns;
	return p->aux->v[i].ran;
}

int perf_aux_put_ran(struct perf_export *p, size_t i, uint64_t ns)
{
	const struct perf_area *area = &p->aux->v[i];
	uint32_t who[] = {area->pid, area->tid};

	perf_rec_begin(p, PERF_RECORD_ITRACE_START, 0);
	perf_rec_add(p, who, sizeof(who));
	perf_rec_id(p, &p->evsels[p->of_event[p->aux->event->f.id]], area->pid, area->tid, ns,
		    (uint32_t)area->d->cpu);
	return perf_rec_put(p);
}
