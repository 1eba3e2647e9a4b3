/* LAYERS: view dump base */
// SPDX-License-Identifier: MIT
/* The ledger of a dump: names and mappings as of each moment. */
#include "dump/view/model/process_history.h"

#include "tests/helpers/mkdump.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define MS 1000000ull

struct world {
	struct mk d;
	struct reader *r;
	struct process_history *p;
};

static void load(struct world *w)
{
	w->r = mk_end(&w->d);
	assert_int_equal(history_load(w->r, &w->p, NULL), 0);
}

static void unload(struct world *w)
{
	history_free(w->p);
	mk_close(&w->d, w->r);
}

static uint32_t key_at(const struct process_history *p, uint32_t tid, uint64_t ns)
{
	const struct fmt_task *t = history_task(p, tid, ns);

	return t ? t->key : 0;
}

static void test_idle(void **state)
{
	struct world w = {.d = mk_begin()};

	load(&w);
	assert_string_equal(history_comm(w.p, 0, 5), "swapper");
	assert_int_equal(history_task(w.p, 0, 5)->tid, 0);
	assert_null(history_task(w.p, 1, 5));
	assert_null(history_comm(w.p, 1, 5));
	assert_int_equal(history_nr_tasks(w.p), 0);
	unload(&w);
}

static void test_names_change(void **state)
{
	struct world w = {.d = mk_begin()};

	mk_task(&w.d, 1, 10, 10, 1, 0, 0);
	mk_comm(&w.d, 1, 200, "vim");
	mk_comm(&w.d, 1, 0, "bash");
	mk_comm(&w.d, 1, 300, "a name of 16 byt");
	load(&w);
	assert_string_equal(history_comm(w.p, 10, 0), "bash");
	assert_string_equal(history_comm(w.p, 10, 199), "bash");
	assert_string_equal(history_comm(w.p, 10, 200), "vim");
	assert_string_equal(history_comm(w.p, 10, UINT64_MAX), "a name of 16 byt");
	unload(&w);
}

static void test_a_tid_used_again(void **state)
{
	struct world w = {.d = mk_begin()};

	mk_task(&w.d, 2, 10, 10, 1, 500 * MS, 600 * MS);
	mk_comm(&w.d, 2, 500 * MS, "second");
	mk_task(&w.d, 1, 10, 10, 1, 0, 300 * MS);
	mk_comm(&w.d, 1, 0, "first");
	mk_task(&w.d, 3, 11, 11, 1, 0, 0);
	load(&w);
	assert_int_equal(key_at(w.p, 10, 0), 1);
	assert_int_equal(key_at(w.p, 10, 300 * MS), 1);
	assert_int_equal(key_at(w.p, 10, 500 * MS), 2);
	assert_string_equal(history_comm(w.p, 10, 550 * MS), "second");
	/* After its EXIT record a task still switches away. */
	assert_int_equal(key_at(w.p, 10, 301 * MS), 1);
	assert_int_equal(key_at(w.p, 10, 601 * MS), 2);
	/* Before its FORK record it may have been mentioned; but not long before. */
	assert_int_equal(key_at(w.p, 10, 500 * MS - 5000), 2);
	assert_int_equal(key_at(w.p, 10, 480 * MS), 1);
	assert_int_equal(history_nr_tasks(w.p), 3);
	assert_int_equal(history_nth(w.p, 0)->key, 1);
	assert_int_equal(history_nth(w.p, 1)->key, 2);
	unload(&w);
}

static void test_before_the_first(void **state)
{
	struct world w = {.d = mk_begin()};

	mk_task(&w.d, 1, 10, 10, 1, 500 * MS, 0);
	load(&w);
	assert_int_equal(key_at(w.p, 10, 500 * MS - 3000), 1);
	assert_int_equal(key_at(w.p, 10, 400 * MS), 0);
	unload(&w);
}

static void test_inherited_names(void **state)
{
	struct world w = {.d = mk_begin()};

	mk_task(&w.d, 1, 10, 10, 1, 0, 0);
	mk_comm(&w.d, 1, 0, "server");
	mk_comm(&w.d, 1, 700, "renamed");
	mk_task(&w.d, 2, 12, 10, 10, 300, 0); /* a thread of it */
	mk_task(&w.d, 3, 20, 20, 10, 400, 0); /* a child, which will exec */
	mk_comm(&w.d, 3, 900, "child");
	mk_task(&w.d, 4, 30, 30, 99, 400, 0); /* a child of an unknown task */
	mk_task(&w.d, 5, 40, 40, 10, 0, 800); /* known by its end only */
	load(&w);
	assert_string_equal(history_comm(w.p, 12, 350), "server");
	assert_string_equal(history_comm(w.p, 12, 750), "renamed");
	assert_string_equal(history_comm(w.p, 20, 450), "server");
	assert_string_equal(history_comm(w.p, 20, 800), "server"); /* as when it was forked */
	assert_string_equal(history_comm(w.p, 20, 950), "child");
	assert_null(history_comm(w.p, 30, 450));
	assert_null(history_comm(w.p, 40, 450));
	unload(&w);
}

static void test_maps(void **state)
{
	struct world w = {.d = mk_begin()};
	struct history_map m;

	mk_task(&w.d, 1, 10, 10, 1, 0, 0);
	mk_task(&w.d, 2, 12, 10, 10, 0, 0);
	mk_map(&w.d, &(struct fmt_map){
			     .key = 1, .path = 2, .start = 0x1000, .end = 0x3000, .end_ns = 500});
	mk_path(&w.d, 1, "/new");
	mk_path(&w.d, 2, "/old");
	mk_map(&w.d,
	       &(struct fmt_map){.key = 1, .path = 1, .start = 0x2000, .end = 0x4000, .ns = 300});
	mk_map(&w.d,
	       &(struct fmt_map){.key = 1, .path = 1, .start = 0x9000, .end = 0xa000, .pgoff = 64});
	load(&w);
	assert_true(history_map(w.p, 10, 100, 0x2800, &m));
	assert_string_equal(m.path, "/old");
	assert_int_equal(m.build_id_bytes, 3);
	assert_int_equal(m.build_id[2], 2);
	/* Of two at one place the later one counts; the thread has its process's. */
	assert_true(history_map(w.p, 12, 400, 0x2800, &m));
	assert_string_equal(m.path, "/new");
	assert_true(history_map(w.p, 10, 499, 0x1fff, &m));
	assert_string_equal(m.path, "/old");
	assert_false(history_map(w.p, 10, 500, 0x1fff, &m));
	assert_false(history_map(w.p, 10, 100, 0x3800, &m));
	assert_false(history_map(w.p, 10, 100, 0x4000, &m));
	assert_true(history_map(w.p, 10, 100, 0x9fff, &m));
	assert_int_equal(m.f.pgoff, 64);
	assert_false(history_map(w.p, 99, 100, 0x9fff, &m));
	assert_false(history_map(w.p, 0, 100, 0x9fff, &m));
	unload(&w);
}

/* A leader exits, and 2 ms later a thread execs: until then all is the old leader's. */
static void test_a_thread_that_execs(void **state)
{
	struct world w = {.d = mk_begin()};
	struct history_map m;

	mk_task(&w.d, 1, 10, 10, 1, 0, 100 * MS);
	mk_comm(&w.d, 1, 0, "old");
	mk_task(&w.d, 2, 12, 10, 1, 0, 102 * MS); /* which execs */
	mk_task(&w.d, 3, 13, 10, 1, 0, 101 * MS); /* which goes before */
	mk_task(&w.d, 4, 10, 10, 1, 102 * MS, 0);
	mk_comm(&w.d, 4, 102 * MS, "new");
	mk_path(&w.d, 1, "/old");
	mk_path(&w.d, 2, "/new");
	mk_map(&w.d, &(struct fmt_map){.key = 1, .path = 1, .start = 0x1000, .end = 0x2000});
	mk_map(&w.d, &(struct fmt_map){
			     .key = 4, .path = 2, .start = 0x1000, .end = 0x2000, .ns = 103 * MS});
	load(&w);
	for (uint32_t tid = 12; tid < 14; tid++) {
		assert_true(history_map(w.p, tid, 50 * MS, 0x1000, &m));
		assert_string_equal(m.path, "/old");
		assert_true(history_map(w.p, tid, 100 * MS + 1, 0x1000, &m));
		assert_string_equal(m.path, "/old");
		assert_string_equal(history_comm(w.p, tid, 100 * MS + 1), "old");
	}
	/* Its last switch may come after the exec. */
	assert_true(history_map(w.p, 13, 104 * MS, 0x1000, &m));
	assert_string_equal(m.path, "/old");
	assert_true(history_map(w.p, 10, 104 * MS, 0x1000, &m));
	assert_string_equal(m.path, "/new");
	unload(&w);
}

/* From the COMM record of an exec until the new program runs. */
static void test_in_the_middle_of_an_exec(void **state)
{
	struct fmt_comm exec = {.key = 1, .flags = FMT_COMM_EXEC, .ns = 50 * MS, .comm = "new"};
	struct world w = {.d = mk_begin()};
	struct history_map m;

	mk_task(&w.d, 1, 10, 10, 1, 0, 0);
	mk_comm(&w.d, 1, 0, "old");
	mk_item(&w.d, FMT_LEDGER, FMT_LEDGER_COMM, &exec, sizeof(exec), NULL, 0);
	mk_comm(&w.d, 1, 60 * MS, "renamed");
	mk_path(&w.d, 1, "/old");
	mk_path(&w.d, 2, "/new");
	mk_path(&w.d, 3, "/unmapped");
	mk_map(&w.d,
	       &(struct fmt_map){
		       .key = 1, .path = 1, .start = 0x1000, .end = 0x3000, .end_ns = 50 * MS});
	mk_map(&w.d,
	       &(struct fmt_map){
		       .key = 1, .path = 3, .start = 0x5000, .end = 0x6000, .end_ns = 40 * MS});
	mk_map(&w.d, &(struct fmt_map){
			     .key = 1, .path = 2, .start = 0x1000, .end = 0x2000, .ns = 51 * MS});
	load(&w);
	assert_true(history_map(w.p, 10, 50 * MS, 0x1000, &m));
	assert_string_equal(m.path, "/old");
	assert_true(history_map(w.p, 10, 51 * MS, 0x1000, &m));
	assert_string_equal(m.path, "/new");
	assert_true(history_map(w.p, 10, 61 * MS, 0x2000, &m));
	assert_string_equal(m.path, "/old");
	assert_false(history_map(w.p, 10, 51 * MS, 0x5000, &m));
	assert_false(history_map(w.p, 10, 2000 * MS, 0x2000, &m));
	unload(&w);
}

static void test_places(void **state)
{
	struct world w = {.d = mk_begin()};
	const struct fmt_task *leader, *thread, *other;
	struct history_span span;

	mk_task(&w.d, 1, 10, 10, 1, 200, 0);
	mk_task(&w.d, 2, 12, 10, 1, 300, 0);
	mk_task(&w.d, 3, 13, 10, 1, 300, 0);
	mk_task(&w.d, 4, 20, 20, 1, 300, 0);
	mk_stay(&w.d, FMT_LEDGER_TASK_NS, 1, 200, 5);
	mk_stay(&w.d, FMT_LEDGER_TASK_NS, 1, 600, 6);
	mk_stay(&w.d, FMT_LEDGER_TASK_NS, 2, 400, 5);
	mk_stay(&w.d, FMT_LEDGER_TASK_CGROUP, 1, 0, 5);
	mk_stay(&w.d, FMT_LEDGER_TASK_CGROUP, 1, 500, 6);
	mk_set(&w.d, 6, 4000); /* may stand behind */
	mk_set(&w.d, 5, 3000);
	mk_path(&w.d, 5, "/a");
	mk_path(&w.d, 6, "/b");
	load(&w);
	leader = history_task(w.p, 10, 400);
	thread = history_task(w.p, 13, 400);
	other = history_task(w.p, 20, 400);
	assert_int_equal(history_namespace(w.p, leader, 200, FMT_NS_NET), 3000);
	assert_int_equal(history_namespace(w.p, leader, 599, FMT_NS_CGROUP), 3006);
	assert_int_equal(history_namespace(w.p, leader, 600, FMT_NS_NET), 4000);
	assert_int_equal(history_namespace(w.p, leader, 600, 7), 0);
	assert_int_equal(history_namespace(w.p, leader, 100, FMT_NS_NET), 3000); /* just before */
	assert_int_equal(history_namespace(w.p, thread, 599, FMT_NS_PID), 3003);
	assert_int_equal(history_namespace(w.p, thread, 700, FMT_NS_PID), 4003);
	assert_int_equal(history_namespace(w.p, history_task(w.p, 12, 700), 700, FMT_NS_PID), 3003);
	assert_int_equal(history_namespace(w.p, other, 700, FMT_NS_PID), 0);
	assert_string_equal(history_cgroup(w.p, leader, 499), "/a");
	assert_string_equal(history_cgroup(w.p, thread, 500), "/b");
	assert_null(history_cgroup(w.p, other, 500));
	assert_null(history_cgroup(w.p, history_task(w.p, 0, 500), 500));
	assert_string_equal(history_cgroup_of(w.p, 13, 499, &span), "/a");
	assert_true(span.from_ns <= 300 && span.to_ns == 499);
	assert_string_equal(history_cgroup_of(w.p, 13, 700, &span), "/b");
	assert_true(span.from_ns == 500 && span.to_ns == UINT64_MAX);
	assert_null(history_cgroup_of(w.p, 99, 500, &span));
	assert_int_equal(history_namespace(w.p, history_task(w.p, 0, 500), 500, FMT_NS_NET), 0);
	unload(&w);
}

static void test_broken_places(void **state)
{
	struct fmt_namespaces f = {.id = 1, .nr = 3};
	struct fmt_namespace v[2] = {{.kind = 0, .ino = 1}, {.kind = 1, .ino = 2}};
	struct world w = {.d = mk_begin()};
	struct history_counts n;

	mk_task(&w.d, 1, 10, 10, 1, 0, 0);
	mk_item(&w.d, FMT_LEDGER, FMT_LEDGER_NAMESPACES, &f, sizeof(f), v,
		sizeof(v)); /* one short */
	mk_item(&w.d, FMT_LEDGER, FMT_LEDGER_NAMESPACES, &f, 4, NULL, 0);
	mk_set(&w.d, 2, 3000);
	mk_stay(&w.d, FMT_LEDGER_TASK_NS, 1, 0, 1);	/* no such set */
	mk_stay(&w.d, FMT_LEDGER_TASK_CGROUP, 1, 0, 2); /* no such path */
	mk_stay(&w.d, FMT_LEDGER_TASK_NS, 0, 0, 2);	/* no key */
	mk_stay(&w.d, FMT_LEDGER_TASK_NS, 1, 9, 2);
	load(&w);
	history_counts(w.p, &n);
	assert_int_equal(n.nr_broken, 5);
	assert_int_equal(history_namespace(w.p, history_task(w.p, 10, 8), 8, FMT_NS_NET), 0);
	assert_int_equal(history_namespace(w.p, history_task(w.p, 10, 9), 9, FMT_NS_NET), 3000);
	unload(&w);
}

/* A mapping that a process made and dropped at one address, again and again. */
static void test_generations(void **state)
{
	struct world w = {.d = mk_begin()};
	struct history_map m;

	mk_task(&w.d, 1, 10, 10, 1, 0, 0);
	for (uint64_t i = 0; i < 3000; i++) {
		mk_path(&w.d, 1, "/plugin"); /* a new block has its own */
		mk_map(&w.d, &(struct fmt_map){.key = 1,
					       .path = 1,
					       .start = 0x1000,
					       .end = 0x2000,
					       .ns = 100 + 10 * i,
					       .end_ns = 105 + 10 * i,
					       .pgoff = i});
	}
	load(&w);
	for (uint64_t i = 0; i < 3000; i++) {
		assert_true(history_map(w.p, 10, 104 + 10 * i, 0x1800, &m));
		assert_int_equal(m.f.pgoff, i);
		assert_false(history_map(w.p, 10, 105 + 10 * i, 0x1800, &m));
	}
	unload(&w);
}

/* Against a search of all: processes, overlaps, times. */
static void test_maps_against_a_search_of_all(void **state)
{
	static struct fmt_map all[300];
	struct world w = {.d = mk_begin()};
	struct history_map got;
	uint64_t seed = 7;

	for (uint32_t key = 1; key <= 3; key++)
		mk_task(&w.d, key, 10 * key, 10 * key, 1, 0, 0);
	mk_path(&w.d, 1, "/x");
	for (size_t i = 0; i < 300; i++) {
		uint64_t x[4];

		for (int k = 0; k < 4; k++) {
			seed = seed * 6364136223846793005ull + 1442695040888963407ull;
			x[k] = seed >> 40;
		}
		all[i] = (struct fmt_map){
			.key = 1 + x[0] % 3, .path = 1, .start = x[1] % 1000, .ns = i, .pgoff = i};
		all[i].end = all[i].start + 1 + x[2] % 300;
		all[i].end_ns = x[3] % 2 ? 0 : i + x[3] % 200 + 1;
		mk_map(&w.d, &all[i]);
	}
	load(&w);
	for (uint64_t q = 0; q < 3000; q++) {
		uint64_t ns = q % 320, addr = q * 7 % 1300, best = UINT64_MAX;
		uint32_t key = 1 + (uint32_t)q % 3;

		for (size_t i = 0; i < 300; i++)
			if (all[i].key == key && all[i].start <= addr && addr < all[i].end &&
			    all[i].ns <= ns && (!all[i].end_ns || ns < all[i].end_ns))
				best = i;
		if (best == UINT64_MAX) {
			assert_false(history_map(w.p, 10 * key, ns, addr, &got));
			continue;
		}
		assert_true(history_map(w.p, 10 * key, ns, addr, &got));
		assert_int_equal(got.f.pgoff, best);
	}
	unload(&w);
}

/* Many mappings that all hold the address and the time: a search stays bounded. */
static void test_hostile_maps(void **state)
{
	struct world w = {.d = mk_begin()};
	struct history_map m;

	mk_task(&w.d, 1, 10, 10, 1, 0, 0);
	for (uint64_t i = 0; i < 20000; i++) {
		mk_path(&w.d, 1, "/x");
		mk_map(&w.d, &(struct fmt_map){.key = 1, .path = 1, .start = i, .end = 1 << 20});
	}
	load(&w);
	for (uint64_t i = 0; i < 20000; i++)
		assert_true(history_map(w.p, 10, 100, 500000, &m));
	unload(&w);
}

/* ---- answers that hold for a while ---- */

static uint64_t next_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return *seed >> 33;
}

static void put_name(struct mk *d, uint32_t key, uint64_t ns, uint64_t seed)
{
	struct fmt_comm c = {.key = key, .ns = ns, .flags = seed & 1 ? FMT_COMM_EXEC : 0};

	memcpy(c.comm, seed & 2 ? "one" : "two", 3);
	mk_item(d, FMT_LEDGER, FMT_LEDGER_COMM, &c, sizeof(c), NULL, 0);
}

/* Tids used again, threads, names late and early, execs, mappings: all close together. */
static void put_crowd(struct mk *d, uint64_t *seed)
{
	for (uint32_t key = 1; key <= 60; key++) {
		uint32_t tid = 10 + (uint32_t)(next_random(seed) % 12), pid = tid;
		uint64_t start_ns = next_random(seed) % 4 * 5 * MS + next_random(seed) % 900 * MS;

		if (next_random(seed) % 3 == 0)
			pid = 10 + (uint32_t)(next_random(seed) % 12);
		if (next_random(seed) % 8 == 0)
			start_ns = 0;
		mk_path(d, key, "/x");
		mk_task(d, key, tid, pid, 10 + (uint32_t)(next_random(seed) % 12), start_ns,
			next_random(seed) % 2 ? start_ns + next_random(seed) % 200 * MS : 0);
		for (uint64_t i = next_random(seed) % 4; i > 0; i--)
			put_name(d, key, next_random(seed) % 1100 * MS, next_random(seed));
		for (uint64_t i = next_random(seed) % 6; i > 0; i--) {
			uint64_t start = next_random(seed) % 50, ns = next_random(seed) % 1100 * MS;
			uint64_t ends = next_random(seed) % 2 ? ns + 1 + next_random(seed) % MS : 0;

			mk_map(d, &(struct fmt_map){.key = key,
						    .path = key,
						    .start = start,
						    .end = start + 30,
						    .ns = ns,
						    .end_ns = ends,
						    .pgoff = next_random(seed)});
		}
	}
}

static bool same_name(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

/* True when all three ask for the same; `at` lies in what was said to hold at `ns`. */
static bool holds(const struct process_history *p, uint32_t tid, uint64_t ns, uint64_t at,
		  uint64_t addr)
{
	struct history_map a = {0}, b = {0};

	return history_task(p, tid, ns) == history_task(p, tid, at) &&
	       same_name(history_comm(p, tid, ns), history_comm(p, tid, at)) &&
	       history_map(p, tid, ns, addr, &a) == history_map(p, tid, at, addr, &b) &&
	       !memcmp(&a.f, &b.f, sizeof(a.f));
}

static void test_spans(void **state)
{
	uint64_t seed = 11, wide = 0;

	for (int round = 0; round < 20; round++) {
		struct world w = {.d = mk_begin()};

		put_crowd(&w.d, &seed);
		load(&w);
		for (int q = 0; q < 3000; q++) {
			uint32_t tid = (uint32_t)(next_random(&seed) % 24);
			uint64_t ns = next_random(&seed) % (2200 * MS), addr;
			struct history_span who, where;
			struct history_map map = {0};
			const char *comm;

			addr = next_random(&seed) % 80;
			assert_ptr_equal(history_who(w.p, tid, ns, &comm, &who),
					 history_task(w.p, tid, ns));
			assert_true(same_name(comm, history_comm(w.p, tid, ns)));
			assert_int_equal(history_where(w.p, tid, ns, addr, &map, &where),
					 history_map(w.p, tid, ns, addr, &map));
			assert_true(who.from_ns <= ns && ns <= who.to_ns);
			assert_true(where.from_ns <= ns && ns <= where.to_ns);
			if (where.from_ns > who.from_ns)
				who.from_ns = where.from_ns;
			if (where.to_ns < who.to_ns)
				who.to_ns = where.to_ns;
			assert_true(holds(w.p, tid, ns, who.from_ns, addr));
			assert_true(holds(w.p, tid, ns, who.to_ns, addr));
			assert_true(holds(w.p, tid, ns, who.from_ns + (who.to_ns - who.from_ns) / 2,
					  addr));
			wide += who.to_ns - who.from_ns > MS;
		}
		unload(&w);
	}
	/* They are there to be used again. */
	assert_true(wide > 20 * 3000 / 2);
}

static void test_broken_items(void **state)
{
	struct world w = {.d = mk_begin()};
	struct history_counts n;

	mk_task(&w.d, 1, 10, 10, 1, 0, 0);
	mk_task(&w.d, 1, 10, 10, 1, 0, 0); /* again: once is enough */
	mk_task(&w.d, 0, 11, 11, 1, 0, 0); /* no key */
	mk_path(&w.d, 1, "/x");
	mk_map(&w.d,
	       &(struct fmt_map){.key = 1, .path = 9, .start = 1, .end = 2}); /* no such path */
	mk_map(&w.d, &(struct fmt_map){.key = 1, .path = 1, .start = 2, .end = 2}); /* empty */
	mk_map(&w.d, &(struct fmt_map){.key = 1, .path = 1, .start = 2, .end = 3});
	mk_item(&w.d, FMT_LEDGER, 999, "later", 5, NULL, 0); /* a kind of a later version */
	load(&w);
	history_counts(w.p, &n);
	assert_int_equal(n.nr_broken, 3);
	assert_int_equal(n.nr_tasks, 1);
	assert_int_equal(n.nr_processes, 1);
	assert_int_equal(n.nr_maps, 1);
	unload(&w);
}

static void test_damaged_block(void **state)
{
	struct world w = {.d = mk_begin()};
	struct history_counts n;

	mk_task(&w.d, 1, 10, 10, 1, 0, 0);
	assert_int_equal(writer_flush(w.d.w), 0);
	mk_task(&w.d, 2, 11, 11, 1, 0, 0);
	w.r = mk_end(&w.d);
	mk_damage(&w.d, w.r, 0);
	assert_int_equal(history_load(w.r, &w.p, NULL), 0);
	history_counts(w.p, &n);
	assert_int_equal(n.nr_broken, 1);
	assert_null(history_task(w.p, 10, 5));
	assert_int_equal(key_at(w.p, 11, 5), 2);
	unload(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_idle),
		cmocka_unit_test(test_names_change),
		cmocka_unit_test(test_a_tid_used_again),
		cmocka_unit_test(test_before_the_first),
		cmocka_unit_test(test_inherited_names),
		cmocka_unit_test(test_maps),
		cmocka_unit_test(test_a_thread_that_execs),
		cmocka_unit_test(test_in_the_middle_of_an_exec),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_broken_places),
		cmocka_unit_test(test_generations),
		cmocka_unit_test(test_maps_against_a_search_of_all),
		cmocka_unit_test(test_hostile_maps),
		cmocka_unit_test(test_spans),
		cmocka_unit_test(test_broken_items),
		cmocka_unit_test(test_damaged_block),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
