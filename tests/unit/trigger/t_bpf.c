/* LAYERS: trigger kernel base */
// SPDX-License-Identifier: MIT
/* BPF without a compiler: jumps, mistakes, maps, what the verifier says; and where fields are. */
#include "trigger/bpf/bpf.h"

#include "dump/base/err.h"
#include "trigger/events/event_field.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

/* Loads and runs a program once, by BPF_PROG_TEST_RUN; what it returned. */
static uint32_t run(const struct bpf_code *c)
{
	struct err err = ERR_INIT;
	char packet[64] = "";
	union bpf_attr a;
	int fd;

	if (bpf_load(c, BPF_PROG_TYPE_SOCKET_FILTER, "test", &fd, &err))
		fail_msg("%s", err.what);
	memset(&a, 0, sizeof(a));
	a.test.prog_fd = (uint32_t)fd;
	a.test.data_in = (uintptr_t)packet;
	a.test.data_size_in = sizeof(packet);
	assert_int_equal(syscall(SYS_bpf, BPF_PROG_TEST_RUN, &a, sizeof(a)), 0);
	close(fd);
	return a.test.retval;
}

static void need_root(void)
{
	if (geteuid())
		skip();
}

static void jumps_go_where_labels_stand(void **state)
{
	struct bpf_code c = {0};
	int over = bpf_label(&c), end = bpf_label(&c), last = bpf_label(&c);

	need_root();
	bpf_move_imm(&c, BPF_REG_0, 1);
	bpf_imm64(&c, BPF_REG_1, 0x100000002ull); /* two slots */
	bpf_jump_imm(&c, BPF_JEQ, BPF_REG_0, 1, over);
	bpf_return(&c, 2);
	bpf_place(&c, over);
	bpf_move_imm(&c, BPF_REG_2, 2);
	bpf_jump_if(&c, BPF_JGT, BPF_REG_1, BPF_REG_2, end);
	bpf_return(&c, 3);
	bpf_place(&c, end);
	bpf_jump(&c, last);
	bpf_place(&c, last);
	bpf_return(&c, 77);
	assert_int_equal(run(&c), 77);
}

static void arithmetic_is_on_64_bits(void **state)
{
	struct bpf_code c = {0};

	need_root();
	bpf_imm64(&c, BPF_REG_6, 0xfedcba9876543210ull);
	bpf_put(&c, BPF_DW, BPF_REG_10, -8, BPF_REG_6);
	bpf_frame(&c, BPF_REG_7, -8);
	bpf_move_imm(&c, BPF_REG_1, 1);
	bpf_add_to(&c, BPF_REG_7, 0, BPF_REG_1);
	bpf_get(&c, BPF_DW, BPF_REG_8, BPF_REG_7, 0);
	bpf_alu_imm(&c, BPF_RSH, BPF_REG_8, 32);
	bpf_move(&c, BPF_REG_0, BPF_REG_8);
	bpf_get(&c, BPF_W, BPF_REG_9, BPF_REG_7, 0);
	bpf_alu(&c, BPF_XOR, BPF_REG_0, BPF_REG_9);
	bpf_put_imm(&c, BPF_W, BPF_REG_10, -16, 5);
	bpf_get(&c, BPF_W, BPF_REG_1, BPF_REG_10, -16);
	bpf_alu(&c, BPF_ADD, BPF_REG_0, BPF_REG_1);
	c.v[c.nr++] = (struct bpf_insn){.code = BPF_JMP | BPF_EXIT};
	assert_int_equal(run(&c), (0xfedcba98u ^ 0x76543211u) + 5);
}

static void mistakes_are_told_when_it_is_loaded(void **state)
{
	static struct bpf_code c;
	struct err err = ERR_INIT;
	int fd = -1;

	bpf_jump(&c, bpf_label(&c));
	bpf_return(&c, 0);
	assert_int_equal(bpf_load(&c, BPF_PROG_TYPE_KPROBE, "x", &fd, &err), -EINVAL);
	assert_non_null(strstr(err.what, "a label stands nowhere"));

	c = (struct bpf_code){0};
	for (int i = 0; i < BPF_CODE_MAX; i++)
		bpf_return(&c, 0);
	assert_int_equal(bpf_load(&c, BPF_PROG_TYPE_KPROBE, "x", &fd, &err), -EINVAL);
	assert_non_null(strstr(err.what, "too many instructions"));

	c = (struct bpf_code){0};
	for (int i = 0; i <= BPF_LABELS_MAX; i++)
		bpf_label(&c);
	assert_int_equal(bpf_load(&c, BPF_PROG_TYPE_KPROBE, "x", &fd, &err), -EINVAL);
	assert_non_null(strstr(err.what, "too many labels"));

	c = (struct bpf_code){0};
	fd = bpf_label(&c);
	bpf_place(&c, fd);
	bpf_place(&c, fd);
	assert_int_equal(bpf_load(&c, BPF_PROG_TYPE_KPROBE, "x", &fd, &err), -EINVAL);
	assert_non_null(strstr(err.what, "a label stands twice"));
}

static void the_verifier_says_why(void **state)
{
	struct bpf_code c = {0};
	struct err err = ERR_INIT;
	int fd = -1;

	need_root();
	bpf_get(&c, BPF_DW, BPF_REG_0, BPF_REG_3, 0);
	bpf_return(&c, 0);
	assert_true(bpf_load(&c, BPF_PROG_TYPE_KPROBE, "wrong", &fd, &err) < 0);
	assert_int_equal(fd, -1);
	assert_non_null(strstr(err.what, "the BPF program 'wrong'"));
	assert_non_null(strstr(err.what, "R3"));
}

static void maps_keep_what_they_are_given(void **state)
{
	const struct bpf_map_options o = {BPF_MAP_TYPE_HASH, 4, 8, 2, "test"};
	uint32_t key = 7, next;
	uint64_t value = 70, got = 0;
	int fd;

	need_root();
	assert_int_equal(bpf_map_open(&o, &fd, NULL), 0);
	assert_int_equal(bpf_map_next(fd, NULL, &next), -ENOENT);
	assert_int_equal(bpf_map_set(fd, &key, &value), 0);
	assert_int_equal(bpf_map_get(fd, &key, &got), 0);
	assert_int_equal(got, 70);
	assert_int_equal(bpf_map_next(fd, NULL, &next), 0);
	assert_int_equal(next, 7);
	assert_int_equal(bpf_map_next(fd, &key, &next), -ENOENT);
	assert_int_equal(bpf_map_set(fd, &(uint32_t){8}, &value), 0);
	assert_int_equal(bpf_map_set(fd, &(uint32_t){9}, &value), -E2BIG);
	assert_int_equal(bpf_map_delete(fd, &key), 0);
	assert_int_equal(bpf_map_get(fd, &key, &got), -ENOENT);
	close(fd);
	assert_true(bpf_nr_cpus() >= (uint32_t)sysconf(_SC_NPROCESSORS_ONLN));
}

static void who_may_not_is_told_what_to_type(void **state)
{
	const struct bpf_map_options o = {BPF_MAP_TYPE_HASH, 4, 8, 2, "test"};
	struct err err = ERR_INIT;
	int status, fd;
	pid_t pid;

	need_root();
	pid = fork();
	if (!pid) {
		/* A user of no rights at all. */
		if (setgid(65534) || setuid(65534))
			_exit(1);
		_exit(bpf_map_open(&o, &fd, &err) == -EPERM && strstr(err.hint, "cap_bpf") ? 0 : 2);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void fields_are_where_the_format_says(void **state)
{
	struct err err = ERR_INIT;
	struct event_field f, v[8];
	unsigned nr;

	need_root();
	assert_int_equal(event_field_find("sched/sched_switch", "next_comm", &f, NULL), 0);
	assert_string_equal(f.name, "next_comm");
	assert_int_equal(f.bytes, 16);
	assert_true(f.offset >= 8 + 16 + 4);
	assert_int_equal(event_field_find("sched/sched_process_exec", "filename", &f, NULL), 0);
	assert_int_equal(f.bytes, 4);
	assert_int_equal(event_field_find("sched/sched_switch", "nothing", &f, &err), -ENOENT);
	assert_non_null(strstr(err.what, "nothing"));
	assert_int_equal(event_field_list("raw_syscalls/sys_enter", v, 8, &nr, NULL), 0);
	assert_int_equal(nr, 2);
	assert_string_equal(v[1].name, "args");
	assert_int_equal(v[1].bytes, 48);
	assert_int_equal(event_field_list("raw_syscalls/sys_enter", v, 1, &nr, NULL), 0);
	assert_int_equal(nr, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(jumps_go_where_labels_stand),
		cmocka_unit_test(arithmetic_is_on_64_bits),
		cmocka_unit_test(mistakes_are_told_when_it_is_loaded),
		cmocka_unit_test(the_verifier_says_why),
		cmocka_unit_test(maps_keep_what_they_are_given),
		cmocka_unit_test(who_may_not_is_told_what_to_type),
		cmocka_unit_test(fields_are_where_the_format_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
