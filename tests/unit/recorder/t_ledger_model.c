/* LAYERS: recorder trigger kernel view dump base */
// SPDX-License-Identifier: MIT
/*
 * With random histories, ledger and dump answer as a naive model of processes does: with records
 * alone, with scans of /proc between them, and with scans that are ahead of the records. Only of
 * mappings something is missing in the last case: what was mapped and replaced between a fork and a
 * scan that came before the record of that fork.
 */
#include "tests/helpers/ledger_model.h"
#include "tests/helpers/ledger_trip.h"

#define S 1000000000ull

/* ---- one question each ---- */

static void ask_ledger(struct model *m, const struct model_task *t, uint64_t ns)
{
	struct fmt_namespace v[LEDGER_MAX_NAMESPACES];
	char text[64];

	assert_true(ledger_comm(m->ledger, t->tid, ns, text));
	assert_string_equal(text, name_of(fact_at(&t->names, ns)));
	assert_int_equal(ledger_namespaces(m->ledger, t->tid, ns, v), 7);
	for (uint32_t i = 0; i < 7; i++) {
		assert_int_equal(v[i].kind, i);
		assert_int_equal(v[i].ino, inode_of(fact_at(&t->spaces, ns)) + i);
	}
}

/* Whether the ledger is right about a page. */
static bool ask_ledger_map(struct model *m, const struct model_task *t, uint64_t ns, int page)
{
	int path = fact_at(&t->proc->pages[page], ns);
	uint64_t addr = ((uint64_t)page << 12) + 5;
	char text[64];

	if (!ledger_path(m->ledger, t->tid, ns, addr, text, sizeof(text)))
		return path < 0;
	return path >= 0 && !strcmp(text, path_of(path));
}

static void ask_dump(const struct process_history *p, const struct model_task *t, uint64_t ns)
{
	const struct fmt_task *task = history_task(p, t->tid, ns);

	assert_non_null(task);
	assert_string_equal(history_comm(p, t->tid, ns), name_of(fact_at(&t->names, ns)));
	for (uint32_t i = 0; i < 7; i++)
		assert_int_equal(history_namespace(p, task, ns, i),
				 inode_of(fact_at(&t->spaces, ns)) + i);
	assert_int_equal(history_namespace(p, task, ns, 7), 0);
}

/* As ask_ledger_map(); but just after an exec what it took away may still be told. */
static bool ask_dump_map(const struct process_history *p, const struct model_task *t, uint64_t ns,
			 int page)
{
	const struct facts *f = &t->proc->pages[page];
	int path = fact_at(f, ns);
	struct history_map map;

	if (!history_map(p, t->tid, ns, ((uint64_t)page << 12) + 5, &map))
		return path < 0;
	return path < 0 ? ns - fact_since(f, ns) < S : !strcmp(map.path, path_of(path));
}

/* ---- many ---- */

#define NR_QUESTIONS 5000

static void expect_few(const struct model *m, unsigned nr_wrong)
{
	unsigned most = m->scans && m->lags ? NR_QUESTIONS / 50 : 0;

	if (nr_wrong > most)
		fail_msg("%u of %u mappings are wrong", nr_wrong, NR_QUESTIONS);
}

static void ask_the_ledger(struct model *m, uint64_t from_ns)
{
	unsigned nr_wrong = 0;
	uint64_t ns;
	char text[64];

	for (int i = 0; i < NR_QUESTIONS; i++) {
		const struct model_task *t = moment(m, from_ns, &ns);

		ask_ledger(m, t, ns);
		nr_wrong += !ask_ledger_map(m, t, ns, rnd(m, NR_PAGES));
	}
	expect_few(m, nr_wrong);
	for (size_t i = 0; i < m->nr_looks; i++) {
		const struct model_look *look = &m->looks[i];

		if (look->ns < from_ns)
			continue;
		assert_true(ledger_cgroup(m->ledger, look->tid, look->ns, text, sizeof(text)));
		assert_string_equal(text, cgroup_of(look->cgroup));
	}
}

static void ask_a_dump(struct model *m, uint64_t from_ns)
{
	unsigned nr_wrong = 0;
	struct tidset *set;
	struct process_history *p;
	struct reader *r;
	uint64_t ns;
	void *file;

	assert_int_equal(tidset_new(&set, NULL), 0);
	for (uint32_t tid = 1; tid < NR_TIDS; tid++)
		tidset_add(set, tid);
	r = round_trip(m->ledger, set, from_ns, m->now, &file);
	assert_int_equal(history_load(r, &p, NULL), 0);
	for (int i = 0; i < NR_QUESTIONS; i++) {
		const struct model_task *t = moment(m, from_ns, &ns);

		ask_dump(p, t, ns);
		nr_wrong += !ask_dump_map(p, t, ns, rnd(m, NR_PAGES));
	}
	expect_few(m, nr_wrong);
	for (size_t i = 0; i < m->nr_looks; i++) {
		const struct model_look *look = &m->looks[i];

		if (look->ns >= from_ns)
			assert_string_equal(
				history_cgroup(p, history_task(p, look->tid, look->ns), look->ns),
				cgroup_of(look->cgroup));
	}
	history_free(p);
	reader_close(r);
	free(file);
	tidset_free(set);
}

static void ask(uint64_t first_seed, bool scans, bool lags)
{
	for (uint64_t seed = first_seed; seed < first_seed + 6; seed++) {
		struct model *m = model_run(seed, scans, lags);

		if (scans)
			assert_true(m->nr_scans > 3 && m->nr_looks > 100);
		ask_the_ledger(m, 0);
		ask_a_dump(m, 0);
		ledger_expire(m->ledger, m->now / 2);
		ask_the_ledger(m, m->now / 2);
		ask_a_dump(m, m->now / 2);
		model_free(m);
	}
}

static void with_records_alone(void **state)
{
	ask(1, false, false);
}

static void with_records_that_come_late(void **state)
{
	ask(11, false, true);
}

static void with_scans_between_the_records(void **state)
{
	ask(21, true, false);
}

static void with_scans_that_are_ahead_of_the_records(void **state)
{
	ask(31, true, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(with_records_alone),
		cmocka_unit_test(with_records_that_come_late),
		cmocka_unit_test(with_scans_between_the_records),
		cmocka_unit_test(with_scans_that_are_ahead_of_the_records),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
