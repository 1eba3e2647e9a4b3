// SPDX-License-Identifier: MIT
/*
 * The sandbox; see sandbox.h. Called by cmd_dump.c, symbols_child.c, privileges.c and doctor_content.c.
 *
 * A system call that is not in the table of what is allowed, or that is in the table of what a recorder
 * never does, fails with EPERM: programs expect that, and a library that tries a newer call falls back to
 * an older one.
 */
#include "recorder/base/sandbox.h"

#include "dump/base/sanitized.h"
#include "trigger/kernel/settings.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/landlock.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Newer than the headers of Linux 6.1. */
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ull << 14)
#endif
#ifndef LANDLOCK_ACCESS_FS_IOCTL_DEV
#define LANDLOCK_ACCESS_FS_IOCTL_DEV (1ull << 15)
#endif

struct sandbox {
	int ruleset_fd; /* of Landlock; -1: the kernel has none */
};

/* Static: --no-sandbox is about the whole run. */
static bool off;

void sandbox_off(void)
{
	off = true;
}

bool sandbox_is_off(void)
{
	return off;
}

/* ---- Landlock: which files ---- */

int sandbox_landlock_version(void)
{
	long version =
		syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

	return version > 0 ? (int)version : 0;
}

/* All that this version of Landlock can forbid. */
static uint64_t all_access(void)
{
	int version = sandbox_landlock_version();
	uint64_t all = LANDLOCK_ACCESS_FS_MAKE_SYM * 2 - 1;

	if (version >= 2)
		all |= LANDLOCK_ACCESS_FS_REFER;
	if (version >= 3)
		all |= LANDLOCK_ACCESS_FS_TRUNCATE;
	if (version >= 5)
		all |= LANDLOCK_ACCESS_FS_IOCTL_DEV;
	return all;
}

struct sandbox *sandbox_new(void)
{
	struct landlock_ruleset_attr attr = {.handled_access_fs = all_access()};
	struct sandbox *s = malloc(sizeof(*s));

	if (s)
		s->ruleset_fd = (int)syscall(SYS_landlock_create_ruleset, &attr,
					     sizeof(attr.handled_access_fs), 0);
	return s;
}

void sandbox_read(struct sandbox *s, const char *path)
{
	struct landlock_path_beneath_attr rule = {.allowed_access = LANDLOCK_ACCESS_FS_READ_FILE};
	struct stat st;

	if (!s || s->ruleset_fd < 0)
		return;
	rule.parent_fd = open(path, O_PATH | O_CLOEXEC);
	if (rule.parent_fd < 0)
		return;
	if (!fstat(rule.parent_fd, &st) && S_ISDIR(st.st_mode))
		rule.allowed_access |= LANDLOCK_ACCESS_FS_READ_DIR;
	/* A pipe is refused as a rule; it is no file that Landlock guards. */
	syscall(SYS_landlock_add_rule, s->ruleset_fd, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
	close(rule.parent_fd);
}

/* ---- seccomp: which system calls ---- */

/* With any arguments: they reach nothing but this process and what it has open. */
static const int allowed[] = {
	/* what is open */
	SCMP_SYS(read),
	SCMP_SYS(readv),
	SCMP_SYS(pread64),
	SCMP_SYS(preadv),
	SCMP_SYS(write),
	SCMP_SYS(writev),
	SCMP_SYS(pwrite64),
	SCMP_SYS(pwritev),
	SCMP_SYS(lseek),
	SCMP_SYS(close),
	SCMP_SYS(dup),
	SCMP_SYS(dup2),
	SCMP_SYS(dup3),
	SCMP_SYS(fstat),
	SCMP_SYS(fstatfs),
	SCMP_SYS(fsync),
	SCMP_SYS(fdatasync),
	SCMP_SYS(ftruncate),
	SCMP_SYS(fallocate),
	SCMP_SYS(fadvise64),
	SCMP_SYS(flock),
	SCMP_SYS(getdents64),
	SCMP_SYS(poll),
	SCMP_SYS(ppoll),
	SCMP_SYS(recvmsg),
	SCMP_SYS(memfd_create),
	/* names of files */
	SCMP_SYS(stat),
	SCMP_SYS(lstat),
	SCMP_SYS(newfstatat),
	SCMP_SYS(statx),
	SCMP_SYS(access),
	SCMP_SYS(faccessat),
	SCMP_SYS(faccessat2),
	SCMP_SYS(readlink),
	SCMP_SYS(readlinkat),
	SCMP_SYS(getcwd),
	/* memory */
	SCMP_SYS(brk),
	SCMP_SYS(mmap),
	SCMP_SYS(munmap),
	SCMP_SYS(mremap),
	SCMP_SYS(mprotect),
	SCMP_SYS(madvise),
	SCMP_SYS(membarrier),
	/* threads, signals of its own, time */
	SCMP_SYS(futex),
	SCMP_SYS(set_robust_list),
	SCMP_SYS(rseq),
	SCMP_SYS(set_tid_address),
	SCMP_SYS(sched_yield),
	SCMP_SYS(sched_getaffinity),
	SCMP_SYS(sched_getparam),
	SCMP_SYS(sched_getscheduler),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
	SCMP_SYS(wait4),
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(rt_sigtimedwait),
	SCMP_SYS(sigaltstack),
	SCMP_SYS(restart_syscall),
	SCMP_SYS(nanosleep),
	SCMP_SYS(clock_nanosleep),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(clock_getres),
	SCMP_SYS(gettimeofday),
	SCMP_SYS(time),
	/* questions */
	SCMP_SYS(getpid),
	SCMP_SYS(gettid),
	SCMP_SYS(getppid),
	SCMP_SYS(getuid),
	SCMP_SYS(geteuid),
	SCMP_SYS(getgid),
	SCMP_SYS(getegid),
	SCMP_SYS(getrandom),
	SCMP_SYS(getrlimit),
	SCMP_SYS(getrusage),
	SCMP_SYS(sysinfo),
	SCMP_SYS(uname),
	SCMP_SYS(getcpu),
#if SANITIZED
	/* The leak checker stops all threads as a debugger does, from a process of its own. */
	SCMP_SYS(clone),
	SCMP_SYS(ptrace),
	SCMP_SYS(prctl),
	SCMP_SYS(tgkill),
	SCMP_SYS(open),
	SCMP_SYS(openat),
	SCMP_SYS(pipe),
	SCMP_SYS(pipe2),
	SCMP_SYS(kill),
	SCMP_SYS(prlimit64),
	SCMP_SYS(getdents),
#endif
};

#define CHANGES (O_ACCMODE | O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY))
#define NEW_SPACE                                                                                  \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |             \
	 CLONE_NEWPID | CLONE_NEWNET)

#define ALL_BITS UINT64_MAX

/* Only if the bits of this argument are so. */
static const struct {
	int call;
	unsigned argument;
	uint64_t mask, value;
} allowed_if[] = {
	{SCMP_SYS(open), 1, CHANGES, O_RDONLY},
	{SCMP_SYS(openat), 2, CHANGES, O_RDONLY},
	/* Not F_SETOWN: it makes the kernel send a signal to any process of the user. */
	{SCMP_SYS(fcntl), 1, ALL_BITS, F_GETFD},
	{SCMP_SYS(fcntl), 1, ALL_BITS, F_SETFD},
	{SCMP_SYS(fcntl), 1, ALL_BITS, F_GETFL},
	{SCMP_SYS(fcntl), 1, ALL_BITS, F_DUPFD},
	{SCMP_SYS(fcntl), 1, ALL_BITS, F_DUPFD_CLOEXEC},
	{SCMP_SYS(fcntl), 1, ALL_BITS, F_ADD_SEALS},
	/* Not TIOCSTI: it types on the user's terminal. */
	{SCMP_SYS(ioctl), 1, ALL_BITS, TCGETS},
	{SCMP_SYS(ioctl), 1, ALL_BITS, TIOCGWINSZ},
	{SCMP_SYS(prctl), 0, ALL_BITS, PR_SET_NAME},
	{SCMP_SYS(clone), 0, CLONE_THREAD | NEW_SPACE, CLONE_THREAD},
	{SCMP_SYS(prlimit64), 2, ALL_BITS, 0},
};

static int allow_if(scmp_filter_ctx filter, int call, unsigned argument, uint64_t mask,
		    uint64_t value)
{
	struct scmp_arg_cmp c = {argument, SCMP_CMP_MASKED_EQ, mask, value};

	return seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, call, 1, &c);
}

static int add_all(scmp_filter_ctx filter, bool names)
{
	int rc = allow_if(filter, SCMP_SYS(tgkill), 0, ALL_BITS, (uint64_t)getpid());

	for (size_t i = 0; i < sizeof(allowed_if) / sizeof(*allowed_if) && !rc; i++)
		rc = allow_if(filter, allowed_if[i].call, allowed_if[i].argument,
			      allowed_if[i].mask, allowed_if[i].value);
	for (size_t i = 0; i < sizeof(allowed) / sizeof(*allowed) && !rc; i++)
		rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, allowed[i], 0);
	/* What it opens for writing is not seen here: nobody may write anything. */
	if (!rc && names)
		rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(openat2), 0);
	/* Its flags are in memory, where a filter can't see them; the C library falls back to clone(). */
	if (!rc)
		rc = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
	return rc;
}

static void filter_calls(bool names)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));

	if (!filter)
		return;
	/* As a binary tree: a system call passes some ten instructions, not a hundred. */
	seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if (!add_all(filter, names))
		seccomp_load(filter);
	seccomp_release(filter);
}

/* What no recorder does, whatever its rules. Most of it takes capabilities that it has to keep. */
static const int denied[] = {
	/* another kernel, another root */
	SCMP_SYS(kexec_load),
	SCMP_SYS(kexec_file_load),
	SCMP_SYS(init_module),
	SCMP_SYS(finit_module),
	SCMP_SYS(delete_module),
	SCMP_SYS(reboot),
	SCMP_SYS(iopl),
	SCMP_SYS(ioperm),
	SCMP_SYS(mount),
	SCMP_SYS(umount2),
	SCMP_SYS(move_mount),
	SCMP_SYS(open_tree),
	SCMP_SYS(fspick),
	SCMP_SYS(mount_setattr),
	SCMP_SYS(pivot_root),
	SCMP_SYS(chroot),
	SCMP_SYS(unshare),
	/* settings of the machine */
	SCMP_SYS(swapon),
	SCMP_SYS(swapoff),
	SCMP_SYS(acct),
	SCMP_SYS(quotactl),
	SCMP_SYS(quotactl_fd),
	SCMP_SYS(sethostname),
	SCMP_SYS(setdomainname),
	SCMP_SYS(settimeofday),
	SCMP_SYS(clock_settime),
	SCMP_SYS(clock_adjtime),
	SCMP_SYS(adjtimex),
	SCMP_SYS(syslog),
	SCMP_SYS(vhangup),
	/* other processes, files by their number */
	SCMP_SYS(process_vm_writev),
	SCMP_SYS(process_madvise),
	SCMP_SYS(pidfd_getfd),
	SCMP_SYS(move_pages),
	SCMP_SYS(migrate_pages),
	SCMP_SYS(open_by_handle_at),
	SCMP_SYS(fanotify_init),
	/* parts of the kernel that attacks start with */
	SCMP_SYS(userfaultfd),
	SCMP_SYS(io_uring_setup),
	SCMP_SYS(io_uring_enter),
	SCMP_SYS(io_uring_register),
	SCMP_SYS(add_key),
	SCMP_SYS(request_key),
	SCMP_SYS(keyctl),
#if !SANITIZED
	SCMP_SYS(ptrace),
#endif
};

#define LOW_BITS UINT32_MAX /* all that the kernel reads of an int */

static const struct {
	int call;
	struct scmp_arg_cmp arg;
} denied_if[] = {
	/* Sockets are looked up in the network namespace that they are in. */
	{SCMP_SYS(setns), {1, SCMP_CMP_NE, CLONE_NEWNET, 0}},
	{SCMP_SYS(ioctl), {1, SCMP_CMP_MASKED_EQ, LOW_BITS, TIOCSTI}},
	{SCMP_SYS(ioctl), {1, SCMP_CMP_MASKED_EQ, LOW_BITS, TIOCLINUX}},
};

static int deny_all(scmp_filter_ctx filter, bool bpf)
{
	uint32_t no = SCMP_ACT_ERRNO(EPERM);
	int rc = bpf ? 0 : seccomp_rule_add(filter, no, SCMP_SYS(bpf), 0);

	for (size_t i = 0; i < sizeof(denied) / sizeof(*denied) && !rc; i++)
		rc = seccomp_rule_add(filter, no, denied[i], 0);
	for (size_t i = 0; i < sizeof(denied_if) / sizeof(*denied_if) && !rc; i++)
		rc = seccomp_rule_add_array(filter, no, denied_if[i].call, 1, &denied_if[i].arg);
	return rc;
}

void sandbox_enter_for_recorder(bool bpf)
{
	scmp_filter_ctx filter = off ? NULL : seccomp_init(SCMP_ACT_ALLOW);

	if (!filter)
		return;
	seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
	/* System calls of 32-bit programs, which --on-dump may run, fail and kill nothing. */
	seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(EPERM));
	if (!deny_all(filter, bpf))
		seccomp_load(filter);
	seccomp_release(filter);
}

bool sandbox_has_seccomp(void)
{
	uint32_t action = SECCOMP_RET_ERRNO;

	return !syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action);
}

/* ---- both ---- */

static uint64_t keep_capabilities(uint64_t kept)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct v[2];

	if (syscall(SYS_capget, &head, v))
		return 0;
	for (int i = 0; i < 2; i++) {
		v[i].permitted &= (uint32_t)(kept >> 32 * i);
		v[i].effective = v[i].permitted;
		v[i].inheritable = 0;
	}
	syscall(SYS_capset, &head, v);
	return v[0].permitted | (uint64_t)v[1].permitted << 32;
}

uint64_t sandbox_keep_capabilities(uint64_t kept)
{
	/* Root would get all of them back by exec. */
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	for (unsigned cap = 0; cap < 64; cap++)
		if (!(kept & 1ull << cap))
			prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
	return keep_capabilities(kept);
}

void sandbox_enter(struct sandbox *s)
{
	if (off || !s)
		goto out;
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	/* Root reads everybody's dumps; Landlock says which. */
	keep_capabilities(1ull << CAP_DAC_READ_SEARCH);
	/* The C library asks for the number of CPUs, and whether freed memory is to be returned. */
	sandbox_read(s, "/sys/devices/system/cpu/online");
	sandbox_read(s, "/proc/sys/vm/overcommit_memory");
	if (SANITIZED)
		sandbox_read(s, "/proc");
	if (s->ruleset_fd >= 0)
		syscall(SYS_landlock_restrict_self, s->ruleset_fd, 0);
	filter_calls(false);
out:
	if (s && s->ruleset_fd >= 0)
		close(s->ruleset_fd);
	free(s);
}

/* Files of all users, /proc/PID/{root,maps,mem}, map_files, kallsyms, kcore. */
#define NAMES_CAPABILITIES                                                                         \
	(1ull << CAP_DAC_READ_SEARCH | 1ull << CAP_SYS_PTRACE | 1ull << CAP_CHECKPOINT_RESTORE |   \
	 1ull << CAP_SYSLOG | 1ull << CAP_SYS_RAWIO)
#define NOBODY 65534

void sandbox_enter_for_names(void)
{
	if (off)
		return;
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (!geteuid()) {
		prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0);
		if (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
		    setresuid(NOBODY, NOBODY, NOBODY))
			errno = 0; /* in a user namespace without nobody it stays who it is */
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* a change of user takes it back */
	}
	keep_capabilities(NAMES_CAPABILITIES);
	filter_calls(true);
}
