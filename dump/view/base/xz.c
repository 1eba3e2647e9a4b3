// SPDX-License-Identifier: MIT
/* .xz and CRC-32 through liblzma; see xz.h. Called by symbol_file.c. */
#include "dump/view/base/xz.h"

#include <errno.h>
#include <lzma.h>

#define FIRST_BYTES    (1u << 20)
#define MAX_DICT_BYTES (64ull << 20)

/* Decodes to the end of the stream; `out` doubles when it is full. */
static int decode(lzma_stream *s, size_t max, struct buf *out)
{
	for (;;) {
		lzma_ret rc;
		size_t room;

		if (buf_reserve(out, out->len ? out->len : FIRST_BYTES))
			return -ENOMEM;
		room = out->cap - out->len;
		s->next_out = out->p + out->len;
		s->avail_out = room;
		rc = lzma_code(s, LZMA_FINISH);
		out->len += room - s->avail_out;
		if (out->len > max)
			return -E2BIG;
		if (rc == LZMA_STREAM_END)
			return 0;
		if (rc == LZMA_MEM_ERROR)
			return -ENOMEM;
		if (rc == LZMA_MEMLIMIT_ERROR)
			return -E2BIG;
		if (rc != LZMA_OK || s->avail_out)
			return -EBADMSG;
	}
}

int xz_unpack(struct bytes packed, size_t max, struct buf *out)
{
	lzma_stream s = LZMA_STREAM_INIT;
	int rc;

	out->len = 0;
	if (lzma_stream_decoder(&s, MAX_DICT_BYTES, 0) != LZMA_OK)
		return -ENOMEM;
	s.next_in = packed.p;
	s.avail_in = packed.len;
	rc = decode(&s, max, out);
	lzma_end(&s);
	return rc;
}

uint32_t xz_crc32(struct bytes b, uint32_t crc)
{
	return lzma_crc32(b.p, b.len, crc);
}
