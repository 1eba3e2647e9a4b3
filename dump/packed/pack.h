/* SPDX-License-Identifier: MIT */
/*
 * Packs a run of perf records into columns without loss; dump/format/PACKED.md specifies the
 * payload, unpack.h reads it.
 *
 * A packer takes any bytes: it keeps records that it does not understand as they are. A payload is
 * self-contained.
 */
#pragma once

#include "dump/base/bytes.h"
#include "dump/format/format.h"
#include "dump/format/record.h"

struct err;
struct packer;

/*
 * Maximum size of a run and of its number of records. packer_new() allocates all memory, about
 * 7 MiB.
 */
#define PACK_RUN_BYTES	 (1u << 20)
#define PACK_RUN_RECORDS FMT_PACK_MAX_RECORDS

int packer_new(struct packer **out, struct err *err);
void packer_free(struct packer *p);

/*
 * Packs `pieces[0..nr)` (nr <= 2, together <= PACK_RUN_BYTES and complete records, newest first, as
 * in a ring) of a channel with layout `l`. *payload is borrowed until the next call. 0, or -E2BIG
 * when the run is too large or the payload would be longer than the pieces.
 */
int pack(struct packer *p, const struct record_layout *l, const struct bytes *pieces, int nr,
	 struct bytes *payload);
