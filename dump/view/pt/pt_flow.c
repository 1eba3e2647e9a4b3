// SPDX-License-Identifier: MIT
/*
 * Parts of a trace; see pt_flow.h, and pt_flow_impl.h for the other files.
 *
 *	bytes  ..|PSB....PSB....|PSB....PSB..|PSB....    parts begin at a PSB
 *	part 0    [---------------------)
 *	                        [PSB+]                   and see the next one's, which
 *	part 1                  [-----------------)      says where the flow is then
 *
 * From each PSB on, pt_flow_walk() goes as far as it can. A rare case or a contradiction is decoded
 * with libipt's block decoder, from that PSB to the end of the part. If libipt fails too, trace is
 * lost.
 */
#include "dump/base/err.h"

#include "dump/base/array.h"
#include "dump/view/pt/pt_flow_impl.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#define PART_BYTES (256u << 10)
#define PSB_BYTES  16u
/* Limit of blocks per byte of trace: a byte holds six branches; more is not real. */
#define BLOCKS_A_BYTE 32u
#define INSNS_A_BYTE  16384u
/* Limit of new blocks, in bytes of trace per block. */
#define BYTES_A_BUILD 4u
#define MIN_BUILDS    1024u

struct pt_flow {
	struct pt_flow_input in;
	size_t *starts; /* start of each part, and the end of the last */
	size_t nr;
	pthread_mutex_t lock; /* protects `benches` */
	struct pt_flow_bench *benches;
};

/* ---- the trace ---- */

static const uint8_t *find_psb(struct bytes b)
{
	static const uint8_t psb[] = {0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82,
				      0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82};

	return b.len ? memmem(b.p, b.len, psb, sizeof(psb)) : NULL;
}

static int put_start(struct pt_flow *f, size_t at)
{
	if (!array_room(f->starts, f->nr))
		return -ENOMEM;
	f->starts[f->nr++] = at;
	return 0;
}

int pt_flow_new(const struct pt_flow_input *in, struct pt_flow **out, struct err *err)
{
	struct pt_flow *f;
	size_t step = in->part_bytes ? in->part_bytes : PART_BYTES, at = 0;
	int rc = 0;

	if (!in->source.find || in->clock.shift >= 32)
		return err_set(err, -EINVAL, "a trace without code, or with a clock of shift %u",
			       in->clock.shift);
	f = calloc(1, sizeof(*f));
	if (!f)
		return err_sys(err, -ENOMEM, "decoding a trace");
	f->in = *in;
	pthread_mutex_init(&f->lock, NULL);
	while (!rc && at < in->bytes.len) {
		const uint8_t *p = find_psb((struct bytes){in->bytes.p + at, in->bytes.len - at});

		if (!p)
			break;
		at = (size_t)(p - in->bytes.p);
		rc = put_start(f, at);
		at = in->bytes.len - at > step ? at + step : in->bytes.len;
	}
	if (!rc)
		rc = put_start(f, in->bytes.len);
	if (rc) {
		pt_flow_free(f);
		return err_sys(err, rc, "decoding a trace");
	}
	*out = f;
	return 0;
}

static void bench_free(struct pt_flow_bench *b)
{
	pt_flow_spaces_free(b);
	pt_flow_blocks_free(b->blocks);
	free(b);
}

void pt_flow_free(struct pt_flow *f)
{
	struct pt_flow_bench *next;

	if (!f)
		return;
	for (struct pt_flow_bench *b = f->benches; b; b = next) {
		next = b->next;
		bench_free(b);
	}
	pthread_mutex_destroy(&f->lock);
	free(f->starts);
	free(f);
}

size_t pt_flow_nr_parts(const struct pt_flow *f)
{
	return f->nr - 1;
}

void pt_flow_steps_free(struct pt_flow_steps *s)
{
	free(s->v);
	*s = (struct pt_flow_steps){0};
}

/* ---- steps ---- */

void pt_flow_put(struct pt_flow_work *w, enum pt_flow_kind kind, uint64_t from, uint64_t to)
{
	struct pt_flow_steps *s = w->out;

	if (!w->budget) {
		w->over = true;
		return;
	}
	/* Out of budget: one last step marks the rest as lost. */
	if (!--w->budget)
		kind = PT_FLOW_LOST, from = to = 0;
	if (s->nr == s->cap) {
		size_t cap = s->cap ? s->cap * 2 : 4096;
		struct pt_flow_step *v = reallocarray(s->v, cap, sizeof(*v));

		if (!v) {
			w->oom = w->over = true;
			return;
		}
		s->v = v;
		s->cap = cap;
	}
	s->v[s->nr++] = (struct pt_flow_step){pt_flow_to_ns(&w->in->clock, w->tsc), from, to, kind,
					      w->who.tid};
}

/* The flow is at `ip` now. */
static void arrive(struct pt_flow_work *w, uint64_t ip)
{
	if (w->open.from)
		pt_flow_put(w, w->open.kind, w->open.from, ip);
	w->open.from = 0;
}

/* Called only where the time is used, since it is as slow as many blocks. */
static void set_time(struct pt_flow_work *w)
{
	uint64_t tsc;

	if (pt_blk_time(w->dec, &tsc, NULL, NULL) >= 0)
		w->tsc = tsc;
}

static void lost(struct pt_flow_work *w)
{
	w->open.from = 0;
	set_time(w);
	pt_flow_put(w, PT_FLOW_LOST, 0, 0);
}

void pt_flow_on_event(struct pt_flow_work *w, const struct pt_event *ev, uint64_t last_ip)
{
	if (ev->has_tsc)
		w->tsc = ev->tsc;
	switch (ev->type) {
	case ptev_enabled:
		pt_flow_choose(w, ev->variant.enabled.ip);
		if (!ev->status_update)
			pt_flow_put(w, PT_FLOW_ON, 0, ev->variant.enabled.ip);
		break;
	case ptev_disabled:
		arrive(w, ev->ip_suppressed ? 0 : ev->variant.disabled.ip);
		pt_flow_put(w, PT_FLOW_OFF, last_ip, 0);
		break;
	case ptev_async_disabled:
		arrive(w, ev->variant.async_disabled.at);
		pt_flow_put(w, PT_FLOW_OFF, ev->variant.async_disabled.at, 0);
		break;
	case ptev_async_branch:
		arrive(w, ev->variant.async_branch.from);
		break;
	case ptev_overflow:
		lost(w);
		break;
	case ptev_exec_mode:
		/* The status in a PSB: the current address. */
		if (ev->status_update && !w->space)
			pt_flow_choose(w, ev->ip_suppressed ? 0 : ev->variant.exec_mode.ip);
		if (ev->status_update && w->offset >= w->border) {
			if (!ev->ip_suppressed)
				arrive(w, ev->variant.exec_mode.ip);
			w->over = true;
		}
		break;
	default:
		break;
	}
}

/* Returns the status without pending events, or an error. */
static int drain(struct pt_flow_work *w, int status, uint64_t last_ip)
{
	while (status >= 0 && status & pts_event_pending && !w->over) {
		struct pt_event ev;

		status = pt_blk_event(w->dec, &ev, sizeof(ev));
		if (status < 0)
			break;
		pt_blk_get_offset(w->dec, &w->offset);
		pt_flow_on_event(w, &ev, last_ip);
	}
	return status;
}

/* Too many blocks without a byte of trace, or too many for the whole part. */
static bool stands_still(struct pt_flow_work *w, const struct pt_block *b)
{
	uint64_t before = w->mark;

	if (!w->blocks || w->insns < b->ninsn) {
		w->over = true;
		return true;
	}
	w->blocks--;
	w->insns -= b->ninsn;
	if (++w->still < PT_FLOW_MAX_STILL)
		return false;
	w->still = 0;
	pt_blk_get_offset(w->dec, &w->mark);
	return w->mark == before;
}

static void on_block(struct pt_flow_work *w, const struct pt_block *b)
{
	arrive(w, b->ip);
	if (w->in->source.touch) {
		pt_flow_touch(w, b->ip);
		pt_flow_touch(w, b->end_ip + pt_max_insn_size - 1);
	}
	/* A return from the kernel: look up the current thread. */
	if (b->iclass == ptic_far_return && b->end_ip >> 63) {
		set_time(w);
		pt_flow_choose(w, 0);
	}
	if (b->iclass != ptic_call && b->iclass != ptic_return)
		return;
	set_time(w);
	w->open = (struct pt_flow_step){
		.from = b->end_ip,
		.kind = b->iclass == ptic_call ? PT_FLOW_CALL : PT_FLOW_RETURN,
	};
}

/* Decodes from a PSB to an error, whose code it returns, or to the border. */
static int flow(struct pt_flow_work *w, int status)
{
	uint64_t last_ip = 0;

	w->still = 0;
	w->mark = UINT64_MAX;
	w->space = NULL;
	w->nr_found = 0;
	set_time(w);
	for (;;) {
		struct pt_block b = {0};
		int rc;

		status = drain(w, status, last_ip);
		if (status < 0 || w->over)
			return status;
		if (status & pts_eos)
			return -pte_eos;
		if (!w->space)
			pt_flow_choose(w, 0);
		if (w->nr_found)
			pt_flow_add_found(w);
		rc = pt_blk_next(w->dec, &b, sizeof(b));
		if (b.ninsn) {
			last_ip = b.end_ip;
			on_block(w, &b);
		}
		if (rc < 0)
			return rc;
		if (stands_still(w, &b))
			return -pte_bad_query;
		status = rc;
	}
}

/* The bytes from the PSB at `at` to its PSBEND. */
static size_t psb_bytes(struct pt_config config, size_t at, size_t len)
{
	struct pt_packet_decoder *dec;
	struct pt_packet pkt;
	uint64_t end = 0;

	config.begin += at;
	config.end = config.begin + (len - at < 256 ? len - at : 256);
	dec = pt_pkt_alloc_decoder(&config);
	if (!dec)
		return 0;
	if (pt_pkt_sync_set(dec, 0) >= 0) {
		while (pt_pkt_next(dec, &pkt, sizeof(pkt)) >= 0 && pkt.type != ppt_psbend)
			;
		pt_pkt_get_offset(dec, &end);
	}
	pt_pkt_free_decoder(dec);
	return (size_t)end;
}

static struct pt_config config_of(const struct pt_flow *f, size_t part)
{
	const struct pt_flow_input *in = &f->in;
	struct pt_config config;

	pt_config_init(&config);
	config.begin = (uint8_t *)(uintptr_t)in->bytes.p + f->starts[part];
	config.end = (uint8_t *)(uintptr_t)in->bytes.p + in->bytes.len;
	if (in->family) {
		config.cpu = (struct pt_cpu){pcv_intel, in->family, in->model, in->stepping};
		pt_cpu_errata(&config.errata, &config.cpu);
	}
	config.mtc_freq = in->mtc_freq;
	config.nom_freq = in->nominal_ratio;
	config.cpuid_0x15_eax = in->crystal_eax;
	config.cpuid_0x15_ebx = in->crystal_ebx;
	config.flags.variant.block.end_on_call = 1;
	/* Otherwise libipt recurses through direct jumps: a jump to itself exhausts the stack. */
	config.flags.variant.block.end_on_jump = 1;
	return config;
}

static struct pt_flow_bench *take_bench(struct pt_flow *f)
{
	struct pt_flow_bench *b;

	pthread_mutex_lock(&f->lock);
	b = f->benches;
	if (b)
		f->benches = b->next;
	pthread_mutex_unlock(&f->lock);
	if (b)
		return b;
	return calloc(1, sizeof(*b));
}

static void leave_bench(struct pt_flow *f, struct pt_flow_bench *b)
{
	pthread_mutex_lock(&f->lock);
	b->next = f->benches;
	f->benches = b;
	pthread_mutex_unlock(&f->lock);
}

/* Decodes from the PSB at `at` with libipt's block decoder only. */
static int go_by_blocks(struct pt_flow_work *w, uint64_t at)
{
	int status;

	if (!w->dec)
		w->dec = pt_blk_alloc_decoder(&w->config);
	if (!w->dec) {
		w->oom = w->over = true;
		return 0;
	}
	status = pt_blk_sync_set(w->dec, at);
	return status < 0 ? status : flow(w, status);
}

static int go(struct pt_flow_work *w, uint64_t at)
{
	size_t nr = w->out->nr, budget = w->budget;
	uint64_t blocks = w->blocks, tsc = w->tsc, ip = 0;
	int status = pt_qry_sync_set(w->query, &ip, at);

	if (status >= 0 && pt_flow_walk(w, status, ip) != -EAGAIN)
		return 0;
	w->out->nr = nr;
	w->budget = budget;
	w->blocks = blocks;
	w->tsc = tsc;
	w->open.from = 0;
	w->over = w->oom;
	return go_by_blocks(w, at);
}

/* The first PSB after the one at `at`, where libipt stopped; it can have taken a PSB for the end of
 * another packet. */
static uint64_t behind(const struct pt_flow_work *w, uint64_t at)
{
	uint64_t len = (uint64_t)(w->config.end - w->config.begin), pos = at;
	const uint8_t *p;

	pt_blk_get_offset(w->dec, &pos);
	pos = (pos > at + PSB_BYTES ? pos : at + PSB_BYTES) - (PSB_BYTES - 1);
	p = pos < len ? find_psb((struct bytes){w->config.begin + pos, len - pos}) : NULL;
	return p ? (uint64_t)(p - w->config.begin) : UINT64_MAX;
}

/* Decodes from PSB to PSB, up to the border. */
static void decode(struct pt_flow_work *w, bool last)
{
	uint64_t at = 0;

	while (!w->over && at != UINT64_MAX && (at < w->border || last)) {
		int status;

		w->offset = at;
		status = go(w, at);
		if (status >= 0 || status == -pte_eos)
			break;
		lost(w);
		at = behind(w, at);
	}
}

int pt_flow_part(struct pt_flow *f, size_t part, struct pt_flow_steps *out)
{
	struct pt_flow_work w = {.f = f, .in = &f->in, .out = out, .config = config_of(f, part)};
	bool last = part + 1 == pt_flow_nr_parts(f);

	out->nr = 0;
	w.border = f->starts[part + 1] - f->starts[part];
	w.budget = w.border * BLOCKS_A_BYTE + PT_FLOW_MAX_STILL;
	if (f->in.max_steps && w.budget > f->in.max_steps)
		w.budget = f->in.max_steps;
	w.blocks = w.border * BLOCKS_A_BYTE + 4 * PT_FLOW_MAX_STILL;
	w.insns = w.border * INSNS_A_BYTE + 4 * UINT16_MAX;
	w.builds = w.border / BYTES_A_BUILD + MIN_BUILDS;
	w.bench = take_bench(f);
	if (!w.bench)
		return -ENOMEM;
	w.bench->work = &w;
	if (!last)
		w.config.end =
			w.config.begin + w.border +
			psb_bytes(w.config, w.border, (size_t)(w.config.end - w.config.begin));
	w.query = pt_qry_alloc_decoder(&w.config);
	memset(w.seen, 0xff, sizeof(w.seen));
	if (w.query)
		decode(&w, last);
	else
		w.oom = true;
	pt_qry_free_decoder(w.query);
	pt_blk_free_decoder(w.dec);
	leave_bench(f, w.bench);
	return w.oom ? -ENOMEM : 0;
}

/* The time in the PSB+ at the start of a part. */
uint64_t pt_flow_part_ns(const struct pt_flow *f, size_t part)
{
	struct pt_config config = config_of(f, part);
	struct pt_packet_decoder *dec;
	struct pt_packet pkt;
	uint64_t ns = 0;

	config.end = config.begin + (f->starts[part + 1] - f->starts[part]);
	dec = pt_pkt_alloc_decoder(&config);
	if (dec && pt_pkt_sync_set(dec, 0) >= 0)
		while (!ns && pt_pkt_next(dec, &pkt, sizeof(pkt)) >= 0)
			if (pkt.type == ppt_tsc)
				ns = pt_flow_to_ns(&f->in.clock, pkt.payload.tsc.tsc);
	pt_pkt_free_decoder(dec);
	return ns;
}

size_t pt_flow_part_at(const struct pt_flow *f, size_t part)
{
	return f->starts[part];
}
