/* LAYERS: trigger kernel base */
// SPDX-License-Identifier: MIT
/*
 * A tap on the real kernel: each record wakes, also through epoll sets within epoll sets and when
 * it comes just before the sleep; who is tapped; what is lost; tasks that end; CPUs that go.
 */
#include "trigger/events/wakeup_ring.h"

#include "dump/base/err.h"
#include "trigger/engine/evidence.h"
#include "trigger/kernel/clock.h"
#include "trigger/kernel/settings.h"
#include "trigger/engine/source.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

/* A private event: an obsolete syscall, with a number as its first argument.
 */
#define MAGIC	   0x72620000l
#define SYSCALL_NR SYS_lookup_dcookie

struct rig {
	struct event_list events;
	struct wakeup_ring *tap;
	int inner, outer; /* outer has inner, inner the tap */
};

static long hit(long n)
{
	return syscall(SYSCALL_NR, MAGIC + n, 0, 0);
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	assert_int_equal(sched_setaffinity(0, sizeof(set), &set), 0);
}

static void unpin(void)
{
	cpu_set_t all;

	memset(&all, 0xff, sizeof(all));
	sched_setaffinity(0, sizeof(all), &all);
}

/* raw_syscalls:sys_enter has common fields (8 bytes), id (8), args. */
static long number_of(const struct wakeup_ring_sample *s)
{
	uint64_t arg;

	assert_true(s->raw.len >= 24);
	memcpy(&arg, s->raw.p + 16, sizeof(arg));
	return (long)arg - MAGIC;
}

static int nest(int fd)
{
	struct epoll_event ev = {.events = EPOLLIN};
	int above = epoll_create1(EPOLL_CLOEXEC);

	assert_int_equal(epoll_ctl(above, EPOLL_CTL_ADD, fd, &ev), 0);
	return above;
}

static void rig_open(struct rig *r, struct wakeup_ring_options o)
{
	struct err err = ERR_INIT;
	char text[96];

	/* Other tests that run meanwhile make this call as well. */
	snprintf(text, sizeof(text), "raw_syscalls:sys_enter[id==%d && comm==\"%s\"]", SYSCALL_NR,
		 program_invocation_short_name);
	*r = (struct rig){0};
	if (event_parse(text, NULL, &r->events, &err))
		fail_msg("%s", err.what);
	o.event = r->events.v[0];
	if (wakeup_ring_open(&o, NULL, &r->tap, &err))
		fail_msg("%s; %s", err.what, err.hint);
	r->inner = nest(wakeup_ring_fd(r->tap));
	r->outer = nest(r->inner);
}

static void rig_close(struct rig *r)
{
	wakeup_ring_close(r->tap);
	close(r->inner);
	close(r->outer);
	event_list_free(&r->events);
}

static bool wakes(struct rig *r, int ms)
{
	struct epoll_event ev;

	return epoll_wait(r->outer, &ev, 1, ms) == 1;
}

/* The next record of ours; others may make that syscall, too. */
static bool next(struct rig *r, struct wakeup_ring_sample *s)
{
	struct err err = ERR_INIT;
	int rc;

	while ((rc = wakeup_ring_next(r->tap, s, &err)) == 1)
		if (number_of(s) >= 0 && number_of(s) < 1 << 24)
			return true;
	assert_int_equal(rc, 0);
	return false;
}

static int cpus(void)
{
	int n = 0;

	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		n += setting_cpu_online(cpu) ? 1 : 0;
	return n < 4 ? n : 4;
}

static void each_record_wakes_on_every_cpu(void **state)
{
	struct wakeup_ring_sample s;
	struct rig r;

	rig_open(&r, (struct wakeup_ring_options){0});
	assert_false(next(&r, &s));
	for (int i = 0; i < 50 * cpus(); i++) {
		uint64_t before = clock_ns();

		assert_false(wakes(&r, 0));
		pin(i % cpus());
		hit(i);
		assert_true(wakes(&r, 2000));
		assert_true(next(&r, &s));
		assert_int_equal(number_of(&s), i);
		assert_int_equal(s.cpu, i % cpus());
		assert_int_equal(s.pid, getpid());
		assert_int_equal(s.tid, gettid());
		assert_true(s.ns >= before && s.ns <= clock_ns());
		assert_false(next(&r, &s));
	}
	unpin();
	assert_int_equal(wakeup_ring_take_lost(r.tap), 0);
	rig_close(&r);
}

static void what_the_filter_does_not_match_wakes_nobody(void **state)
{
	struct wakeup_ring_sample s;
	struct rig r;

	rig_open(&r, (struct wakeup_ring_options){0});
	next(&r, &s);
	for (int i = 0; i < 20000; i++)
		syscall(SYS_getppid);
	assert_false(wakes(&r, 0));
	assert_false(next(&r, &s));
	rig_close(&r);
}

/* ---- a record that comes just before the sleep ---- */

struct pairs {
	long acked; /* atomic: hits that were read */
	long nr;
};

static void spin(long loops)
{
	for (long i = 0; i < loops; i++)
		__asm__ volatile("" ::: "memory");
}

static void *send_pairs(void *arg)
{
	struct pairs *p = arg;

	for (long i = 0; i < p->nr; i += 2) {
		hit(i);
		spin(i * 37 % 200000);
		hit(i + 1);
		while (__atomic_load_n(&p->acked, __ATOMIC_ACQUIRE) < i + 2)
			sched_yield();
	}
	return NULL;
}

static void a_record_before_the_sleep_is_not_overlooked(void **state)
{
	struct pairs p = {.nr = 6000};
	struct wakeup_ring_sample s;
	pthread_t thread;
	struct rig r;

	rig_open(&r, (struct wakeup_ring_options){0});
	next(&r, &s);
	pthread_create(&thread, NULL, send_pairs, &p);
	while (p.acked < p.nr) {
		if (!wakes(&r, 5000))
			fail_msg("after %ld records nothing wakes", p.acked);
		while (next(&r, &s))
			__atomic_add_fetch(&p.acked, 1, __ATOMIC_RELEASE);
	}
	pthread_join(thread, NULL);
	rig_close(&r);
}

/* What came before the epoll set was told of the tap is told by the first look. */
static void a_record_before_anybody_waits_is_read_first(void **state)
{
	struct wakeup_ring_sample s;
	struct rig r;

	rig_open(&r, (struct wakeup_ring_options){0});
	hit(1);
	close(r.outer);
	close(r.inner);
	r.inner = nest(wakeup_ring_fd(r.tap));
	r.outer = nest(r.inner);
	assert_true(next(&r, &s));
	assert_false(next(&r, &s));
	hit(2);
	assert_true(wakes(&r, 2000));
	rig_close(&r);
}

/* ---- much at once ---- */

static void records_are_whole_when_the_ring_wraps(void **state)
{
	struct wakeup_ring_sample s;
	struct rig r;

	pin(0);
	rig_open(&r,
		 (struct wakeup_ring_options){.ring_bytes = 4096, .sample_type = PERF_SAMPLE_IP});
	for (int i = 0; i < 3000;) {
		for (int n = 0; n < 7; n++)
			hit(i + n);
		for (int n = 0; n < 7; n++, i++) {
			assert_true(next(&r, &s));
			assert_int_equal(number_of(&s), i);
			assert_int_equal(s.tid, gettid());
		}
	}
	assert_false(next(&r, &s));
	assert_int_equal(wakeup_ring_take_lost(r.tap), 0);
	unpin();
	rig_close(&r);
}

static void what_does_not_fit_is_counted(void **state)
{
	struct wakeup_ring_sample s;
	uint64_t seen = 0, before;
	struct rig r;

	pin(0);
	rig_open(&r, (struct wakeup_ring_options){.ring_bytes = 4096});
	before = wakeup_ring_count(r.tap);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 1000; i++)
			hit(i);
		while (next(&r, &s))
			seen++;
		assert_in_range(seen, 1, 300);
		seen += wakeup_ring_take_lost(r.tap);
		assert_int_equal(seen, 1000);
		assert_int_equal(wakeup_ring_take_lost(r.tap), 0);
		seen = 0;
	}
	assert_in_range(wakeup_ring_count(r.tap) - before, 3000, 3010);
	for (int i = 0; i < 1000; i++)
		hit(i);
	assert_true(next(&r, &s));
	assert_int_equal(wakeup_ring_skip(r.tap), 999);
	assert_false(next(&r, &s));
	assert_int_equal(wakeup_ring_take_lost(r.tap), 0);
	hit(5);
	assert_true(wakes(&r, 2000));
	assert_true(next(&r, &s));
	unpin();
	rig_close(&r);
}

/* ---- traced tasks ---- */

/* A process that makes a hit for each byte it is sent, and ends with the pipe. */
static pid_t start_hitter(int *to, long number)
{
	int fds[2];
	pid_t pid;
	char c;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (!pid) {
		close(fds[1]);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (read(fds[0], &c, 1) == 1) {
			if (c == 'f' && !fork()) {
				hit(number + 1);
				_exit(0);
			}
			hit(number);
		}
		_exit(0);
	}
	close(fds[0]);
	*to = fds[1];
	return pid;
}

static void only_tasks_that_were_asked_for_are_seen(void **state)
{
	struct wakeup_ring_sample s;
	bool own = false, childs = false;
	int to, other;
	pid_t pid = start_hitter(&to, 10), stranger;
	struct rig r;

	stranger = start_hitter(&other, 20);
	rig_open(&r, (struct wakeup_ring_options){.tids = &pid, .nr_tids = 1, .inherit = true});
	next(&r, &s);
	hit(1);
	assert_int_equal(write(other, "x", 1), 1);
	assert_false(wakes(&r, 200));
	assert_int_equal(write(to, "f", 1), 1);
	while (!own || !childs) {
		assert_true(wakes(&r, 2000));
		while (next(&r, &s)) {
			own |= number_of(&s) == 10 && s.pid == (uint32_t)pid;
			childs |= number_of(&s) == 11 && s.pid != (uint32_t)pid;
			assert_in_range(number_of(&s), 10, 11);
		}
	}
	kill(pid, SIGKILL);
	kill(stranger, SIGKILL);
	close(to);
	close(other);
	waitpid(pid, NULL, 0);
	waitpid(stranger, NULL, 0);
	/* Its end may wake, but not for ever. */
	for (int i = 0; i < 20 && wakes(&r, 50); i++)
		next(&r, &s);
	assert_false(wakes(&r, 50));
	next(&r, &s);
	assert_true(wakeup_ring_ended(r.tap));
	rig_close(&r);
}

static void tasks_that_end_leave_the_others_awake(void **state)
{
	struct wakeup_ring_sample s;
	pid_t pids[3];
	struct rig r;
	int to[3];

	for (int i = 0; i < 3; i++)
		pids[i] = start_hitter(&to[i], 10 * i);
	rig_open(&r, (struct wakeup_ring_options){.tids = pids, .nr_tids = 3});
	next(&r, &s);
	for (int i = 0; i < 2; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
		for (int n = 0; n < 20 && wakes(&r, 50); n++)
			next(&r, &s);
		assert_false(wakes(&r, 50));
		assert_false(wakeup_ring_ended(r.tap));
		assert_int_equal(write(to[2], "x", 1), 1);
		assert_true(wakes(&r, 2000));
		assert_true(next(&r, &s));
		assert_int_equal(number_of(&s), 20);
		assert_false(next(&r, &s));
	}
	kill(pids[2], SIGKILL);
	waitpid(pids[2], NULL, 0);
	rig_close(&r);
	for (int i = 0; i < 3; i++)
		close(to[i]);
	/* None is left to be opened. */
	{
		struct wakeup_ring_options o = {.tids = pids, .nr_tids = 3};
		struct event_list list = {0};
		struct err err = ERR_INIT;
		struct wakeup_ring *t;

		assert_int_equal(event_parse("raw_syscalls:sys_enter", NULL, &list, &err), 0);
		o.event = list.v[0];
		assert_int_equal(wakeup_ring_open(&o, NULL, &t, &err), -ESRCH);
		assert_non_null(strstr(err.what, "no process or thread"));
		event_list_free(&list);
	}
}

/* ---- CPUs ---- */

static void a_cpu_goes_and_comes(void **state)
{
	int cpu = cpus() - 1;
	struct err err = ERR_INIT;
	struct wakeup_ring_sample s;
	uint64_t counted;
	struct rig r;

	rig_open(&r, (struct wakeup_ring_options){0});
	pin(cpu);
	hit(1);
	counted = wakeup_ring_count(r.tap);
	assert_true(counted >= 1);
	assert_true(wakeup_ring_cpu_fd(r.tap, cpu) >= 0);
	assert_int_equal(wakeup_ring_cpu(r.tap, cpu, false, &err), 0);
	assert_true(next(&r, &s));
	assert_int_equal(number_of(&s), 1);
	assert_false(next(&r, &s));
	assert_int_equal(wakeup_ring_cpu_fd(r.tap, cpu), -1);
	assert_true(wakeup_ring_count(r.tap) >= counted);
	hit(2);
	assert_false(wakes(&r, 50));
	assert_int_equal(wakeup_ring_cpu(r.tap, cpu, true, &err), 0);
	assert_true(wakeup_ring_cpu_fd(r.tap, cpu) >= 0);
	hit(3);
	assert_true(wakes(&r, 2000));
	assert_true(next(&r, &s));
	assert_int_equal(number_of(&s), 3);
	/* Told twice that it came: what the first ring holds is not lost. */
	hit(4);
	assert_int_equal(wakeup_ring_cpu(r.tap, cpu, true, &err), 0);
	assert_true(next(&r, &s));
	assert_int_equal(number_of(&s), 4);
	hit(5);
	assert_true(wakes(&r, 2000));
	assert_true(next(&r, &s));
	assert_int_equal(number_of(&s), 5);
	unpin();
	rig_close(&r);
}

/* ---- what is sampled ---- */

static void stack_and_registers_are_sampled(void **state)
{
	struct wakeup_ring_sample s;
	struct sighting what = {0};
	uint64_t word, user = 0;
	struct event_frame frame;
	struct event_call call;
	uint8_t here[64];
	struct rig r;

	memset(here, 0x5a, sizeof(here));
	__asm__ volatile("" : : "r"(here) : "memory");
	rig_open(&r, (struct wakeup_ring_options){.sample_type = PERF_SAMPLE_CALLCHAIN |
								 PERF_SAMPLE_STACK_USER,
						  .stack_bytes = 4096});
	hit(7);
	assert_true(wakes(&r, 2000));
	assert_true(next(&r, &s));
	assert_true(s.stack.len >= 512);
	assert_non_null(memmem(s.stack.p, s.stack.len, here, sizeof(here)));
	assert_true(event_user_frame(s.regs, &frame));
	assert_true(frame.sp < (uintptr_t)here && (uintptr_t)here - frame.sp < s.stack.len);
	assert_true(event_user_call(s.regs, &call));
	assert_int_equal(call.arg[0], MAGIC + 7);
	for (struct bytes b = s.chain; bytes_u64(&b, &word);)
		user += word == (uint64_t)PERF_CONTEXT_USER;
	assert_int_equal(user, 0); /* it is in the copy */
	wakeup_ring_sighting(r.tap, &s, &what);
	assert_int_equal(what.tid, gettid());
	assert_string_equal(what.comm, "t_wakeup_ring");
	assert_int_equal(what.nr_hits, 1);
	assert_int_equal(what.ns, s.ns);
	assert_true(what.stack_hash != 0);
	assert_int_equal(what.stack_hash, wakeup_ring_sample_hash(&s));
	assert_int_equal(evidence_nr(what.evidence), 1);
	assert_int_equal(evidence_at(what.evidence, 0).rec.len, s.rec.len);
	assert_memory_equal(evidence_at(what.evidence, 0).rec.p, s.rec.p, s.rec.len);
	assert_true(evidence_kind_at(what.evidence, 0)->attr.sample_type ==
		    wakeup_ring_attr(r.tap)->sample_type);
	sighting_fini(&what);
	rig_close(&r);
}

static void the_same_stack_elsewhere_has_the_same_hash(void **state)
{
	uint64_t a[] = {PERF_CONTEXT_KERNEL, 0xffffffff81000010, PERF_CONTEXT_USER, 0x7f0011223abc};
	uint64_t b[] = {PERF_CONTEXT_KERNEL, 0xffffffff81000010, PERF_CONTEXT_USER, 0x7e8877663abc};
	uint64_t c[] = {PERF_CONTEXT_KERNEL, 0xffffffff81000010, PERF_CONTEXT_USER, 0x7e8877663abd};
	uint64_t d[] = {PERF_CONTEXT_KERNEL, 0xffffffff81010010, PERF_CONTEXT_USER, 0x7e8877663abc};
#define HASH(v) wakeup_ring_stack_hash((struct bytes){(const uint8_t *)(v), sizeof(v)})
	assert_true(HASH(a) == HASH(b));
	assert_true(HASH(b) != HASH(c));
	assert_true(HASH(b) != HASH(d));
	assert_true(HASH(a) != 0);
	assert_true(wakeup_ring_stack_hash((struct bytes){0}) == 0);
}

/* A copied stack: a frame at its top, followed by its caller's. */
static uint64_t hash_copied(uint64_t at, uint64_t ip, uint64_t caller, uint64_t outer)
{
	uint64_t regs[EVENT_USER_REGS_MAX];
	uint64_t stack[] = {0, at + 32, caller, 77, 0, outer, 78};
	struct wakeup_ring_sample s = {.regs = {(const uint8_t *)regs, sizeof(regs)},
				       .stack = {(const uint8_t *)stack, sizeof(stack)}};
	struct event_frame where;

	for (size_t i = 0; i < EVENT_USER_REGS_MAX; i++)
		regs[i] = i;
	assert_true(event_user_frame(s.regs, &where));
	regs[where.ip] = ip;
	regs[where.sp] = at;
	regs[where.fp] = at + 8;
	return wakeup_ring_sample_hash(&s);
}

static void callers_in_a_copied_stack_count(void **state)
{
	uint64_t hash = hash_copied(0x7ff000, 0x1abc, 0x1200, 0x1300);

	assert_true(hash == hash_copied(0x9ff000, 0x2abc, 0x2200, 0x2300));
	assert_true(hash != hash_copied(0x7ff000, 0x1abd, 0x1200, 0x1300));
	assert_true(hash != hash_copied(0x7ff000, 0x1abc, 0x1201, 0x1300));
	assert_true(hash != hash_copied(0x7ff000, 0x1abc, 0x1200, 0x1301));
}

/* ---- what can't be opened ---- */

static void a_bad_filter_says_so(void **state)
{
	struct event_list list = {0};
	struct wakeup_ring_options o = {0};
	struct err err = ERR_INIT;
	struct wakeup_ring *t;

	assert_int_equal(event_parse("sched:sched_switch[no_such==1]", NULL, &list, &err), 0);
	o.event = list.v[0];
	assert_int_equal(wakeup_ring_open(&o, NULL, &t, &err), -EINVAL);
	assert_non_null(strstr(err.what, "refuses the filter [no_such==1]"));
	assert_true(err.hint[0]);
	event_list_free(&list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_record_wakes_on_every_cpu),
		cmocka_unit_test(what_the_filter_does_not_match_wakes_nobody),
		cmocka_unit_test(a_record_before_the_sleep_is_not_overlooked),
		cmocka_unit_test(a_record_before_anybody_waits_is_read_first),
		cmocka_unit_test(records_are_whole_when_the_ring_wraps),
		cmocka_unit_test(what_does_not_fit_is_counted),
		cmocka_unit_test(only_tasks_that_were_asked_for_are_seen),
		cmocka_unit_test(tasks_that_end_leave_the_others_awake),
		cmocka_unit_test(a_cpu_goes_and_comes),
		cmocka_unit_test(stack_and_registers_are_sampled),
		cmocka_unit_test(the_same_stack_elsewhere_has_the_same_hash),
		cmocka_unit_test(callers_in_a_copied_stack_count),
		cmocka_unit_test(a_bad_filter_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
