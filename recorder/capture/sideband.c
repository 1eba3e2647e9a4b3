// SPDX-License-Identifier: MIT
/*
 * The sideband's event, and draining its rings into the ledger. The main loop calls it on a
 * watermark wake-up and before each dump.
 *
 * A drain reads the clock, then the heads of all rings, and takes the records up to that time:
 * otherwise it might take a child's exec on one CPU but not yet its fork on another. Later records
 * stay in their ring. Everything that happened before the call is taken.
 */
#include "recorder/capture/sideband.h"

#include "dump/base/err.h"
#include "dump/format/format.h"
#include "recorder/keep/kept_log.h"
#include "trigger/kernel/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SCRATCH_BYTES (64u << 10) /* the size of a record is a u16 */
/* No drain takes this long: a time so far ahead is invalid and must not block the records behind
 * it. */
#define MAX_AHEAD_NS 10000000000ull
/* Bounds the records that wait here while a dump is written; the rest stays in the rings. */
#define MAX_KEPT_BYTES (32u << 20)

/* A drained record. Sorted by time; `off` keeps the order of arrival. */
struct drained {
	uint64_t ns;
	uint32_t off, bytes;
};

struct sideband {
	struct ledger *ledger;
	struct record_layout layout;
	struct buf index;   /* struct drained[]; not yet taken by the ledger */
	struct buf records; /* the records of `index` */
	void *scratch;
	struct kept_log *log; /* NULL: none */
	void *log_scratch;
	struct buf retold;
	uint64_t nr_records, nr_lost;
};

void sideband_attr(const struct caps *caps, uint64_t ring_bytes, struct perf_event_attr *attr,
		   struct record_layout *layout)
{
	*attr = (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(*attr),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
		.sample_id_all = 1,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.watermark = 1,
		.wakeup_watermark = ring_bytes / 4,
		.use_clockid = caps->clockid,
		.clockid = caps->clockid ? CLOCK_MONOTONIC : 0,
		/* A dummy counts nothing, but the kernel still requires permission for the kernel
		 * side. */
		.exclude_kernel = !caps->kernel_samples,
		.ksymbol = caps->ksymbol,
		.cgroup = caps->cgroup_sideband,
		.build_id = caps->build_id,
		/* The most expensive record: 160 bytes and 8 us per fork, also of threads. But no
		 * other record tells which task entered which container. */
		.namespaces = caps->namespaces,
		.bpf_event = caps->ksymbol,
	};
	*layout = (struct record_layout){.sample_type = attr->sample_type | PERF_SAMPLE_RAW,
					 .sample_id_all = true};
}

int sideband_new(struct ledger *l, const struct record_layout *layout, struct sideband **out,
		 struct err *err)
{
	struct sideband *s = calloc(1, sizeof(*s));

	if (s)
		s->scratch = malloc(SCRATCH_BYTES);
	if (!s || !s->scratch) {
		sideband_free(s);
		return err_set(err, -ENOMEM, "no memory for draining the sideband");
	}
	s->ledger = l;
	s->layout = *layout;
	*out = s;
	return 0;
}

void sideband_free(struct sideband *s)
{
	if (!s)
		return;
	buf_free(&s->index);
	buf_free(&s->records);
	buf_free(&s->retold);
	free(s->log_scratch);
	free(s->scratch);
	free(s);
}

static uint64_t count_lost(struct bytes rec)
{
	struct bytes body = {rec.p + sizeof(struct perf_event_header),
			     rec.len - sizeof(struct perf_event_header)};
	uint64_t id, lost;

	return bytes_u64(&body, &id) && bytes_u64(&body, &lost) ? lost : 0;
}

/* Copies a record for sorting. */
static int keep(struct sideband *s, struct bytes rec, uint64_t ns)
{
	struct drained d = {.ns = ns, .off = s->records.len, .bytes = rec.len};
	int rc = buf_put(&s->records, rec.p, rec.len);

	if (!rc && (rc = buf_put(&s->index, &d, sizeof(d))))
		s->records.len = d.off;
	return rc;
}

/* ---- the log for the next recorder ---- */

/* The time of the log's oldest record. */
static uint64_t log_since(const struct sideband *s)
{
	uint64_t pos = 0, ns;
	struct bytes rec;

	while (kept_log_next(s->log, &pos, s->log_scratch, &rec))
		if (record_time(rec, &s->layout, &ns))
			return ns;
	return UINT64_MAX;
}

/* A task that exits can't be read from /proc later. What the log has lost of it, or never had since
 * it comes from /proc, is written again before its end. */
static void retell(struct sideband *s, struct bytes rec)
{
	struct perf_event_header h;
	uint32_t tid;

	memcpy(&tid, rec.p + sizeof(h) + 8, sizeof(tid)); /* after pid and ppid */
	s->retold.len = 0;
	if (ledger_retell(s->ledger, tid, log_since(s), &s->retold))
		return;
	for (size_t off = 0; record_at((struct bytes){s->retold.p, s->retold.len}, off, &h);
	     off += h.size)
		kept_log_put(s->log, (struct bytes){s->retold.p + off, h.size});
}

static void log_record(struct sideband *s, struct bytes rec, const struct perf_event_header *h)
{
	if (!s->log)
		return;
	if (h->type == PERF_RECORD_EXIT && rec.len >= sizeof(*h) + 16)
		retell(s, rec);
	kept_log_put(s->log, rec);
}

/* Collects the records of a ring up to `head` and `until_ns`; *pos is where it stopped. */
static int collect(struct sideband *s, const struct ring *r, uint64_t head, uint64_t until_ns,
		   uint64_t *pos)
{
	uint64_t at = ring_tail(r), next = at, ns;
	struct perf_event_header h;
	struct bytes rec;
	int rc;

	while (ring_next(r, &next, head, s->scratch, &rec)) {
		if (!record_at(rec, 0, &h) || !record_time(rec, &s->layout, &ns)) {
			at = next;
			continue;
		}
		if (ns > until_ns && ns - until_ns > MAX_AHEAD_NS) {
			s->nr_lost++;
			at = next;
			continue;
		}
		if (ns > until_ns) {
			*pos = at;
			return 0;
		}
		if (h.type == PERF_RECORD_LOST) {
			s->nr_lost += count_lost(rec);
		} else {
			rc = keep(s, rec, ns);
			if (rc) {
				*pos = at;
				return rc;
			}
			log_record(s, rec, &h);
			s->nr_records++;
		}
		at = next;
	}
	/* Bytes before the head that are not a valid record can't be parsed: skip them. */
	*pos = head;
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct drained *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return x->off < y->off ? -1 : x->off > y->off;
}

static void feed(struct sideband *s)
{
	struct drained *d = (struct drained *)s->index.p;
	size_t nr = s->index.len / sizeof(*d);

	if (!nr || !ledger_begin(s->ledger))
		return;
	qsort(d, nr, sizeof(*d), by_time);
	for (size_t i = 0; i < nr; i++)
		ledger_take(s->ledger, (struct bytes){s->records.p + d[i].off, d[i].bytes},
			    &s->layout);
	ledger_end(s->ledger);
	s->index.len = s->records.len = 0;
}

/* Collects from all rings, each in its own order; 0 or the first error. */
static int collect_all(struct sideband *s, struct ring *const *rings, size_t nr, uint64_t until_ns)
{
	uint64_t pos;
	int rc;

	for (size_t i = 0; i < nr; i++) {
		if (!rings[i] || !rings[i]->page)
			continue;
		if (s->records.len >= MAX_KEPT_BYTES)
			return 0;
		rc = collect(s, rings[i], ring_head(rings[i]), until_ns, &pos);
		/* The records are copied, so the kernel may reuse the space. */
		ring_consume(rings[i], pos);
		if (rc)
			return rc;
	}
	return 0;
}

int sideband_drain(struct sideband *s, struct ring *const *rings, size_t nr, uint64_t *lost,
		   struct err *err)
{
	uint64_t until_ns = clock_ns(), nr_lost = s->nr_lost;
	int rc;

	rc = collect_all(s, rings, nr, until_ns);
	feed(s);
	*lost = s->nr_lost - nr_lost;
	if (rc)
		return err_set(err, rc, "no memory for draining the sideband");
	return 0;
}

int sideband_log(struct sideband *s, struct kept_log *log)
{
	uint64_t pos = 0, ns;
	struct bytes rec;
	int rc = 0;

	if (s->log == log)
		return 0;
	s->log_scratch = malloc(SCRATCH_BYTES);
	if (!s->log_scratch)
		return -ENOMEM;
	while (!rc && kept_log_next(log, &pos, s->log_scratch, &rec))
		if (record_time(rec, &s->layout, &ns))
			rc = keep(s, rec, ns);
	feed(s);
	/* No drain takes as much again. */
	buf_free(&s->index);
	buf_free(&s->records);
	s->log = log;
	return rc;
}

void sideband_stats(const struct sideband *s, struct fmt_sideband_stats *out)
{
	struct ledger_stats l;

	ledger_stats(s->ledger, &l);
	out->nr_records = s->nr_records;
	out->nr_lost = s->nr_lost;
	out->ledger_bytes = l.bytes;
	out->nr_tasks = l.nr_tasks;
	out->nr_tombstones = l.nr_tombstones;
	out->nr_evicted = l.nr_evicted;
}
