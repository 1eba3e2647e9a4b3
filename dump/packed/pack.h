/* SPDX-License-Identifier: MIT */
/*
 * A run of perf records as columns, and back, byte for byte; PACKED.md says what
 * the bytes mean, pack.c how they are made, unpack.h how they are read.
 *
 * A packer takes any bytes: what is no record that it understands is kept as it is. Its result
 * stands alone: whoever has the payload of one block has all it takes to undo it.
 */
#pragma once

#include "dump/base/bytes.h"
#include "dump/format/format.h"
#include "dump/format/record.h"

struct err;
struct packer;

/*
 * What goes into one block at most: so much of a ring, in whole records, and so many of them. All
 * memory for it is taken in packer_new(): about 7 MiB.
 */
#define PACK_RUN_BYTES	 (1u << 20)
#define PACK_RUN_RECORDS FMT_PACK_MAX_RECORDS

int packer_new(struct packer **out, struct err *err);
void packer_free(struct packer *p);

/*
 * Packs `pieces[0..nr)` (nr <= 2, in all <= PACK_RUN_BYTES, together whole records with the newest
 * first, as they lie in a ring) of a channel with layout `l`. *payload is borrowed until the next
 * call. 0, or -E2BIG for more than a run may have, or when the
 * payload would be longer than the pieces: then they are better kept as they are.
 */
int pack(struct packer *p, const struct record_layout *l, const struct bytes *pieces, int nr,
	 struct bytes *payload);
