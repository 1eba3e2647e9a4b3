// SPDX-License-Identifier: MIT
/* Names of traced functions, cached; see pt_names.h. Called by whatever shows calls of a hardware
 * trace. */
#include "dump/view/pt/pt_names.h"

#include "dump/base/hash.h"

#include "dump/base/str.h"
#include "dump/format/record.h"
#include "dump/view/base/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NR_SLOTS  (1u << 14) /* a power of two */
#define MAX_SHORT 64u

struct slot {
	struct history_span span;
	uint64_t addr;
	uint32_t tid;
	bool used;
	struct pt_names_place place;
};

struct pt_names {
	const struct process_history *history;
	const struct symbols *symbols;
	struct slot *slots;
	char *texts; /* MAX_SHORT for each slot, and PUT_SLACK */
	struct text text;
};

int pt_names_new(const struct process_history *p, const struct symbols *s, struct pt_names **out)
{
	struct pt_names *n = calloc(1, sizeof(*n));

	if (n) {
		n->slots = calloc(NR_SLOTS, sizeof(*n->slots));
		n->texts = calloc(1, NR_SLOTS * MAX_SHORT + PUT_SLACK);
	}
	if (!n || !n->slots || !n->texts) {
		pt_names_free(n);
		return -ENOMEM;
	}
	n->history = p;
	n->symbols = s;
	*out = n;
	return 0;
}

void pt_names_free(struct pt_names *n)
{
	if (n) {
		free(n->slots);
		free(n->texts);
		text_free(&n->text);
	}
	free(n);
}

static bool leaves_frames(const char *name)
{
	return strstr(name, "longjmp") || !strncmp(name, "_Unwind_", 8) ||
	       !strcmp(name, "__cxa_throw") || !strcmp(name, "setcontext") ||
	       !strcmp(name, "swapcontext");
}

/* A hash of the name, without ".cold" and the like, and of the file. */
static uint64_t id_of(const char *name, const char *image)
{
	size_t len = *name ? 1 + strcspn(name + 1, ".") : 0;
	uint64_t hash = hash_bytes((uintptr_t)image, name, len);

	return hash ? hash : 1;
}

/* Names are printed repeatedly, so their text is cached. */
static void keep_text(struct pt_names *n, struct slot *k)
{
	char *to = n->texts + (size_t)(k - n->slots) * MAX_SHORT;

	n->text.b.len = 0;
	pt_names_put(&k->place, k->addr, &n->text);
	if (n->text.rc || n->text.b.len > MAX_SHORT)
		return;
	memcpy(to, n->text.b.p, n->text.b.len);
	k->place.text = to;
	k->place.text_len = (uint8_t)n->text.b.len;
}

static void fill(struct pt_names *n, struct slot *k, uint64_t ns)
{
	struct symbol_place places[SYMBOLS_MAX_DEPTH];
	const struct symbol_place *at = places;
	bool kernel = record_kernel_address(k->addr);
	size_t nr = 1;

	k->span = (struct history_span){0, UINT64_MAX};
	places[0] = (struct symbol_place){.image_off = k->addr};
	if (kernel)
		nr = symbols_kernel(n->symbols, ns, k->addr, places, SYMBOLS_MAX_DEPTH, &k->span);
	else if (k->tid != UINT32_MAX)
		nr = symbols_user(n->symbols, k->tid, ns, k->addr, places, SYMBOLS_MAX_DEPTH,
				  &k->span);
	/* Inlined functions are not calls. */
	at = &places[nr - 1];
	k->place = (struct pt_names_place){.function = at->function,
					   .image = at->image,
					   .off = at->function ? at->function_off : at->image_off,
					   .kernel = kernel};
	if (at->function) {
		k->place.id = id_of(at->function, at->image);
		k->place.leaves_frames = leaves_frames(at->function);
	}
	keep_text(n, k);
}

const struct pt_names_place *pt_names_get(struct pt_names *n, uint32_t tid, uint64_t ns,
					  uint64_t addr)
{
	struct slot *k = &n->slots[hash_mix(addr, (uint64_t)tid << 40) & (NR_SLOTS - 1)];

	if (k->used && k->addr == addr && k->tid == tid && k->span.from_ns <= ns &&
	    ns <= k->span.to_ns)
		return &k->place;
	k->addr = addr;
	k->tid = tid;
	k->used = true;
	fill(n, k, ns);
	return &k->place;
}

void pt_names_put(const struct pt_names_place *p, uint64_t addr, struct text *t)
{
	const char *image = p->image && !p->text ? str_base(p->image) : NULL;
	char *to;

	if (p->text) {
		to = text_room(t, MAX_SHORT + PUT_SLACK);
		if (to)
			text_end(t, put_wide(to, p->text, p->text_len));
	} else if (p->function) {
		text_safe(t, p->function, strlen(p->function));
	} else if (image && !p->kernel) {
		text_safe(t, image, strlen(image));
		text_str(t, "+0x");
		text_hex(t, p->off, 1);
	} else {
		text_str(t, "0x");
		text_hex(t, addr, 1);
	}
}
