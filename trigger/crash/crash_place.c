// SPDX-License-Identifier: MIT
/* A hash of where a thread crashed; see crash_place.h. */
#include "trigger/crash/crash_place.h"

#include "dump/base/hash.h"

#include "trigger/kernel/event.h"

#include <string.h>

#define FRAMES 8

uint64_t crash_place_hash(struct bytes regs, struct bytes stack, int sig)
{
	uint64_t hash = hash_mix(0, (uint64_t)sig), at, caller[2];
	struct event_frame f;

	if (!event_user_frame(regs, &f))
		return 0;
	hash = hash_mix(hash, f.ip & 0xfff);
	for (int i = 0; i < FRAMES && f.fp >= f.sp && !(f.fp & 7); i++) {
		at = f.fp - f.sp;
		if (!span_fits(at, sizeof(caller), stack.len))
			break;
		memcpy(caller, stack.p + at, sizeof(caller));
		hash = hash_mix(hash, caller[1] & 0xfff);
		if (caller[0] <= f.fp)
			break;
		f.fp = caller[0];
	}
	return hash | 1;
}
