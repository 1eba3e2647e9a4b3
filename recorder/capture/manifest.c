// SPDX-License-Identifier: MIT
/* The manifest of kept rings; see manifest.h. Written by recording_keep.c, read by banks.c and
 * sideband_rings.c. */
#include "recorder/capture/manifest.h"

#include "dump/base/bytes.h"
#include "dump/base/err.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC	  0x6b636162676e6972ull /* "ringback" */
#define VERSION	  2			/* of all structs in manifest.h, and of kept_log.c */
#define MAX_RINGS (1u << 20)

struct manifest_head {
	uint64_t magic;
	uint32_t version, nr_rings, nr_sides, reserved;
};

struct manifest {
	struct manifest_head *h;
	size_t bytes;
	int fd;
};

static size_t bytes_of(size_t nr_rings, size_t nr_sides)
{
	return sizeof(struct manifest_head) + nr_rings * sizeof(struct kept_ring) +
	       nr_sides * sizeof(struct kept_side);
}

static struct kept_ring *rings_of(struct manifest_head *h)
{
	return (struct kept_ring *)(h + 1);
}

static struct kept_side *sides_of(struct manifest_head *h)
{
	return (struct kept_side *)(rings_of(h) + h->nr_rings);
}

int manifest_new(size_t nr_rings, size_t nr_sides, struct manifest **out)
{
	struct manifest *m = calloc(1, sizeof(*m));
	void *p = MAP_FAILED;
	int rc;

	if (!m)
		return -ENOMEM;
	m->bytes = bytes_of(nr_rings, nr_sides);
	m->fd = memfd_create("ringback-rings", MFD_CLOEXEC);
	if (m->fd >= 0 && !ftruncate(m->fd, (off_t)m->bytes))
		p = mmap(NULL, m->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, m->fd, 0);
	if (p == MAP_FAILED) {
		rc = -errno;
		manifest_free(m);
		return rc;
	}
	m->h = p;
	*m->h = (struct manifest_head){.magic = MAGIC,
				       .version = VERSION,
				       .nr_rings = (uint32_t)nr_rings,
				       .nr_sides = (uint32_t)nr_sides};
	*out = m;
	return 0;
}

void manifest_free(struct manifest *m)
{
	if (!m)
		return;
	if (m->h)
		munmap(m->h, m->bytes);
	if (m->fd >= 0)
		close(m->fd);
	free(m);
}

struct kept_ring *manifest_ring(struct manifest *m, size_t i)
{
	return &rings_of(m->h)[i];
}

struct kept_side *manifest_side(struct manifest *m, size_t i)
{
	return &sides_of(m->h)[i];
}

int manifest_fd(const struct manifest *m)
{
	return m->fd;
}

/* ---- taking ---- */

struct kept {
	struct keep_set set;
	struct manifest_head *h; /* a copy */
};

#define FIRST_EVENT 2 /* after the manifest and the log */

/* Copies the manifest of `fd`, so that a writer that still runs can't change it. */
static int read_head(int fd, struct manifest_head **out, struct err *err)
{
	struct manifest_head h, *copy;
	struct stat st;
	size_t n;

	if (fstat(fd, &st) || pread(fd, &h, sizeof(h), 0) != sizeof(h) || h.magic != MAGIC)
		return err_set(err, -EBADMSG, "the keeper holds no rings of a recorder");
	if (h.version != VERSION)
		return err_set(err, -EPROTO,
			       "the kept rings come from a recorder whose layout (%u) differs from "
			       "this one's (%u)",
			       h.version, VERSION);
	n = bytes_of(h.nr_rings, h.nr_sides);
	if (h.nr_rings > MAX_RINGS || h.nr_sides > MAX_RINGS || (uint64_t)st.st_size != n)
		return err_set(err, -EBADMSG, "the manifest of the kept rings is damaged");
	copy = malloc(n);
	if (!copy)
		return err_set(err, -ENOMEM, "out of memory");
	if (pread(fd, copy, n, 0) != (ssize_t)n || memcmp(copy, &h, sizeof(h))) {
		free(copy);
		return err_set(err, -EBADMSG, "the manifest of the kept rings is damaged");
	}
	*out = copy;
	return 0;
}

static size_t nr_fds(const struct kept_ring *r)
{
	return (size_t)r->nr_banks * r->nr_events;
}

/* The number of descriptors of all rings, with the first two; 0: an entry is invalid. */
static uint64_t nr_described(struct manifest_head *h)
{
	uint64_t sum = FIRST_EVENT;

	for (size_t i = 0; i < h->nr_rings; i++) {
		const struct kept_ring *r = &rings_of(h)[i];

		if (r->nr_banks < 1 || r->nr_banks > 2 || !r->nr_events)
			return 0;
		sum += nr_fds(r);
	}
	for (size_t i = 0; i < h->nr_sides; i++)
		sum += sides_of(h)[i].nr_events;
	return sum;
}

int kept_open(struct keep_set *set, struct kept **out, struct err *err)
{
	struct manifest_head *h = NULL;
	struct kept *k;
	int rc = set->nr < FIRST_EVENT ? -EBADMSG : 0;

	if (rc)
		return err_set(err, rc, "the keeper holds no rings of a recorder");
	rc = read_head(set->v[0].fd, &h, err);
	if (!h)
		return rc;
	k = nr_described(h) && nr_described(h) <= set->nr ? calloc(1, sizeof(*k)) : NULL;
	if (!k) {
		free(h);
		return err_set(err, -EBADMSG, "the manifest of the kept rings is damaged");
	}
	*k = (struct kept){.set = *set, .h = h};
	*set = (struct keep_set){0};
	*out = k;
	return 0;
}

void kept_close(struct kept *k)
{
	if (!k)
		return;
	keep_set_close(&k->set);
	free(k->h);
	free(k);
}

int kept_log_of(const struct kept *k)
{
	return k->set.v[1].fd;
}

size_t kept_others(const struct kept *k, size_t skipped, int *fds, size_t max)
{
	size_t nr = 0;

	for (size_t i = nr_described(k->h) + skipped; i < k->set.nr && nr < max; i++)
		fds[nr++] = k->set.v[i].fd;
	return nr;
}

size_t kept_nr_programs(const struct kept *k)
{
	size_t nr = 0;

	for (size_t i = 0; i < k->h->nr_rings; i++)
		if (rings_of(k->h)[i].programs > nr)
			nr = rings_of(k->h)[i].programs;
	return nr;
}

const struct kept_ring *kept_find(const struct kept *k, uint64_t signature)
{
	for (size_t i = 0; k && i < k->h->nr_rings; i++)
		if (rings_of(k->h)[i].signature == signature)
			return &rings_of(k->h)[i];
	return NULL;
}

static void take(struct kept *k, size_t at, int *fds, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		fds[i] = k->set.v[at + i].fd;
		k->set.v[at + i].fd = -1;
	}
}

const struct kept_ring *kept_take_ring(struct kept *k, uint64_t signature, int cpu, int *fds,
				       size_t nr)
{
	size_t at = FIRST_EVENT;

	for (size_t i = 0; k && i < k->h->nr_rings; at += nr_fds(&rings_of(k->h)[i++])) {
		const struct kept_ring *r = &rings_of(k->h)[i];

		if (r->signature != signature || r->cpu != cpu || nr_fds(r) != nr ||
		    k->set.v[at].fd < 0)
			continue;
		take(k, at, fds, nr);
		return r;
	}
	return NULL;
}

bool kept_take_side(struct kept *k, uint64_t signature, int cpu, int *fds, size_t nr)
{
	size_t at = FIRST_EVENT;

	for (size_t i = 0; k && i < k->h->nr_rings; i++)
		at += nr_fds(&rings_of(k->h)[i]);
	for (size_t i = 0; k && i < k->h->nr_sides; at += sides_of(k->h)[i++].nr_events) {
		const struct kept_side *s = &sides_of(k->h)[i];

		if (s->signature != signature || s->cpu != cpu || s->nr_events != nr ||
		    k->set.v[at].fd < 0)
			continue;
		take(k, at, fds, nr);
		return true;
	}
	return false;
}
