// SPDX-License-Identifier: MIT
/*
 * libFuzzer target for unwinding: sections of call frame information, rules, registers and stacks
 * that anybody may have made. Whatever they say: an unwinding ends soon, within what was copied,
 * and its work is bounded.
 * Inputs: up to 8 rules of 0x100 bytes of code (u8 flags, u8 and u8 lengths of the two programs,
 * s8 data alignment, the programs), 17 registers of 8 bytes, the stack; or with 0xff first, a
 * section.
 */
#include "dump/file/meta.h"
#include "dump/view/cfi/cfi.h"
#include "dump/view/cfi/unwind_rules.h"
#include "dump/view/model/timeline.h"
#include "dump/view/unwind/unwind.h"

#include "tests/helpers/mkdump.h"

#include <assert.h>

#define BASE	 0x10000ull
#define NR_RULES 8
#define REGS	 0xff0fffull
#define NR_REGS	 20

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The ledger is always the same: one process, one mapping. Made once, freed never. */
static struct process_history *the_people(void)
{
	static struct process_history *p;
	struct fmt_map map = {.key = 1, .path = 1, .start = BASE, .end = BASE + 0x100 * NR_RULES};
	struct mk d;
	struct reader *r;

	if (p)
		return p;
	d = mk_begin();
	mk_task(&d, 1, 10, 10, 1, 0, 0);
	mk_path(&d, 1, "/bin/x");
	mk_map(&d, &map);
	r = mk_end(&d);
	assert(!history_load(r, &p, NULL));
	mk_close(&d, r);
	return p;
}

static const struct unwind_rule *find(void *ctx, const struct history_map *map, uint64_t place)
{
	return unwind_rules_find(ctx, 0, place);
}

static bool take_rule(struct bytes *in, struct unwind_rules *rules, uint64_t place)
{
	struct cfi_rule r = {
		.start = place, .bytes = 0x100, .code_align = 1, .return_register = 16};
	uint8_t head[4];

	if (!bytes_get(in, head, sizeof(head)))
		return false;
	r.flags = head[0] & CFI_SIGNAL;
	r.data_align = (int8_t)head[3];
	if (!bytes_take(in, head[1], &r.initial) || !bytes_take(in, head[2], &r.program))
		return false;
	unwind_rules_put(rules, 0, &r);
	return true;
}

static void unwind_twice(struct bytes in, const struct unwind_rules *rules)
{
	const struct unwind_source source = {find, NULL, (void *)rules};
	struct meta_channel channel = {.layout.regs_user = REGS};
	struct timeline_record rec = {.time_ns = 500, .tid = 10, .channel = &channel};
	struct unwind_chain c;
	struct unwind *u;
	uint64_t regs[NR_REGS] = {0};

	for (size_t i = 0; i < NR_REGS && bytes_u64(&in, &regs[i]); i++)
		;
	rec.s.regs = (const uint8_t *)regs;
	rec.s.regs_abi = PERF_SAMPLE_REGS_ABI_64;
	rec.s.stack = in;
	assert(!unwind_new(the_people(), &source, &u, NULL));
	for (int again = 0; again < 2; again++) {
		unwind_sample(u, &rec, &c);
		assert(c.nr >= 1 && c.nr <= UNWIND_MAX_FRAMES);
		assert(c.frames[0].exact && (c.end != UNWIND_DEEP || c.nr == UNWIND_MAX_FRAMES));
		assert(!c.image == (c.end != UNWIND_NO_RULE));
	}
	unwind_free(u);
}

static void parse_section(struct bytes in)
{
	struct cfi_sections eh = {.eh_frame = in, .eh_frame_addr = 0x1000};
	struct cfi_sections debug = {.debug_frame = in};
	struct unwind_rules *rules = unwind_rules_new();
	struct cfi_rule r;
	struct cfi *c;

	assert(rules);
	for (int i = 0; i < 2; i++) {
		assert(!cfi_new(i ? &debug : &eh, &c));
		for (uint64_t addr = 0; addr < 0x4000; addr += 0x40)
			if (cfi_find(c, addr, &r)) {
				assert(addr - r.start < r.bytes);
				unwind_rules_put(rules, (uint32_t)i, &r);
			}
		cfi_free(c);
	}
	for (size_t at = 0; at < 64 && at < in.len; at++)
		if (cfi_of_code(in, at, &r)) {
			assert(at - r.start < r.bytes);
			assert(!unwind_rules_put(rules, 2, &r) || r.start > UINT64_MAX - r.bytes);
		}
	unwind_rules_sort(rules, NULL);
	unwind_rules_free(rules);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes in = {data, size};
	struct unwind_rules *rules;

	if (size && data[0] == 0xff) {
		parse_section((struct bytes){data + 1, size - 1});
		return 0;
	}
	rules = unwind_rules_new();
	assert(rules);
	for (unsigned i = 0; i < NR_RULES; i++)
		if (!take_rule(&in, rules, 0x100 * i))
			break;
	unwind_rules_sort(rules, NULL);
	unwind_twice(in, rules);
	unwind_rules_free(rules);
	return 0;
}
