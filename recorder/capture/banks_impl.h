/* SPDX-License-Identifier: MIT */
/* What banks.c and banks_keep.c share. */
#pragma once

#include "recorder/capture/banks.h"

/* Without open banks; NULL: out of memory. */
struct banks *banks_new(const struct channel *c, const struct target *t, int cpu, pid_t tid);
/* Room for `more` events. 0 or -ENOMEM. */
int bank_room(struct bank *b, size_t more);
/* Maps the rings of a compact channel. 0 or -errno. */
int bank_map_compact(struct banks *b, int map_fd);
void bank_pause_ring(struct bank *b, bool pause);
void bank_leaders_ioctl(struct bank *b, unsigned long request);
/* Updates its entry in the manifest, if it has one. Call at the end of each step. */
void banks_save(const struct banks *b);
