// SPDX-License-Identifier: MIT
/* Compressing through zlib; see deflate.h. */
#include "dump/view/base/deflate.h"

#include "dump/base/err.h"
#include "dump/view/base/text.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <zlib.h>

#define ROOM_BYTES (64u << 10)

struct deflate {
	z_stream z;
	struct text *to;
};

int deflate_new(enum deflate_kind kind, int level, struct text *to, struct deflate **out,
		struct err *err)
{
	/* zlib encodes the container in the window bits. */
	int bits = kind == DEFLATE_RAW ? -MAX_WBITS : MAX_WBITS + 16;
	struct deflate *d = calloc(1, sizeof(*d));

	if (!d || deflateInit2(&d->z, level, Z_DEFLATED, bits, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
		free(d);
		return err_set(err, -ENOMEM, "out of memory");
	}
	d->to = to;
	*out = d;
	return 0;
}

void deflate_free(struct deflate *d)
{
	if (!d)
		return;
	deflateEnd(&d->z);
	free(d);
}

/* Until zlib has taken all of its input, and with Z_FINISH given all of its output. */
static int work(struct deflate *d, int flush)
{
	do {
		char *room = text_room(d->to, ROOM_BYTES);

		if (!room)
			return d->to->rc;
		d->z.next_out = (Bytef *)room;
		d->z.avail_out = ROOM_BYTES;
		deflate(&d->z, flush);
		text_used(d->to, ROOM_BYTES - d->z.avail_out);
		if (d->to->out && text_flush_large(d->to))
			return d->to->rc;
	} while (!d->z.avail_out);
	return 0;
}

int deflate_put(struct deflate *d, const void *p, size_t n)
{
	const unsigned char *at = p;
	int rc = 0;

	while (n && !rc) {
		unsigned piece = n > INT_MAX ? INT_MAX : (unsigned)n;

		d->z.next_in = (Bytef *)at;
		d->z.avail_in = piece;
		rc = work(d, Z_NO_FLUSH);
		at += piece;
		n -= piece;
	}
	return rc;
}

int deflate_end(struct deflate *d)
{
	d->z.next_in = NULL;
	d->z.avail_in = 0;
	return work(d, Z_FINISH);
}
