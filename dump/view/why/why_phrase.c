// SPDX-License-Identifier: MIT
/* Fills the templates of sentences; see why_phrase.h. */
#include "dump/view/why/why_phrase.h"

#include "dump/base/str.h"
#include "dump/view/why/why_impl.h"

#include <assert.h>
#include <string.h>

static const char *const kinds[] = {
	[PHRASE_THREAD] = "thread", [PHRASE_NAME] = "name",	    [PHRASE_TASK] = "task",
	[PHRASE_TIME] = "time",	    [PHRASE_FUNCTION] = "function", [PHRASE_TEXT] = "text",
	[PHRASE_NR] = "nr",	    [PHRASE_PERCENT] = "percent",   [PHRASE_SHARE] = "share",
	[PHRASE_PRIO] = "prio",
};

static void put_task(const struct why *w, struct text *t, const struct phrase_arg *a)
{
	const char *comm = history_comm(w->a.history, (uint32_t)a->n, a->at_ns);

	comm = comm ? comm : "thread";
	text_safe(t, comm, strlen(comm));
	text_fmt(t, " (%u)", (uint32_t)a->n);
}

static void put_arg(const struct why *w, struct text *t, const struct phrase_arg *a)
{
	switch (a->kind) {
	case PHRASE_THREAD:
		why_who(w, (uint32_t)a->n, t);
		break;
	case PHRASE_NAME:
		why_name(w, (uint32_t)a->n, t);
		break;
	case PHRASE_TASK:
		put_task(w, t, a);
		break;
	case PHRASE_TIME:
		why_time(t, a->n);
		break;
	case PHRASE_FUNCTION:
		why_function(a->p, t);
		break;
	case PHRASE_TEXT:
		text_safe(t, a->p, strlen(a->p));
		break;
	case PHRASE_NR:
		text_u64(t, a->n);
		break;
	case PHRASE_PERCENT:
		text_fmt(t, "%.0f %%", 100 * a->share);
		break;
	case PHRASE_SHARE:
		text_fmt(t, "%.1f %%", 100 * a->share);
		break;
	case PHRASE_PRIO:
		why_put_prio(t, (int16_t)a->n);
		break;
	}
}

void phrase_put(const struct why *w, struct text *t, const char *phrase,
		const struct phrase_arg *args)
{
	const struct phrase_arg *a = args;
	uint64_t nr = 0;

	while (*phrase) {
		size_t plain = strcspn(phrase, "{"), n;

		text_put(t, phrase, plain);
		phrase += plain;
		if (!*phrase++)
			return;
		n = strcspn(phrase, "}");
		if (!strncmp(phrase, "s}", 2) || !strncmp(phrase, "es}", 3)) {
			text_put(t, phrase, nr == 1 ? 0 : n);
		} else {
			a++;
			assert(strlen(kinds[a->kind]) == n && !strncmp(phrase, kinds[a->kind], n));
			nr = a->kind == PHRASE_NR ? a->n : nr;
			put_arg(w, t, a);
		}
		phrase += n + 1;
	}
}
