/* SPDX-License-Identifier: MIT */
/*
 * Reads packed records: only the columns that are asked for are unpacked. Any bytes may be given:
 * what does not hold together is -EBADMSG, and memory is bounded by FMT_PACK_MAX_* and the
 * content's length, about twice that of the content at most.
 *
 * Records are numbered as they lie in the ring, newest first. What is returned is borrowed until
 * the next unpack_open() or unpacker_free(); the payload given to unpack_open() must live as long.
 * An unpacker belongs to one thread.
 */
#pragma once

#include "dump/base/bytes.h"
#include "dump/format/format.h"

struct err;
struct unpacker;

int unpacker_new(struct unpacker **out, struct err *err);
void unpacker_free(struct unpacker *u);

/* Opens a payload of FMT_ENC_PACKED whose block header says so many records and bytes. */
int unpack_open(struct unpacker *u, struct bytes payload, uint32_t nr_records,
		uint32_t content_bytes, struct err *err);

/*
 * The time of each record; of one whose place for it is not known, UINT64_MAX: it has to be looked
 * for in its bytes. 0, -EBADMSG, -ENOMEM; so all below.
 */
int unpack_times(struct unpacker *u, const uint64_t **times, struct err *err);

/* Where each record begins in the content, with the content's end behind the last. */
int unpack_offsets(struct unpacker *u, const uint32_t **offsets, struct err *err);

/* Copies record `i` to `dst`, which has room for offsets[i + 1] - offsets[i] bytes. */
int unpack_record(struct unpacker *u, uint32_t i, uint8_t *dst, struct err *err);

/*
 * How much of a record is put together: its other bytes say nothing, and their columns are not
 * unpacked for it.
 */
enum unpack_part {
	UNPACK_FIXED,  /* what unpack_is_fixed() tells, lengths, times and threads */
	UNPACK_NEEDED, /* that, and what unpack_need() was told of its template */
	UNPACK_CHAIN,  /* that, and the call chain */
	UNPACK_ALL
};

/* As unpack_record(). */
int unpack_part(struct unpacker *u, uint32_t i, enum unpack_part part, uint8_t *dst,
		struct err *err);
/* After unpack_offsets(): the 4 bytes at `off` are needed of all records of the template of `i`.
 * False: only UNPACK_ALL has them. */
bool unpack_need(struct unpacker *u, uint32_t i, uint32_t off);

/*
 * Records of its template that follow the first need not be put together anew: where
 * unpack_is_even() says so of record `i`, `rec` may hold any record of the same template, put
 * together with UNPACK_NEEDED or more, and becomes record `i`, as far as that goes. No more
 * unpack_need() in between. True after unpack_offsets(), for the whole template.
 */
bool unpack_is_even(const struct unpacker *u, uint32_t i);
void unpack_change(const struct unpacker *u, uint32_t i, uint8_t *rec);

/* All of the content into `out` (replaced): the bytes as the kernel wrote them. */
int unpack_all(struct unpacker *u, struct buf *out, struct err *err);

/*
 * Records of one template are alike in many of their words, so that what is found out about one
 * holds for all. unpack_template() is below unpack_nr_templates(); 0: kept whole, alike to none.
 */
uint32_t unpack_nr_templates(const struct unpacker *u);
uint32_t unpack_template(const struct unpacker *u, uint32_t i);
/* After unpack_offsets(): whether the 4 bytes at `off` of record `i` are the same in its template.
 */
bool unpack_is_fixed(const struct unpacker *u, uint32_t i, uint32_t off);
/* ... and whether they are what unpack_threads() tells, in all records of its template. */
bool unpack_is_thread(const struct unpacker *u, uint32_t i, uint32_t off);

/* The thread of each record where unpack_is_thread() says so. */
int unpack_threads(struct unpacker *u, const uint32_t **tids, struct err *err);
