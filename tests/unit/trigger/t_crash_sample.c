/* LAYERS: trigger kernel dump base */
// SPDX-License-Identifier: MIT
/*
 * Records of crashed threads: what reads a ring's samples reads them, the registers of a core and
 * of a signal handler are the thread's, and records that are none are told from those that are.
 */
#include "trigger/crash/crash_sample.h"

#include "dump/format/record.h"
#include "trigger/engine/evidence.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#include <elf.h>
#include <cmocka.h>

struct sample {
	_Alignas(8) uint8_t bytes[CRASH_SAMPLE_MAX];
	size_t len;
	struct record_sample s;
};

static struct bytes regs_of(const uint64_t *regs)
{
	return (struct bytes){(const uint8_t *)regs,
			      8 * (size_t)__builtin_popcountll(event_user_regs())};
}

static void make(struct sample *out, const uint64_t *regs, const uint8_t *stack, size_t n)
{
	struct crash_thread t = {7, 8, 1, 123456789, regs, stack, n};
	struct perf_event_attr a;
	struct record_layout l;

	crash_sample_attr(&a);
	l = (struct record_layout){a.sample_type, a.sample_regs_user, a.sample_id_all};
	out->len = crash_sample_make(&t, out->bytes);
	assert_true(out->len <= sizeof(out->bytes) && out->len % 8 == 0);
	assert_true(crash_sample_is_one((struct bytes){out->bytes, out->len}));
	assert_int_equal(record_sample((struct bytes){out->bytes, out->len}, &l, &out->s), 0);
}

static void a_record_is_read_as_a_sample(void **state)
{
	static uint8_t stack[CRASH_STACK_MAX + 99];
	uint64_t regs[EVENT_USER_REGS_MAX];
	static struct sample a;

	for (size_t i = 0; i < sizeof(stack); i++)
		stack[i] = (uint8_t)(i * 31);
	for (size_t i = 0; i < EVENT_USER_REGS_MAX; i++)
		regs[i] = 0x1000 + i;
	make(&a, regs, stack, 1003);
	assert_int_equal(a.s.pid, 7);
	assert_int_equal(a.s.tid, 8);
	assert_int_equal(a.s.cpu, 1);
	assert_int_equal(a.s.time, 123456789);
	assert_int_equal(a.s.regs_abi, PERF_SAMPLE_REGS_ABI_64);
	assert_memory_equal(a.s.regs, regs, regs_of(regs).len);
	assert_int_equal(a.s.stack.len, 1000);
	assert_memory_equal(a.s.stack.p, stack, 1000);
	make(&a, regs, stack, sizeof(stack));
	assert_int_equal(a.s.stack.len, CRASH_STACK_MAX);
	make(&a, regs, NULL, 0);
	assert_int_equal(a.s.stack.len, 0);
}

static ucontext_t *caught;
static uint64_t caught_regs[EVENT_USER_REGS_MAX];

static void handler(int sig, siginfo_t *si, void *context)
{
	event_regs_of_signal(context, caught_regs);
	caught = context;
}

static void registers_of_a_signal_are_those_of_the_thread(void **state)
{
	struct sigaction sa = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
	struct event_frame f;
	volatile int here = 0;

	sigaction(SIGUSR1, &sa, NULL);
	raise(SIGUSR1);
	assert_non_null(caught);
	assert_true(event_user_frame(regs_of(caught_regs), &f));
	assert_true(f.ip != 0);
	assert_true(f.sp > (uint64_t)&here - 65536 && f.sp < (uint64_t)&here + 65536);
}

/* A core's NT_PRSTATUS has what ptrace gives as NT_PRSTATUS. */
static void registers_of_a_core_are_those_of_the_thread(void **state)
{
	uint8_t raw[1024];
	struct iovec v = {raw, sizeof(raw)};
	uint64_t regs[EVENT_USER_REGS_MAX];
	struct event_frame f;
	int status, here = 0;
	pid_t pid = fork();

	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(ptrace(PTRACE_GETREGSET, pid, (void *)(long)NT_PRSTATUS, &v), 0);
	assert_true(event_regs_of_core((struct bytes){raw, v.iov_len}, regs));
	assert_true(event_user_frame(regs_of(regs), &f));
	assert_true(f.ip != 0);
	assert_true(f.sp > (uint64_t)&here - 65536 && f.sp < (uint64_t)&here + 65536);
	assert_false(event_regs_of_core((struct bytes){raw, 100}, regs));
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
}

static void what_is_no_record_is_refused(void **state)
{
	uint64_t regs[EVENT_USER_REGS_MAX] = {0};
	uint8_t stack[64] = {0};
	static struct sample a;
	struct bytes b;

	make(&a, regs, stack, sizeof(stack));
	for (size_t n = 0; n < a.len; n++) {
		b = (struct bytes){a.bytes, n};
		assert_false(crash_sample_is_one(b));
	}
	b = (struct bytes){a.bytes, a.len};
	a.bytes[a.len - 8] = 65; /* more used than there is */
	assert_false(crash_sample_is_one(b));
	a.bytes[a.len - 8] = 64;
	a.bytes[0] ^= 1; /* no sample */
	assert_false(crash_sample_is_one(b));
}

static void evidence_takes_them_and_late_lines(void **state)
{
	uint64_t regs[EVENT_USER_REGS_MAX] = {0};
	struct evidence *e;
	static struct sample a;
	size_t kind = 9;

	assert_int_equal(evidence_new(&e), 0);
	assert_int_equal(crash_sample_kind(e, &kind), 0);
	assert_string_equal(evidence_kind_at(e, kind)->name, CRASH_SAMPLE_NAME);
	make(&a, regs, NULL, 0);
	assert_int_equal(evidence_add(e, kind, 0, (struct bytes){a.bytes, a.len}), 0);
	for (int i = 0; i < EVIDENCE_MAX_LINES + 5; i++)
		evidence_say(e, "n=%d", i);
	assert_true(evidence_wait(e, 0));
	evidence_say(e, "late=1");
	assert_string_equal(evidence_line(e, 0), "n=0");
	assert_string_equal(evidence_line(e, EVIDENCE_MAX_LINES - 1), "n=15");
	assert_null(evidence_line(e, EVIDENCE_MAX_LINES));
	evidence_put(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_record_is_read_as_a_sample),
		cmocka_unit_test(registers_of_a_signal_are_those_of_the_thread),
		cmocka_unit_test(registers_of_a_core_are_those_of_the_thread),
		cmocka_unit_test(what_is_no_record_is_refused),
		cmocka_unit_test(evidence_takes_them_and_late_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
