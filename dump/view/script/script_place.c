// SPDX-License-Identifier: MIT
/* Prints addresses: kernel or user, function and file. Each printer caches results for as long as
 * they are valid; see symbols_user(). Called by script_text.c and script_json.c. */
#include "dump/view/script/script_impl.h"

#include "dump/base/hash.h"

#include "dump/view/unwind/stack.h"

#include <string.h>

/* Puts the frame into p->place; *span is the time for which it is valid. */
static void find(struct printer *p, const struct line *l, struct frame *f,
		 struct history_span *span)
{
	struct symbol_place places[SYMBOLS_MAX_DEPTH] = {{.image_off = f->ip}};
	const struct symbols *s = p->s->a.symbols;
	/* A return address is after the call. */
	uint64_t addr = f->ip - (f->caller && f->ip);

	*span = (struct history_span){0, UINT64_MAX};
	f->places = places;
	f->nr = 1;
	if (f->kernel)
		f->nr = symbols_kernel(s, l->rec.time_ns, addr, places, SYMBOLS_MAX_DEPTH, span);
	else if (l->rec.tid != UINT32_MAX)
		f->nr = symbols_user(s, l->rec.tid, l->rec.time_ns, addr, places, SYMBOLS_MAX_DEPTH,
				     span);
	for (size_t i = 0; i < f->nr && addr != f->ip; i++) {
		places[i].image_off++;
		places[i].function_off += places[i].function && !places[i].inlined;
	}
	p->place.b.len = 0;
	if (p->s->opt->json)
		script_json_frame(f, &p->place);
	else
		script_text_frame(f, &p->place);
}

static struct printed_place *slot_of(const struct printer *p, uint64_t ip, uint32_t tid)
{
	return &p->places[hash_mix(ip, (uint64_t)tid << 32) & (NR_PLACES - 1)];
}

struct bytes script_place(struct printer *p, const struct line *l, uint64_t ip, bool kernel,
			  bool caller)
{
	/* The kernel's symbols do not depend on the thread. */
	uint32_t tid = kernel ? UINT32_MAX : l->rec.tid;
	struct printed_place *k = slot_of(p, ip, tid);
	struct frame f = {.ip = ip, .kernel = kernel, .caller = caller};
	struct bytes made;

	/* A damaged chain can mark an address of the upper half as user, and the reverse. */
	if (k->len && k->ip == ip && k->tid == tid && k->kernel == kernel && k->caller == caller &&
	    k->span.from_ns <= l->rec.time_ns && l->rec.time_ns <= k->span.to_ns)
		return (struct bytes){(const uint8_t *)k->text, k->len};
	k->ip = ip;
	k->tid = tid;
	k->kernel = kernel;
	k->caller = caller;
	find(p, l, &f, &k->span);
	made = (struct bytes){p->place.b.p, p->place.b.len};
	if (made.len > sizeof(k->text)) {
		k->span = (struct history_span){1, 0};
		return made;
	}
	k->len = (uint32_t)made.len;
	if (made.len)
		memcpy(k->text, made.p, made.len);
	return made;
}

bool script_unwind(struct printer *p, const struct line *l, struct unwind_chain *c)
{
	if (!p->unwind || l->rec.tid == UINT32_MAX || !unwind_has(&l->rec))
		return false;
	unwind_sample(p->unwind, &l->rec, c);
	return true;
}

void script_unwind_end(const struct unwind_chain *c, struct text *t)
{
	struct stack s = {0};

	stack_end_of(c, &s);
	stack_end_name(&s, t);
}
