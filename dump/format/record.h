/* SPDX-License-Identifier: MIT */
/*
 * perf records as the kernel lays them out (perf_event_open(2), include/uapi/linux/perf_event.h):
 * stepping from one to the next, and taking a sample apart. Pure functions on bytes; what does not
 * fit is refused, nothing is read outside of the view.
 */
#pragma once

#include "dump/base/bytes.h"

#include <linux/perf_event.h>

/*
 * The header at `off` of `b`: false when no whole record lies there (size below 8, not a multiple
 * of 8, or past the end).
 */
bool record_at(struct bytes b, size_t off, struct perf_event_header *h);

/* What says how the records of a channel are laid out. */
struct record_layout {
	uint64_t sample_type; /* PERF_SAMPLE_* of all its events */
	uint64_t regs_user;   /* sample_regs_user */
	bool sample_id_all;
};

/* A PERF_RECORD_SAMPLE taken apart; pointers are into the record. Fields not in sample_type are 0.
 */
struct record_sample {
	uint64_t id, ip, time, addr, period;
	uint32_t pid, tid, cpu;
	const uint8_t *callchain; /* nr_callchain u64, unaligned: read with memcpy */
	uint64_t nr_callchain;
	struct bytes raw; /* without its length word: tracepoints begin with common_type (u16) */
	uint64_t regs_abi;
	const uint8_t *regs; /* one u64 for each bit of regs_user, lowest first */
	struct bytes stack;  /* the dynamic size, not the reserved one */
	uint64_t have;	     /* PERF_SAMPLE_* bits that were read: tells a tid of 0 from none */
};

/* `rec` is the whole record, header included. 0 or -EBADMSG. */
int record_sample(struct bytes rec, const struct record_layout *l, struct record_sample *s);

/*
 * The time of any record: of a sample, or of the sample_id at the end of another type. False when
 * the layout has none or it does not fit.
 */
bool record_time(struct bytes rec, const struct record_layout *l, uint64_t *time_ns);

/* Where a sample's time is; UINT32_MAX: it has none. */
uint32_t record_time_offset(const struct record_layout *l);

/*
 * The trailing sample_id of a record that is no sample (sample_id_all): tid, time, id, cpu where
 * present. 0 or -EBADMSG.
 */
int record_sample_id(struct bytes rec, const struct record_layout *l, struct record_sample *s);

/* Steps through a call chain; start with {0}. */
struct record_walk {
	uint64_t at;
	uint64_t context; /* the last PERF_CONTEXT_*; 0: none yet */
	uint64_t ip;
	bool kernel;
	bool caller; /* ip is where a call returns to: the call is before it */
	bool inside; /* one of this context came before */
};

/* The next address that is no PERF_CONTEXT_* mark; false at the end. */
bool record_next_ip(const struct record_sample *s, struct record_walk *w);
/* True for an address that only the kernel can have: the upper half of the address space, on all
 * 64-bit machines that Linux runs on. */
static inline bool record_kernel_address(uint64_t ip)
{
	return ip >> 63;
}

/* Bytes of the trailing sample_id. */
size_t record_id_bytes(const struct record_layout *l);
