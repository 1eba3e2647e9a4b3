/* SPDX-License-Identifier: MIT */
/*
 * Parses perf records as the kernel writes them (perf_event_open(2),
 * include/uapi/linux/perf_event.h). Pure functions on bytes that never read past the given view.
 */
#pragma once

#include "dump/base/bytes.h"

#include <linux/perf_event.h>

/*
 * Reads the header at `off` of `b`. False when there is no complete record (size below 8, not a
 * multiple of 8, or past the end).
 */
bool record_at(struct bytes b, size_t off, struct perf_event_header *h);

/* Determines the layout of a channel's records. */
struct record_layout {
	uint64_t sample_type; /* PERF_SAMPLE_* of all its events */
	uint64_t regs_user;   /* sample_regs_user */
	bool sample_id_all;
};

/* A parsed PERF_RECORD_SAMPLE; pointers point into the record. Fields not in sample_type are 0. */
struct record_sample {
	uint64_t id, ip, time, addr, period;
	uint32_t pid, tid, cpu;
	const uint8_t *callchain; /* nr_callchain u64, unaligned: read with memcpy */
	uint64_t nr_callchain;
	struct bytes raw; /* without its length word: tracepoints begin with common_type (u16) */
	uint64_t regs_abi;
	const uint8_t *regs; /* one u64 for each bit of regs_user, lowest first */
	struct bytes stack;  /* the dynamic size, not the reserved one */
	uint64_t have; /* PERF_SAMPLE_* bits that were read: distinguishes tid 0 from no tid */
};

/* `rec` is the whole record, header included. 0 or -EBADMSG. */
int record_sample(struct bytes rec, const struct record_layout *l, struct record_sample *s);

/*
 * The time of a sample, or from the sample_id at the end of another type. False when the layout has
 * no time or the record is too short.
 */
bool record_time(struct bytes rec, const struct record_layout *l, uint64_t *time_ns);

/* Offset of a sample's time; UINT32_MAX: none. */
uint32_t record_time_offset(const struct record_layout *l);

/*
 * The sample_id at the end of a record of another type (sample_id_all): tid, time, id, cpu where
 * present. 0 or -EBADMSG.
 */
int record_sample_id(struct bytes rec, const struct record_layout *l, struct record_sample *s);

/* Steps through a call chain; start with {0}. */
struct record_walk {
	uint64_t at;
	uint64_t context; /* the last PERF_CONTEXT_*; 0: none yet */
	uint64_t ip;
	bool kernel;
	bool caller; /* ip is a return address: the call is before it */
	bool inside; /* an address of this context came before */
};

/* The next address, skipping PERF_CONTEXT_* markers; false at the end. */
bool record_next_ip(const struct record_sample *s, struct record_walk *w);
/* The kernel has the upper half of the address space on all 64-bit architectures of Linux. */
static inline bool record_kernel_address(uint64_t ip)
{
	return ip >> 63;
}

/* Bytes of the trailing sample_id. */
size_t record_id_bytes(const struct record_layout *l);
