// SPDX-License-Identifier: MIT
/*
 * See ptflow.h.
 *
 *	bytes  ..|PSB....PSB....|PSB....PSB..|PSB....        parts begin at a PSB
 *	part 0    [---------------------)
 *	                        [PSB+]                       and see the next one's, which says
 *where part 1                  [-----------------)          the flow is at the border
 *
 * The code lies in a memfd, because libipt keeps its cache of decoded blocks by file; it is sealed,
 * so that nothing can take it away while it is mapped.
 */
#include "dump/view/ptflow.h"
#include "dump/base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <intel-pt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE	   4096u
#define PART_BYTES (256u << 10)
/* Nothing real calls so often without a conditional branch or a return in between. */
#define MAX_STILL 4096u
/* Nor does so much in so little of a trace: of a byte's six branches. */
#define BLOCKS_A_BYTE 32u
#define INSNS_A_BYTE  16384u
/* Pieces of code that libipt is told of, in all and of a process: it goes through lists of them. */
#define MAX_SECTIONS	   32768u
#define MAX_SPACE_SECTIONS 2048u

/* Images of so many processes are kept for the next part. */
#define NR_SPACES 16
#define NR_FOUND  16
#define NR_SEEN	  64 /* a power of two */

struct ptstore {
	int fd;
	uint64_t end, max;
	pthread_mutex_t lock; /* over `end` and what follows */
	size_t nr_sections;
	struct pt_image_section_cache *sections;
};

/* The code of one process, as far as it was met. */
struct space {
	uint32_t key;
	uint64_t from_ns, to_ns; /* when what is in it holds */
	struct pt_image *image;	 /* NULL: free */
	size_t nr_sections;	 /* MAX_SPACE_SECTIONS: nothing is added any more */
};

/* What one thread keeps from part to part. */
struct bench {
	struct bench *next;
	struct space spaces[NR_SPACES];
	size_t nr_used;
	struct work *work; /* at it */
};

struct ptflow {
	struct ptflow_input in;
	size_t *starts; /* of the parts, and the end of all */
	size_t nr, cap;
	pthread_mutex_t lock; /* over `benches` */
	struct bench *benches;
};

/* ---- code ---- */

int ptstore_new(uint64_t max_bytes, struct ptstore **out, struct err *err)
{
	struct ptstore *s = calloc(1, sizeof(*s));
	int rc = -ENOMEM;

	if (!s)
		return err_sys(err, rc, "code for the trace");
	pthread_mutex_init(&s->lock, NULL);
	s->max = align_up(max_bytes, PAGE);
	s->fd = memfd_create("ringback code", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (s->fd < 0 || ftruncate(s->fd, (off_t)s->max) ||
	    fcntl(s->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) < 0)
		rc = -errno;
	else
		s->sections = pt_iscache_alloc(NULL);
	if (!s->sections || pt_iscache_set_limit(s->sections, UINT64_MAX) < 0) {
		ptstore_free(s);
		return err_sys(err, rc, "code for the trace");
	}
	*out = s;
	return 0;
}

void ptstore_free(struct ptstore *s)
{
	if (!s)
		return;
	pt_iscache_free(s->sections);
	if (s->fd >= 0)
		close(s->fd);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

/* Through a mapping: what is written with write() counts as a file's. */
static int copy_in(struct ptstore *s, struct bytes code, uint64_t at)
{
	size_t in_page = at % PAGE, n = in_page + code.len;
	uint8_t *p =
		mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, (off_t)(at - in_page));

	if (p == MAP_FAILED)
		return -errno;
	memcpy(p + in_page, code.p, code.len);
	munmap(p, n);
	return 0;
}

int ptstore_put(struct ptstore *s, struct bytes code, uint64_t *at, struct err *err)
{
	int rc = 0;

	if (!code.len)
		return err_set(err, -EINVAL, "no code to keep");
	pthread_mutex_lock(&s->lock);
	if (!span_fits(s->end, code.len, s->max))
		rc = -ENOSPC;
	if (!rc)
		rc = copy_in(s, code, s->end);
	if (!rc) {
		*at = s->end;
		s->end = align_up(s->end + code.len, 16);
	}
	pthread_mutex_unlock(&s->lock);
	return rc ? err_sys(err, rc, "code for the trace") : 0;
}

/*
 * The section of bytes that are kept, at an address; negative: a pt_error_code. libipt maps it
 * later if nobody reads of it, and not if the file has another time by then.
 */
static int section_of(struct ptstore *s, uint64_t at, uint64_t bytes, uint64_t address)
{
	char path[64];
	uint8_t byte;
	int isid, rc;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", s->fd);
	pthread_mutex_lock(&s->lock);
	isid = s->nr_sections < MAX_SECTIONS
		       ? pt_iscache_add_file(s->sections, path, at, bytes, address)
		       : -pte_nomem;
	s->nr_sections += isid >= 0;
	rc = isid < 0 ? isid : pt_iscache_read(s->sections, &byte, 1, isid, address);
	pthread_mutex_unlock(&s->lock);
	return rc < 0 ? rc : isid;
}

/* ---- the trace ---- */

static uint64_t to_ns(const struct ptflow_clock *c, uint64_t tsc)
{
	uint64_t rest = tsc & ((1ull << c->shift) - 1);

	return c->zero + (tsc >> c->shift) * c->mult + (rest * c->mult >> c->shift);
}

static const uint8_t *find_psb(struct bytes b)
{
	static const uint8_t psb[] = {0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82,
				      0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82};

	return b.len ? memmem(b.p, b.len, psb, sizeof(psb)) : NULL;
}

static int put_start(struct ptflow *f, size_t at)
{
	if (f->nr == f->cap) {
		size_t cap = f->cap ? f->cap * 2 : 64;
		size_t *v = reallocarray(f->starts, cap, sizeof(*v));

		if (!v)
			return -ENOMEM;
		f->starts = v;
		f->cap = cap;
	}
	f->starts[f->nr++] = at;
	return 0;
}

int ptflow_new(const struct ptflow_input *in, struct ptflow **out, struct err *err)
{
	struct ptflow *f;
	size_t step = in->part_bytes ? in->part_bytes : PART_BYTES, at = 0;
	int rc = 0;

	if ((!in->source.find && !in->code) || in->clock.shift >= 32)
		return err_set(err, -EINVAL, "a trace without code, or with a clock of shift %u",
			       in->clock.shift);
	f = calloc(1, sizeof(*f));
	if (!f)
		return err_sys(err, -ENOMEM, "decoding a trace");
	f->in = *in;
	if (in->code && !ptcode_source(in->code, &f->in.source)) {
		free(f);
		return err_set(err, -EINVAL, "code that is not sealed");
	}
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
		ptflow_free(f);
		return err_sys(err, rc, "decoding a trace");
	}
	*out = f;
	return 0;
}

static void bench_free(struct bench *b)
{
	for (size_t i = 0; i < NR_SPACES; i++)
		pt_image_free(b->spaces[i].image);
	free(b);
}

void ptflow_free(struct ptflow *f)
{
	struct bench *next;

	if (!f)
		return;
	for (struct bench *b = f->benches; b; b = next) {
		next = b->next;
		bench_free(b);
	}
	pthread_mutex_destroy(&f->lock);
	free(f->starts);
	free(f);
}

size_t ptflow_nr_parts(const struct ptflow *f)
{
	return f->nr - 1;
}

void ptflow_steps_free(struct ptflow_steps *s)
{
	free(s->v);
	*s = (struct ptflow_steps){0};
}

/* One part at work. */
struct work {
	struct ptflow *f;
	struct bench *bench;
	struct pt_block_decoder *dec;
	struct ptflow_steps *out;
	struct ptflow_who who;
	struct space *space;		     /* who's; NULL: not known yet */
	struct ptflow_piece found[NR_FOUND]; /* that are not in the image yet */
	size_t nr_found;
	uint64_t seen[NR_SEEN];	      /* pages that were told */
	uint64_t tsc, offset, border; /* border: in bytes of the part, where the next one begins */
	size_t budget;		      /* steps that are left */
	uint64_t blocks, insns;	      /* likewise */
	uint64_t mark;		      /* the decoder's offset `still` blocks ago */
	unsigned int still;
	struct ptflow_step open; /* a call or return whose `to` comes next; .from 0: none */
	bool over, oom;
};

/* ---- whose code ---- */

/* libipt asks for what is in no section. */
static int read_found(uint8_t *dst, size_t n, const struct pt_asid *asid, uint64_t ip, void *ctx)
{
	struct work *w = ((struct bench *)ctx)->work;
	const struct ptflow_source *s = &w->f->in.source;
	struct ptflow_piece p;
	uint64_t off;
	ssize_t got;

	if (w->space->nr_sections >= MAX_SPACE_SECTIONS || !s->find(s->ctx, &w->who, ip, &p) ||
	    ip < p.address || ip - p.address >= p.bytes)
		return -pte_nomap;
	off = ip - p.address;
	if (n > p.bytes - off)
		n = (size_t)(p.bytes - off);
	got = pread(s->store->fd, dst, n, (off_t)(p.at + off));
	if (got <= 0)
		return -pte_nomap;
	if (w->nr_found < NR_FOUND &&
	    (!w->nr_found || w->found[w->nr_found - 1].address != p.address))
		w->found[w->nr_found++] = p;
	return (int)got;
}

/* What was found meanwhile joins the image: libipt is quicker with sections. */
static void add_found(struct work *w)
{
	struct ptstore *store = w->f->in.source.store;
	struct space *sp = w->space;

	for (size_t i = 0; i < w->nr_found; i++) {
		const struct ptflow_piece *p = &w->found[i];
		int isid = section_of(store, p->at, p->bytes, p->address);

		if (isid < 0 || pt_image_add_cached(sp->image, store->sections, isid, NULL) < 0) {
			/* To ask for each instruction of it would take for ever. */
			sp->nr_sections = MAX_SPACE_SECTIONS;
			continue;
		}
		sp->nr_sections += sp->nr_sections < MAX_SPACE_SECTIONS;
		sp->from_ns = p->from_ns > sp->from_ns ? p->from_ns : sp->from_ns;
		sp->to_ns = p->to_ns < sp->to_ns ? p->to_ns : sp->to_ns;
	}
	w->nr_found = 0;
}

static struct space *space_of(struct bench *b, const struct ptflow_who *who)
{
	struct space *s = NULL;

	for (size_t i = 0; i < NR_SPACES && !s; i++)
		if (b->spaces[i].image && b->spaces[i].key == who->key)
			s = &b->spaces[i];
	if (s && s->from_ns <= who->ns && who->ns <= s->to_ns)
		return s;
	if (!s)
		s = &b->spaces[b->nr_used++ % NR_SPACES];
	pt_image_free(s->image);
	*s = (struct space){.key = who->key, .to_ns = UINT64_MAX, .image = pt_image_alloc(NULL)};
	if (s->image)
		pt_image_set_callback(s->image, read_found, b);
	return s;
}

/* From here on it is whoever runs at `ip`. */
static void choose(struct work *w, uint64_t ip)
{
	const struct ptflow_source *s = &w->f->in.source;

	add_found(w);
	w->who = (struct ptflow_who){.ns = to_ns(&w->f->in.clock, w->tsc)};
	s->who(s->ctx, ip, &w->who);
	w->space = space_of(w->bench, &w->who);
	if (!w->space->image || pt_blk_set_image(w->dec, w->space->image) < 0)
		w->oom = w->over = true;
}

static void touch(struct work *w, uint64_t address)
{
	const struct ptflow_source *s = &w->f->in.source;
	uint64_t page = address / PAGE, *seen;

	page ^= (uint64_t)w->who.key << 52;
	seen = &w->seen[(page ^ page >> 52) % NR_SEEN];
	if (*seen == page)
		return;
	*seen = page;
	s->touch(s->ctx, &w->who, address);
}

/* ---- steps ---- */

static void put(struct work *w, enum ptflow_kind kind, uint64_t from, uint64_t to)
{
	struct ptflow_steps *s = w->out;

	if (!w->budget) {
		w->over = true;
		return;
	}
	/* What is beyond is not told, but that there is something. */
	if (!--w->budget)
		kind = PTFLOW_LOST, from = to = 0;
	if (s->nr == s->cap) {
		size_t cap = s->cap ? s->cap * 2 : 4096;
		struct ptflow_step *v = reallocarray(s->v, cap, sizeof(*v));

		if (!v) {
			w->oom = w->over = true;
			return;
		}
		s->v = v;
		s->cap = cap;
	}
	s->v[s->nr++] =
		(struct ptflow_step){to_ns(&w->f->in.clock, w->tsc), from, to, kind, w->who.tid};
}

/* The flow is at `ip` now. */
static void arrive(struct work *w, uint64_t ip)
{
	if (w->open.from)
		put(w, w->open.kind, w->open.from, ip);
	w->open.from = 0;
}

/* Asked only where the time is told: it takes as long as many a block. */
static void set_time(struct work *w)
{
	uint64_t tsc;

	if (pt_blk_time(w->dec, &tsc, NULL, NULL) >= 0)
		w->tsc = tsc;
}

static void lost(struct work *w)
{
	w->open.from = 0;
	set_time(w);
	put(w, PTFLOW_LOST, 0, 0);
}

static void on_event(struct work *w, const struct pt_event *ev, uint64_t last_ip)
{
	if (ev->has_tsc)
		w->tsc = ev->tsc;
	switch (ev->type) {
	case ptev_enabled:
		choose(w, ev->variant.enabled.ip);
		if (!ev->status_update)
			put(w, PTFLOW_ON, 0, ev->variant.enabled.ip);
		break;
	case ptev_disabled:
		arrive(w, ev->ip_suppressed ? 0 : ev->variant.disabled.ip);
		put(w, PTFLOW_OFF, last_ip, 0);
		break;
	case ptev_async_disabled:
		arrive(w, ev->variant.async_disabled.at);
		put(w, PTFLOW_OFF, ev->variant.async_disabled.at, 0);
		break;
	case ptev_async_branch:
		arrive(w, ev->variant.async_branch.from);
		break;
	case ptev_overflow:
		lost(w);
		break;
	case ptev_exec_mode:
		/* What a PSB says of where the flow is. */
		if (ev->status_update && !w->space)
			choose(w, ev->ip_suppressed ? 0 : ev->variant.exec_mode.ip);
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
static int drain(struct work *w, int status, uint64_t last_ip)
{
	while (status >= 0 && status & pts_event_pending && !w->over) {
		struct pt_event ev;

		status = pt_blk_event(w->dec, &ev, sizeof(ev));
		if (status < 0)
			break;
		pt_blk_get_offset(w->dec, &w->offset);
		on_event(w, &ev, last_ip);
	}
	return status;
}

/* As many blocks came without a byte of the trace, or too many with all of it. */
static bool stands_still(struct work *w, const struct pt_block *b)
{
	uint64_t before = w->mark;

	if (!w->blocks || w->insns < b->ninsn) {
		w->over = true;
		return true;
	}
	w->blocks--;
	w->insns -= b->ninsn;
	if (++w->still < MAX_STILL)
		return false;
	w->still = 0;
	pt_blk_get_offset(w->dec, &w->mark);
	return w->mark == before;
}

static void on_block(struct work *w, const struct pt_block *b)
{
	arrive(w, b->ip);
	if (w->f->in.source.touch) {
		touch(w, b->ip);
		touch(w, b->end_ip + pt_max_insn_size - 1);
	}
	/* From the kernel to whoever runs now. */
	if (b->iclass == ptic_far_return && b->end_ip >> 63) {
		set_time(w);
		choose(w, 0);
	}
	if (b->iclass != ptic_call && b->iclass != ptic_return)
		return;
	set_time(w);
	w->open = (struct ptflow_step){
		.from = b->end_ip,
		.kind = b->iclass == ptic_call ? PTFLOW_CALL : PTFLOW_RETURN,
	};
}

/* From a PSB to an error, whose code it returns, or to the border. */
static int flow(struct work *w, int status)
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
			choose(w, 0);
		if (w->nr_found)
			add_found(w);
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

static struct pt_config config_of(const struct ptflow *f, size_t part)
{
	const struct ptflow_input *in = &f->in;
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
	/* Else libipt recurses through direct jumps: one to itself takes the whole stack. */
	config.flags.variant.block.end_on_jump = 1;
	return config;
}

static struct bench *take_bench(struct ptflow *f)
{
	struct bench *b;

	pthread_mutex_lock(&f->lock);
	b = f->benches;
	if (b)
		f->benches = b->next;
	pthread_mutex_unlock(&f->lock);
	if (b)
		return b;
	return calloc(1, sizeof(*b));
}

static void leave_bench(struct ptflow *f, struct bench *b)
{
	pthread_mutex_lock(&f->lock);
	b->next = f->benches;
	f->benches = b;
	pthread_mutex_unlock(&f->lock);
}

/* From PSB to PSB, up to the border. */
static void decode(struct work *w, bool last)
{
	while (!w->over) {
		int status = pt_blk_sync_forward(w->dec);

		if (status == -pte_eos)
			break;
		pt_blk_get_sync_offset(w->dec, &w->offset);
		if (w->offset >= w->border && !last)
			break;
		if (status >= 0)
			status = flow(w, status);
		if (status < 0 && status != -pte_eos)
			lost(w);
		else
			break;
	}
}

int ptflow_part(struct ptflow *f, size_t part, struct ptflow_steps *out)
{
	struct pt_config config = config_of(f, part);
	struct work w = {.f = f, .out = out, .border = f->starts[part + 1] - f->starts[part]};
	bool last = part + 1 == ptflow_nr_parts(f);

	out->nr = 0;
	w.budget = w.border * BLOCKS_A_BYTE + MAX_STILL;
	if (f->in.max_steps && w.budget > f->in.max_steps)
		w.budget = f->in.max_steps;
	w.blocks = w.border * BLOCKS_A_BYTE + 4 * MAX_STILL;
	w.insns = w.border * INSNS_A_BYTE + 4 * UINT16_MAX;
	w.bench = take_bench(f);
	if (!w.bench)
		return -ENOMEM;
	w.bench->work = &w;
	if (!last)
		config.end = config.begin + w.border +
			     psb_bytes(config, w.border, (size_t)(config.end - config.begin));
	w.dec = pt_blk_alloc_decoder(&config);
	memset(w.seen, 0xff, sizeof(w.seen));
	if (w.dec)
		decode(&w, last);
	else
		w.oom = true;
	pt_blk_free_decoder(w.dec);
	leave_bench(f, w.bench);
	return w.oom ? -ENOMEM : 0;
}

/* The time that stands behind the PSB at the beginning of a part. */
uint64_t ptflow_part_ns(const struct ptflow *f, size_t part)
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
				ns = to_ns(&f->in.clock, pkt.payload.tsc.tsc);
	pt_pkt_free_decoder(dec);
	return ns;
}

size_t ptflow_part_at(const struct ptflow *f, size_t part)
{
	return f->starts[part];
}
