/* SPDX-License-Identifier: MIT */
/* Unpacks .gnu_debugdata and checks .gnu_debuglink of debug files. The only user of liblzma. */
#pragma once

#include "dump/base/bytes.h"

/* Unpacks an .xz file into `out` (replaced), at most `max` bytes. 0, -EBADMSG, -E2BIG, -ENOMEM. */
int xz_unpack(struct bytes packed, size_t max, struct buf *out);

/* The CRC-32 (IEEE 802.3) of `b`, continued from `crc`; 0 at the start. */
uint32_t xz_crc32(struct bytes b, uint32_t crc);
