// SPDX-License-Identifier: MIT
/*
 * Parses perf records; see record.h. The order of a sample's fields is that of the kernel's
 * perf_output_sample(), not of the bits in sample_type. Counts and sizes in a record are not
 * trusted: all reads go through bytes_take().
 */
#include "dump/format/record.h"

#include <errno.h>
#include <string.h>

/* Fields of unknown length: later fields cannot be found. */
#define UNREADABLE (PERF_SAMPLE_READ | PERF_SAMPLE_BRANCH_STACK)
#define HEAD_FIELDS                                                                                \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |            \
	 PERF_SAMPLE_ADDR | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |             \
	 PERF_SAMPLE_PERIOD)
#define COPIED_FIELDS (PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER)
/* Fields of the sample_id at the end of other records; one u64 each. */
#define ID_FIELDS                                                                                  \
	(PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |             \
	 PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER)

bool record_at(struct bytes b, size_t off, struct perf_event_header *h)
{
	struct perf_event_header got;

	if (!span_fits(off, sizeof(got), b.len))
		return false;
	memcpy(&got, b.p + off, sizeof(got));
	if (got.size < sizeof(got) || got.size % 8 || !span_fits(off, got.size, b.len))
		return false;
	*h = got;
	return true;
}

/* The body of a record that is as long as its header says. */
static bool record_body(struct bytes rec, struct perf_event_header *h, struct bytes *body)
{
	if (!record_at(rec, 0, h) || h->size != rec.len)
		return false;
	*body = (struct bytes){rec.p + sizeof(*h), rec.len - sizeof(*h)};
	return true;
}

static bool take_u64(struct bytes *b, uint64_t type, uint64_t bit, uint64_t *v)
{
	return !(type & bit) || bytes_u64(b, v);
}

static bool take_tid(struct bytes *b, uint64_t type, struct record_sample *s)
{
	return !(type & PERF_SAMPLE_TID) || (bytes_u32(b, &s->pid) && bytes_u32(b, &s->tid));
}

static bool take_cpu(struct bytes *b, uint64_t type, struct record_sample *s)
{
	uint32_t reserved;

	return !(type & PERF_SAMPLE_CPU) || (bytes_u32(b, &s->cpu) && bytes_u32(b, &reserved));
}

static bool take_callchain(struct bytes *b, uint64_t type, struct record_sample *s)
{
	struct bytes ips;
	uint64_t nr;

	if (!(type & PERF_SAMPLE_CALLCHAIN))
		return true;
	if (!bytes_u64(b, &nr) || nr > b->len / 8 || !bytes_take(b, nr * 8, &ips))
		return false;
	s->callchain = ips.p;
	s->nr_callchain = nr;
	return true;
}

static bool take_raw(struct bytes *b, uint64_t type, struct record_sample *s)
{
	uint32_t n;

	return !(type & PERF_SAMPLE_RAW) || (bytes_u32(b, &n) && bytes_take(b, n, &s->raw));
}

/* No registers follow ABI NONE (a kernel thread). */
static bool take_regs(struct bytes *b, uint64_t type, uint64_t mask, struct record_sample *s)
{
	struct bytes regs;

	if (!(type & PERF_SAMPLE_REGS_USER))
		return true;
	if (!bytes_u64(b, &s->regs_abi))
		return false;
	if (s->regs_abi == PERF_SAMPLE_REGS_ABI_NONE)
		return true;
	if (!bytes_take(b, (size_t)__builtin_popcountll(mask) * 8, &regs))
		return false;
	s->regs = regs.p;
	return true;
}

/* size, `size` bytes, and the number of bytes copied into them; nothing follows a size of 0. */
static bool take_stack(struct bytes *b, uint64_t type, struct record_sample *s)
{
	struct bytes stack;
	uint64_t size, dynamic;

	if (!(type & PERF_SAMPLE_STACK_USER))
		return true;
	if (!bytes_u64(b, &size))
		return false;
	if (!size)
		return true;
	if (size > b->len || !bytes_take(b, size, &stack) || !bytes_u64(b, &dynamic))
		return false;
	if (dynamic > size)
		return false;
	s->stack = (struct bytes){stack.p, dynamic};
	return true;
}

/* Field by field: compilers clear a struct of this size in a loop. */
static inline void clear(struct record_sample *s)
{
	s->id = s->ip = s->time = s->addr = s->period = 0;
	s->pid = s->tid = s->cpu = 0;
	s->callchain = NULL;
	s->nr_callchain = 0;
	s->raw = (struct bytes){0};
	s->regs_abi = 0;
	s->regs = NULL;
	s->stack = (struct bytes){0};
	s->have = 0;
}

/* The fields before the call chain: usually only a time. */
static inline bool take_head(struct bytes *b, uint64_t type, struct record_sample *s)
{
	uint64_t stream;

	if (!(type & HEAD_FIELDS & ~(uint64_t)PERF_SAMPLE_TIME))
		return take_u64(b, type, PERF_SAMPLE_TIME, &s->time);
	return take_u64(b, type, PERF_SAMPLE_IDENTIFIER, &s->id) &&
	       take_u64(b, type, PERF_SAMPLE_IP, &s->ip) && take_tid(b, type, s) &&
	       take_u64(b, type, PERF_SAMPLE_TIME, &s->time) &&
	       take_u64(b, type, PERF_SAMPLE_ADDR, &s->addr) &&
	       take_u64(b, type, PERF_SAMPLE_ID, &s->id) &&
	       take_u64(b, type, PERF_SAMPLE_STREAM_ID, &stream) && take_cpu(b, type, s) &&
	       take_u64(b, type, PERF_SAMPLE_PERIOD, &s->period);
}

int record_sample(struct bytes rec, const struct record_layout *l, struct record_sample *s)
{
	struct record_sample got;
	uint64_t type = l->sample_type;
	struct perf_event_header h;
	struct bytes b;

	if (!record_body(rec, &h, &b) || h.type != PERF_RECORD_SAMPLE || type & UNREADABLE)
		return -EBADMSG;
	clear(&got);
	got.have = type;
	/* Fields after the user stack (weights, addresses, ...) are not parsed. */
	if (!take_head(&b, type, &got) || !take_callchain(&b, type, &got) ||
	    !take_raw(&b, type, &got))
		return -EBADMSG;
	if (type & COPIED_FIELDS &&
	    (!take_regs(&b, type, l->regs_user, &got) || !take_stack(&b, type, &got)))
		return -EBADMSG;
	*s = got;
	return 0;
}

size_t record_id_bytes(const struct record_layout *l)
{
	if (!l->sample_id_all)
		return 0;
	return (size_t)__builtin_popcountll(l->sample_type & ID_FIELDS) * 8;
}

/*
 * Offset of the sample_id in the body: at its end. Exception, at least up to Linux 6.18: for
 * several listeners, perf_event_ksymbol_output() and perf_event_bpf_output() make each listener's
 * record longer than the previous one by an unwritten sample_id; there the fields before it
 * determine its offset.
 */
static size_t id_place(uint32_t type, struct bytes body, size_t id_bytes)
{
	const size_t fixed = 16;
	const uint8_t *nul;

	if (body.len < fixed + id_bytes)
		return body.len - id_bytes;
	if (type == PERF_RECORD_BPF_EVENT)
		return fixed;
	if (type == PERF_RECORD_KSYMBOL) {
		nul = memchr(body.p + fixed, 0, body.len - fixed - id_bytes);
		if (nul)
			return ((size_t)(nul - body.p) + 8) / 8 * 8;
	}
	return body.len - id_bytes;
}

int record_sample_id(struct bytes rec, const struct record_layout *l, struct record_sample *s)
{
	struct record_sample got = {.have = l->sample_type & ID_FIELDS};
	size_t n = record_id_bytes(l);
	uint64_t type = l->sample_type, stream;
	struct perf_event_header h;
	struct bytes b;
	size_t at;

	if (!n || !record_body(rec, &h, &b) || h.type == PERF_RECORD_SAMPLE || b.len < n)
		return -EBADMSG;
	at = id_place(h.type, b, n);
	if (!span_fits(at, n, b.len))
		return -EBADMSG;
	b.p += at;
	b.len = n;
	if (!take_tid(&b, type, &got) || !take_u64(&b, type, PERF_SAMPLE_TIME, &got.time) ||
	    !take_u64(&b, type, PERF_SAMPLE_ID, &got.id) ||
	    !take_u64(&b, type, PERF_SAMPLE_STREAM_ID, &stream) || !take_cpu(&b, type, &got) ||
	    !take_u64(&b, type, PERF_SAMPLE_IDENTIFIER, &got.id))
		return -EBADMSG;
	*s = got;
	return 0;
}

uint32_t record_time_offset(const struct record_layout *l)
{
	uint64_t before = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID;

	if (!(l->sample_type & PERF_SAMPLE_TIME))
		return UINT32_MAX;
	return sizeof(struct perf_event_header) +
	       8 * (uint32_t)__builtin_popcountll(l->sample_type & before);
}

bool record_time(struct bytes rec, const struct record_layout *l, uint64_t *time_ns)
{
	struct perf_event_header h;
	struct record_sample id;
	struct bytes b, skipped;

	if (!(l->sample_type & PERF_SAMPLE_TIME) || !record_body(rec, &h, &b))
		return false;
	if (h.type != PERF_RECORD_SAMPLE) {
		if (record_sample_id(rec, l, &id))
			return false;
		*time_ns = id.time;
		return true;
	}
	return bytes_take(&b, record_time_offset(l) - sizeof(h), &skipped) &&
	       bytes_u64(&b, time_ns);
}

bool record_next_ip(const struct record_sample *s, struct record_walk *w)
{
	while (w->at < s->nr_callchain) {
		memcpy(&w->ip, s->callchain + 8 * w->at++, sizeof(w->ip));
		/* Context markers are the highest values. */
		if (w->ip >= (uint64_t)PERF_CONTEXT_MAX) {
			w->context = w->ip;
			w->inside = false;
			continue;
		}
		w->caller = w->inside;
		w->inside = true;
		w->kernel = w->context ? w->context == (uint64_t)PERF_CONTEXT_KERNEL
				       : record_kernel_address(w->ip);
		return true;
	}
	return false;
}
