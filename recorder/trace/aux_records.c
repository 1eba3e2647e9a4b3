// SPDX-License-Identifier: MIT
/* Merges the two rings of a channel with an AUX area; see aux_records.h. Called by banks_aux.c. */
#include "recorder/trace/aux_records.h"

#include <errno.h>
#include <sys/mman.h>

/* Room for records that were begun but are not published yet: a few, each shorter than 100 bytes. */
#define BEGUN_BYTES 4096u

int aux_records_open(struct aux_records *r, const struct ring *switches)
{
	/* Present at once, so that copying causes no page faults. */
	void *p = mmap(NULL, switches->map_bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	*r = (struct aux_records){.copy.fd = -1};
	if (p == MAP_FAILED)
		return -errno;
	madvise(p, switches->map_bytes, MADV_DONTFORK);
	mlock(p, switches->map_bytes);
	r->copy = (struct ring){
		.page = p,
		.data = (const uint8_t *)p + (switches->map_bytes - switches->size),
		.size = switches->size,
		.map_bytes = switches->map_bytes,
		.fd = -1,
	};
	return 0;
}

void aux_records_close(struct aux_records *r)
{
	ring_unmap(&r->copy);
}

void aux_records_stopped(struct aux_records *r, const struct ring *aux, const struct ring *switches)
{
	r->aux_head = ring_head(aux);
	r->switch_head = ring_head(switches);
}

/* A ring read from its newest record on. */
struct source {
	const struct ring *ring;
	uint64_t head, off, limit;
	struct perf_event_header h; /* of the record at `off`, if there is `any` */
	uint64_t ns;
	bool any;
};

/* Whether the kernel has not come near the record while it was read. */
static bool is_intact(const struct source *s)
{
	uint64_t since = s->head - ring_head(s->ring);

	return span_fits(since + BEGUN_BYTES, s->off + s->h.size, s->ring->size);
}

static void look(struct source *s, uint32_t tail)
{
	s->any = ring_record_at(s->ring, s->head, s->off, s->limit, &s->h) && s->h.size >= tail + 8;
	if (!s->any)
		return;
	ring_copy(s->ring, s->head, s->off + s->h.size - tail, &s->ns, sizeof(s->ns));
	s->any = is_intact(s);
}

static struct source source_of(const struct ring *ring, uint64_t head, uint32_t tail)
{
	struct source s = {.ring = ring, .head = head, .limit = ring_limit(ring, head)};

	look(&s, tail);
	return s;
}

uint64_t aux_records_told(struct aux_records *r, const struct ring *aux, uint64_t area_bytes)
{
	struct source s = {.ring = aux, .head = r->aux_head, .limit = r->told_head - r->aux_head};
	struct aux_record rec;
	uint64_t bytes = 0;

	r->told_head = r->aux_head;
	while (ring_record_at(aux, s.head, s.off, s.limit, &s.h)) {
		if (s.h.type == PERF_RECORD_AUX && s.h.size >= sizeof(rec)) {
			ring_copy(aux, s.head, s.off, &rec, sizeof(rec));
			if (rec.size >= area_bytes)
				return 0;
			bytes += rec.size;
		}
		if (!is_intact(&s))
			return 0;
		s.off += s.h.size;
	}
	return s.off == s.limit ? bytes : 0;
}

/* Copies the record to the end of the copy; false: no room, or overwritten. */
static bool take(struct aux_records *r, const struct source *s, uint64_t at)
{
	if (!span_fits(at, s->h.size, r->copy.size))
		return false;
	ring_copy(s->ring, s->head, s->off, (uint8_t *)r->copy.data + at, s->h.size);
	return is_intact(s);
}

bool aux_record_comes_once(uint32_t type)
{
	return type == PERF_RECORD_ITRACE_START || type == PERF_RECORD_AUX_OUTPUT_HW_ID;
}

void aux_records_copy(struct aux_records *r, const struct ring *aux, const struct ring *switches,
		      uint32_t tail)
{
	struct source a = source_of(aux, r->aux_head, tail);
	struct source s = source_of(switches, r->switch_head, tail);
	bool wrapped = s.limit == switches->size;
	uint64_t bytes = 0;

	while (s.any || (a.any && !wrapped)) {
		struct source *newer = !s.any || (a.any && a.ns > s.ns) ? &a : &s;

		if (!take(r, newer, bytes))
			break;
		bytes += newer->h.size;
		newer->off += newer->h.size;
		look(newer, tail);
	}
	for (; a.any; a.off += a.h.size, look(&a, tail))
		if (aux_record_comes_once(a.h.type) && take(r, &a, bytes))
			bytes += a.h.size;
	r->copy.page->data_head = 0;
	r->copy.armed_head = bytes;
	r->overwritten_bytes =
		aux->armed_head - r->aux_head + switches->armed_head - r->switch_head - bytes;
}
