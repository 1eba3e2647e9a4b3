// SPDX-License-Identifier: MIT
/* The table of functions behind why_class.h. */
#include "dump/view/why/why_class.h"

#include "dump/base/str.h"
#include "dump/view/base/row_map.h"
#include "dump/view/why/why_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FUTEX "futex_wait* __futex_wait do_futex *_sys_futex"

static const struct wait_words words[] = {
	[WAIT_UNKNOWN] = {NULL, "asleep", "for ", true},
	[WAIT_OWN_SLEEP] = {"own-sleep", "in a sleep of its own", "for ", true},
	[WAIT_POLL] = {NULL, "for events on its files and sockets", "for ", true},
	[WAIT_ACCEPT] = {NULL, "for a new connection", "for a connection from ", true},
	[WAIT_CONNECT] = {"no-connection", "for a connection to be accepted",
			  "for a connection to ", false},
	[WAIT_SOCKET] = {NULL, "for data from a socket", "for data from ", true},
	[WAIT_SEND] = {"backpressure", "to send to a socket whose buffer was full",
		       "to send to a socket whose buffer was full (backpressure), read by ", false},
	[WAIT_PIPE] = {NULL, "for data from a pipe", "for data from a pipe written by ", true},
	[WAIT_PIPE_FULL] = {"backpressure", "to write to a full pipe",
			    "to write to a full pipe (backpressure), read by ", false},
	[WAIT_TERMINAL] = {NULL, "for a terminal", "for a terminal used by ", true},
	[WAIT_CHILD] = {NULL, "for a child process", "for its child ", true},
	[WAIT_VFORK] = {"vfork", "in vfork() for exec or exit of its child",
			"in vfork() for exec or exit of its child ", false},
	[WAIT_SIGNAL] = {NULL, "for a signal", "for a signal from ", true},
	[WAIT_QUEUE] = {NULL, "for a message queue or semaphore", "for ", true},
	[WAIT_CONDITION] = {NULL, "for a condition or semaphore (futex)", "for ", true},
	[WAIT_FUTEX] = {NULL, "for a lock or condition (futex)", "for ", true},
	[WAIT_LOCK] = {"lock", "for a lock", "for a lock held by ", false},
	[WAIT_INTERPRETER] = {"interpreter-lock", "for the interpreter lock (GIL)",
			      "for the interpreter lock (GIL) held by ", false},
	[WAIT_ADDRESS_SPACE] = {"address-space-lock", "for the address-space lock (mmap_lock)",
				"for the address-space lock (mmap_lock) held by ", false},
	[WAIT_FUSE] = {"fuse", "for a user-space file system (FUSE)",
		       "for a user-space file system (FUSE) served by ", false},
	[WAIT_FILE_LOCK] = {"file-lock", "for a file lock", "for a file lock held by ", false},
	[WAIT_DIRECTORY] = {"directory-lock", "for the lock of a directory or inode",
			    "for the lock of a directory or inode held by ", false},
	[WAIT_FSYNC] = {"blocked", "for a disk", "for a disk and ", false},
	[WAIT_DISK] = {"blocked", "for a disk", "for a disk and ", false},
	[WAIT_RECLAIM] = {"memory-pressure", "for memory reclaim", "for memory reclaim by ", false},
	[WAIT_FREEZER] = {"frozen", "frozen by the cgroup freezer", "frozen until thawed by ",
			  false},
	[WAIT_DEBUGGER] = {"debugger", "stopped by a debugger (ptrace)",
			   "stopped by a debugger (ptrace), ", false},
	[WAIT_STOP] = {"stopped", "stopped by a signal", "stopped by a signal, until continued by ",
		       false},
	[WAIT_KERNEL_LOCK] = {"kernel-lock", "for a kernel lock", "for a kernel lock held by ",
			      false},
};

/*
 * The first row with a function in the stack decides. `under`: one of these must be in the stack,
 * too; names are separated by blanks.
 */
static const struct {
	enum wait_class class;
	enum { KERNEL, ANY } where; /* whose functions; `under` has the kernel's */
	const char *functions, *under;
} rows[] = {
	{WAIT_FREEZER, KERNEL, "do_freezer_trap __refrigerator cgroup_enter_frozen", NULL},
	{WAIT_DEBUGGER, KERNEL, "ptrace_stop", NULL},
	{WAIT_STOP, KERNEL, "do_signal_stop", NULL},
	{WAIT_FUSE, KERNEL,
	 "request_wait_answer fuse_get_req fuse_simple_request __fuse_simple_request", NULL},
	{WAIT_VFORK, KERNEL, "wait_for_vfork_done", NULL},
	{WAIT_VFORK, KERNEL, "wait_for_completion*",
	 "*_sys_vfork kernel_clone _do_fork *_sys_clone *_sys_clone3"},
	{WAIT_RECLAIM, KERNEL,
	 "try_to_free_pages try_to_free_mem_cgroup_pages reclaim_throttle throttle_direct_reclaim "
	 "shrink_lruvec",
	 NULL},
	{WAIT_ADDRESS_SPACE, KERNEL,
	 "rwsem_down_* mmap_read_lock* mmap_write_lock* vma_start_write* __vma_start_write "
	 "__vma_enter_locked",
	 "do_user_addr_fault exc_page_fault do_page_fault lock_mm_and_find_vma vm_mmap_pgoff "
	 "*vm_munmap *_sys_munmap do_mprotect_pkey *_sys_brk *_sys_madvise do_madvise* "
	 "*_sys_mremap "
	 "do_mlock *_sys_mlock* *_sys_munlock* *_sys_mincore *_sys_mbind exit_mm dup_mm* copy_mm "
	 "uprobe_mmap access_remote_vm __access_remote_vm proc_pid_cmdline* "
	 "m_start process_vm_rw* "
	 "get_user_pages* pin_user_pages* futex_wait* get_futex_key* mmap_*_lock* "
	 "userfaultfd_* *_sys_membarrier khugepaged* exec_mmap begin_new_exec"},
	{WAIT_DIRECTORY, KERNEL, "rwsem_down_* d_alloc_parallel",
	 "do_unlinkat filename_unlinkat do_rmdir *rename* open_last_lookups path_openat "
	 "lookup_open lookup_slow iterate_dir filename_create do_mkdirat do_symlinkat do_linkat "
	 "walk_component vfs_unlink start_dirop* lookup_noperm* path_parentat*"},
	{WAIT_FILE_LOCK, KERNEL,
	 "locks_lock_inode_wait* flock_lock_inode_wait posix_lock_inode_wait "
	 "fcntl_setlk* *_sys_flock",
	 NULL},
	{WAIT_FSYNC, KERNEL,
	 "*_sys_fsync *_sys_fdatasync *_sys_sync* do_fsync vfs_fsync_range *_sys_msync", NULL},
	{WAIT_DISK, KERNEL,
	 "io_schedule* blk_* bio_* submit_bio_wait folio_wait_* wait_on_page_* __wait_on_buffer "
	 "balance_dirty_pages* jbd2_* wait_on_bit_io wb_wait_for_completion nfs_* rq_qos_wait",
	 NULL},
	{WAIT_KERNEL_LOCK, KERNEL,
	 "rwsem_down_* __mutex_lock* mutex_lock* __down* down_write down_read percpu_down_* "
	 "percpu_rwsem_* *rt_mutex_* synchronize_rcu* wait_rcu* __synchronize_srcu",
	 NULL},
	/* do_freezer_trap() is often inlined. */
	{WAIT_FREEZER, KERNEL, "get_signal", NULL},
	{WAIT_OWN_SLEEP, KERNEL,
	 "hrtimer_nanosleep do_nanosleep common_nsleep* *_sys_nanosleep timerfd_read*", NULL},
	{WAIT_INTERPRETER, ANY,
	 "take_gil PyEval_RestoreThread PyEval_AcquireThread PyGILState_Ensure gvl_acquire* "
	 "rb_thread_*acquire* thread_sched_wait* *PyMutex_LockTimed",
	 FUTEX},
	{WAIT_LOCK, KERNEL, "futex_lock_pi*", NULL},
	/* Locks of PostgreSQL and MySQL, whose waiters sleep in their own ways. */
	{WAIT_LOCK, ANY, "ProcSleep WaitOnLock lock_wait_suspend_thread",
	 "ep_poll do_epoll_* do_poll* *do_semtimedop* " FUTEX},
	{WAIT_LOCK, ANY,
	 "*mutex_*lock* *mutex_lock* *lll_lock* *pthread_rwlock_* *spin_lock* *SRWLock* "
	 "*ObjectMonitor*enter* *LWLockAcquire* *unfairlock* *parking_lot*lock* *Mutex*lock*",
	 FUTEX},
	{WAIT_CONDITION, ANY,
	 "*cond_*wait* sem_*wait* *sem_*wait* *pthread_join* *park* __futex_abstimed_wait_common*",
	 FUTEX},
	{WAIT_FUTEX, KERNEL, FUTEX, NULL},
	{WAIT_CHILD, KERNEL, "do_wait kernel_wait4 kernel_waitid *_sys_wait*", NULL},
	{WAIT_SIGNAL, KERNEL,
	 "do_sigtimedwait sigsuspend *_sys_pause *_sys_rt_sigsuspend signalfd_read*", NULL},
	{WAIT_QUEUE, KERNEL, "do_semtimedop* __do_semtimedop do_msgrcv do_msgsnd wq_sleep do_mq_*",
	 NULL},
	{WAIT_ACCEPT, KERNEL, "inet_csk_accept unix_accept *_accept do_accept *_sys_accept*", NULL},
	{WAIT_CONNECT, KERNEL, "*_sys_connect *_connect", NULL},
	{WAIT_SEND, KERNEL,
	 "sk_stream_wait_memory sock_alloc_send_pskb unix_wait_for_peer sock_wait_for_wmem "
	 "tcp_sendmsg* *_sys_sendto *_sys_sendmsg unix_stream_sendmsg",
	 NULL},
	{WAIT_SOCKET, KERNEL,
	 "__skb_wait_for_more_packets sk_wait_data unix_stream_* unix_dgram_* tcp_recvmsg* "
	 "udp_recvmsg* sock_recvmsg *_sys_recv*",
	 NULL},
	{WAIT_PIPE_FULL, KERNEL, "pipe_write anon_pipe_write pipe_wait_writable", NULL},
	{WAIT_PIPE, KERNEL,
	 "pipe_read anon_pipe_read pipe_wait_readable fifo_open wait_for_partner", NULL},
	{WAIT_TERMINAL, KERNEL, "n_tty_* tty_*", NULL},
	{WAIT_POLL, KERNEL,
	 "ep_poll do_epoll_* do_poll* do_sys_poll do_select core_sys_select io_cqring_wait", NULL},
};

#define NR_ROWS (sizeof(rows) / sizeof(rows[0]))

_Static_assert(2 * NR_ROWS <= 64, "a bit for each list of names");

const struct wait_words *wait_words(enum wait_class c)
{
	return &words[c];
}

/* True when one of the names, separated by blanks, matches. */
static bool is_one_of(const char *function, const char *names)
{
	char one[64];
	size_t n;

	for (; names && *names; names += n + (names[n] == ' ')) {
		n = strcspn(names, " ");
		if (n >= sizeof(one))
			continue;
		memcpy(one, names, n);
		one[n] = '\0';
		if (str_glob(one, function))
			return true;
	}
	return false;
}

/* A function's rows: bit 2 * i: it is in row i; 2 * i + 1: in its `under`. */
struct function_rows {
	uint64_t key; /* twice the address of the name, plus 1 for the kernel's */
	uint64_t rows;
	bool known;
};

struct wait_classes {
	struct map functions; /* struct function_rows */
	uint8_t *chains;      /* by number of the chain: class + 1; 0: not looked up */
	size_t nr_chains;
};

static uint64_t rows_of(struct wait_classes *k, const struct chain_frame *f)
{
	uint64_t key = 2 * (uint64_t)(uintptr_t)f->function + f->kernel;
	struct function_rows *found = map_row(&k->functions, key);

	if (!found || found->known)
		return found ? found->rows : 0;
	found->known = true;
	for (size_t i = 0; i < NR_ROWS; i++) {
		if ((f->kernel || rows[i].where == ANY) &&
		    is_one_of(f->function, rows[i].functions))
			found->rows |= 1ull << 2 * i;
		if (f->kernel && is_one_of(f->function, rows[i].under))
			found->rows |= 2ull << 2 * i;
	}
	return found->rows;
}

enum wait_class wait_class_of_stack(struct wait_classes *k, struct chain c)
{
	uint64_t all = 0;

	for (size_t i = 0; i < c.nr; i++)
		if (c.frames[i].function)
			all |= rows_of(k, &c.frames[i]);
	for (size_t i = 0; i < NR_ROWS; i++)
		if (all >> 2 * i & 1 && (!rows[i].under || all >> 2 * i & 2))
			return rows[i].class;
	return WAIT_UNKNOWN;
}

struct wait_classes *wait_classes_new(size_t nr_chains)
{
	struct wait_classes *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	k->functions = MAP_INIT(struct function_rows);
	k->nr_chains = nr_chains + 1;
	k->chains = calloc(k->nr_chains, sizeof(*k->chains));
	if (k->chains)
		return k;
	free(k);
	return NULL;
}

void wait_classes_free(struct wait_classes *k)
{
	if (!k)
		return;
	map_free(&k->functions);
	free(k->chains);
	free(k);
}

enum wait_class wait_class_of(const struct why *w, uint32_t chain)
{
	struct wait_classes *k = w->classes;

	if (!chain || chain >= k->nr_chains)
		return WAIT_UNKNOWN;
	if (!k->chains[chain])
		k->chains[chain] =
			(uint8_t)(wait_class_of_stack(k, call_chains_get(w->a.chains, chain)) + 1);
	return k->chains[chain] - 1;
}
