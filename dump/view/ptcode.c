// SPDX-License-Identifier: MIT
/* See ptcode.h. Called by tests and whoever has one program and its memory. */
#include "dump/view/ptcode.h"

#include "dump/base/err.h"
#include "dump/view/ptflow.h"

#include <errno.h>
#include <stdlib.h>

#define MAX_CODE (1ull << 30)

struct ptcode {
	struct ptstore *store;
	struct ptflow_piece *pieces;
	size_t nr, cap;
	bool sealed;
};

int ptcode_new(struct ptcode **out, struct err *err)
{
	struct ptcode *c = calloc(1, sizeof(*c));
	int rc;

	if (!c)
		return err_sys(err, -ENOMEM, "code for the trace");
	rc = ptstore_new(MAX_CODE, &c->store, err);
	if (rc) {
		free(c);
		return rc;
	}
	*out = c;
	return 0;
}

void ptcode_free(struct ptcode *c)
{
	if (!c)
		return;
	ptstore_free(c->store);
	free(c->pieces);
	free(c);
}

int ptcode_add(struct ptcode *c, uint64_t address, struct bytes code, struct err *err)
{
	struct ptflow_piece p = {.address = address, .bytes = code.len, .to_ns = UINT64_MAX};
	int rc;

	if (!code.len || c->sealed || !span_fits(address, code.len, UINT64_MAX))
		return err_set(err, -EINVAL, "no code to add, or too late");
	if (c->nr == c->cap) {
		size_t cap = c->cap ? c->cap * 2 : 16;
		struct ptflow_piece *v = reallocarray(c->pieces, cap, sizeof(*v));

		if (!v)
			return err_sys(err, -ENOMEM, "code for the trace");
		c->pieces = v;
		c->cap = cap;
	}
	rc = ptstore_put(c->store, code, &p.at, err);
	if (!rc)
		c->pieces[c->nr++] = p;
	return rc;
}

int ptcode_seal(struct ptcode *c, struct err *err)
{
	c->sealed = true;
	return 0;
}

static void who(void *ctx, uint64_t ip, struct ptflow_who *out)
{
}

/* What of a piece lies around `address` and is not covered by a later one. */
static void clip(const struct ptcode *c, size_t i, uint64_t address, struct ptflow_piece *p)
{
	for (size_t k = i + 1; k < c->nr; k++) {
		uint64_t from = c->pieces[k].address, to = from + c->pieces[k].bytes;
		uint64_t end = p->address + p->bytes;

		if (from > address && from < end)
			p->bytes = from - p->address;
		if (to <= address && to > p->address) {
			p->at += to - p->address;
			p->bytes -= to - p->address;
			p->address = to;
		}
	}
}

static bool find(void *ctx, const struct ptflow_who *w, uint64_t address, struct ptflow_piece *out)
{
	const struct ptcode *c = ctx;

	for (size_t i = c->nr; i-- > 0;) {
		const struct ptflow_piece *p = &c->pieces[i];

		if (address < p->address || address - p->address >= p->bytes)
			continue;
		*out = *p;
		clip(c, i, address, out);
		return true;
	}
	return false;
}

bool ptcode_source(const struct ptcode *c, struct ptflow_source *out)
{
	if (!c || !c->sealed)
		return false;
	*out = (struct ptflow_source){
		.store = c->store, .who = who, .find = find, .ctx = (void *)(uintptr_t)c};
	return true;
}
