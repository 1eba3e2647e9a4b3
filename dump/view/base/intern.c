// SPDX-License-Identifier: MIT
/* Texts kept once; see intern.h. A hash table of pointers into chunks of text. */
#include "dump/view/base/intern.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES (256u << 10)
#define MIN_SLOTS   1024u

struct intern_chunk {
	struct intern_chunk *next;
	size_t used, size;
	char text[];
};

/* FNV-1a: names are short. */
static uint64_t hash_of(const char *text, size_t len)
{
	uint64_t h = 0xcbf29ce484222325ull;

	for (size_t i = 0; i < len; i++)
		h = (h ^ (uint8_t)text[i]) * 0x100000001b3ull;
	return h ^ h >> 32;
}

/* The slot of the text, or the free one where it belongs. */
static const char **slot_of(const struct intern *in, const char *text, size_t len)
{
	size_t at = hash_of(text, len) & (in->nr_slots - 1);

	while (in->slots[at] && (strncmp(in->slots[at], text, len) || in->slots[at][len]))
		at = (at + 1) & (in->nr_slots - 1);
	return &in->slots[at];
}

static bool grow(struct intern *in)
{
	struct intern more = {.nr_slots = in->nr_slots ? 2 * in->nr_slots : MIN_SLOTS};

	more.slots = calloc(more.nr_slots, sizeof(*more.slots));
	if (!more.slots)
		return false;
	for (size_t i = 0; i < in->nr_slots; i++)
		if (in->slots[i])
			*slot_of(&more, in->slots[i], strlen(in->slots[i])) = in->slots[i];
	free(in->slots);
	in->slots = more.slots;
	in->nr_slots = more.nr_slots;
	return true;
}

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
	const char *p = text.len ? (const char *)text.p : "";
	size_t len = strnlen(p, text.len);
	const char **slot;

	if (4 * (in->nr + 1) > 3 * in->nr_slots && !grow(in))
		return NULL;
	slot = slot_of(in, p, len);
	if (!*slot) {
		*slot = keep(in, p, len);
		in->nr += *slot != NULL;
	}
	return *slot;
}

void intern_free(struct intern *in)
{
	while (in->chunks) {
		struct intern_chunk *c = in->chunks;

		in->chunks = c->next;
		free(c);
	}
	free(in->slots);
	*in = (struct intern){0};
}
