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

#define PAGE	    4096u
#define PART_BYTES  (256u << 10)
#define MAX_THREADS 64u
/* Nothing real calls so often without a conditional branch or a return in between. */
#define MAX_STILL 4096u

struct piece {
	uint64_t address, offset, bytes;
	int isid;
};

struct ptcode {
	int fd;
	uint64_t end;
	struct piece *pieces;
	size_t nr, cap;
	struct pt_image_section_cache *sections; /* NULL until sealed */
};

struct ptflow {
	struct ptflow_input in;
	size_t *starts; /* of the parts, and the end of all */
	size_t nr, cap;
};

int ptcode_new(struct ptcode **out, struct err *err)
{
	struct ptcode *c = calloc(1, sizeof(*c));

	if (!c)
		return err_sys(err, -ENOMEM, "code for the trace");
	c->fd = memfd_create("ringback code", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (c->fd < 0) {
		int rc = -errno;

		free(c);
		return err_sys(err, rc, "memfd_create");
	}
	*out = c;
	return 0;
}

void ptcode_free(struct ptcode *c)
{
	if (!c)
		return;
	pt_iscache_free(c->sections);
	close(c->fd);
	free(c->pieces);
	free(c);
}

int ptcode_add(struct ptcode *c, uint64_t address, struct bytes code, struct err *err)
{
	struct piece p = {.address = address, .offset = c->end, .bytes = code.len};

	if (!code.len || c->sections)
		return err_set(err, -EINVAL, "no code to add, or too late");
	if (c->nr == c->cap) {
		size_t cap = c->cap ? c->cap * 2 : 16;
		struct piece *v = reallocarray(c->pieces, cap, sizeof(*v));

		if (!v)
			return err_sys(err, -ENOMEM, "code for the trace");
		c->pieces = v;
		c->cap = cap;
	}
	while (code.len) {
		ssize_t n = pwrite(c->fd, code.p, code.len, (off_t)c->end);

		if (n <= 0)
			return err_sys(err, n ? -errno : -EIO, "code for the trace");
		c->end += (uint64_t)n;
		code.p += n;
		code.len -= (size_t)n;
	}
	c->end = align_up(c->end, PAGE);
	c->pieces[c->nr++] = p;
	return 0;
}

int ptcode_seal(struct ptcode *c, struct err *err)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", c->fd);
	if (fcntl(c->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
		return err_sys(err, -errno, "sealing code for the trace");
	c->sections = pt_iscache_alloc(NULL);
	if (!c->sections || pt_iscache_set_limit(c->sections, UINT64_MAX) < 0)
		return err_sys(err, -ENOMEM, "code for the trace");
	for (size_t i = 0; i < c->nr; i++) {
		struct piece *p = &c->pieces[i];

		p->isid = pt_iscache_add_file(c->sections, path, p->offset, p->bytes, p->address);
		if (p->isid < 0)
			return err_set(err, -EINVAL, "code at %#llx can't be used: %s",
				       (unsigned long long)p->address,
				       pt_errstr(pt_errcode(p->isid)));
	}
	return 0;
}

/* An image belongs to one thread; the sections in it are shared. */
static struct pt_image *image_of(const struct ptcode *c)
{
	struct pt_image *image = pt_image_alloc(NULL);

	for (size_t i = 0; image && i < c->nr; i++) {
		if (pt_image_add_cached(image, c->sections, c->pieces[i].isid, NULL) < 0) {
			pt_image_free(image);
			image = NULL;
		}
	}
	return image;
}

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

	if (!in->code || !in->code->sections || in->clock.shift >= 32)
		return err_set(err, -EINVAL, "a trace without code, or with a clock of shift %u",
			       in->clock.shift);
	f = calloc(1, sizeof(*f));
	if (!f)
		return err_sys(err, -ENOMEM, "decoding a trace");
	f->in = *in;
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

void ptflow_free(struct ptflow *f)
{
	if (f)
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
	const struct ptflow *f;
	struct pt_block_decoder *dec;
	struct ptflow_steps *out;
	uint64_t tsc, offset, border; /* border: in bytes of the part, where the next one begins */
	size_t budget;		      /* steps that are left */
	unsigned int still;	      /* blocks since the decoder took a byte */
	struct ptflow_step open;      /* a call or return whose `to` comes next; .from 0: none */
	bool over, oom;
};

static void put(struct work *w, enum ptflow_kind kind, uint64_t from, uint64_t to)
{
	struct ptflow_steps *s = w->out;

	if (!w->budget) {
		w->over = true;
		return;
	}
	w->budget--;
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
	s->v[s->nr++] = (struct ptflow_step){to_ns(&w->f->in.clock, w->tsc), from, to, kind};
}

/* The flow is at `ip` now. */
static void arrive(struct work *w, uint64_t ip)
{
	if (w->open.from)
		put(w, w->open.kind, w->open.from, ip);
	w->open.from = 0;
}

static void lost(struct work *w)
{
	w->open.from = 0;
	put(w, PTFLOW_LOST, 0, 0);
}

static void on_event(struct work *w, const struct pt_event *ev, uint64_t last_ip)
{
	if (ev->has_tsc)
		w->tsc = ev->tsc;
	switch (ev->type) {
	case ptev_enabled:
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

static void on_block(struct work *w, const struct pt_block *b)
{
	uint64_t offset = w->offset, tsc;
	int rc;

	arrive(w, b->ip);
	rc = pt_blk_time(w->dec, &tsc, NULL, NULL);
	if (rc >= 0)
		w->tsc = tsc;
	pt_blk_get_offset(w->dec, &w->offset);
	w->still = offset == w->offset ? w->still + 1 : 0;
	if (b->iclass == ptic_call || b->iclass == ptic_return)
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
	for (;;) {
		struct pt_block b = {0};
		int rc;

		status = drain(w, status, last_ip);
		if (status < 0 || w->over)
			return status;
		if (status & pts_eos)
			return -pte_eos;
		rc = pt_blk_next(w->dec, &b, sizeof(b));
		if (b.ninsn) {
			last_ip = b.end_ip;
			on_block(w, &b);
		}
		if (rc < 0)
			return rc;
		if (w->still > MAX_STILL)
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

int ptflow_part(const struct ptflow *f, size_t part, struct ptflow_steps *out)
{
	struct pt_config config = config_of(f, part);
	struct work w = {.f = f, .out = out, .border = f->starts[part + 1] - f->starts[part]};
	struct pt_image *image = image_of(f->in.code);
	int status;

	out->nr = 0;
	w.budget = w.border * 32 + MAX_STILL;
	if (part + 1 < ptflow_nr_parts(f))
		config.end = config.begin + w.border +
			     psb_bytes(config, w.border, (size_t)(config.end - config.begin));
	w.dec = image ? pt_blk_alloc_decoder(&config) : NULL;
	if (!w.dec || pt_blk_set_image(w.dec, image) < 0) {
		pt_blk_free_decoder(w.dec);
		pt_image_free(image);
		return -ENOMEM;
	}
	while (!w.over) {
		status = pt_blk_sync_forward(w.dec);
		if (status == -pte_eos)
			break;
		pt_blk_get_sync_offset(w.dec, &w.offset);
		if (w.offset >= w.border && part + 1 < ptflow_nr_parts(f))
			break;
		if (status >= 0)
			status = flow(&w, status);
		if (status < 0 && status != -pte_eos)
			lost(&w);
		else
			break;
	}
	pt_blk_free_decoder(w.dec);
	pt_image_free(image);
	return w.oom ? -ENOMEM : 0;
}

/*
 * Threads take parts from the newest on and hand them over in that order; one that is done early
 * waits for its turn, and so there are never more than a part's steps a thread.
 */
struct crew {
	const struct ptflow *f;
	int (*each)(void *ctx, size_t part, const struct ptflow_steps *steps);
	void *ctx;
	pthread_mutex_t lock; /* over all below */
	pthread_cond_t turn;
	size_t taken, handed; /* parts, counted from the newest */
	int rc;		      /* non-zero: all end */
};

static void hand_over(struct crew *c, size_t place, int rc, const struct ptflow_steps *steps)
{
	pthread_mutex_lock(&c->lock);
	while (!c->rc && c->handed != place)
		pthread_cond_wait(&c->turn, &c->lock);
	if (!c->rc) {
		c->rc = rc ? rc : c->each(c->ctx, ptflow_nr_parts(c->f) - 1 - place, steps);
		c->handed++;
	}
	pthread_cond_broadcast(&c->turn);
	pthread_mutex_unlock(&c->lock);
}

static void *crew_member(void *arg)
{
	struct crew *c = arg;
	size_t nr = ptflow_nr_parts(c->f);
	struct ptflow_steps steps = {0};

	for (;;) {
		size_t place = nr;

		pthread_mutex_lock(&c->lock);
		if (!c->rc && c->taken < nr)
			place = c->taken++;
		pthread_mutex_unlock(&c->lock);
		if (place == nr)
			break;
		hand_over(c, place, ptflow_part(c->f, nr - 1 - place, &steps), &steps);
	}
	ptflow_steps_free(&steps);
	return NULL;
}

int ptflow_backwards(const struct ptflow *f, unsigned int nr_threads,
		     int (*each)(void *ctx, size_t part, const struct ptflow_steps *steps),
		     void *ctx, struct err *err)
{
	struct crew c = {.f = f, .each = each, .ctx = ctx};
	pthread_t others[MAX_THREADS];
	unsigned int nr = 0;

	pthread_mutex_init(&c.lock, NULL);
	pthread_cond_init(&c.turn, NULL);
	/* Those that can't be started are not missed: this one does the work. */
	while (nr + 1 < nr_threads && nr < MAX_THREADS &&
	       !pthread_create(&others[nr], NULL, crew_member, &c))
		nr++;
	crew_member(&c);
	for (unsigned int i = 0; i < nr; i++)
		pthread_join(others[i], NULL);
	pthread_cond_destroy(&c.turn);
	pthread_mutex_destroy(&c.lock);
	return c.rc == -ENOMEM ? err_sys(err, c.rc, "decoding a trace") : c.rc;
}
