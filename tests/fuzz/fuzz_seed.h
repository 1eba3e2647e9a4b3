/* SPDX-License-Identifier: MIT */
/*
 * What an input of the fuzz targets looks like; tool_seed.c writes such inputs, fuzz_file.h reads
 * them.
 *
 * fuzz_unpack takes a payload of packed records as it is, fuzz_pack a fuzz_run and records, which
 * tool_golden.c writes; the others a file. Its first byte says what the rest is: hashes would stop
 * almost every mutated file at the door, so two of the three kinds get theirs repaired.
 */
#pragma once

#include <stdint.h>

enum fuzz_kind {
	FUZZ_FILE = 0,	   /* a file as it is; so is 3 */
	FUZZ_REPAIRED = 1, /* a file of which all hashes are made right first */
	FUZZ_PAYLOADS = 2, /* fuzz_payload, bytes, fuzz_payload, ...: packed into right blocks */
	FUZZ_KIND = 3,	   /* mask */
	FUZZ_SALVAGE = 4,  /* and salvage it too, which takes much longer than the rest */
};

/* Unaligned, hence bytes. */
struct fuzz_payload {
	uint8_t section;
	uint8_t encoding;
	uint8_t ring;
	uint8_t reserved;
	uint8_t bytes[2]; /* little-endian */
};

/* Unaligned, hence bytes; numbers are little-endian. */
struct fuzz_run {
	uint8_t sample_type[4];
	uint8_t regs_user[2];
	uint8_t sample_id_all;
	uint8_t repeat; /* so often all records come again, a bit different each time */
	uint8_t cut[4]; /* where its two pieces meet */
};
