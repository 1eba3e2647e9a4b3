// SPDX-License-Identifier: MIT
/* Counts workers by user; see core_workers.h. Called by core_serve.c. */
#include "recorder/coredump/core_workers.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

struct worker {
	pid_t pid;
	uint32_t uid;
	enum core_turn turn;
};

struct core_workers {
	size_t max_held, nr;
	struct worker v[];
};

int core_workers_new(size_t max_held, struct core_workers **out)
{
	size_t max = max_held * (1 + CORE_DIRECT_PER_HELD);
	struct core_workers *w = calloc(1, sizeof(*w) + max * sizeof(w->v[0]));

	if (!w)
		return -ENOMEM;
	w->max_held = max_held;
	*out = w;
	return 0;
}

void core_workers_free(struct core_workers *w)
{
	free(w);
}

static bool is_free(const struct core_workers *w, enum core_turn turn, size_t max, uint32_t uid)
{
	size_t quarter = max < 4 ? 1 : max / 4, nr = 0, nr_own = 0, nr_users = 0;

	for (size_t i = 0; i < w->nr; i++) {
		if (w->v[i].turn != turn)
			continue;
		nr++;
		nr_own += w->v[i].uid == uid;
		nr_users += w->v[i].uid != 0;
	}
	return nr < max && (!uid || (nr_own < quarter && nr_users < max - quarter));
}

enum core_turn core_workers_turn(const struct core_workers *w, uint32_t uid)
{
	if (is_free(w, CORE_HOLD, w->max_held, uid))
		return CORE_HOLD;
	if (is_free(w, CORE_DIRECT, w->max_held * CORE_DIRECT_PER_HELD, uid))
		return CORE_DIRECT;
	return CORE_REFUSE;
}

void core_workers_add(struct core_workers *w, pid_t pid, uint32_t uid, enum core_turn turn)
{
	assert(turn != CORE_REFUSE && w->nr < w->max_held * (1 + CORE_DIRECT_PER_HELD));
	w->v[w->nr++] = (struct worker){pid, uid, turn};
}

void core_workers_remove(struct core_workers *w, pid_t pid)
{
	for (size_t i = 0; i < w->nr; i++) {
		if (w->v[i].pid != pid)
			continue;
		w->v[i] = w->v[--w->nr];
		return;
	}
}
