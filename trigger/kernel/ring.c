// SPDX-License-Identifier: MIT
/* Maps perf rings and reads them; see ring.h. Only the kernel writes to a backward ring. Called by
 * banks.c (recording), sideband.c (forward) and window.c (the walk of a frozen ring). */
#include "trigger/kernel/ring.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

uint64_t ring_round(uint64_t bytes, size_t page_bytes)
{
	uint64_t size = page_bytes;

	while (size < bytes && size < UINT64_MAX / 2)
		size *= 2;
	return size;
}

int ring_map(struct ring *r, int fd, uint64_t size, bool backward)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t bytes = page + size;
	void *p =
		mmap(NULL, bytes, backward ? PROT_READ : PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		return -errno;
	*r = (struct ring){
		.page = p,
		.data = (const uint8_t *)p + page,
		.size = size,
		.map_bytes = bytes,
		.fd = fd,
	};
	return 0;
}

void ring_unmap(struct ring *r)
{
	if (r->page)
		munmap(r->page, r->map_bytes);
	*r = (struct ring){.fd = -1};
}

uint64_t ring_head(const struct ring *r)
{
	return __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
}

int ring_pieces(const struct ring *r, uint64_t head, uint64_t off, uint64_t n, struct bytes out[2])
{
	uint64_t at = (head + off) & (r->size - 1);
	uint64_t till_end = r->size - at;

	if (n <= till_end) {
		out[0] = (struct bytes){r->data + at, n};
		return 1;
	}
	out[0] = (struct bytes){r->data + at, till_end};
	out[1] = (struct bytes){r->data, n - till_end};
	return 2;
}

void ring_copy(const struct ring *r, uint64_t head, uint64_t off, void *dst, size_t n)
{
	struct bytes piece[2];
	int nr = ring_pieces(r, head, off, n, piece);

	memcpy(dst, piece[0].p, piece[0].len);
	if (nr == 2)
		memcpy((uint8_t *)dst + piece[0].len, piece[1].p, piece[1].len);
}

uint64_t ring_limit(const struct ring *r, uint64_t head)
{
	uint64_t written = r->armed_head - head;

	return written < r->size ? written : r->size;
}

bool ring_record_at(const struct ring *r, uint64_t head, uint64_t off, uint64_t limit,
		    struct perf_event_header *h)
{
	if (!span_fits(off, sizeof(*h), limit))
		return false;
	memcpy(h, r->data + ((head + off) & (r->size - 1)), sizeof(*h));
	return h->size >= sizeof(*h) && h->size % 8 == 0 && span_fits(off, h->size, limit);
}

uint64_t ring_tail(const struct ring *r)
{
	return r->page->data_tail;
}

bool ring_next(const struct ring *r, uint64_t *pos, uint64_t head, void *scratch, struct bytes *rec)
{
	struct perf_event_header h;
	struct bytes piece[2];

	if (head - *pos < sizeof(h) || head - *pos > r->size)
		return false;
	memcpy(&h, r->data + (*pos & (r->size - 1)), sizeof(h));
	if (h.size < sizeof(h) || h.size > head - *pos)
		return false;
	if (ring_pieces(r, *pos, 0, h.size, piece) == 1) {
		*rec = piece[0];
	} else {
		ring_copy(r, *pos, 0, scratch, h.size);
		*rec = (struct bytes){scratch, h.size};
	}
	*pos += h.size;
	return true;
}

void ring_consume(struct ring *r, uint64_t pos)
{
	__atomic_store_n(&r->page->data_tail, pos, __ATOMIC_RELEASE);
}
