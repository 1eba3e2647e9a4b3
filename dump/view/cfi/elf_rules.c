// SPDX-License-Identifier: MIT
/* Unwind rules of one file; see elf_rules.h. */
#include "dump/view/cfi/elf_rules.h"

#include "dump/base/elf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SEGMENTS 64
/* Bytes of code around a place that are enough to recognise it; a multiple of 16. */
#define CODE_BYTES 64

/* Go's runtime runs on its own stack and switches to it with these functions; their callers are on
 * a goroutine's stack. Their unwind rules do not describe the switch. */
static const char *const switches[] = {
	"runtime.systemstack", "runtime.mcall",	    "runtime.morestack",
	"runtime.asmcgocall",  "runtime.nanotime1", "runtime.walltime",
};

#define NR_SWITCHES (sizeof(switches) / sizeof(switches[0]))

struct elf_rules {
	struct elf *elf;
	struct cfi *cfi; /* NULL: no call frame information */
	struct elf_segment segments[MAX_SEGMENTS];
	size_t nr_segments;
	uint64_t switches[2 * NR_SWITCHES]; /* start of each; there may also be a wrapper */
	size_t nr_switches;
};

/* "runtime.mcall", or "runtime.mcall.abi0" */
static int note_switch(void *ctx, const struct elf_code *c)
{
	struct elf_rules *f = ctx;

	for (size_t i = 0; i < NR_SWITCHES; i++) {
		size_t n = strlen(switches[i]);

		if (!strncmp(c->name, switches[i], n) && (!c->name[n] || c->name[n] == '.') &&
		    f->nr_switches < 2 * NR_SWITCHES)
			f->switches[f->nr_switches++] = c->value;
	}
	return 0;
}

int elf_rules_open(struct elf *e, struct elf_rules **out)
{
	struct elf_rules *f = calloc(1, sizeof(*f));
	struct cfi_sections s;
	struct bytes ignored;
	int rc = -ENOMEM;

	if (!f)
		return rc;
	f->elf = e;
	f->nr_segments = elf_code_segments(e, f->segments, MAX_SEGMENTS);
	if (elf_section(e, ".note.go.buildid", &ignored))
		elf_each_code(e, note_switch, f);
	rc = elf_frames(e, &s) ? cfi_new(&s, &f->cfi) : 0;
	if (rc)
		elf_rules_close(f);
	else
		*out = f;
	return rc;
}

void elf_rules_close(struct elf_rules *f)
{
	if (!f)
		return;
	cfi_free(f->cfi);
	free(f);
}

static bool find_code(const struct elf_rules *f, uint64_t offset, struct cfi_rule *out)
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

bool elf_rules_find(const struct elf_rules *f, uint64_t offset, struct cfi_rule *out)
{
	const struct elf_segment *s = f->segments;
	uint64_t value;

	for (size_t i = 0; i < f->nr_segments; i++, s++) {
		if (offset < s->offset || offset - s->offset >= s->bytes)
			continue;
		value = offset - s->offset + s->value;
		if (!f->cfi || !cfi_find(f->cfi, value, out))
			return find_code(f, offset, out);
		for (size_t k = 0; k < f->nr_switches; k++)
			if (f->switches[k] == out->start)
				out->flags |= CFI_SWITCH;
		/* A function is within one segment, so its start is in the same segment. */
		out->start = out->start - s->value + s->offset;
		return true;
	}
	return false;
}
