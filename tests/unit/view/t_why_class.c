/* LAYERS: view dump base */
// SPDX-License-Identifier: MIT
/* What a thread waits for, by its stack: stacks as Linux 5.10 to 6.18 and the C libraries make them,
 * and stacks that look alike and are not. */
#include "dump/view/why/why_class.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#define MAX_FRAMES 16

/* Innermost first, separated by blanks; functions of the program are behind "|". */
static const struct {
	enum wait_class want;
	const char *stack;
} cases[] = {
	{WAIT_UNKNOWN, "schedule my_driver_wait __x64_sys_ioctl | main"},
	{WAIT_UNKNOWN, ""},
	{WAIT_OWN_SLEEP,
	 "schedule do_nanosleep hrtimer_nanosleep common_nsleep __x64_sys_clock_nanosleep | "
	 "clock_nanosleep back_off main"},
	{WAIT_ADDRESS_SPACE,
	 "schedule schedule_preempt_disabled rwsem_down_read_slowpath down_read "
	 "lock_mm_and_find_vma do_user_addr_fault exc_page_fault asm_exc_page_fault | lookup main"},
	{WAIT_ADDRESS_SPACE,
	 "schedule rwsem_down_write_slowpath down_write_killable vm_mmap_pgoff do_syscall_64 | "
	 "mmap main"},
	{WAIT_KERNEL_LOCK, "schedule rwsem_down_write_slowpath down_write my_driver_ioctl | main"},
	/* A fault that reads from a disk waits for the disk. */
	{WAIT_DISK,
	 "schedule io_schedule folio_wait_bit_common filemap_fault __do_fault handle_mm_fault "
	 "do_user_addr_fault exc_page_fault | main"},
	{WAIT_DIRECTORY, "schedule rwsem_down_write_slowpath down_write do_unlinkat "
			 "__x64_sys_unlink | unlink main"},
	{WAIT_DIRECTORY,
	 "schedule rwsem_down_write_slowpath down_write open_last_lookups path_openat do_filp_open "
	 "| open main"},
	{WAIT_FUSE,
	 "schedule request_wait_answer __fuse_simple_request fuse_lookup_name fuse_lookup "
	 "lookup_open path_openat | open main"},
	{WAIT_FSYNC,
	 "schedule io_schedule folio_wait_bit_common file_write_and_wait_range ext4_sync_file "
	 "__x64_sys_fsync | fsync main"},
	{WAIT_VFORK,
	 "schedule schedule_timeout wait_for_completion_state kernel_clone __do_sys_vfork | vfork"},
	{WAIT_FREEZER, "schedule get_signal arch_do_signal_or_restart do_syscall_64 | read main"},
	{WAIT_FREEZER, "schedule do_freezer_trap get_signal do_syscall_64 | read main"},
	{WAIT_DEBUGGER, "schedule ptrace_stop get_signal do_syscall_64 | read main"},
	{WAIT_PIPE, "schedule anon_pipe_read vfs_read ksys_read | read main"},
	{WAIT_PIPE_FULL, "schedule pipe_write vfs_write ksys_write | write main"},
	{WAIT_SOCKET,
	 "schedule schedule_timeout __skb_wait_for_more_packets udp_recvmsg inet_recvmsg | ask"},
	{WAIT_SEND, "schedule sk_stream_wait_memory tcp_sendmsg_locked tcp_sendmsg | send main"},
	{WAIT_POLL, "schedule schedule_hrtimeout_range ep_poll do_epoll_wait | epoll_wait loop"},
	{WAIT_CHILD, "schedule do_wait kernel_wait4 __x64_sys_wait4 | waitpid main"},
	/* Only the C library tells a lock from a condition. */
	{WAIT_LOCK, "schedule futex_wait_queue __futex_wait futex_wait do_futex __x64_sys_futex | "
		    "__GI___lll_lock_wait ___pthread_mutex_lock log_line main"},
	{WAIT_CONDITION,
	 "schedule futex_wait_queue __futex_wait futex_wait do_futex __x64_sys_futex | "
	 "__futex_abstimed_wait_common pthread_cond_wait take_job main"},
	{WAIT_FUTEX, "schedule futex_wait_queue __futex_wait do_futex __x64_sys_futex | main"},
	{WAIT_INTERPRETER,
	 "schedule futex_wait do_futex __x64_sys_futex | pthread_cond_timedwait take_gil main"},
	/* A function of the program with such a name is no lock of the kernel. */
	{WAIT_POLL, "schedule ep_poll do_epoll_wait | epoll_wait mutex_lock_later main"},
	{WAIT_SOCKET, "schedule unix_stream_read_generic sock_recvmsg | read take_gil main"},
};

/* Equal names are equal pointers, as call_chains.h has it. */
static const char *intern(const char *name, size_t n)
{
	static char names[256][64];
	static size_t nr;
	size_t i;

	assert_true(n < sizeof(names[0]));
	for (i = 0; i < nr; i++)
		if (strlen(names[i]) == n && !memcmp(names[i], name, n))
			return names[i];
	assert_true(nr < 256);
	memcpy(names[nr], name, n);
	return names[nr++];
}

static void test_classes(void **state)
{
	struct wait_classes *k = wait_classes_new(0);

	assert_non_null(k);
	/* Twice: the second time the functions are known. */
	for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(cases[0]); i++) {
		const char *p = cases[i / 2].stack;
		struct chain_frame frames[MAX_FRAMES] = {{0}};
		struct chain c = {.frames = frames};
		bool kernel = true;

		while (*p) {
			size_t n = strcspn(p, " ");

			assert_true(c.nr < MAX_FRAMES);
			if (*p == '|') {
				kernel = false;
			} else {
				frames[c.nr].function = intern(p, n);
				frames[c.nr++].kernel = kernel;
			}
			p += n + (p[n] == ' ');
		}
		if (wait_class_of_stack(k, c) != cases[i / 2].want)
			fail_msg("class %d, not %d: %s", wait_class_of_stack(k, c),
				 cases[i / 2].want, cases[i / 2].stack);
	}
	wait_classes_free(k);
}

static void test_words(void **state)
{
	for (int i = 0; i < NR_WAIT_CLASSES; i++) {
		assert_non_null(wait_words((enum wait_class)i)->what);
		assert_non_null(wait_words((enum wait_class)i)->whose);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_classes),
		cmocka_unit_test(test_words),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("why-class", tests, NULL, NULL);
}
