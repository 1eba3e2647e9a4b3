// SPDX-License-Identifier: MIT
/*
 * What runs in the sandbox reaches nothing: each way out is tried, by system calls, as code would that a
 * hostile dump or ELF file brought in.
 */
#include "recorder/base/sandbox.h"

#include "dump/base/sanitized.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#define REACHED 100

/* One directory with what is to be kept from harm; the present one. */
struct scene {
	char dir[32];
	pid_t victim;
	int terminal_fd;
	uint16_t port;
	int listen_fd, unix_fd;
};

static struct scene scene;

static void put_file(const char *name, const char *text)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static int listen_at(int family, const struct sockaddr *at, socklen_t n)
{
	int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, at, n), 0);
	assert_int_equal(listen(fd, 4), 0);
	return fd;
}

static int set_scene(void **state)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX, .sun_path = "socket"};
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t n = sizeof(in);

	strcpy(scene.dir, "/tmp/t_sandbox.XXXXXX");
	assert_non_null(mkdtemp(scene.dir));
	assert_int_equal(chdir(scene.dir), 0);
	put_file("given", "given");
	put_file("other", "secret");
	scene.unix_fd = listen_at(AF_UNIX, (struct sockaddr *)&un, sizeof(un));
	scene.listen_fd = listen_at(AF_INET, (struct sockaddr *)&in, sizeof(in));
	assert_int_equal(getsockname(scene.listen_fd, (struct sockaddr *)&in, &n), 0);
	scene.port = in.sin_port;
	scene.terminal_fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	scene.victim = fork();
	if (!scene.victim) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	return 0;
}

static int end_scene(void **state)
{
	static const char *const names[] = {"given", "other", "socket", "moved", "new", "link"};

	kill(scene.victim, SIGKILL);
	waitpid(scene.victim, NULL, 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		unlink(names[i]);
	return chdir("/") || rmdir(scene.dir);
}

static enum { READER, NAMES, RECORDER } which; /* of the three sandboxes */

static void confine(void)
{
	struct sandbox *s;

	if (which == NAMES) {
		sandbox_enter_for_names();
		return;
	}
	if (which == RECORDER) {
		sandbox_enter_for_recorder(false);
		return;
	}
	s = sandbox_new();
	sandbox_read(s, "given");
	sandbox_enter(s);
}

/* A system call, and what it would be good for. Outside of a sandbox it changes nothing that lasts. */
struct attempt {
	const char *name;
	long nr, a[6];
};

/* REACHED, or errno. */
static int in_child(const struct attempt *t)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (!pid) {
		confine();
		if (syscall(t->nr, t->a[0], t->a[1], t->a[2], t->a[3], t->a[4], t->a[5]) < 0)
			_exit(errno);
		_exit(REACHED);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFSIGNALED(status))
		return WTERMSIG(status) == SIGSYS ? EPERM : REACHED;
	return WEXITSTATUS(status) ? WEXITSTATUS(status) : REACHED;
}

static void all_fail(const struct attempt *v, size_t nr)
{
	size_t nr_reached = 0;

	for (size_t i = 0; i < nr; i++) {
		int rc = in_child(&v[i]);

		/* Any other error would mean that the kernel looked at the arguments. */
		if (rc == EPERM || rc == EACCES || rc == ENOSYS)
			continue;
		print_error("%s: %s\n", v[i].name, rc == REACHED ? "done" : strerror(rc));
		nr_reached++;
	}
	assert_int_equal(nr_reached, 0);
}

#define P(x)	 ((long)(intptr_t)(x))
#define ALL(v)	 (v), sizeof(v) / sizeof(*(v))
#define HERE	 AT_FDCWD
#define NO_FLAGS 0

static void files_are_out_of_reach(void **state)
{
	static const struct timespec times[2];
	static struct {
		unsigned bytes;
		int type;
		char room[128];
	} handle = {128, 0, ""};
	static struct {
		uint64_t flags, mode, resolve;
	} how = {O_RDONLY, 0, 0};
	const struct attempt v[] = {
		{"read another file", SYS_openat, {HERE, P("other"), O_RDONLY}},
		{"read another file, by the older call", SYS_open, {P("other"), O_RDONLY}},
		{"read another file, by the newer call",
		 SYS_openat2,
		 {HERE, P("other"), P(&how), sizeof(how)}},
		{"read the directory", SYS_openat, {HERE, P("."), O_RDONLY | O_DIRECTORY}},
		{"read memory of another", SYS_openat, {HERE, P("/proc/1/mem"), O_RDONLY}},
		{"read /etc/passwd", SYS_openat, {HERE, P("/etc/passwd"), O_RDONLY}},
		{"open by handle", SYS_open_by_handle_at, {HERE, P(&handle), O_RDONLY}},
		{"get a handle",
		 SYS_name_to_handle_at,
		 {HERE, P("given"), P(&handle), P(&handle.type), 0}},
		{"create", SYS_openat, {HERE, P("new"), O_WRONLY | O_CREAT, 0600}},
		{"create for reading", SYS_openat, {HERE, P("new"), O_RDONLY | O_CREAT, 0600}},
		{"create, by the older call", SYS_creat, {P("new"), 0600}},
		{"a file without a name", SYS_openat, {HERE, P("."), O_TMPFILE | O_RDWR, 0600}},
		{"overwrite another", SYS_openat, {HERE, P("other"), O_WRONLY}},
		{"overwrite the given", SYS_openat, {HERE, P("given"), O_RDWR}},
		{"empty the given while opening",
		 SYS_openat,
		 {HERE, P("given"), O_RDONLY | O_TRUNC}},
		{"empty the given", SYS_truncate, {P("given"), 0}},
		{"unlink", SYS_unlink, {P("other")}},
		{"unlink the given", SYS_unlinkat, {HERE, P("given"), NO_FLAGS}},
		{"rename", SYS_rename, {P("other"), P("moved")}},
		{"rename the given", SYS_renameat2, {HERE, P("given"), HERE, P("moved"), NO_FLAGS}},
		{"link", SYS_linkat, {HERE, P("other"), HERE, P("link"), NO_FLAGS}},
		{"symlink", SYS_symlink, {P("other"), P("link")}},
		{"mkdir", SYS_mkdir, {P("new"), 0700}},
		{"a FIFO", SYS_mknod, {P("new"), S_IFIFO | 0600, 0}},
		{"chmod", SYS_chmod, {P("given"), 04777}},
		{"fchmod", SYS_fchmod, {scene.terminal_fd, 0777}},
		{"fchmodat", SYS_fchmodat, {HERE, P("given"), 0777}},
		{"chown", SYS_chown, {P("given"), 1, 1}},
		{"change times", SYS_utimensat, {HERE, P("given"), P(times), NO_FLAGS}},
		{"set an attribute", SYS_setxattr, {P("given"), P("user.x"), P("x"), 1, 0}},
		{"change directory", SYS_chdir, {P("/")}},
		{"watch files", SYS_inotify_init1, {0}},
		{"watch all files", SYS_fanotify_init, {0, 0}},
	};

	all_fail(ALL(v));
}

static void the_network_is_out_of_reach(void **state)
{
	static int ends[2];
	struct sockaddr_un un = {.sun_family = AF_UNIX, .sun_path = "socket"};
	struct sockaddr_in in = {AF_INET, scene.port, {htonl(INADDR_LOOPBACK)}, {0}};
	int unix_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int tcp_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int udp_fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	const struct attempt v[] = {
		{"a socket", SYS_socket, {AF_INET, SOCK_STREAM, 0}},
		{"a Unix socket", SYS_socket, {AF_UNIX, SOCK_STREAM, 0}},
		{"a netlink socket", SYS_socket, {AF_NETLINK, SOCK_RAW, 0}},
		{"a pair", SYS_socketpair, {AF_UNIX, SOCK_STREAM, 0, P(ends)}},
		/* Even with a socket that was left open. */
		{"connect to a Unix socket", SYS_connect, {unix_fd, P(&un), sizeof(un)}},
		{"connect by TCP", SYS_connect, {tcp_fd, P(&in), sizeof(in)}},
		{"send by UDP", SYS_sendto, {udp_fd, P("x"), 1, 0, P(&in), sizeof(in)}},
		{"listen", SYS_bind, {tcp_fd, P(&in), sizeof(in)}},
		{"accept", SYS_accept4, {scene.listen_fd, 0, 0, SOCK_NONBLOCK}},
	};

	all_fail(ALL(v));
	close(unix_fd);
	close(tcp_fd);
	close(udp_fd);
}

static void processes_are_out_of_reach(void **state)
{
	static char room[16];
	static char *none[] = {NULL};
	static char *argv[] = {"true", NULL};
	static int number;
	static struct iovec iov = {room, sizeof(room)};
	static struct clone_args {
		uint64_t v[8];
	} args = {{0, 0, 0, 0, SIGCHLD, 0, 0, 0}};
	int other = scene.victim;
	int here = memfd_create("program", MFD_CLOEXEC);
	const struct attempt v[] = {
		{"exec", SYS_execve, {P("/bin/true"), P(argv), P(none)}},
		{"exec from memory", SYS_execveat, {here, P(""), P(argv), P(none), AT_EMPTY_PATH}},
		{"clone3", SYS_clone3, {P(&args), sizeof(args)}},
		{"pidfd_open", SYS_pidfd_open, {other, 0}},
		{"take a descriptor of another", SYS_pidfd_getfd, {here, 0, 0}},
		{"signal by pidfd", SYS_pidfd_send_signal, {here, SIGKILL, 0, 0}},
		{"queue a signal", SYS_rt_sigqueueinfo, {other, SIGTERM, P(room)}},
		{"read another's memory", SYS_process_vm_readv, {other, P(&iov), 1, P(&iov), 1, 0}},
		{"write another's memory",
		 SYS_process_vm_writev,
		 {other, P(&iov), 1, P(&iov), 1, 0}},
		{"SIGIO to another", SYS_fcntl, {scene.unix_fd, F_SETOWN, other}},
		{"any signal on input", SYS_fcntl, {scene.unix_fd, F_SETSIG, SIGKILL}},
		{"SIGIO by ioctl", SYS_ioctl, {scene.unix_fd, FIOSETOWN, P(&number)}},
		{"priority of another", SYS_setpriority, {PRIO_PROCESS, other, 19}},
		{"scheduling of another", SYS_sched_setaffinity, {other, sizeof(room), P(room)}},
		{"compare with another", SYS_kcmp, {other, other, 0, 0, 0}},
		{"name of a session", SYS_setsid, {0}},
		{"shared memory", SYS_shmget, {1, 4096, 0600}},
		{"a message queue", SYS_msgget, {1, 0600}},
		{"a POSIX message queue", SYS_mq_open, {P("x"), O_RDWR, 0600, 0}},
	};
	const struct attempt unless_sanitized[] = {
		{"vfork", SYS_clone, {CLONE_VFORK | SIGCHLD, 0, 0, 0, 0}},
		{"limits of another", SYS_prlimit64, {other, RLIMIT_CORE, P(room), 0}},
		{"fork", SYS_clone, {SIGCHLD, 0, 0, 0, 0}},
		{"fork, by the older call", SYS_fork, {0}},
		{"kill the parent", SYS_kill, {getpid(), 0}},
		{"kill another", SYS_kill, {other, SIGKILL}},
		{"kill everything", SYS_kill, {-1, 0}},
		{"kill a thread of another", SYS_tgkill, {other, other, SIGKILL}},
		{"kill by thread number", SYS_tkill, {other, SIGKILL}},
		{"trace", SYS_ptrace, {PTRACE_ATTACH, other, 0, 0}},
		{"seize", SYS_ptrace, {PTRACE_SEIZE, other, 0, 0}},
		{"a thread in a new namespace",
		 SYS_clone,
		 {CLONE_THREAD | CLONE_SIGHAND | CLONE_VM | CLONE_NEWUSER, 0, 0, 0, 0}},
	};

	all_fail(ALL(v));
	if (!SANITIZED)
		all_fail(ALL(unless_sanitized));
	assert_int_equal(waitpid(other, NULL, WNOHANG), 0);
	close(here);
}

static void the_kernel_is_out_of_reach(void **state)
{
	static struct perf_event_attr event = {.type = PERF_TYPE_SOFTWARE, .size = sizeof(event)};
	static union bpf_attr map = {
		.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1};
	static char room[128];
	static struct timespec now = {1, 0};
	int self = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	const struct attempt v[] = {
		{"mount", SYS_mount, {P("none"), P("nowhere"), P("tmpfs"), 0, 0}},
		{"umount", SYS_umount2, {P("nowhere"), MNT_DETACH}},
		{"the newer mount", SYS_fsopen, {P("tmpfs"), 0}},
		{"open_tree", SYS_open_tree, {HERE, P("."), 0}},
		{"pivot_root", SYS_pivot_root, {P("."), P(".")}},
		{"chroot", SYS_chroot, {P(".")}},
		{"unshare", SYS_unshare, {CLONE_NEWUSER}},
		{"setns", SYS_setns, {self, 0}},
		{"bpf", SYS_bpf, {BPF_MAP_CREATE, P(&map), sizeof(map)}},
		{"perf_event_open", SYS_perf_event_open, {P(&event), 0, -1, -1, 0}},
		{"io_uring", SYS_io_uring_setup, {1, P(room)}},
		{"asynchronous I/O", SYS_io_setup, {1, P(room)}},
		{"userfaultfd", SYS_userfaultfd, {1}},
		{"add a key", SYS_add_key, {P("user"), P("x"), P("x"), 1, -3}},
		{"keyctl", SYS_keyctl, {0, -3, 1}},
		{"the kernel's log", SYS_syslog, {3, P(room), sizeof(room)}},
		{"load a module", SYS_finit_module, {self, P(""), 0}},
		{"another kernel", SYS_kexec_load, {0, 0, 0, 0}},
		{"reboot", SYS_reboot, {0, 0, 0, 0}},
		{"swapoff", SYS_swapoff, {P("none")}},
		{"accounting", SYS_acct, {P("nowhere")}},
		{"quotas", SYS_quotactl, {0, 0, 0, 0}},
		{"the host's name", SYS_sethostname, {P("x"), -1}},
		{"the clock", SYS_clock_settime, {CLOCK_MONOTONIC, P(&now)}},
		{"I/O ports", SYS_iopl, {3}},
		{"typing on the terminal", SYS_ioctl, {scene.terminal_fd, TIOCSTI, P("x")}},
		{"typing, with more bits",
		 SYS_ioctl,
		 {scene.terminal_fd, TIOCSTI | 1l << 32, P("x")}},
		{"pasting on the terminal",
		 SYS_ioctl,
		 {scene.terminal_fd, 0x541c /* TIOCLINUX */, P("x")}},
		{"taking the terminal", SYS_ioctl, {scene.terminal_fd, TIOCSCTTY, 0}},
	};

	all_fail(ALL(v));
	close(self);
}

static void the_sandbox_cannot_be_left(void **state)
{
	static struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	static struct __user_cap_data_struct all[2] = {{~0u, ~0u, ~0u}, {~0u, ~0u, ~0u}};
	static struct sock_filter allow = {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
	static struct sock_fprog program = {1, &allow};
	const struct attempt v[] = {
		{"another filter", SYS_seccomp, {SECCOMP_SET_MODE_FILTER, 0, P(&program)}},
		{"another Landlock",
		 SYS_landlock_create_ruleset,
		 {0, 0, LANDLOCK_CREATE_RULESET_VERSION}},
		{"capabilities", SYS_capset, {P(&head), P(all)}},
		{"setuid", SYS_setuid, {0}},
		{"setresgid", SYS_setresgid, {0, 0, 0}},
		{"groups", SYS_setgroups, {0, 0}},
		{"personality", SYS_personality, {0}},
		{"LDT", SYS_modify_ldt, {0, 0, 0}},
		{"x32's system calls", SYS_kill | 0x40000000, {scene.victim, 0}},
	};
	const struct attempt unless_sanitized[] = {
		{"no_new_privs taken back", SYS_prctl, {PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0}},
		{"another filter by prctl", SYS_prctl, {PR_SET_SECCOMP, 2, P(&program)}},
		{"being traced by all", SYS_prctl, {PR_SET_DUMPABLE, 1, 0, 0, 0}},
		{"no signal when the parent ends", SYS_prctl, {PR_SET_PDEATHSIG, 0, 0, 0, 0}},
		{"ambient capabilities",
		 SYS_prctl,
		 {PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, 0, 0, 0}},
	};

	all_fail(ALL(v));
	if (!SANITIZED)
		all_fail(ALL(unless_sanitized));
}

#ifdef __x86_64__
/* 32-bit system calls have other numbers: 20 is getpid(). */
static void calls_of_32_bits_end_the_process(void **state)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		long nr = 20;

		confine();
		__asm__ volatile("int $0x80" : "+a"(nr) : : "memory");
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
}
#endif

static void *add_one(void *number)
{
	++*(int *)number;
	return NULL;
}

/* Exits with the line that failed. */
#define MUST(x)                                                                                    \
	do                                                                                         \
		if (!(x))                                                                          \
			_exit(__LINE__ % 250 + 1);                                                 \
	while (0)

static _Noreturn void use_what_is_left(int shared)
{
	char text[16] = "", link[40];
	int fd, number = 0;
	pthread_t t;
	void *p;

	confine();
	fd = open("given", O_RDONLY | O_CLOEXEC);
	MUST(fd >= 0 && read(fd, text, sizeof(text)) == 5 && !strcmp(text, "given"));
	fd = memfd_create("x", MFD_CLOEXEC);
	MUST(fd >= 0 && write(fd, "x", 1) == 1);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	fd = open(link, O_RDONLY | O_CLOEXEC);
	MUST(fd >= 0 && read(fd, text, sizeof(text)) == 1);
	MUST(!pthread_create(&t, NULL, add_one, &number) && !pthread_join(t, NULL) && number == 1);
	p = malloc(64 << 20);
	MUST(p);
	free(p);
	MUST(write(shared, "out", 3) == 3);
	exit(0);
}

static void what_a_reader_needs_works(void **state)
{
	char got[4] = "";
	int ends[2], status;
	pid_t pid;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	pid = fork();
	if (!pid)
		use_what_is_left(ends[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(read(ends[0], got, 3), 3);
	assert_string_equal(got, "out");
	close(ends[0]);
	close(ends[1]);
}

/* abort() and stack protectors end the process by a signal to itself. */
static void it_can_still_abort(void **state)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		struct rlimit none = {0, 0};

		setrlimit(RLIMIT_CORE, &none);
		confine();
		abort();
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WTERMSIG(status), SIGABRT);
}

/* The line of /proc/PID/status with this name. */
static void status_of(pid_t pid, const char *name, char *value, size_t n)
{
	char path[32], line[256];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "re");
	assert_non_null(f);
	*value = '\0';
	while (!*value && fgets(line, sizeof(line), f))
		if (!strncmp(line, name, strlen(name)))
			snprintf(value, n, "%.*s", (int)strcspn(line + strlen(name) + 1, "\n"),
				 line + strlen(name) + 1);
	fclose(f);
}

/* Root reads the dumps of all users. */
static void of_capabilities_only_reading_stays(void **state)
{
	char value[64];
	int ends[2];
	pid_t pid;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		confine();
		MUST(write(ends[1], "x", 1) == 1);
		for (;;)
			nanosleep(&(struct timespec){1, 0}, NULL);
	}
	assert_int_equal(read(ends[0], value, 1), 1);
	status_of(pid, "CapPrm:", value, sizeof(value));
	assert_int_equal(strtoull(value, NULL, 16) & ~(1ull << CAP_DAC_READ_SEARCH), 0);
	status_of(pid, "NoNewPrivs:", value, sizeof(value));
	assert_string_equal(value, "1");
	status_of(pid, "Seccomp:", value, sizeof(value));
	assert_string_equal(value, "2");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(ends[0]);
	close(ends[1]);
}

/* The same for the process that looks up names, which may read files only. */
static void nor_do_names_reach_them(void **state)
{
	static struct {
		uint64_t flags, mode, resolve;
	} change = {O_RDWR, 0, 0}, create = {O_WRONLY | O_CREAT, 0600, 0};
	const struct attempt v[] = {
		{"overwrite", SYS_openat, {HERE, P("other"), O_WRONLY}},
		{"overwrite, by the newer call",
		 SYS_openat2,
		 {HERE, P("other"), P(&change), sizeof(change)}},
		{"create, by the newer call",
		 SYS_openat2,
		 {HERE, P("new"), P(&create), sizeof(create)}},
		{"write another's memory",
		 SYS_openat2,
		 {HERE, P("/proc/1/mem"), P(&change), sizeof(change)}},
		{"empty", SYS_truncate, {P("other"), 0}},
		{"unlink", SYS_unlink, {P("other")}},
		{"open by handle", SYS_open_by_handle_at, {HERE, P("other"), O_RDONLY}},
		{"chmod", SYS_chmod, {P("other"), 0777}},
	};

	which = NAMES;
	all_fail(ALL(v));
	the_network_is_out_of_reach(state);
	processes_are_out_of_reach(state);
	the_kernel_is_out_of_reach(state);
	the_sandbox_cannot_be_left(state);
	which = READER;
}

/* The recorder's own process, which may do most things: it has to. These it never does. */
static void a_recorder_leaves_the_machine_alone(void **state)
{
	static char room[128];
	static struct iovec iov = {room, sizeof(room)};
	static struct timespec now = {1, 0};
	static union bpf_attr map = {
		.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1};
	int self = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC), other = scene.victim;
	const struct attempt v[] = {
		{"another kernel", SYS_kexec_load, {0, 0, 0, 0}},
		{"another kernel, from a file", SYS_kexec_file_load, {-1, -1, 0, 0, 0}},
		{"load a module", SYS_init_module, {P(room), 0, P("")}},
		{"load a module from a file", SYS_finit_module, {self, P(""), 0}},
		{"unload a module", SYS_delete_module, {P("none"), O_NONBLOCK}},
		{"reboot", SYS_reboot, {0, 0, 0, 0}},
		{"I/O ports", SYS_iopl, {3}},
		{"mount", SYS_mount, {P("none"), P("nowhere"), P("tmpfs"), 0, 0}},
		{"umount", SYS_umount2, {P("nowhere"), MNT_DETACH}},
		{"open_tree", SYS_open_tree, {HERE, P("."), 0}},
		{"move_mount", SYS_move_mount, {HERE, P("."), HERE, P("nowhere"), 0}},
		{"mount_setattr", SYS_mount_setattr, {HERE, P("nowhere"), 0, P(room), 0}},
		{"pivot_root", SYS_pivot_root, {P("."), P(".")}},
		{"chroot", SYS_chroot, {P(".")}},
		{"unshare", SYS_unshare, {CLONE_NEWNS}},
		{"the mounts of another", SYS_setns, {self, CLONE_NEWNS}},
		{"all namespaces of another", SYS_setns, {self, 0}},
		{"swapon", SYS_swapon, {P("nowhere"), 0}},
		{"swapoff", SYS_swapoff, {P("nowhere")}},
		{"accounting", SYS_acct, {P("nowhere")}},
		{"quotas", SYS_quotactl, {0, 0, 0, 0}},
		{"the host's name", SYS_sethostname, {P("x"), -1}},
		{"the domain's name", SYS_setdomainname, {P("x"), -1}},
		{"the clock", SYS_clock_settime, {CLOCK_MONOTONIC, P(&now)}},
		{"the clock, by the older call", SYS_settimeofday, {P("x"), 1}},
		{"the kernel's log", SYS_syslog, {3, P(room), sizeof(room)}},
		{"write another's memory",
		 SYS_process_vm_writev,
		 {other, P(&iov), 1, P(&iov), 1, 0}},
		{"take a descriptor of another", SYS_pidfd_getfd, {self, 0, 0}},
		{"open by handle", SYS_open_by_handle_at, {HERE, P(room), O_RDONLY}},
		{"watch all files", SYS_fanotify_init, {0, 0}},
		{"userfaultfd", SYS_userfaultfd, {1}},
		{"io_uring", SYS_io_uring_setup, {1, P(room)}},
		{"add a key", SYS_add_key, {P("user"), P("x"), P("x"), 1, -3}},
		{"request a key", SYS_request_key, {P("user"), P("x"), 0, 0}},
		{"keyctl", SYS_keyctl, {0, -3, 1}},
		{"bpf without rules that use it", SYS_bpf, {BPF_MAP_CREATE, P(&map), sizeof(map)}},
		{"typing on the terminal", SYS_ioctl, {scene.terminal_fd, TIOCSTI, P("x")}},
		{"typing, with more bits",
		 SYS_ioctl,
		 {scene.terminal_fd, TIOCSTI | 1l << 32, P("x")}},
		{"x32's system calls", SYS_kill | 0x40000000, {other, 0}},
	};
	const struct attempt unless_sanitized[] = {
		{"trace", SYS_ptrace, {PTRACE_ATTACH, other, 0, 0}},
		{"seize", SYS_ptrace, {PTRACE_SEIZE, other, 0, 0}},
	};

	which = RECORDER;
	all_fail(ALL(v));
	if (!SANITIZED)
		all_fail(ALL(unless_sanitized));
	which = READER;
	close(self);
}

static void *wait_and_try(void *ends)
{
	char byte;

	MUST(read(*(int *)ends, &byte, 1) == 1);
	errno = 0;
	syscall(SYS_userfaultfd, 1);
	return (void *)(intptr_t)errno;
}

/* Also for a thread that was there before, and 32-bit programs do not end the process. */
static _Noreturn void be_a_recorder(void)
{
	static char *argv[] = {"true", NULL}, *none[] = {NULL};
	struct perf_event_attr event = {.type = PERF_TYPE_SOFTWARE, .size = sizeof(event)};
	int ends[2], status;
	pthread_t t;
	void *got;
	pid_t pid;

	MUST(!pipe2(ends, O_CLOEXEC) && !pthread_create(&t, NULL, wait_and_try, ends));
	sandbox_enter_for_recorder(false);
	MUST(write(ends[1], "x", 1) == 1 && !pthread_join(t, &got) && (intptr_t)got == EPERM);
	MUST(syscall(SYS_perf_event_open, &event, 0, -1, -1, 0) >= 0 || errno != EPERM);
	MUST(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) >= 0);
	MUST(open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC) >= 0);
	MUST(open("other", O_RDWR | O_CLOEXEC) >= 0);
	pid = fork();
	if (!pid) {
		execve("/bin/true", argv, none);
		_exit(1);
	}
	MUST(waitpid(pid, &status, 0) == pid && !status);
#ifdef __x86_64__
	{
		long nr = 20;

		__asm__ volatile("int $0x80" : "+a"(nr) : : "memory");
		MUST(nr == -EPERM);
	}
#endif
	_exit(0);
}

static void what_a_recorder_needs_works(void **state)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		be_a_recorder();
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* Nor does it get one back by exec, which gives root all of them. */
static void a_recorder_keeps_what_it_names(void **state)
{
	char cat[] = "grep -q 'CapPrm:.*0000000000000020' /proc/self/status && "
		     "grep -q 'CapBnd:.*0000000000000020' /proc/self/status";
	char *argv[] = {"sh", "-c", cat, NULL};
	pid_t pid;
	int status;

	if (geteuid()) {
		skip();
		return;
	}
	pid = fork();
	if (!pid) {
		MUST(sandbox_keep_capabilities(1ull << CAP_KILL) == 1ull << CAP_KILL);
		execv("/bin/sh", argv);
		_exit(255);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_reader_needs_works),
		cmocka_unit_test(it_can_still_abort),
		cmocka_unit_test(of_capabilities_only_reading_stays),
		cmocka_unit_test(files_are_out_of_reach),
		cmocka_unit_test(the_network_is_out_of_reach),
		cmocka_unit_test(processes_are_out_of_reach),
		cmocka_unit_test(the_kernel_is_out_of_reach),
		cmocka_unit_test(the_sandbox_cannot_be_left),
		cmocka_unit_test(nor_do_names_reach_them),
		cmocka_unit_test(a_recorder_leaves_the_machine_alone),
		cmocka_unit_test(what_a_recorder_needs_works),
		cmocka_unit_test(a_recorder_keeps_what_it_names),
#ifdef __x86_64__
		cmocka_unit_test(calls_of_32_bits_end_the_process),
#endif
	};

	if (!sandbox_has_seccomp() || !sandbox_landlock_version()) {
		print_message("1..0 # SKIP this kernel has no seccomp or no Landlock\n");
		return 0;
	}
	return cmocka_run_group_tests(tests, set_scene, end_scene);
}
