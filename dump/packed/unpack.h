/* SPDX-License-Identifier: MIT */
/*
 * Reads packed records; unpacks only the columns that are requested. Accepts any bytes: an
 * inconsistent payload is -EBADMSG, and memory is bounded by FMT_PACK_MAX_* and about twice the
 * content's length.
 *
 * Records are numbered as in the ring, newest first. Results are borrowed until the next
 * unpack_open() or unpacker_free(), and so is the payload. An unpacker belongs to one thread.
 */
#pragma once

#include "dump/base/bytes.h"
#include "dump/format/format.h"

struct err;
struct unpacker;

int unpacker_new(struct unpacker **out, struct err *err);
void unpacker_free(struct unpacker *u);

/* Opens a payload of FMT_ENC_PACKED; nr_records and content_bytes are from its block header. */
int unpack_open(struct unpacker *u, struct bytes payload, uint32_t nr_records,
		uint32_t content_bytes, struct err *err);

/*
 * The time of each record; UINT64_MAX: only in the record's bytes. 0, -EBADMSG or -ENOMEM, as all
 * below.
 */
int unpack_times(struct unpacker *u, const uint64_t **times, struct err *err);

/* The offset of each record in the content; offsets[nr_records] is the end of the last. */
int unpack_offsets(struct unpacker *u, const uint32_t **offsets, struct err *err);

/* Copies record `i` to `dst`, which has room for offsets[i + 1] - offsets[i] bytes. */
int unpack_record(struct unpacker *u, uint32_t i, uint8_t *dst, struct err *err);

/*
 * How much of a record to restore: its other bytes are undefined, and their columns are not
 * unpacked.
 */
enum unpack_part {
	UNPACK_FIXED,  /* words of unpack_is_fixed(), lengths, times and threads */
	UNPACK_NEEDED, /* and words requested with unpack_need() */
	UNPACK_CHAIN,  /* and the call chain */
	UNPACK_ALL
};

/* As unpack_record(). */
int unpack_part(struct unpacker *u, uint32_t i, enum unpack_part part, uint8_t *dst,
		struct err *err);
/* After unpack_offsets(): requests the 4 bytes at `off` for all records with the template of `i`.
 * False: only UNPACK_ALL restores them. */
bool unpack_need(struct unpacker *u, uint32_t i, uint32_t off);

/*
 * Fast path for records of one template: if unpack_is_even() is true for record `i` (after
 * unpack_offsets(); it holds for the whole template), `rec` may hold any record of the same
 * template, restored with UNPACK_NEEDED or more, and unpack_change() turns it into record `i`. No
 * unpack_need() is allowed in between.
 */
bool unpack_is_even(const struct unpacker *u, uint32_t i);
void unpack_change(const struct unpacker *u, uint32_t i, uint8_t *rec);

/* All of the content into `out` (replaced): the bytes as the kernel wrote them. */
int unpack_all(struct unpacker *u, struct buf *out, struct err *err);

/*
 * Records of one template are equal in many words, so that a fact about one holds for all.
 * unpack_template() is below unpack_nr_templates(); 0: kept as bytes, without a template.
 */
uint32_t unpack_nr_templates(const struct unpacker *u);
uint32_t unpack_template(const struct unpacker *u, uint32_t i);
/* After unpack_offsets(): whether the 4 bytes at `off` of record `i` are equal in its template. */
bool unpack_is_fixed(const struct unpacker *u, uint32_t i, uint32_t off);
/* And whether they are the thread of unpack_threads() in all records of its template. */
bool unpack_is_thread(const struct unpacker *u, uint32_t i, uint32_t off);

/* The thread of each record; valid where unpack_is_thread() is true. */
int unpack_threads(struct unpacker *u, const uint32_t **tids, struct err *err);
