// SPDX-License-Identifier: MIT
/* Texts kept once; see intern.h. Chunks of text, and a table of pointers into them. */
#include "dump/view/base/intern.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES (256u << 10)

struct intern_chunk {
	struct intern_chunk *next;
	size_t used, size;
	char text[];
};

static const char *keep(struct intern *in, const char *text, size_t len)
{
	struct intern_chunk *c = in->chunks;
	size_t size = len + 1 > CHUNK_BYTES ? len + 1 : CHUNK_BYTES;
	char *to;

	if (!c || c->size - c->used < len + 1) {
		c = malloc(sizeof(*c) + size);
		if (!c)
			return NULL;
		*c = (struct intern_chunk){.next = in->chunks, .size = size};
		in->chunks = c;
	}
	to = c->text + c->used;
	memcpy(to, text, len);
	to[len] = '\0';
	c->used += len + 1;
	return to;
}

const char *intern(struct intern *in, struct bytes text)
{
	const char *p = text.len ? (const char *)text.p : "", *kept;
	size_t len = strnlen(p, text.len);
	uint64_t hash = hash_bytes(0, p, len);
	uint32_t at = 0, i;

	while (hash_next(&in->index, hash, &at, &i)) {
		kept = ((const char **)in->texts.p)[i];
		if (!strncmp(kept, p, len) && !kept[len])
			return kept;
	}
	kept = keep(in, p, len);
	if (!kept || buf_reserve(&in->texts, sizeof(kept)) || hash_add(&in->index, hash))
		return NULL;
	buf_put(&in->texts, &kept, sizeof(kept));
	return kept;
}

void intern_free(struct intern *in)
{
	while (in->chunks) {
		struct intern_chunk *c = in->chunks;

		in->chunks = c->next;
		free(c);
	}
	buf_free(&in->texts);
	hash_free(&in->index);
}
