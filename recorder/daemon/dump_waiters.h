/* SPDX-License-Identifier: MIT */
/*
 * Who waits for a dump: those that asked over the control socket, until it is made, and hits that
 * came while names were looked for, until the dump that is theirs can begin. For daemon.c.
 */
#pragma once

#include "recorder/daemon/ctl.h"
#include "recorder/writer/dumper.h"
#include "trigger/engine/source.h"

#define PENDING_MAX_WAITERS 32
#define PENDING_MAX_HITS    16

struct dump_waiters_hit {
	const struct rule *rule; /* borrowed from the engine until it is reloaded */
	struct sighting what;	 /* owned */
};

struct dump_waiters {
	struct pending_waiter {
		struct ctl_client *client;
		bool merged;
		bool later; /* for the dump that his hit waits for to begin */
	} waiters[PENDING_MAX_WAITERS];
	size_t nr_waiters;
	struct dump_waiters_hit hits[PENDING_MAX_HITS];
	size_t nr_hits;
};

/* There has to be room (nr_waiters). */
void dump_waiters_wait(struct dump_waiters *p, struct ctl_client *client, bool later, bool merged);
/* The dump is made, or not: answers all but those whose dump is the next one. */
void dump_waiters_answer(struct dump_waiters *p, struct ctl *ctl, const struct dumper_result *r);

/* Keeps a hit; false: there is no room, or one of its rule is kept already. */
bool dump_waiters_keep(struct dump_waiters *p, const struct rule *rule,
		       const struct sighting *what);
/* The oldest kept hit, now the caller's; false: none. */
bool dump_waiters_take(struct dump_waiters *p, struct dump_waiters_hit *out);
/* The kept hits became part of the dump in the making: whoever waits for theirs waits for that. */
void dump_waiters_merge(struct dump_waiters *p);
