/* LAYERS: view dump base */
// SPDX-License-Identifier: MIT
/*
 * The blame matrix: waits for a CPU on hand-made dumps, by control group, with known causes. In
 * every dump, with sensible events or not, the parts of a row add up to its waits and the rows to
 * the waits in the schedule, to the nanosecond. Names of control groups. (With real groups:
 * it_blame.sh.)
 */
#include "dump/view/schedule/blame.h"

#include "dump/view/analysis/analysis.h"
#include "dump/view/model/cgroup.h"
#include "dump/view/report/report.h"
#include "tests/helpers/why_story.h"

#define SHOP  "/system.slice/shop.service"
#define BATCH "/batch"

/* 7 and 8 are in SHOP, 9 in BATCH, the group of 5 is unknown. */
static struct story *begin_groups(void)
{
	struct story *s = begin();

	task(s, 5, 5, "unknown");
	task(s, 7, 7, "shop-a");
	task(s, 8, 8, "shop-b");
	task(s, 9, 9, "batch");
	mk_path(&s->d, 1, SHOP);
	mk_path(&s->d, 2, BATCH);
	mk_stay(&s->d, FMT_LEDGER_TASK_CGROUP, 7, 0, 1);
	mk_stay(&s->d, FMT_LEDGER_TASK_CGROUP, 8, 0, 1);
	mk_stay(&s->d, FMT_LEDGER_TASK_CGROUP, 9, 0, 2);
	return s;
}

/*
 * ms    1    100    130    150    160    165    200    290    300         2000
 * CPU 0 | 7   | 9    | 8    | idle | 5    | 7    | 9           | 7          |
 * 7           |------------- waits -------|              |waits|
 * 9                  |------------- waits -------|             |--- waits --|
 */
static struct story *shared_cpu(void)
{
	struct story *s = begin_groups();

	run(s, 0, 1 * MS, SLEEPS, 7);
	run(s, 0, 100 * MS, PREEMPT, 9);
	run(s, 0, 130 * MS, PREEMPT, 8);
	run(s, 0, 150 * MS, SLEEPS, 0);
	run(s, 0, 160 * MS, SLEEPS, 5);
	run(s, 0, 165 * MS, SLEEPS, 7);
	run(s, 0, 200 * MS, SLEEPS, 9);
	wake(s, 0, 290 * MS, HARDIRQ, 7, 0);
	run(s, 0, 300 * MS, PREEMPT, 7);
	return s;
}

/* ---- asking ---- */

struct asked {
	struct story *s;
	struct meta *m;
	struct analysis a;
	struct blame *b;
};

static uint64_t ready_ns(const struct schedule *s, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t sum = 0;

	for (uint32_t i = 1; i < schedule_nr_threads(s); i++)
		for (size_t k = 0; k < schedule_thread(s, i)->nr; k++) {
			const struct span *v = schedule_span(s, schedule_thread(s, i)->first + k);
			uint64_t from = v->from_ns > from_ns ? v->from_ns : from_ns;
			uint64_t to = v->to_ns < to_ns ? v->to_ns : to_ns;

			sum += v->state == SPAN_READY && to > from ? to - from : 0;
		}
	return sum;
}

static void check_sums(const struct asked *q, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t all = 0;

	for (size_t i = 0; i < blame_nr(q->b); i++) {
		const struct blame_row *r = blame_row(q->b, i);
		uint64_t parts = r->others_ns, others = 0;

		for (int k = 0; k < NR_BLAME_PARTS; k++)
			parts += r->part_ns[k];
		for (size_t k = 0; k < r->nr_others; k++) {
			others += r->others[k].ns;
			assert_non_null(r->others[k].path);
			assert_true(!r->path || strcmp(r->path, r->others[k].path) != 0);
			assert_true(!k || r->others[k - 1].ns >= r->others[k].ns);
		}
		assert_int_equal(parts, r->waited_ns);
		assert_int_equal(others, r->others_ns);
		assert_true(r->waited_ns > 0);
		assert_true(!i || r[-1].waited_ns >= r->waited_ns);
		all += r->waited_ns;
	}
	assert_int_equal(all, ready_ns(q->a.sched, from_ns, to_ns));
}

static struct asked blame(struct story *s, uint64_t from_ns, uint64_t to_ns)
{
	struct timeline_options opt = {.to_ns = UINT64_MAX, .cpu = -1};
	struct asked q = {.s = s, .a = {.r = finish(s)}};
	struct blame_input in = {.from_ns = from_ns, .to_ns = to_ns};
	struct timeline_record rec;
	struct timeline *t;

	q.a.m = q.m = mk_meta(q.a.r);
	assert_int_equal(analysis_open(&q.a, ANALYSIS_SCHEDULE, NULL), 0);
	assert_int_equal(timeline_open(q.a.r, q.m, &opt, &t, NULL), 0);
	while (timeline_next(t, &rec, NULL) > 0)
		assert_int_equal(schedule_feed(q.a.sched, &rec), 0);
	timeline_close(t);
	assert_int_equal(schedule_end(q.a.sched), 0);
	in.sched = q.a.sched;
	in.history = q.a.history;
	in.m = q.m;
	assert_int_equal(blame_new(&in, &q.b), 0);
	check_sums(&q, from_ns, to_ns);
	return q;
}

static void done(struct asked *q)
{
	struct reader *r = q->a.r;

	blame_free(q->b);
	analysis_close(&q->a);
	meta_free(q->m);
	mk_close(&q->s->d, r);
}

static const struct blame_row *row_of(const struct asked *q, const char *path)
{
	for (size_t i = 0; i < blame_nr(q->b); i++) {
		const char *p = blame_row(q->b, i)->path;

		if (p == path || (p && path && !strcmp(p, path)))
			return blame_row(q->b, i);
	}
	fail_msg("%s did not wait", path);
	return NULL;
}

/* All in ns. */
static void expect_row(const struct asked *q, const char *path, uint64_t own, uint64_t quota,
		       uint64_t idle, uint64_t unknown, uint64_t other)
{
	const struct blame_row *r = row_of(q, path);

	assert_int_equal(r->part_ns[BLAME_OWN], own);
	assert_int_equal(r->part_ns[BLAME_QUOTA], quota);
	assert_int_equal(r->part_ns[BLAME_IDLE], idle);
	assert_int_equal(r->part_ns[BLAME_UNKNOWN], unknown);
	assert_int_equal(r->others_ns, other);
	assert_int_equal(r->nr_others, other > 0);
	assert_int_equal(r->waited_ns, own + quota + idle + unknown + other);
}

/* ---- who ran meanwhile ---- */

static void test_parts(void **state)
{
	struct asked q = blame(shared_cpu(), 0, UINT64_MAX);

	assert_int_equal(blame_nr(q.b), 2);
	expect_row(&q, SHOP, 20 * MS, 0, 10 * MS, 5 * MS, 30 * MS + 10 * MS);
	expect_row(&q, BATCH, 0, 0, 10 * MS, 5 * MS, 20 * MS + 35 * MS + 1700 * MS + 1000);
	assert_string_equal(row_of(&q, SHOP)->others[0].path, BATCH);
	assert_string_equal(row_of(&q, BATCH)->others[0].path, SHOP);
	done(&q);
}

/* Waits, and what ran, are cut to the time that is asked about. */
static void test_cut(void **state)
{
	struct asked q = blame(shared_cpu(), 110 * MS, 162 * MS);

	expect_row(&q, SHOP, 20 * MS, 0, 10 * MS, 2 * MS, 20 * MS);
	expect_row(&q, BATCH, 0, 0, 10 * MS, 2 * MS, 20 * MS);
	done(&q);
	q = blame(shared_cpu(), 210 * MS, 280 * MS);
	assert_int_equal(blame_nr(q.b), 0);
	done(&q);
}

/* Between 100 and 200 ms, and after 1 s, the switches of the CPU are missing. */
static void test_missing_switches(void **state)
{
	struct story *s = begin_groups();
	struct asked q;

	run(s, 0, 1 * MS, SLEEPS, 7);
	run(s, 0, 100 * MS, PREEMPT, 9);
	mk_lost(&s->rings[0], 150 * MS, 0, 3);
	run(s, 0, 200 * MS, SLEEPS, 7);
	run(s, 0, 1000 * MS, PREEMPT, 9);
	mk_lost(&s->rings[0], 1010 * MS, 0, 3);
	q = blame(s, 0, UINT64_MAX);
	expect_row(&q, SHOP, 0, 0, 0, 100 * MS + 1000 * MS + 1000, 0);
	done(&q);
}

/* A process is moved to another group: each wait counts for the group at its begin. */
static void test_moved(void **state)
{
	struct story *s = begin_groups();
	struct asked q;

	mk_stay(&s->d, FMT_LEDGER_TASK_CGROUP, 7, 150 * MS, 2);
	run(s, 0, 1 * MS, SLEEPS, 7);
	run(s, 0, 100 * MS, PREEMPT, 9);
	run(s, 0, 120 * MS, PREEMPT, 7);
	run(s, 0, 200 * MS, PREEMPT, 9);
	run(s, 0, 230 * MS, SLEEPS, 7);
	run(s, 0, 240 * MS, SLEEPS, 0);
	q = blame(s, 0, 240 * MS);
	expect_row(&q, SHOP, 0, 0, 0, 0, 20 * MS);
	/* 9 waited while 7 was in SHOP, at the begin of its run. */
	expect_row(&q, BATCH, 30 * MS, 0, 0, 0, 80 * MS);
	done(&q);
}

/* Threads of one process are no strangers, though nothing tells its group. */
static void test_unknown_group(void **state)
{
	struct story *s = begin_groups();
	struct asked q;

	mk_task(&s->d, 4, 4, 4, 1, 0, 0);
	mk_task(&s->d, 6, 6, 5, 1, 0, 0);
	run(s, 0, 1 * MS, SLEEPS, 5);
	run(s, 0, 100 * MS, PREEMPT, 6);
	run(s, 0, 105 * MS, SLEEPS, 4);
	run(s, 0, 110 * MS, SLEEPS, 9);
	run(s, 0, 130 * MS, SLEEPS, 5);
	run(s, 0, 140 * MS, SLEEPS, 0);
	q = blame(s, 0, UINT64_MAX);
	assert_int_equal(blame_nr(q.b), 1);
	expect_row(&q, NULL, 5 * MS, 0, 0, 5 * MS, 20 * MS);
	done(&q);
}

/* ---- the quota ---- */

/* 7 is taken off the CPU nine times for 70 ms, in which `next` runs. SHOP was throttled for
 * `throttled_ns`; 0: nothing is known of a quota. */
static struct story *limited(int next, uint64_t throttled_ns)
{
	struct fmt_cgroup g = {.version = 2,
			       .since_ns = MS,
			       .at_ns = HIT,
			       .quota_ns = 30 * MS,
			       .period_ns = 100 * MS,
			       .nr_throttled = 9,
			       .throttled_ns = throttled_ns};
	struct story *s = begin_groups();

	run(s, 0, 1 * MS, SLEEPS, 7);
	for (uint64_t ns = 1030 * MS; ns < 1900 * MS; ns += 100 * MS) {
		run(s, 0, ns, PREEMPT, next);
		run(s, 0, ns + 70 * MS, SLEEPS, 7);
	}
	run(s, 0, 1990 * MS, SLEEPS, 0);
	if (throttled_ns) {
		mk_cgroups(&s->d, MS, HIT);
		mk_cgroup(&s->d, &g, 7, SHOP);
	}
	return s;
}

static void test_quota(void **state)
{
	static const struct {
		int next;
		uint64_t throttled_ns, own, quota, idle, other;
	} cases[] = {
		{0, 630 * MS, 0, 630 * MS, 0, 0},
		{0, 0, 0, 0, 630 * MS, 0},
		/* The group was throttled for as long as 7 waited, so another that ran is innocent. */
		{9, 630 * MS, 0, 630 * MS, 0, 0},
		{9, 100 * MS, 0, 0, 0, 630 * MS},
		{9, 0, 0, 0, 0, 630 * MS},
		/* The group was not throttled while it ran. */
		{8, 630 * MS, 630 * MS, 0, 0, 0},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct asked q = blame(limited(cases[i].next, cases[i].throttled_ns), 0, HIT);

		expect_row(&q, SHOP, cases[i].own, cases[i].quota, cases[i].idle, 0,
			   cases[i].other);
		done(&q);
	}
}

/* ---- any events ---- */

static void test_nonsense(void **state)
{
	static const int tids[] = {0, 5, 7, 8, 9, 10};

	for (unsigned seed = 1; seed <= 200; seed++) {
		struct story *s = begin_groups();
		struct asked q;
		unsigned x = seed;

		for (uint64_t ns = MS; ns < HIT; ns += 1 + x % (3 * MS)) {
			int cpu = (int)(x >> 8) % NR_CPUS, tid = tids[(x >> 16) % 6];

			x = x * 1103515245 + 12345;
			if (x % 3 == 0)
				wake(s, cpu, ns, 0, tid, (int)(x >> 9) % NR_CPUS);
			else
				run(s, cpu, ns, x % 2 ? SLEEPS : PREEMPT, tid);
			if (x % 7 == 0)
				s->current[cpu] = tids[(x >> 11) % 6]; /* the switch is missing */
			if (x % 31 == 0)
				mk_lost(&s->rings[cpu], ns, 0, 1);
		}
		q = blame(s, seed % 2 ? 0 : 300 * MS, seed % 3 ? UINT64_MAX : 900 * MS);
		done(&q);
	}
}

/* ---- what is printed ---- */

static uint64_t number_of(json_t *row, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(row, key));
}

/* why --json has the matrix of the analyzed time, here the last second: 9 waited for 7. */
static void test_json(void **state)
{
	struct said said = ask(shared_cpu(), (struct why_options){0});
	json_t *rows = json_object_get(said.json, "blame"), *row = json_array_get(rows, 0);
	json_t *other = json_array_get(json_object_get(row, "others"), 0);
	const char *path = json_string_value(json_object_get(row, "cgroup"));

	assert_int_equal(json_array_size(rows), 1);
	assert_string_equal(path, BATCH);
	assert_int_equal(number_of(row, "waited_ns"), 1000 * MS);
	assert_int_equal(number_of(row, "own_ns"), 0);
	assert_string_equal(json_string_value(json_object_get(other, "name")), "shop");
	assert_int_equal(number_of(other, "ns"), 1000 * MS);
	expect(&said, "kind", text_of(&said, "kind"));
	expect_tid(&said, "asked_by", 7);
	forget(&said);
}

static char *report(struct story *s, unsigned width)
{
	struct report_options opt = {.to_ns = UINT64_MAX, .width = width};
	struct report_result res;
	struct reader *r = finish(s);
	struct meta *m = mk_meta(r);
	size_t len;
	char *text;
	FILE *out = open_memstream(&text, &len);

	assert_int_equal(report_print(r, m, &opt, out, &res, NULL), 0);
	fclose(out);
	meta_free(m);
	mk_close(&s->d, r);
	return text;
}

static void test_report(void **state)
{
	struct story *s;
	char *text = report(shared_cpu(), 80), *at = strstr(text, "RUN QUEUE BLAME");

	assert_non_null(at);
	assert_non_null(
		strstr(at, "\n  /batch                          1.77 s     0%     0%  shop 99%\n"));
	assert_non_null(
		strstr(at, "\n  shop                           75.0 ms    27%     0%  /batch 53%, "
			   "idle 13%\n"));
	free(text);
	/* One group that waits for itself: the threads' waits tell it all. */
	s = begin_groups();
	run(s, 0, 1 * MS, SLEEPS, 7);
	run(s, 0, 100 * MS, PREEMPT, 8);
	run(s, 0, 200 * MS, SLEEPS, 7);
	run(s, 0, 210 * MS, SLEEPS, 0);
	text = report(s, 80);
	assert_non_null(strstr(text, "RUN QUEUE LATENCY"));
	assert_null(strstr(text, "RUN QUEUE BLAME"));
	free(text);
}

/* ---- names ---- */

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void test_names(void **state)
{
	static const char *const cases[][2] = {
		{NULL, "unknown"},
		{"/", "/"},
		{"", ""},
		{"/shop/api", "/shop/api"},
		{"memory:/shop", "/shop"},
		{"/system.slice/postgresql.service", "postgresql"},
		{"name=systemd:/system.slice/ssh.service", "ssh"},
		{"/system.slice/docker.service/worker", "docker/worker"},
		{"/user.slice/user-1000.slice/user@1000.service/app.slice/make.scope", "make"},
		{"/user.slice/user-1000.slice/session-3.scope", "session-3"},
		{"/system.slice", "system"},
		{"/init.scope", "init"},
		{"/docker/" ID, "0123456789ab"},
		{"/system.slice/docker-" ID ".scope", "0123456789ab"},
		{"/system.slice/docker-" ID ".scope/init", "0123456789ab/init"},
		{"/machine.slice/libpod-" ID ".scope", "0123456789ab"},
		{"/machine.slice/libpod-" ID ".scope/container", "0123456789ab/container"},
		{"/kubepods.slice/kubepods-burstable.slice/"
		 "kubepods-burstable-pod1234abcd_56ef_7890_abcd_ef0123456789.slice/"
		 "cri-containerd-" ID ".scope",
		 "pod 1234abcd-56e/0123456789ab"},
		{"cpu,cpuacct:/kubepods/besteffort/pod1234abcd-56ef-7890-abcd-ef0123456789/" ID,
		 "pod 1234abcd-56e/0123456789ab"},
		{"/kubepods/pod0123456789abcdef0123456789abcdef", "pod 0123456789ab"},
		{"/docker/" ID "/kubepods/pod1234abcd-56ef-7890-abcd-ef0123456789",
		 "pod 1234abcd-56e"},
		{"/podcasts", "/podcasts"},
		{"/docker/0123", "/docker/0123"},
	};
	struct meta none = {0};
	char name[128];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(cgroup_name(name, sizeof(name), &none, cases[i][0]),
				    cases[i][1]);
	assert_string_equal(cgroup_name(name, 4, &none, "/docker/" ID), "012");
}

/* ---- names that the dump has ---- */

#define ID2  "ff23456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define UID  "1234abcd-56ef-7890-abcd-ef0123456789"
#define UID_ "1234abcd_56ef_7890_abcd_ef0123456789"
#define APP  "pod checkout-7d9, container app"

/* Paths as the kubelet (with its systemd and its cgroupfs driver), docker, podman, CRI-O, LXC and
 * nspawn make them, in hierarchies of version 2 and 1. ID is app in pod UID, ID2 is docker's web. */
static const char *const named[][2] = {
	{"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_
	 ".slice/cri-containerd-" ID ".scope",
	 APP},
	{"/kubepods.slice/kubepods-pod" UID_ ".slice/crio-" ID ".scope", APP},
	{"/kubepods.slice/kubepods-pod" UID_ ".slice/crio-" ID ".scope/container",
	 APP "/container"},
	{"/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" UID_
	 ".slice/docker-" ID ".scope",
	 APP},
	{"/kubepods/burstable/pod" UID "/" ID, APP},
	{"/kubepods/pod" UID "/" ID "/init.scope", APP "/init.scope"},
	{"cpu,cpuacct:/kubepods/besteffort/pod" UID "/" ID, APP},
	{"memory:/kubepods.slice/kubepods-pod" UID_ ".slice/cri-containerd-" ID ".scope", APP},
	{"/system.slice/containerd.service/kubepods-burstable-pod" UID_ ".slice:cri-containerd:" ID,
	 APP},
	{"/kubelet/kubepods/burstable/pod" UID "/" ID, APP},
	/* The pod alone, and a container of it that has no name. */
	{"/kubepods/burstable/pod" UID, "pod checkout-7d9"},
	{"/kubepods.slice/kubepods-pod" UID_ ".slice", "pod checkout-7d9"},
	{"/kubepods/pod" UID "/00" ID, "pod checkout-7d9/000123456789"},
	/* Another pod. */
	{"/kubepods/pod00" UID, "pod 001234abcd-5"},
	{"/docker/" ID2, "container web (docker)"},
	{"/docker/" ID2 "/worker", "container web/worker (docker)"},
	{"/system.slice/docker-" ID2 ".scope", "container web (docker)"},
	{"cpu,cpuacct:/docker/" ID2, "container web (docker)"},
	{"/machine.slice/libpod-" ID2 ".scope/container", "container web/container (docker)"},
	{"/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID2 ".scope",
	 "container web (docker)"},
	/* In a machine in a container. */
	{"/docker/" ID2 "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" UID_
	 ".slice/cri-containerd-" ID ".scope",
	 APP},
	{"/lxc.payload.db-1", "container db-1 (lxc)"},
	{"/lxc.payload.db-1/system.slice/mysql.service",
	 "container db-1/system.slice/mysql.service (lxc)"},
	{"cpu:/lxc/db-1", "container db-1 (lxc)"},
	{"/lxc.payload.db-1/docker/" ID2, "container web (docker)"},
	{"/machine.slice/systemd-nspawn@db-1.service", "container db-1 (nspawn)"},
	{"/machine.slice/systemd-nspawn@db-1.service/payload", "container db-1/payload (nspawn)"},
	{"/machine.slice/machine-db.scope", "machine-db"},
	{"/lxc.payload.", "/lxc.payload."},
	{"/system.slice/lxc.service", "lxc"},
	{"/lxc", "/lxc"},
	{"/", "/"},
	{NULL, "unknown"},
};

static void put_names(struct mk *d)
{
	static const char app[] = ID "\0containerd\0shop\0checkout-7d9\0app",
			  web[] = ID2 "\0docker\0\0\0web", pod[] = UID "\0\0shop\0checkout-7d9\0";

	mk_item(d, FMT_CGROUPS, FMT_CGROUP_NAMES, NULL, 0, web, sizeof(web));
	mk_item(d, FMT_CGROUPS, FMT_CGROUP_NAMES, NULL, 0, pod, sizeof(pod));
	mk_item(d, FMT_CGROUPS, FMT_CGROUP_NAMES, NULL, 0, app, sizeof(app));
}

static void test_containers(void **state)
{
	static const char cut[] = ID "\0docker\0\0wrong\0wrong";
	struct story *s = begin();
	struct reader *r;
	struct meta *m;
	char name[256], pod[CGROUP_ID_BYTES], container[CGROUP_ID_BYTES];

	put_names(&s->d);
	/* Without the last NUL it is not complete. */
	mk_item(&s->d, FMT_CGROUPS, FMT_CGROUP_NAMES, NULL, 0, cut, sizeof(cut) - 1);
	mk_item(&s->d, FMT_CGROUPS, FMT_CGROUP_NAMES, NULL, 0, NULL, 0);
	r = finish(s);
	m = mk_meta(r);
	assert_int_equal(m->nr_broken, 2);
	for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++)
		assert_string_equal(cgroup_name(name, sizeof(name), m, named[i][0]), named[i][1]);
	cgroup_ids(named[0][0], pod, container);
	assert_string_equal(pod, UID);
	assert_string_equal(container, ID);
	cgroup_ids("/lxc.payload.db-1", pod, container);
	assert_string_equal(pod, "");
	assert_string_equal(container, "");
	assert_true(cgroup_is_named(m, named[0][0]));
	assert_true(cgroup_is_named(m, "/kubepods/pod00" UID));
	assert_true(cgroup_is_named(m, "/lxc.payload.db-1"));
	assert_false(cgroup_is_named(m, "/docker/00" ID));
	assert_false(cgroup_is_named(m, "/system.slice/ssh.service"));
	assert_false(cgroup_is_named(m, NULL));
	meta_free(m);
	mk_close(&s->d, r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_missing_switches),
		cmocka_unit_test(test_moved),
		cmocka_unit_test(test_unknown_group),
		cmocka_unit_test(test_quota),
		cmocka_unit_test(test_nonsense),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_report),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_containers),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("blame", tests, NULL, NULL);
}
