// SPDX-License-Identifier: MIT
/* The code of a trace; see pt_flow_impl.h. It is in a memfd, because libipt takes sections of
 * files. The memfd is sealed, so that it cannot shrink while it is mapped. */
#include "dump/base/err.h"
#include "dump/view/pt/pt_flow_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096u
/* Limits of libipt sections, in total and per process: libipt searches them linearly. */
#define MAX_SECTIONS	   32768u
#define MAX_SPACE_SECTIONS 2048u

struct pt_store {
	int fd;
	uint64_t end, max;
	pthread_mutex_t lock; /* protects `end` and the members below */
	size_t nr_sections;
	struct pt_image_section_cache *sections;
};

/* ---- code ---- */

int pt_store_new(uint64_t max_bytes, struct pt_store **out, struct err *err)
{
	struct pt_store *s = calloc(1, sizeof(*s));
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
		pt_store_free(s);
		return err_sys(err, rc, "code for the trace");
	}
	*out = s;
	return 0;
}

void pt_store_free(struct pt_store *s)
{
	if (!s)
		return;
	pt_iscache_free(s->sections);
	if (s->fd >= 0)
		close(s->fd);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

/* Copies through a mapping: data written with write() counts against RLIMIT_FSIZE. */
static int copy_in(struct pt_store *s, struct bytes code, uint64_t at)
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

int pt_store_put(struct pt_store *s, struct bytes code, uint64_t *at, struct err *err)
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

/* The section of stored bytes at an address; negative: a pt_error_code. libipt maps a section on
 * its first read, and fails if the file's time has changed by then. */
static int section_of(struct pt_store *s, uint64_t at, uint64_t bytes, uint64_t address)
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

/* ---- whose code ---- */

/* libipt's read callback for code that is in no section. */
static int read_found(uint8_t *dst, size_t n, const struct pt_asid *asid, uint64_t ip, void *ctx)
{
	struct pt_flow_work *w = ((struct pt_flow_bench *)ctx)->work;
	const struct pt_flow_source *s = &w->in->source;
	struct pt_flow_piece p;
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
	if (w->nr_found < PT_FLOW_NR_FOUND &&
	    (!w->nr_found || w->found[w->nr_found - 1].address != p.address))
		w->found[w->nr_found++] = p;
	return (int)got;
}

void pt_flow_add_found(struct pt_flow_work *w)
{
	struct pt_store *store = w->in->source.store;
	struct pt_flow_space *sp = w->space;

	for (size_t i = 0; i < w->nr_found; i++) {
		const struct pt_flow_piece *p = &w->found[i];
		int isid = section_of(store, p->at, p->bytes, p->address);

		if (isid < 0 || pt_image_add_cached(sp->image, store->sections, isid, NULL) < 0) {
			/* A lookup per instruction would be too slow. */
			sp->nr_sections = MAX_SPACE_SECTIONS;
			continue;
		}
		sp->nr_sections += sp->nr_sections < MAX_SPACE_SECTIONS;
		sp->from_ns = p->from_ns > sp->from_ns ? p->from_ns : sp->from_ns;
		sp->to_ns = p->to_ns < sp->to_ns ? p->to_ns : sp->to_ns;
	}
	w->nr_found = 0;
}

static struct pt_flow_space *space_of(struct pt_flow_bench *b, const struct pt_flow_who *who)
{
	struct pt_flow_space *s = NULL;

	for (size_t i = 0; i < PT_FLOW_NR_SPACES && !s; i++)
		if (b->spaces[i].image && b->spaces[i].key == who->key)
			s = &b->spaces[i];
	if (s && s->from_ns <= who->ns && who->ns <= s->to_ns)
		return s;
	if (!s)
		s = &b->spaces[b->nr_used++ % PT_FLOW_NR_SPACES];
	pt_image_free(s->image);
	*s = (struct pt_flow_space){.key = who->key,
				    .serial = ++b->serial,
				    .to_ns = UINT64_MAX,
				    .image = pt_image_alloc(NULL)};
	if (s->image)
		pt_image_set_callback(s->image, read_found, b);
	return s;
}

void pt_flow_spaces_free(struct pt_flow_bench *b)
{
	for (size_t i = 0; i < PT_FLOW_NR_SPACES; i++)
		pt_image_free(b->spaces[i].image);
}

void pt_flow_choose(struct pt_flow_work *w, uint64_t ip)
{
	const struct pt_flow_source *s = &w->in->source;

	pt_flow_add_found(w);
	w->who = (struct pt_flow_who){.ns = pt_flow_to_ns(&w->in->clock, w->tsc)};
	s->who(s->ctx, ip, &w->who);
	w->space = space_of(w->bench, &w->who);
	if (!w->space->image || (w->dec && pt_blk_set_image(w->dec, w->space->image) < 0))
		w->oom = w->over = true;
}

void pt_flow_touch(struct pt_flow_work *w, uint64_t address)
{
	const struct pt_flow_source *s = &w->in->source;
	uint64_t page = address / PAGE, *seen;

	page ^= (uint64_t)w->who.key << 52;
	seen = &w->seen[(page ^ page >> 52) % PT_FLOW_NR_SEEN];
	if (*seen == page)
		return;
	*seen = page;
	s->touch(s->ctx, &w->who, address);
}
