// SPDX-License-Identifier: MIT
/* The state of a crashed thread as a perf sample; see crash_sample.h. */
#include "trigger/crash/crash_sample.h"

#include <string.h>

/* The fields before the registers, in the order of perf_event_open(2). */
struct sample_head {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t ns;
	uint32_t cpu, reserved;
	uint64_t abi;
};

_Static_assert(CRASH_SAMPLE_MAX <= UINT16_MAX, "the header has 16 bits for the length");
_Static_assert(CRASH_STACK_MAX % 8 == 0, "perf copies stacks by words");

static size_t nr_regs(void)
{
	return (size_t)__builtin_popcountll(event_user_regs());
}

void crash_sample_attr(struct perf_event_attr *out)
{
	*out = (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(*out),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
			       PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
		.sample_regs_user = event_user_regs(),
		.sample_stack_user = CRASH_STACK_MAX,
		.sample_id_all = 1,
	};
}

/* The size, the bytes and the number of valid bytes; without a stack only the size. */
static uint8_t *put_stack(uint8_t *p, const struct crash_thread *t)
{
	uint64_t n = t->stack ? t->nr_stack_bytes : 0;

	n = (n < CRASH_STACK_MAX ? n : CRASH_STACK_MAX) & ~7ull;
	memcpy(p, &n, sizeof(n));
	p += sizeof(n);
	if (!n)
		return p;
	memcpy(p, t->stack, n);
	memcpy(p + n, &n, sizeof(n));
	return p + n + sizeof(n);
}

size_t crash_sample_make(const struct crash_thread *t, void *to)
{
	struct sample_head h = {
		.header = {.type = PERF_RECORD_SAMPLE, .misc = PERF_RECORD_MISC_USER},
		.pid = t->pid,
		.tid = t->tid,
		.ns = t->ns,
		.cpu = t->cpu,
		.abi = PERF_SAMPLE_REGS_ABI_64,
	};
	uint8_t *p = to;
	size_t n;

	p += sizeof(h);
	memcpy(p, t->regs, 8 * nr_regs());
	p = put_stack(p + 8 * nr_regs(), t);
	n = (size_t)(p - (uint8_t *)to);
	h.header.size = (uint16_t)n;
	memcpy(to, &h, sizeof(h));
	return n;
}

bool crash_sample_is_one(struct bytes rec)
{
	struct sample_head h;
	struct bytes skip;
	uint64_t n, used;
	size_t len = rec.len;

	if (!bytes_take(&rec, sizeof(h), &skip))
		return false;
	memcpy(&h, skip.p, sizeof(h));
	if (h.header.type != PERF_RECORD_SAMPLE || h.header.size != len ||
	    h.abi != PERF_SAMPLE_REGS_ABI_64)
		return false;
	if (!bytes_take(&rec, 8 * nr_regs(), &skip) || !bytes_u64(&rec, &n))
		return false;
	if (!n)
		return !rec.len;
	return n <= CRASH_STACK_MAX && bytes_take(&rec, n, &skip) && bytes_u64(&rec, &used) &&
	       used <= n && !rec.len;
}
