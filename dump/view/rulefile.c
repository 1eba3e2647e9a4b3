// SPDX-License-Identifier: MIT
/* Unwind rules of one file; see rulefile.h. */
#include "dump/view/rulefile.h"

#include "dump/base/elf.h"

#include <errno.h>
#include <stdlib.h>

#define MAX_SEGMENTS 64
/* Around a place: what has to be seen to know it, a multiple of 16. */
#define CODE_BYTES 64

struct rulefile {
	struct elf *elf;
	struct cfi *cfi; /* NULL: there is nothing */
	struct elf_segment segments[MAX_SEGMENTS];
	size_t nr_segments;
};

int rulefile_open(struct elf *e, struct rulefile **out)
{
	struct rulefile *f = calloc(1, sizeof(*f));
	struct cfi_sections s;
	int rc = -ENOMEM;

	if (!f)
		return rc;
	f->elf = e;
	f->nr_segments = elf_code_segments(e, f->segments, MAX_SEGMENTS);
	rc = elf_frames(e, &s) ? cfi_new(&s, &f->cfi) : 0;
	if (rc)
		rulefile_close(f);
	else
		*out = f;
	return rc;
}

void rulefile_close(struct rulefile *f)
{
	if (!f)
		return;
	cfi_free(f->cfi);
	free(f);
}

static bool find_code(const struct rulefile *f, uint64_t offset, struct cfi_rule *out)
{
	uint64_t from = offset / 16 * 16;
	uint8_t code[CODE_BYTES];
	size_t n;

	from -= from >= 16 ? 16 : 0;
	n = elf_read(f->elf, from, code, sizeof(code));
	if (!cfi_of_code((struct bytes){code, n}, (size_t)(offset - from), out))
		return false;
	out->start += from;
	return true;
}

bool rulefile_find(const struct rulefile *f, uint64_t offset, struct cfi_rule *out)
{
	const struct elf_segment *s = f->segments;
	uint64_t value;

	for (size_t i = 0; i < f->nr_segments; i++, s++) {
		if (offset < s->offset || offset - s->offset >= s->bytes)
			continue;
		value = offset - s->offset + s->value;
		if (!f->cfi || !cfi_find(f->cfi, value, out))
			return find_code(f, offset, out);
		/* A function lies in one segment, so its start is there too. */
		out->start = out->start - s->value + s->offset;
		return true;
	}
	return false;
}
