// SPDX-License-Identifier: MIT
/* The thread of a record in printed form. Each printer caches threads for as long as the result is
 * valid; see history_who(). */
#include "dump/view/script/script_impl.h"

#include <assert.h>
#include <string.h>

static void fill(struct printer *p, struct printed_task *who, uint64_t time_ns)
{
	struct text *t = &p->place;

	who->task = NULL;
	who->comm = NULL;
	who->span = (struct history_span){0, UINT64_MAX};
	if (who->tid != UINT32_MAX)
		who->task = history_who(p->s->a.history, who->tid, time_ns, &who->comm, &who->span);
	who->asked = script_who_asked(p->s, who);
	t->b.len = 0;
	if (p->s->opt->json)
		script_json_who(who, t);
	else
		script_text_who(who, t);
	/* A name has at most 16 bytes; escaping makes at most 6 of each. */
	assert(t->b.len <= sizeof(who->text));
	who->len = (uint32_t)t->b.len;
	if (who->len)
		memcpy(who->text, t->b.p, who->len);
}

const struct printed_task *script_who(struct printer *p, const struct timeline_record *r)
{
	struct printed_task *who = &p->who[r->tid % NR_WHO];
	bool has_pid = r->s.have & PERF_SAMPLE_TID && r->s.pid != UINT32_MAX;
	uint64_t pid = has_pid ? r->s.pid : WHO_NO_PID;

	if (who->tid == r->tid && who->pid == pid && who->span.from_ns <= r->time_ns &&
	    r->time_ns <= who->span.to_ns)
		return who;
	who->tid = r->tid;
	who->pid = pid;
	fill(p, who, r->time_ns);
	return who;
}

bool script_thread_asked(void *ctx, uint32_t tid, uint64_t time_ns)
{
	struct timeline_record r = {.tid = tid, .time_ns = time_ns};
	const struct printed_task *who = script_who(ctx, &r);
	const struct script_options *opt = ((const struct printer *)ctx)->s->opt;

	return script_thread_fits(opt, who);
}
