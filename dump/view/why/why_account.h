/* SPDX-License-Identifier: MIT */
/* The time of a stretch by thread and by what it did: shares that add up to the whole. For
 * why_wait.c. */
#pragma once

#include "dump/view/why/why_impl.h"

/* Others are too small to matter. */
#define MAX_SHARES 256

/* What one thread did in the stretch. */
struct time_share {
	uint32_t thread;
	uint8_t kind;  /* enum lost_kind */
	uint8_t class; /* enum wait_class of sleeps */
	uint64_t ns, link_ns[NR_LINKS];
	struct piece longest;
};

struct account {
	uint32_t victim;
	struct time_share list[MAX_SHARES];
	size_t nr;
	uint64_t ns;
	uint64_t by_others_ns; /* of it, attributed to other threads */
};

/* True for time asleep, blocked or stopped. */
bool lost_is_asleep(uint8_t kind);

/* Adds up the path of the stretch; the largest share comes first. */
void account_stretch(const struct why *w, const struct stretch *s, const struct time_path *p,
		     struct account *a);
/* The least certain link of all but a tenth of the share. */
enum path_link account_link(const struct time_share *s);
/* True for threads of one process. */
bool account_is_same(const struct why *w, uint32_t a, uint32_t b);
/* The time of the thread, or of all threads of its process unless that is the victim's. */
uint64_t account_total(const struct why *w, const struct account *a, uint32_t thread, bool process);
/* The largest share of the process that has most of the time. Much work is the reason for a wait
 * for a CPU, too. NULL: there is none. */
const struct time_share *account_main(const struct why *w, const struct account *a);
