// SPDX-License-Identifier: MIT
/* Columns and words of packed records; see unpack_impl.h. */
#include "dump/packed/unpack_impl.h"

#include <errno.h>

int unpack_room(struct buf *b, size_t nr, size_t size)
{
	b->len = 0;
	return buf_reserve(b, nr * size + 8);
}

int unpack_column32_upto(struct bytes stream, uint32_t max, struct buf *out, uint32_t *nr)
{
	struct packed_column c;
	int rc = column_open(stream, &c);

	if (!rc && c.h.nr > max)
		rc = -EBADMSG;
	if (!rc)
		rc = unpack_room(out, c.h.nr, 4);
	if (!rc)
		rc = column_get_u32(&c, (uint32_t *)out->p);
	if (!rc)
		*nr = c.h.nr;
	return rc;
}

int unpack_column32(struct bytes stream, uint32_t nr, struct buf *out)
{
	uint32_t got = 0;
	int rc = unpack_column32_upto(stream, nr, out, &got);

	return rc ? rc : got == nr ? 0 : -EBADMSG;
}

/* ---- words ---- */

/* A column preceded by its length in bytes. */
static int sized_column(struct bytes *stream, uint32_t max, struct buf *out, uint32_t *nr)
{
	struct bytes b;
	uint32_t n;

	if (!bytes_u32(stream, &n) || !bytes_take(stream, n, &b))
		return -EBADMSG;
	return unpack_column32_upto(b, max, out, nr);
}

/* The table: plain numbers, then ascending ones as differences. */
static int read_table(struct word_stream *w, struct bytes *stream, uint32_t max)
{
	uint32_t nr, sum = 0;
	int rc = sized_column(stream, max, &w->table, &w->nr_table);

	if (!rc)
		rc = sized_column(stream, max - w->nr_table, &w->v, &nr);
	if (rc)
		return rc;
	w->table.len = w->nr_table * 4u;
	for (uint32_t i = 0; i < nr && !rc; i++) {
		sum += ((const uint32_t *)w->v.p)[i];
		rc = buf_put(&w->table, &sum, sizeof(sum));
	}
	w->nr_table += nr;
	return rc;
}

int words_open(struct word_stream *w, struct bytes stream, uint32_t max)
{
	int rc = 0;

	w->at = w->nr = w->nr_table = 0;
	if (!bytes_get(&stream, &w->coding, 1) || w->coding > FMT_CODING_TABLE)
		return -EBADMSG;
	if (w->coding == FMT_CODING_TABLE)
		rc = read_table(w, &stream, max);
	return rc ? rc : unpack_column32_upto(stream, max, &w->v, &w->nr);
}

void words_close(struct word_stream *w)
{
	buf_free(&w->v);
	buf_free(&w->table);
}

int words_next(struct word_stream *w, uint32_t last, uint32_t *v)
{
	uint32_t n;

	if (w->at == w->nr)
		return -EBADMSG;
	n = ((const uint32_t *)w->v.p)[w->at++];
	switch (w->coding) {
	case FMT_CODING_PLAIN:
		*v = n;
		return 0;
	case FMT_CODING_DELTA:
		*v = last + (n >> 1 ^ (0u - (n & 1)));
		return 0;
	default:
		if (n >= w->nr_table)
			return -EBADMSG;
		*v = ((const uint32_t *)w->table.p)[n];
		return 0;
	}
}
