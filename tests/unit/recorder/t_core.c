/* LAYERS: recorder trigger kernel view dump base */
// SPDX-License-Identifier: MIT
/*
 * What is done with a core: core_pattern is worked out as the kernel does it, the head of a core is
 * read, whole, cut or damaged, and no user takes the workers of others.
 */
#include "recorder/coredump/core_head.h"
#include "recorder/coredump/core_pattern.h"
#include "recorder/coredump/core_workers.h"

#include <elf.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/procfs.h>
#include <cmocka.h>

/* ---- the pattern ---- */

static const struct core_names names = {.pid = 812,
					.tid = 815,
					.own_pid = 2,
					.own_tid = 5,
					.uid = 1000,
					.gid = 1001,
					.dumpable = 1,
					.sig = 11,
					.cpu = 3,
					.core_limit = UINT64_MAX,
					.real_s = 1700000000,
					.host = "web/1",
					.comm = "a b",
					.exe = "/opt/my app/shop (deleted)"};

static void expect(const char *pattern, bool uses_pid, const char *want)
{
	size_t args[CORE_PATTERN_ARGS], nr;
	struct buf b = {0};

	assert_int_equal(core_pattern_expand(pattern, &names, uses_pid, &b, args, &nr), 0);
	assert_string_equal((char *)b.p, want);
	buf_free(&b);
}

static void files_are_named_as_by_the_kernel(void **state)
{
	expect("core", false, "core");
	expect("core", true, "core.2");
	expect("core.%p", true, "core.2");
	expect("/c/%P.%I.%p.%i", false, "/c/812.815.2.5");
	expect("%u-%g-%d-%s-%t-%C", false, "1000-1001-1-11-1700000000-3");
	expect("%e", false, "a b");
	expect("%h", false, "web!1");
	expect("%E", false, "!opt!my app!shop (deleted)");
	expect("%f", false, "shop");
	expect("%c", false, "18446744073709551615");
	expect("100%%", false, "100%");
	expect("x%", false, "x");
	expect("x%y%F", false, "x");
}

static void names_are_one_component_of_a_path(void **state)
{
	static const struct {
		const char *comm, *want;
	} cases[] = {{"", "!"}, {".", "!"}, {"..", "!."}, {"../x", "..!x"}, {"...", "..."}};
	struct core_names n = names;
	size_t args[CORE_PATTERN_ARGS], nr;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct buf b = {0};

		strcpy(n.comm, cases[i].comm);
		assert_int_equal(core_pattern_expand("%e", &n, false, &b, args, &nr), 0);
		assert_string_equal((char *)b.p, cases[i].want);
		buf_free(&b);
	}
}

static void arguments_are_split_before_names_are_put_in(void **state)
{
	static const char *const want[] = {"/usr/bin/x", "812", "a b", "3", "--d=1"};
	size_t args[CORE_PATTERN_ARGS], nr;
	struct buf b = {0};

	assert_int_equal(
		core_pattern_expand("| /usr/bin/x  %P %e %F --d=%d ", &names, true, &b, args, &nr),
		0);
	assert_int_equal(nr, 5);
	for (size_t i = 0; i < nr; i++)
		assert_string_equal((char *)b.p + args[i], want[i]);
	buf_free(&b);
	assert_int_equal(core_pattern_expand("|", &names, true, &b, args, &nr), -EINVAL);
	buf_free(&b);
}

/* ---- the head ---- */

struct note {
	Elf64_Nhdr n;
	char name[8];
	struct elf_prstatus s;
} __attribute__((packed));

struct head {
	Elf64_Ehdr e;
	Elf64_Phdr p[2];
	struct note notes[3];
};

static void make(struct head *h)
{
	memset(h, 0, sizeof(*h));
	memcpy(h->e.e_ident, ELFMAG, SELFMAG);
	h->e.e_ident[EI_CLASS] = ELFCLASS64;
	h->e.e_type = ET_CORE;
#if defined(__aarch64__)
	h->e.e_machine = EM_AARCH64;
#else
	h->e.e_machine = EM_X86_64;
#endif
	h->e.e_phoff = sizeof(h->e);
	h->e.e_phentsize = sizeof(h->p[0]);
	h->e.e_phnum = 2;
	h->p[0].p_type = PT_NOTE;
	h->p[0].p_offset = offsetof(struct head, notes);
	h->p[0].p_filesz = sizeof(h->notes);
	for (int i = 0; i < 3; i++) {
		h->notes[i].n = (Elf64_Nhdr){5, sizeof(struct elf_prstatus), NT_PRSTATUS};
		memcpy(h->notes[i].name, "CORE", 5);
		h->notes[i].s.pr_pid = 40 + i;
		h->notes[i].s.pr_cursig = (short)(i ? 0 : SIGSEGV);
	}
}

/* As the worker does: reads what is said to be needed, until there is enough. */
static size_t read_up_to(const struct head *h, size_t max)
{
	size_t have = 0, need;
	int rc;

	while (!(rc = core_head_need((struct bytes){(const uint8_t *)h, have}, &need))) {
		assert_true(need > have);
		if (need > max)
			return have;
		have = need;
	}
	return rc == 1 ? have : 0;
}

static void a_head_is_read_step_by_step(void **state)
{
	struct core_head got;
	struct head h;

	make(&h);
	assert_int_equal(read_up_to(&h, sizeof(h)), offsetof(struct head, notes[3]));
	assert_int_equal(core_head_read((struct bytes){(uint8_t *)&h, sizeof(h)}, &got), 0);
	assert_int_equal(got.nr_threads, 3);
	assert_int_equal(got.sig, SIGSEGV);
	for (int i = 0; i < 3; i++)
		assert_int_equal(got.threads[i].own_tid, 40 + i);
	core_head_free(&got);
}

static void what_is_cut_has_the_threads_that_came(void **state)
{
	struct core_head got;
	struct head h;

	make(&h);
	for (size_t n = 0; n < sizeof(h); n++) {
		uint8_t *copy = malloc(n + 1);
		size_t want = n < offsetof(struct head, notes)
				      ? 0
				      : (n - offsetof(struct head, notes)) / sizeof(struct note);

		memcpy(copy, &h, n);
		if (!core_head_read((struct bytes){copy, n}, &got)) {
			assert_int_equal(got.nr_threads, want);
			core_head_free(&got);
		} else {
			assert_int_equal(want, 0);
		}
		free(copy);
	}
}

static void damage_is_survived(void **state)
{
	struct core_head got;
	struct head h;
	unsigned seed = 1;

	for (int i = 0; i < 20000; i++) {
		uint8_t *copy = malloc(sizeof(h));
		size_t need;

		make(&h);
		for (int k = 0; k < 1 + i % 4; k++) {
			seed = seed * 1103515245 + 12345;
			((uint8_t *)&h)[(seed >> 8) % (offsetof(struct head, notes[1]))] =
				(uint8_t)(seed >> 24);
		}
		memcpy(copy, &h, sizeof(h));
		core_head_need((struct bytes){copy, sizeof(h)}, &need);
		if (!core_head_read((struct bytes){copy, sizeof(h)}, &got))
			core_head_free(&got);
		free(copy);
	}
}

static void other_files_are_no_cores(void **state)
{
	struct head h;
	size_t need;

	make(&h);
	h.e.e_type = ET_EXEC;
	assert_int_equal(core_head_need((struct bytes){(uint8_t *)&h, sizeof(h)}, &need), -ENOEXEC);
	make(&h);
	h.e.e_ident[EI_CLASS] = ELFCLASS32;
	assert_int_equal(core_head_need((struct bytes){(uint8_t *)&h, sizeof(h)}, &need), -ENOEXEC);
	make(&h);
	h.p[0].p_filesz = UINT64_MAX;
	assert_int_equal(core_head_need((struct bytes){(uint8_t *)&h, sizeof(h)}, &need), -ENOEXEC);
}

/* ---- workers ---- */

/* `nr` crashes of a user; counts how they were served. */
static void crash(struct core_workers *w, uint32_t uid, int nr, int got[3])
{
	static pid_t pid = 100;

	memset(got, 0, 3 * sizeof(got[0]));
	for (int i = 0; i < nr; i++) {
		enum core_turn turn = core_workers_turn(w, uid);

		got[turn]++;
		if (turn != CORE_REFUSE)
			core_workers_add(w, ++pid, uid, turn);
	}
}

static void a_user_gets_a_quarter_of_the_workers(void **state)
{
	struct core_workers *w;
	int got[3];

	assert_int_equal(core_workers_new(256, &w), 0);
	crash(w, 1000, 400, got);
	assert_int_equal(got[CORE_HOLD], 64);
	assert_int_equal(got[CORE_DIRECT], 256);
	assert_int_equal(got[CORE_REFUSE], 80);
	crash(w, 1001, 1, got);
	assert_int_equal(got[CORE_HOLD], 1);
	core_workers_free(w);
}

static void users_leave_a_quarter_to_root(void **state)
{
	struct core_workers *w;
	int got[3];

	assert_int_equal(core_workers_new(256, &w), 0);
	for (uint32_t uid = 1; uid <= 1000; uid++)
		crash(w, uid, 2, got);
	assert_int_equal(got[CORE_REFUSE], 2);
	crash(w, 0, 64 + 256 + 1, got);
	assert_int_equal(got[CORE_HOLD], 64);
	assert_int_equal(got[CORE_DIRECT], 256);
	assert_int_equal(got[CORE_REFUSE], 1);
	core_workers_free(w);
}

static void a_worker_that_ended_is_free_again(void **state)
{
	struct core_workers *w;

	assert_int_equal(core_workers_new(4, &w), 0);
	core_workers_add(w, 7, 1000, CORE_HOLD);
	core_workers_remove(w, 8);
	assert_int_equal(core_workers_turn(w, 1000), CORE_DIRECT);
	core_workers_remove(w, 7);
	assert_int_equal(core_workers_turn(w, 1000), CORE_HOLD);
	core_workers_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_are_named_as_by_the_kernel),
		cmocka_unit_test(names_are_one_component_of_a_path),
		cmocka_unit_test(arguments_are_split_before_names_are_put_in),
		cmocka_unit_test(a_head_is_read_step_by_step),
		cmocka_unit_test(what_is_cut_has_the_threads_that_came),
		cmocka_unit_test(damage_is_survived),
		cmocka_unit_test(other_files_are_no_cores),
		cmocka_unit_test(a_user_gets_a_quarter_of_the_workers),
		cmocka_unit_test(users_leave_a_quarter_to_root),
		cmocka_unit_test(a_worker_that_ended_is_free_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
