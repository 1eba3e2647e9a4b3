// SPDX-License-Identifier: MIT
/* Reads the THREADS blocks of a dump into tables sorted by process and by thread; see
 * thread_states.h. Nothing in them is trusted. */
#include "dump/view/model/thread_states.h"

#include "dump/base/err.h"
#include "dump/file/section_items.h"
#include "dump/view/base/intern.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Limit of all THREADS blocks together, unpacked: some 300,000 threads. */
#define MAX_BYTES (64ull << 20)

struct thread_states {
	struct fmt_threads read;
	bool has_read;
	struct buf all;			    /* struct thread_state[], by process */
	const struct thread_state **by_tid; /* thread_states_nr() entries */
	struct intern texts;
	size_t nr_broken;
};

/* ---- items ---- */

/* The next text of an item, up to its NUL; "" at the end. NULL: out of memory. */
static const char *next_text(struct thread_states *t, struct bytes *rest)
{
	const uint8_t *end = rest->len ? memchr(rest->p, '\0', rest->len) : NULL;
	struct bytes text = {rest->p, end ? (size_t)(end - rest->p) : rest->len};
	const char *s = text.len ? intern(&t->texts, text) : "";

	rest->p += end ? text.len + 1 : text.len;
	rest->len -= end ? text.len + 1 : text.len;
	return s;
}

/* Later code need not look at flags before it uses a field. */
static void clean(struct fmt_thread_state *f)
{
	if (f->state <= ' ' || f->state >= 0x7f)
		f->state = '?';
	if (!(f->flags & FMT_THREAD_SCHED)) {
		f->policy = f->rt_priority = 0;
		f->nice = 0;
	}
	if (!(f->flags & FMT_THREAD_SYSCALL)) {
		f->syscall = -1;
		f->sp = f->pc = 0;
	}
	if (f->syscall < 0) {
		f->syscall = -1;
		memset(f->args, 0, sizeof(f->args));
	}
	if (f->fd < 0)
		f->fd = -1;
	if (!(f->flags & FMT_THREAD_FUTEX))
		f->futex_word = f->futex_owner = 0;
	for (uint32_t i = f->nr_peers; i < FMT_THREAD_MAX_PEERS; i++)
		f->peers[i] = 0;
}

static int take_state(struct thread_states *t, struct bytes item)
{
	struct thread_state s = {.wchan = NULL};

	if (!bytes_get(&item, &s.f, sizeof(s.f)) || !s.f.tid ||
	    s.f.nr_cpu_words > FMT_THREAD_MAX_CPU_WORDS ||
	    !bytes_get(&item, s.cpus, s.f.nr_cpu_words * sizeof(s.cpus[0])))
		return -EBADMSG;
	clean(&s.f);
	s.wchan = next_text(t, &item);
	s.file = next_text(t, &item);
	s.protocol = next_text(t, &item);
	s.local = next_text(t, &item);
	s.remote = next_text(t, &item);
	if (!s.wchan || !s.file || !s.protocol || !s.local || !s.remote)
		return -ENOMEM;
	return buf_put(&t->all, &s, sizeof(s));
}

static int take_item(void *ctx, uint16_t kind, struct bytes item)
{
	struct thread_states *t = ctx;

	if (kind == FMT_THREAD_STATE)
		return take_state(t, item);
	if (kind == FMT_THREADS_READ) {
		bytes_get_grown(item, &t->read, sizeof(t->read));
		t->has_read = true;
	}
	return 0;
}

static int take_block(void *ctx, struct bytes payload)
{
	struct thread_states *t = ctx;

	return section_items_walk(payload, take_item, t, &t->nr_broken);
}

/* ---- tables ---- */

static int compare_by_tid(const void *a, const void *b)
{
	const struct thread_state *x = *(const struct thread_state *const *)a;
	const struct thread_state *y = *(const struct thread_state *const *)b;

	if (x->f.tid != y->f.tid)
		return x->f.tid < y->f.tid ? -1 : 1;
	return x < y ? -1 : x > y;
}

static int compare_by_process(const void *a, const void *b)
{
	const struct fmt_thread_state *x = &((const struct thread_state *)a)->f;
	const struct fmt_thread_state *y = &((const struct thread_state *)b)->f;
	bool x_leads = x->tid == x->pid, y_leads = y->tid == y->pid;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x_leads != y_leads)
		return x_leads ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return memcmp(x, y, sizeof(*x));
}

static int build_tables(struct thread_states *t)
{
	size_t nr = thread_states_nr(t);

	t->by_tid = calloc(nr + 1, sizeof(*t->by_tid));
	if (!t->by_tid)
		return -ENOMEM;
	if (!nr)
		return 0;
	qsort(t->all.p, nr, sizeof(struct thread_state), compare_by_process);
	for (size_t i = 0; i < nr; i++)
		t->by_tid[i] = thread_states_nth(t, i);
	qsort(t->by_tid, nr, sizeof(*t->by_tid), compare_by_tid);
	return 0;
}

int thread_states_load(struct reader *r, struct thread_states **out, struct err *err)
{
	struct thread_states *t = calloc(1, sizeof(*t));
	int rc = t ? section_items_load(r, FMT_THREADS, MAX_BYTES, take_block, t, &t->nr_broken)
		   : -ENOMEM;

	if (!rc)
		rc = build_tables(t);
	if (rc) {
		thread_states_free(t);
		return err_set(err, rc,
			       rc == -E2BIG ? "the dump's states of threads are too large"
					    : "out of memory for the states of threads");
	}
	*out = t;
	return 0;
}

void thread_states_free(struct thread_states *t)
{
	if (!t)
		return;
	buf_free(&t->all);
	free(t->by_tid);
	intern_free(&t->texts);
	free(t);
}

/* ---- questions ---- */

const struct fmt_threads *thread_states_read(const struct thread_states *t)
{
	return t->has_read ? &t->read : NULL;
}

size_t thread_states_nr(const struct thread_states *t)
{
	return t->all.len / sizeof(struct thread_state);
}

const struct thread_state *thread_states_nth(const struct thread_states *t, size_t i)
{
	return (const struct thread_state *)t->all.p + i;
}

const struct thread_state *thread_states_find(const struct thread_states *t, uint32_t tid)
{
	size_t from = 0, to = thread_states_nr(t);

	while (from < to) {
		size_t mid = from + (to - from) / 2;

		if (t->by_tid[mid]->f.tid < tid)
			from = mid + 1;
		else
			to = mid;
	}
	return from < thread_states_nr(t) && t->by_tid[from]->f.tid == tid ? t->by_tid[from] : NULL;
}

size_t thread_states_nr_broken(const struct thread_states *t)
{
	return t->nr_broken;
}

bool thread_state_may_run_on(const struct thread_state *s, uint32_t cpu)
{
	if (!s->f.nr_cpu_words)
		return true;
	return cpu / 64 < s->f.nr_cpu_words && s->cpus[cpu / 64] >> cpu % 64 & 1;
}

unsigned thread_state_nr_cpus(const struct thread_state *s)
{
	unsigned nr = 0;

	for (uint32_t i = 0; i < s->f.nr_cpu_words; i++)
		nr += (unsigned)__builtin_popcountll(s->cpus[i]);
	return nr;
}
