// SPDX-License-Identifier: MIT
/*
 * libFuzzer target for Intel PT: a trace and code that anybody may have made. Whatever they say:
 * decoding ends, in memory that is bounded by the trace's size. Inputs: 256 bytes of code, which
 * lie at 0x1000, and the trace after a PSB that is put before it.
 */
#include "dump/view/pt/pt_flow.h"

#include "tests/helpers/pt_memory.h"
#include "tests/helpers/pt_packets.h"

#define CODE_BYTES 256u
#define CODE_AT	   0x1000u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct pt_flow_input *in)
{
	struct pt_flow_steps steps = {0};
	struct pt_flow *f;

	assert(!pt_flow_new(in, &f, NULL));
	for (size_t i = 0; i < pt_flow_nr_parts(f); i++) {
		assert(!pt_flow_part(f, i, &steps));
		assert(steps.nr <= in->bytes.len * 32 + 4096);
	}
	pt_flow_steps_free(&steps);
	pt_flow_free(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pt_packets p = {0};
	struct pt_flow_input in = {.clock = {.mult = 1},
				   .mtc_freq = 3,
				   .nominal_ratio = 30,
				   .part_bytes = 64,
				   .max_blocks = 1,
				   .crystal_eax = 2,
				   .crystal_ebx = 300};
	struct pt_memory *code;

	if (size <= CODE_BYTES)
		return -1;
	code = pt_memory_new();
	pt_memory_add(code, CODE_AT, (struct bytes){data, CODE_BYTES});
	pt_psb(&p);
	pt_mode(&p);
	pt_ip(&p, PT_IP_FUP, CODE_AT);
	pt_psbend(&p);
	pt_put(&p, data + CODE_BYTES, size - CODE_BYTES);
	in.source = pt_memory_source(code);
	in.bytes = (struct bytes){p.out.p, p.out.len};
	check(&in);
	buf_free(&p.out);
	pt_memory_free(code);
	return 0;
}
