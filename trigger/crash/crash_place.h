/* SPDX-License-Identifier: MIT */
/* Where a thread crashed as one number, for counting repeats. */
#pragma once

#include "dump/base/bytes.h"

/*
 * The same for crashes by the same signal at the same place: of each address only what lies within
 * its page, for files are mapped elsewhere each time. Callers as far as frame pointers lead to
 * them; they are recognized by lying ever higher in the stack. `regs` as event_user_frame() takes
 * them, `stack` from the stack pointer up. 0: not known.
 */
uint64_t crash_place_hash(struct bytes regs, struct bytes stack, int sig);
