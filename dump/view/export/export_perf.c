// SPDX-License-Identifier: MIT
/*
 * `ringback export -f perf`: a perf.data. See export_perf.h for its parts.
 *
 * Samples keep the bytes that the kernel wrote, in their order. ringback records as few fields as
 * possible; perf needs the same ones in all events, at fixed places. Missing ones are inserted from
 * other data of the dump:
 *
 *	IDENTIFIER  the event (tracepoint samples have it as common_type)
 *	IP          the first address of the call chain, or of the registers; else 0
 *	PID, TID    common_pid, and the ledger's process
 *	CPU         the ring's
 *
 * The frequency of a clock becomes its period, as in the kernel.
 */
#include "dump/view/export/export_perf.h"

#include "dump/base/array.h"
#include "dump/base/err.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The largest record whose size fits into the header. */
#define MAX_RECORD 65528u
/* perf holds the records of a round to sort them; they are sorted already. */
#define ROUND_BYTES (1u << 20)
/* A record type of perf, not of the kernel. */
#define PERF_RECORD_FINISHED_ROUND 68u

/* Fields of 8 bytes, in the kernel's order; CALLCHAIN and others follow. */
static const uint64_t words[] = {
	PERF_SAMPLE_IDENTIFIER, PERF_SAMPLE_IP,	  PERF_SAMPLE_TID,
	PERF_SAMPLE_TIME,	PERF_SAMPLE_ADDR, PERF_SAMPLE_ID,
	PERF_SAMPLE_STREAM_ID,	PERF_SAMPLE_CPU,  PERF_SAMPLE_PERIOD,
};

#define NR_WORDS (sizeof(words) / sizeof(words[0]))

/* ---- records ---- */

void perf_put(struct perf_export *p, const void *from, size_t n)
{
	text_put(&p->x->out, from, n);
	p->off += n;
}

void perf_rec_begin(struct perf_export *p, uint32_t type, uint16_t misc)
{
	struct perf_event_header h = {.type = type, .misc = misc};

	p->rec.len = 0;
	perf_rec_add(p, &h, sizeof(h));
}

/* The output keeps a failure; perf_rec_put() returns it. */
int perf_rec_add(struct perf_export *p, const void *from, size_t n)
{
	int rc = buf_put(&p->rec, from, n);

	if (rc && !p->x->out.rc)
		p->x->out.rc = rc;
	return rc;
}

int perf_rec_text(struct perf_export *p, const char *text)
{
	static const uint8_t zeros[8];
	size_t n = strnlen(text, 4095);
	int rc = perf_rec_add(p, text, n);

	return rc ? rc : perf_rec_add(p, zeros, 8 - n % 8);
}

int perf_rec_id(struct perf_export *p, const struct perf_evsel *e, uint32_t pid, uint32_t tid,
		uint64_t time_ns, uint32_t cpu)
{
	uint64_t v[6], type = e->attr.sample_type;
	size_t n = 0;

	v[n++] = (uint64_t)tid << 32 | pid;
	v[n++] = time_ns;
	if (type & PERF_SAMPLE_ID)
		v[n++] = e->id;
	if (type & PERF_SAMPLE_STREAM_ID)
		v[n++] = 0;
	v[n++] = cpu;
	v[n++] = e->id;
	return perf_rec_add(p, v, n * sizeof(v[0]));
}

/* Without these perf would hold all records in memory before it processes the first. */
static void put_round(struct perf_export *p)
{
	struct perf_event_header h = {.type = PERF_RECORD_FINISHED_ROUND, .size = sizeof(h)};

	if (p->off < p->round_off)
		return;
	perf_put(p, &h, sizeof(h));
	p->round_off = p->off + ROUND_BYTES;
}

int perf_rec_put(struct perf_export *p)
{
	struct perf_event_header *h = (struct perf_event_header *)p->rec.p;

	if (p->x->out.rc)
		return p->x->out.rc;
	if (p->rec.len > MAX_RECORD)
		return -E2BIG;
	h->size = (uint16_t)p->rec.len;
	perf_put(p, p->rec.p, p->rec.len);
	text_flush_large(&p->x->out);
	put_round(p);
	return 0;
}

/* ---- fields that the dump has elsewhere ---- */

static bool has_id(const struct perf_export *p, uint64_t id, uint32_t event)
{
	size_t nr, at;
	const struct fmt_event_id *ids = meta_event_ids(p->x->a.m, &nr);

	at = array_bisect(i, nr, ids[i].id < id);
	return at < nr && ids[at].id == id && ids[at].event == event;
}

static uint64_t sample_ip(const struct perf_export *p, const struct timeline_record *rec)
{
	uint64_t ip, mask = rec->channel->layout.regs_user;
	struct record_walk w = {0};
	int before;

	if (record_next_ip(&rec->s, &w))
		return w.ip;
	if (!rec->s.regs || p->ip_reg >= 64 || !(mask & 1ull << p->ip_reg))
		return 0;
	before = __builtin_popcountll(mask & ((1ull << p->ip_reg) - 1));
	memcpy(&ip, rec->s.regs + before * 8, 8);
	return ip;
}

static uint32_t pid_of(const struct perf_export *p, uint32_t tid, uint64_t ns)
{
	const struct fmt_task *t;

	if (tid == UINT32_MAX)
		return tid;
	t = history_task(p->x->a.history, tid, ns);
	return t ? t->pid : tid;
}

static uint64_t word(const struct perf_export *p, const struct perf_evsel *e,
		     const struct timeline_record *rec, uint64_t bit)
{
	switch (bit) {
	case PERF_SAMPLE_IDENTIFIER:
		return e->id;
	case PERF_SAMPLE_IP:
		return sample_ip(p, rec);
	case PERF_SAMPLE_TID:
		return (uint64_t)rec->tid << 32 | pid_of(p, rec->tid, rec->time_ns);
	case PERF_SAMPLE_TIME:
		return rec->time_ns;
	default: /* CPU */
		return (uint32_t)rec->window->cpu;
	}
}

/* ---- samples ---- */

static const struct perf_evsel *evsel_of(const struct perf_export *p,
					 const struct timeline_record *rec)
{
	const struct meta_event *e = rec->event;
	uint32_t i = e && e->f.id < p->x->a.m->nr_events ? p->of_event[e->f.id] : UINT32_MAX;

	/* A record of another channel has another layout. */
	if (i == UINT32_MAX || &p->x->a.m->channels[e->f.channel] != rec->channel)
		return NULL;
	return &p->evsels[i];
}

/* Adds the words up to CALLCHAIN; leaves the rest in `b`. */
static void add_words(struct perf_export *p, const struct perf_evsel *e,
		      const struct timeline_record *rec, struct bytes *b)
{
	uint64_t had = rec->channel->layout.sample_type, v;

	for (size_t i = 0; i < NR_WORDS; i++) {
		if (!(e->attr.sample_type & words[i]))
			continue;
		if (!(had & words[i]) || !bytes_u64(b, &v))
			v = word(p, e, rec, words[i]);
		else if (words[i] == PERF_SAMPLE_IDENTIFIER && !has_id(p, v, e->e->f.id))
			v = e->id;
		perf_rec_add(p, &v, sizeof(v));
	}
}

/*
 * Inserted fields can make a record too long: then the user stack loses its far end. The stack is:
 * size, bytes, number of valid bytes.
 */
static bool cut_stack(struct perf_export *p, const struct timeline_record *rec,
		      const struct bytes *rest)
{
	const uint8_t *stack = rec->s.stack.p;
	size_t head = p->rec.len, excess = head + rest->len - MAX_RECORD;
	uint64_t size, counts;

	excess = align_up(excess, 8);
	if (!stack)
		return false;
	memcpy(&size, stack - 8, 8);
	memcpy(&counts, stack + size, 8);
	if (size < excess)
		return false;
	perf_rec_add(p, rest->p, (size_t)(stack - 8 - rest->p));
	size -= excess;
	counts = counts < size ? counts : size;
	perf_rec_add(p, &size, 8);
	perf_rec_add(p, stack, size);
	perf_rec_add(p, &counts, 8);
	stack += size + excess + 8;
	perf_rec_add(p, stack, (size_t)(rest->p + rest->len - stack));
	p->x->nr_cut++;
	return true;
}

static int put_sample(struct perf_export *p, const struct timeline_record *rec)
{
	const struct perf_evsel *e = rec->s.have ? evsel_of(p, rec) : NULL;
	struct bytes b = rec->rec;
	struct perf_event_header h;

	if (!e || !bytes_get(&b, &h, sizeof(h))) {
		p->x->nr_left_out++;
		return 0;
	}
	perf_rec_begin(p, h.type, h.misc);
	add_words(p, e, rec, &b);
	if (p->rec.len + b.len <= MAX_RECORD) {
		perf_rec_add(p, b.p, b.len);
	} else if (!cut_stack(p, rec, &b)) {
		p->x->nr_left_out++;
		return 0;
	}
	if (!p->has_sample)
		p->first_ns = rec->time_ns;
	p->has_sample = true;
	p->last_ns = rec->time_ns;
	return perf_rec_put(p);
}

/* perf rejects a file with such a record without a CPU. */
static bool is_of_cpu(uint32_t type)
{
	return type == PERF_RECORD_SWITCH || type == PERF_RECORD_SWITCH_CPU_WIDE ||
	       type == PERF_RECORD_ITRACE_START;
}

/* LOST, THROTTLE and so on, with a sample_id of this file's layout. */
static int put_other(struct perf_export *p, const struct timeline_record *rec)
{
	size_t id_bytes = record_id_bytes(&rec->channel->layout);
	const struct perf_evsel *e = p->of_channel[rec->channel - p->x->a.m->channels];
	struct bytes b = rec->rec, body;
	struct perf_event_header h;

	if (!e || !bytes_get(&b, &h, sizeof(h)) || b.len < id_bytes ||
	    !bytes_take(&b, b.len - id_bytes, &body) ||
	    (is_of_cpu(h.type) && export_cpu(rec) < 0)) {
		p->x->nr_left_out++;
		return 0;
	}
	perf_rec_begin(p, h.type, h.misc);
	perf_rec_add(p, body.p, body.len);
	perf_rec_id(p, e, pid_of(p, rec->tid, rec->time_ns), rec->tid, rec->time_ns,
		    (uint32_t)export_cpu(rec));
	if (p->rec.len > MAX_RECORD) {
		p->x->nr_left_out++;
		return 0;
	}
	return perf_rec_put(p);
}

/* ---- the exporter ---- */

static int begin(struct export *x, struct err *err)
{
	struct perf_export *p = calloc(1, sizeof(*p));
	int rc;

	x->state = p;
	if (!p)
		return err_set(err, -ENOMEM, "out of memory");
	p->x = x;
	p->ip_reg = strstr(x->a.m->uname, "x86_64")    ? 8
		    : strstr(x->a.m->uname, "aarch64") ? 32
						       : 64;
	rc = perf_file_begin(p, err);
	if (!rc)
		rc = perf_aux_put(p, err);
	return rc ? rc : perf_data_new(p, &p->data, err);
}

static int sides(struct perf_export *p, uint64_t ns, struct err *err)
{
	int rc = 0;

	if (!p->has_sides)
		rc = perf_sides_begin(p, perf_aux_floor(p, ns));
	p->has_sides = true;
	if (!rc)
		rc = perf_sides_until(p, ns);
	return rc ? err_set(err, rc, "out of memory for the threads of the dump") : 0;
}

static int record(struct export *x, const struct timeline_record *rec, struct err *err)
{
	struct perf_event_header h;
	struct perf_export *p = x->state;
	int rc = sides(p, rec->time_ns, err);

	if (rc)
		return rc;
	if (!record_at(rec->rec, 0, &h)) {
		x->nr_left_out++;
		return 0;
	}
	rc = h.type == PERF_RECORD_SAMPLE ? put_sample(p, rec) : put_other(p, rec);
	return rc ? err_set(err, rc, "out of memory for a record") : 0;
}

static int end(struct export *x, struct err *err)
{
	struct perf_export *p = x->state;
	bool has_any = p->has_sides || perf_aux_nr(p);
	int rc = sides(p, has_any ? x->opt->to_ns : 0, err);

	return rc ? rc : perf_file_end(p, err);
}

static void drop(struct export *x)
{
	struct perf_export *p = x->state;

	if (!p)
		return;
	free(p->evsels);
	free(p->of_event);
	free(p->ids);
	free(p->sides);
	free(p->by_key);
	perf_data_free(p->data);
	perf_aux_free(p->aux);
	buf_free(&p->rec);
	free(p);
}

const struct exporter export_perf = {
	.name = "perf",
	.help = "a perf.data for perf script, perf report, hotspot, samply",
	.suffix = ".perf.data",
	.binary = true,
	.needs = ANALYSIS_SYMBOLS | ANALYSIS_FIELDS,
	.begin = begin,
	.record = record,
	.end = end,
	.drop = drop,
};
