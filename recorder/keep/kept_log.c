// SPDX-License-Identifier: MIT
/* A circular buffer of sideband records in a memfd; see kept_log.h. */
#include "recorder/keep/kept_log.h"

#include "dump/format/record.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC	   0x676f6c6b6272ull
#define HEAD_BYTES 4096
#define MAX_RECORD 65536
#define MAX_BYTES  (1ull << 30)

struct log_head {
	uint64_t magic, size;
	uint64_t tail, head; /* bytes since the beginning */
};

struct kept_log {
	struct log_head *h;
	uint8_t *data;
	uint64_t size; /* a power of two; checked, unlike h->size */
	int fd;
};

static int map(int fd, uint64_t size, struct kept_log **out)
{
	struct kept_log *l = calloc(1, sizeof(*l));
	void *p = MAP_FAILED;
	int rc = -ENOMEM;

	if (l)
		p = mmap(NULL, HEAD_BYTES + size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED) {
		rc = l ? -errno : rc;
		free(l);
		return rc;
	}
	*l = (struct kept_log){.h = p, .data = (uint8_t *)p + HEAD_BYTES, .size = size, .fd = fd};
	*out = l;
	return 0;
}

int kept_log_new(uint64_t bytes, struct kept_log **out)
{
	int fd = memfd_create("ringback-sideband", MFD_CLOEXEC), rc;

	if (fd < 0)
		return -errno;
	rc = ftruncate(fd, (off_t)(HEAD_BYTES + bytes)) ? -errno : map(fd, bytes, out);
	if (rc) {
		close(fd);
		return rc;
	}
	*(*out)->h = (struct log_head){.magic = MAGIC, .size = bytes};
	return 0;
}

int kept_log_adopt(int from, struct kept_log **out)
{
	struct log_head h;
	struct stat st;
	int fd, rc;

	if (fstat(from, &st) || pread(from, &h, sizeof(h), 0) != sizeof(h) || h.magic != MAGIC ||
	    h.size < MAX_RECORD || h.size > MAX_BYTES || h.size & (h.size - 1) ||
	    (uint64_t)st.st_size != HEAD_BYTES + h.size)
		return -EBADMSG;
	fd = dup(from);
	if (fd < 0)
		return -errno;
	rc = map(fd, h.size, out);
	if (rc)
		close(fd);
	return rc;
}

void kept_log_free(struct kept_log *l)
{
	if (!l)
		return;
	munmap(l->h, HEAD_BYTES + l->size);
	close(l->fd);
	free(l);
}

int kept_log_fd(const struct kept_log *l)
{
	return l->fd;
}

/* Bytes from `at` up to the end of the buffer, at most `n`. */
static size_t till_end(const struct kept_log *l, uint64_t at, size_t n)
{
	uint64_t left = l->size - (at & (l->size - 1));

	return left < n ? left : n;
}

static void copy_out(const struct kept_log *l, uint64_t at, void *to, size_t n)
{
	size_t first = till_end(l, at, n);

	memcpy(to, l->data + (at & (l->size - 1)), first);
	memcpy((uint8_t *)to + first, l->data, n - first);
}

static void copy_in(struct kept_log *l, uint64_t at, const uint8_t *from, size_t n)
{
	size_t first = till_end(l, at, n);

	memcpy(l->data + (at & (l->size - 1)), from, first);
	memcpy(l->data, from + first, n - first);
}

/* The length of the record at `at`; 0: there is no whole one. */
static size_t length_at(const struct kept_log *l, uint64_t at)
{
	struct perf_event_header h;

	if (l->h->head - at < sizeof(h) || l->h->head - at > l->size)
		return 0;
	copy_out(l, at, &h, sizeof(h));
	return h.size >= sizeof(h) && h.size % 8 == 0 && h.size <= l->h->head - at ? h.size : 0;
}

/* Room first, then the bytes, then the head that makes them valid. */
void kept_log_put(struct kept_log *l, struct bytes rec)
{
	uint64_t tail = l->h->tail, head = l->h->head;

	if (rec.len >= MAX_RECORD || rec.len % 8)
		return;
	while (head - tail + rec.len > l->size) {
		size_t n = length_at(l, tail);

		tail = n ? tail + n : head;
	}
	__atomic_store_n(&l->h->tail, tail, __ATOMIC_RELEASE);
	copy_in(l, head, rec.p, rec.len);
	__atomic_store_n(&l->h->head, head + rec.len, __ATOMIC_RELEASE);
}

bool kept_log_next(const struct kept_log *l, uint64_t *pos, void *scratch, struct bytes *rec)
{
	size_t n;

	if (!*pos)
		*pos = l->h->tail;
	n = length_at(l, *pos);
	if (!n)
		return false;
	copy_out(l, *pos, scratch, n);
	*rec = (struct bytes){scratch, n};
	*pos += n;
	return true;
}
