/* LAYERS: recorder trigger kernel view dump base */
// SPDX-License-Identifier: MIT
/* The LEDGER section in a dump: the tasks in it, and that each of its blocks stands
 * alone. */
#include "recorder/ledger/ledger.h"

#include "tests/helpers/ledger_trip.h"
#include "tests/helpers/side_records.h"

#define S 1000000000ull

static struct side_record rec;

static void take(struct ledger *l, struct bytes b)
{
	ledger_record(l, b, &side_layout);
}

static void mapped(struct ledger *l, uint64_t ns, uint32_t pid, uint64_t start, uint64_t end,
		   const char *path, const uint8_t *build_id)
{
	struct side_mmap m = {
		.start = start, .len = end - start, .path = path, .build_id = build_id};

	take(l, side_mmap2(&rec, ns, pid, pid, &m));
}

static struct ledger *new_ledger(void)
{
	struct ledger *l;

	assert_int_equal(ledger_new(64 << 20, &l, NULL), 0);
	return l;
}

/* Calls `each` for every item of every LEDGER block; `ctx` as it likes. */
static void for_each_item(struct reader *r,
			  void (*each)(void *ctx, size_t block, uint16_t kind, struct bytes item),
			  void *ctx)
{
	struct buf payload = {0};
	struct bytes rest, item;
	uint16_t kind;
	bool broken;

	for (size_t i = 0; i < reader_nr_blocks(r); i++) {
		if (reader_block(r, i)->h.section != FMT_LEDGER)
			continue;
		assert_int_equal(reader_load(r, i, &payload, NULL), 0);
		rest = (struct bytes){payload.p, payload.len};
		broken = false;
		while (reader_next_item(&rest, &kind, &item, &broken))
			each(ctx, i, kind, item);
		assert_false(broken);
	}
	buf_free(&payload);
}

/* ---- tasks in it ---- */

static void tasks_of_the_window_are_written(void **state)
{
	static const uint32_t tids[] = {20, 30};
	struct tidset *set = set_of(tids, 2);
	struct ledger *l = new_ledger();
	const struct fmt_task *t;
	struct process_history *p;
	struct reader *r;
	void *file;

	take(l, side_comm(&rec, 1 * S, 1, 1, "init", false));
	take(l, side_fork(&rec, 2 * S, 10, 10, 1, 1)); /* ends before */
	take(l, side_fork(&rec, 2 * S, 20, 20, 1, 1)); /* ends just before, but is sampled */
	take(l, side_fork(&rec, 2 * S, 30, 30, 1, 1)); /* ends within */
	take(l, side_exit(&rec, 9 * S + S / 2, 10, 10, 1));
	take(l, side_exit(&rec, 9 * S + S / 2, 20, 20, 1));
	take(l, side_exit(&rec, 11 * S, 30, 30, 1));
	take(l, side_fork(&rec, 21 * S, 40, 40, 1, 1)); /* begins after */
	take(l, side_exit(&rec, 22 * S, 1, 1, 0));	/* ends after */
	r = round_trip(l, set, 10 * S, 20 * S, &file);
	assert_int_equal(history_load(r, &p, NULL), 0);
	assert_int_equal(history_nr_tasks(p), 3);
	assert_non_null(history_task(p, 1, 15 * S));
	assert_int_equal(history_task(p, 1, 15 * S)->exit_ns, 0);
	assert_int_equal(history_task(p, 1, 15 * S)->flags, 0);
	t = history_task(p, 30, 10 * S);
	assert_non_null(t);
	assert_int_equal(t->start_ns, 2 * S);
	assert_int_equal(t->exit_ns, 11 * S);
	assert_int_equal(t->ppid, 1);
	assert_int_equal(t->uid, UINT32_MAX);
	assert_int_equal(t->flags, FMT_TASK_SAMPLED);
	assert_non_null(history_task(p, 20, 10 * S));
	assert_null(history_task(p, 10, 10 * S));
	assert_null(history_task(p, 40, 30 * S));
	assert_string_equal(history_comm(p, 30, 10 * S), "init");
	history_free(p);
	reader_close(r);
	free(file);
	tidset_free(set);
	ledger_free(l);
}

static void mappings_of_sampled_processes_are_written(void **state)
{
	static const uint8_t id[20] = {0xab, 1, 2, 3};
	static const uint32_t tids[] = {11};
	struct tidset *set = set_of(tids, 1);
	struct ledger *l = new_ledger();
	struct history_map m;
	struct process_history *p;
	struct reader *r;
	void *file;

	mapped(l, 1 * S, 10, 0x1000, 0x3000, "/old", NULL);
	take(l, side_comm(&rec, 3 * S, 10, 10, "x", true));
	mapped(l, 4 * S, 10, 0x1000, 0x5000, "/bin/x", id);
	mapped(l, 5 * S, 10, 0x2000, 0x3000, "/lib/y", NULL);
	take(l, side_fork(&rec, 6 * S, 10, 11, 10, 10));
	take(l, side_exit(&rec, 7 * S, 10, 10, 1)); /* the leader; its thread goes on */
	mapped(l, 1 * S, 20, 0x1000, 0x3000, "/other", NULL);
	r = round_trip(l, set, 3 * S, 20 * S, &file);
	assert_int_equal(history_load(r, &p, NULL), 0);
	assert_true(history_map(p, 11, 8 * S, 0x1000, &m));
	assert_string_equal(m.path, "/bin/x");
	assert_int_equal(m.build_id_bytes, 20);
	assert_memory_equal(m.build_id, id, 20);
	assert_int_equal(m.f.ns, 4 * S);
	assert_int_equal(m.f.end, 0x2000);
	assert_true(history_map(p, 11, 8 * S, 0x3000, &m));
	assert_int_equal(m.f.pgoff, 0x2000);
	assert_true(history_map(p, 11, 8 * S, 0x2000, &m));
	assert_string_equal(m.path, "/lib/y");
	assert_int_equal(m.build_id_bytes, 0);
	assert_true(history_map(p, 10, 4 * S, 0x2000, &m));
	assert_string_equal(m.path, "/bin/x");
	assert_true(history_map(p, 10, 3 * S - 1, 0x1000, &m));
	assert_string_equal(m.path, "/old");
	assert_false(history_map(p, 20, 8 * S, 0x1000, &m));
	history_free(p);
	reader_close(r);
	free(file);
	tidset_free(set);
	ledger_free(l);
}

/* ---- the other items ---- */

struct others {
	size_t nr_ksyms, nr_programs, nr_cgroups, nr_cmdlines;
	struct fmt_bpf program;
	struct fmt_ksym ksym;
	char name[32], cgroup[32];
	uint32_t key;
	struct bytes cmdline;
	char args[32];
};

static void other_item(void *ctx, size_t block, uint16_t kind, struct bytes item)
{
	struct others *o = ctx;
	uint64_t id;

	if (kind == FMT_LEDGER_KSYM) {
		o->nr_ksyms++;
		assert_true(bytes_get(&item, &o->ksym, sizeof(o->ksym)));
		memcpy(o->name, item.p, item.len);
	} else if (kind == FMT_LEDGER_BPF) {
		o->nr_programs++;
		assert_true(bytes_get(&item, &o->program, sizeof(o->program)));
	} else if (kind == FMT_LEDGER_CGROUP) {
		o->nr_cgroups++;
		assert_true(bytes_u64(&item, &id));
		assert_int_equal(id, 77);
		memcpy(o->cgroup, item.p, item.len);
	} else if (kind == FMT_LEDGER_CMDLINE) {
		o->nr_cmdlines++;
		assert_true(bytes_u32(&item, &o->key));
		assert_int_equal(item.len, 9);
		memcpy(o->args, item.p, item.len);
	}
}

static void a_symbol_that_was_there_before_is_known_by_its_end(void **state)
{
	static const uint32_t tids[] = {10};
	struct tidset *set = set_of(tids, 1);
	struct ledger *l = new_ledger();
	struct others o = {0};
	struct reader *r;
	void *file;

	take(l, side_ksymbol(&rec, 7 * S, 0x100, 64, true, "bpf_prog_gone"));
	r = round_trip(l, set, 6 * S, 9 * S, &file);
	for_each_item(r, other_item, &o);
	assert_int_equal(o.nr_ksyms, 1);
	assert_string_equal(o.name, "bpf_prog_gone");
	assert_int_equal(o.ksym.ns, 0);
	assert_int_equal(o.ksym.end_ns, 7 * S);
	reader_close(r);
	free(file);
	tidset_free(set);
	ledger_free(l);
}

static void symbols_cgroups_and_arguments_are_written(void **state)
{
	static const uint32_t tids[] = {10};
	struct ledger_seen_task seen = {
		.tid = 10,
		.pid = 10,
		.start_ns = 1,
		.comm = "x",
		.cmdline = "prog\0-arg",
		.cmdline_bytes = 9,
	};
	static const uint8_t tag[8] = {0x6d, 0xee, 0, 0x35, 0x7e, 0x7b, 0x45, 0x30};
	struct tidset *set = set_of(tids, 1);
	struct ledger *l = new_ledger();
	struct others o = {0};
	struct reader *r;
	void *file;

	take(l, side_ksymbol(&rec, 1 * S, 0x100, 64, false, "bpf_prog_old"));
	take(l, side_ksymbol(&rec, 2 * S, 0x100, 64, true, "bpf_prog_old"));
	take(l, side_ksymbol(&rec, 3 * S, 0x100, 32, false, "bpf_prog_new"));
	take(l, side_bpf(&rec, 1 * S, 0x100, false, tag)); /* its id is the address of a symbol */
	take(l, side_bpf(&rec, 2 * S, 0x100, true, tag));
	take(l, side_bpf(&rec, 3 * S, 0x101, false, tag));
	take(l, side_bpf(&rec, 7 * S, 0x101, true, tag));
	take(l, side_cgroup(&rec, 3 * S, 77, "/system.slice"));
	take(l, side_cgroup(&rec, 4 * S, 77, "/system.slice"));
	ledger_seen_task(l, 5 * S, &seen);
	seen.tid = seen.pid = 20;
	ledger_seen_task(l, 5 * S, &seen);
	r = round_trip(l, set, 6 * S, 9 * S, &file);
	for_each_item(r, other_item, &o);
	assert_int_equal(o.nr_ksyms, 1);
	assert_int_equal(o.ksym.addr, 0x100);
	assert_int_equal(o.ksym.bytes, 32);
	assert_int_equal(o.ksym.ns, 3 * S);
	assert_int_equal(o.ksym.end_ns, 0);
	assert_string_equal(o.name, "bpf_prog_new");
	assert_int_equal(o.nr_programs, 1);
	assert_int_equal(o.program.id, 0x101);
	assert_memory_equal(o.program.tag, tag, 8);
	assert_int_equal(o.program.ns, 3 * S);
	assert_int_equal(o.program.end_ns, 7 * S);
	assert_int_equal(o.nr_cgroups, 1);
	assert_string_equal(o.cgroup, "/system.slice");
	assert_int_equal(o.nr_cmdlines, 1);
	assert_memory_equal(o.args, "prog\0-arg", 9);
	reader_close(r);
	free(file);
	tidset_free(set);
	ledger_free(l);
}

/* ---- where tasks were ---- */

static void namespaces_and_cgroups_are_written(void **state)
{
	struct ledger_seen_task seen = {
		.tid = 10, .pid = 10, .start_ns = 1, .comm = "x", .cgroup = "/a"};
	struct ledger *l = new_ledger();
	const struct fmt_task *t;
	struct process_history *p;
	struct reader *r;
	void *file;

	ledger_seen_task(l, 1 * S, &seen);
	take(l, side_namespaces(&rec, 2 * S, 10, 10, 100, 7));
	take(l, side_fork(&rec, 3 * S, 10, 11, 10, 10)); /* stays with its leader */
	take(l, side_fork(&rec, 3 * S, 10, 12, 10, 10));
	take(l, side_namespaces(&rec, 4 * S, 10, 12, 200, 7));
	take(l, side_namespaces(&rec, 5 * S, 10, 12, 300, 7));
	take(l, side_fork(&rec, 6 * S, 20, 20, 10, 12));
	seen.cgroup = "/b";
	ledger_seen_task(l, 7 * S, &seen);
	r = round_trip(l, NULL, 4 * S + 1, 9 * S, &file);
	assert_int_equal(history_load(r, &p, NULL), 0);
	t = history_task(p, 11, 8 * S);
	assert_int_equal(history_namespace(p, t, 8 * S, FMT_NS_NET), 100);
	assert_int_equal(history_namespace(p, t, 8 * S, FMT_NS_CGROUP), 106);
	assert_string_equal(history_cgroup(p, t, 7 * S - 1), "/a");
	assert_string_equal(history_cgroup(p, t, 7 * S), "/b");
	t = history_task(p, 12, 8 * S);
	assert_int_equal(history_namespace(p, t, 4 * S + 1, FMT_NS_PID), 203);
	assert_int_equal(history_namespace(p, t, 5 * S, FMT_NS_PID), 303);
	t = history_task(p, 20, 8 * S);
	assert_int_equal(history_namespace(p, t, 6 * S, FMT_NS_MNT), 305);
	assert_string_equal(history_cgroup(p, t, 6 * S), "/a");
	history_free(p);
	reader_close(r);
	free(file);
	ledger_free(l);
}

struct stays {
	size_t nr_spaces, nr_sets, nr_cgroups, nr_guesses;
};

static void stay_item(void *ctx, size_t block, uint16_t kind, struct bytes item)
{
	struct stays *n = ctx;
	struct fmt_stay f;

	n->nr_sets += kind == FMT_LEDGER_NAMESPACES;
	if (kind != FMT_LEDGER_TASK_NS && kind != FMT_LEDGER_TASK_CGROUP)
		return;
	assert_true(bytes_get(&item, &f, sizeof(f)));
	assert_int_equal(item.len, 0);
	n->nr_spaces += kind == FMT_LEDGER_TASK_NS;
	n->nr_cgroups += kind == FMT_LEDGER_TASK_CGROUP;
	n->nr_guesses += f.flags == FMT_STAY_INHERITED;
}

/* 100 processes of 3 threads that are all in one place: it is written once, and not for threads. */
static void what_tasks_share_is_written_once(void **state)
{
	struct ledger_seen_task seen = {
		.tid = 10, .pid = 10, .start_ns = 1, .comm = "x", .cgroup = "/a"};
	struct ledger *l = new_ledger();
	struct stays n = {0};
	struct reader *r;
	void *file;

	ledger_seen_task(l, 1 * S, &seen);
	take(l, side_namespaces(&rec, 1 * S, 10, 10, 100, 7));
	for (uint32_t pid = 100; pid < 400; pid += 3) {
		take(l, side_fork(&rec, 2 * S, pid, pid, 10, 10));
		take(l, side_namespaces(&rec, 2 * S + 1, pid, pid, 100, 7));
		for (uint32_t tid = pid + 1; tid < pid + 3; tid++) {
			take(l, side_fork(&rec, 3 * S, pid, tid, pid, pid));
			take(l, side_namespaces(&rec, 3 * S + 1, pid, tid, 100, 7));
		}
	}
	r = round_trip(l, NULL, 4 * S, 9 * S, &file);
	for_each_item(r, stay_item, &n);
	assert_int_equal(n.nr_sets, 1);
	assert_int_equal(n.nr_spaces, 101);
	assert_int_equal(n.nr_cgroups, 101);
	assert_int_equal(n.nr_guesses, 100); /* the cgroups of children */
	reader_close(r);
	free(file);
	ledger_free(l);
}

/* Thousands of them take several blocks, of which each must have what it refers to. */
static void places_are_known_in_every_block(void **state)
{
	struct ledger *l = new_ledger();
	size_t nr_blocks = 0;
	struct history_counts nr;
	struct process_history *p;
	struct reader *r;
	char cgroup[24];
	void *file;

	for (uint32_t pid = 10; pid < 6010; pid++) {
		struct ledger_seen_task seen = {
			.tid = pid, .pid = pid, .start_ns = 1, .comm = "x", .cgroup = cgroup};

		snprintf(cgroup, sizeof(cgroup), "/unit-%u", pid % 70);
		ledger_seen_task(l, 1 * S, &seen);
		take(l, side_namespaces(&rec, 2 * S, pid, pid, 100 * (1 + pid % 90), 7));
	}
	for (int i = 0; i < 2; i++) { /* twice: what the first noted must not leak */
		r = round_trip(l, NULL, 3 * S, 9 * S, &file);
		assert_int_equal(history_load(r, &p, NULL), 0);
		history_counts(p, &nr);
		assert_int_equal(nr.nr_broken, 0);
		for (uint32_t pid = 10; pid < 6010; pid++) {
			const struct fmt_task *t = history_task(p, pid, 4 * S);

			snprintf(cgroup, sizeof(cgroup), "/unit-%u", pid % 70);
			assert_string_equal(history_cgroup(p, t, 4 * S), cgroup);
			assert_int_equal(history_namespace(p, t, 4 * S, FMT_NS_UTS),
					 100 * (1 + pid % 90) + 1);
		}
		nr_blocks += reader_nr_blocks(r);
		history_free(p);
		reader_close(r);
		free(file);
	}
	assert_true(nr_blocks >= 6);
	ledger_free(l);
}

/* ---- blocks ---- */

struct blocks {
	size_t nr_blocks, nr_maps, last;
	uint32_t nr_paths; /* ids 1..nr_paths are in this block */
	char paths[10000][24];
};

static void block_item(void *ctx, size_t block, uint16_t kind, struct bytes item)
{
	struct blocks *b = ctx;
	struct fmt_path path;
	struct fmt_map map;
	char want[24];

	if (!b->nr_blocks || block != b->last) {
		b->nr_blocks++;
		b->nr_paths = 0;
		b->last = block;
	}
	if (kind == FMT_LEDGER_PATH) {
		assert_true(bytes_get(&item, &path, sizeof(path)));
		assert_int_equal(path.id, b->nr_paths + 1);
		memcpy(b->paths[b->nr_paths], item.p, item.len);
		b->paths[b->nr_paths++][item.len] = '\0';
	} else if (kind == FMT_LEDGER_MAP) {
		assert_true(bytes_get(&item, &map, sizeof(map)));
		assert_true(map.path && map.path <= b->nr_paths);
		snprintf(want, sizeof(want), "/lib/%u", (unsigned)(map.start >> 12) % 700);
		assert_string_equal(b->paths[map.path - 1], want);
		b->nr_maps++;
	}
}

static void each_block_has_the_paths_its_mappings_name(void **state)
{
	struct blocks *b = calloc(1, sizeof(*b));
	struct ledger *l = new_ledger();
	struct tidset *set;
	struct reader *r;
	char path[24];
	void *file;

	assert_int_equal(tidset_new(&set, NULL), 0);
	for (uint32_t pid = 10; pid < 30; pid++) {
		tidset_add(set, pid);
		for (unsigned i = 0; i < 1000; i++) {
			snprintf(path, sizeof(path), "/lib/%u", i % 700);
			mapped(l, S, pid, (uint64_t)i << 12, (uint64_t)(i + 1) << 12, path, NULL);
		}
	}
	/* Twice: what the first dump noted of blocks and ids must not leak into the second. */
	for (int i = 0; i < 2; i++) {
		memset(b, 0, sizeof(*b));
		r = round_trip(l, set, 0, 9 * S, &file);
		for_each_item(r, block_item, b);
		assert_int_equal(b->nr_maps, 20000);
		assert_true(b->nr_blocks >= 5);
		reader_close(r);
		free(file);
	}
	free(b);
	tidset_free(set);
	ledger_free(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tasks_of_the_window_are_written),
		cmocka_unit_test(a_symbol_that_was_there_before_is_known_by_its_end),
		cmocka_unit_test(mappings_of_sampled_processes_are_written),
		cmocka_unit_test(symbols_cgroups_and_arguments_are_written),
		cmocka_unit_test(namespaces_and_cgroups_are_written),
		cmocka_unit_test(what_tasks_share_is_written_once),
		cmocka_unit_test(places_are_known_in_every_block),
		cmocka_unit_test(each_block_has_the_paths_its_mappings_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
