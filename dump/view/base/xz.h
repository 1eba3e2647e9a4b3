/* SPDX-License-Identifier: MIT */
/*
 * What liblzma does for debug files: unpacking .gnu_debugdata, and the checksum of .gnu_debuglink.
 * The only user of liblzma.
 */
#pragma once

#include "dump/base/bytes.h"

/* Unpacks an .xz file into `out` (replaced), at most `max` bytes. 0, -EBADMSG, -E2BIG, -ENOMEM. */
int xz_unpack(struct bytes packed, size_t max, struct buf *out);

/* CRC-32 (IEEE 802.3) of `b` behind bytes whose CRC is `crc`; 0 to begin with. */
uint32_t xz_crc32(struct bytes b, uint32_t crc);
