/* SPDX-License-Identifier: MIT */
/* A hash of where a thread crashed, for counting repeats. */
#pragma once

#include "dump/base/bytes.h"

/*
 * Equal for crashes by the same signal at the same place. Only the page offset of each address is
 * used, since files are mapped at different addresses each time. Callers are found by frame
 * pointers, as long as these ascend in the stack. `regs` as for event_user_frame(); `stack` from
 * the stack pointer up. 0: unknown.
 */
uint64_t crash_place_hash(struct bytes regs, struct bytes stack, int sig);
