// SPDX-License-Identifier: MIT
/* Calls of Intel PT for a page: the newest ones, shown below each thread. Threads without spans are
 * added after the schedule's. */
#include "dump/view/html/html_impl.h"

#include "dump/base/str.h"
#include "dump/view/base/pair_ids.h"
#include "dump/view/pt/pt_calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CALLS 300000u
#define MAX_TEXT  1024

int html_calls_load(struct html *h, struct err *err)
{
	const struct pt_calls_options opt = {h->opt->from_ns, h->opt->to_ns, MAX_CALLS};

	return pt_calls_load(h->why.a.r, h->m, h->why.a.history, h->why.a.symbols, &opt, &h->calls,
			     err);
}

void html_calls_free(struct html *h)
{
	pt_calls_free(h->calls);
	buf_free(&h->others);
}

bool html_calls_window(const struct html *h, uint64_t *from_ns, uint64_t *to_ns)
{
	size_t nr = h->calls ? pt_calls_nr(h->calls) : 0;

	for (size_t i = 0; i < nr; i++) {
		const struct pt_spans_call *c = pt_calls_nth(h->calls, i);

		if (!i || c->from_ns < *from_ns)
			*from_ns = c->from_ns;
		if (!i || c->to_ns > *to_ns)
			*to_ns = c->to_ns;
	}
	return nr;
}

/* The thread's number in the page; threads that the schedule lacks are appended. */
static uint32_t thread_of(struct html *h, uint32_t tid)
{
	uint32_t i = schedule_find(h->why.a.sched, tid);
	size_t nr = h->others.len / sizeof(tid);

	if (i != NO_THREAD)
		return i;
	/* Calls come in the order of `others`. */
	i = nr && ((uint32_t *)h->others.p)[nr - 1] == tid ? (uint32_t)nr - 1 : (uint32_t)nr;
	if (i == nr && buf_put(&h->others, &tid, sizeof(tid)))
		h->cols.rc = -ENOMEM;
	return (uint32_t)schedule_nr_threads(h->why.a.sched) + i;
}

/* [name, file], once for each function. */
static uint32_t name_of(struct html *h, const struct pt_spans_call *c, struct pair_ids *ids,
			struct json *j)
{
	const char *image = pt_calls_image(h->calls, c), *base = image ? strrchr(image, '/') : NULL;
	struct text name = TEXT_INIT(NULL);
	bool is_new;
	uint32_t id = pair_ids_add(ids, c->id ? c->id : c->address, !c->id, &is_new);

	if (is_new) {
		char safe[MAX_TEXT];

		image = base && base[1] ? base + 1 : image ? image : "";
		pt_calls_name(h->calls, c, &name);
		json_open(j, NULL, '[');
		json_str(j, NULL, (const char *)name.b.p, name.b.len);
		json_cstr(j, NULL, str_safe(safe, sizeof(safe), image, strlen(image)));
		json_close(j, ']');
		text_free(&name);
	}
	return id ? id - 1 : 0;
}

static void put_call(struct html *h, const struct pt_spans_call *c, uint64_t *at_ns, uint32_t name)
{
	uint64_t from = c->from_ns > h->base_ns ? c->from_ns : h->base_ns;

	/* Sorted by start, so differences are never negative. */
	column_put(&h->cols, COL_CALL_GAP, from > *at_ns ? from - *at_ns : 0);
	column_put(&h->cols, COL_CALL_NS, c->to_ns > from ? c->to_ns - from : 0);
	column_put(&h->cols, COL_CALL_DEPTH, (uint32_t)c->depth);
	column_put(&h->cols, COL_CALL_NAME, name);
	column_put(&h->cols, COL_CALL_FLAGS, c->flags);
	*at_ns = from > *at_ns ? from : *at_ns;
}

void html_calls_put(struct html *h, struct json *j)
{
	size_t nr = h->calls ? pt_calls_nr(h->calls) : 0;
	struct text names = TEXT_INIT(NULL);
	struct json of_names = {.t = &names};
	struct pair_ids ids = {0};

	columns_clear(&h->cols, COL_CALL_GAP, COL_CALL_FLAGS);
	json_open(&of_names, NULL, '[');
	json_open(j, "calls", '[');
	for (size_t i = 0, n; i < nr; i += n) {
		uint32_t tid = pt_calls_nth(h->calls, i)->tid;
		uint64_t at_ns = h->base_ns;

		for (n = 0; i + n < nr && pt_calls_nth(h->calls, i + n)->tid == tid; n++) {
			const struct pt_spans_call *c = pt_calls_nth(h->calls, i + n);

			put_call(h, c, &at_ns, name_of(h, c, &ids, &of_names));
		}
		json_open(j, NULL, '[');
		json_u64(j, NULL, thread_of(h, tid));
		json_u64(j, NULL, n);
		json_close(j, ']');
	}
	json_close(j, ']');
	json_close(&of_names, ']');
	json_made(j, "callNames", (struct bytes){names.b.p, names.b.len});
	json_u64(j, "callsLeftOut", h->calls ? pt_calls_nr_left_out(h->calls) : 0);
	if (names.rc)
		h->cols.rc = names.rc;
	text_free(&names);
	pair_ids_free(&ids);
}

size_t html_nr_others(const struct html *h)
{
	return h->others.len / sizeof(uint32_t);
}

uint32_t html_other(const struct html *h, size_t i)
{
	return ((const uint32_t *)h->others.p)[i];
}
