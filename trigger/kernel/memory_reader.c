// SPDX-License-Identifier: MIT
/* Reads memory in a process of its own; see memory_reader.h. Called by src_watch.c and
 * thread_snapshot.c. */
#include "trigger/kernel/memory_reader.h"

#include "dump/base/err.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <linux/capability.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define NAME	 "ringback-memory"
#define WAIT_MS	 100
#define CHILD_FD 3

struct memory_reader {
	int fd;
	bool late; /* an answer is due, which came too late or not yet */
};

struct memory_request {
	uint64_t addr;
	int32_t pid;
	uint32_t bytes;
};

/* ---- the reader: a child of a process with threads, so it makes system calls only ---- */

/* Keeps no file of the recorder open. */
static void close_others(int fd)
{
	dup2(fd, CHILD_FD);
	for (int i = 0; i < CHILD_FD; i++)
		close(i);
	if (syscall(SYS_close_range, CHILD_FD + 1, ~0u, 0))
		for (int i = CHILD_FD + 1; i < getdtablesize(); i++)
			close(i);
}

/* All that reading takes. */
static void drop_capabilities(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct v[2];

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (syscall(SYS_capget, &head, v))
		return;
	v[0].permitted &= 1u << CAP_SYS_PTRACE;
	v[0].effective = v[0].permitted;
	v[1].permitted = v[1].effective = v[0].inheritable = v[1].inheritable = 0;
	syscall(SYS_capset, &head, v);
}

static _Noreturn void serve(int fd)
{
	uint8_t bytes[MEMORY_READER_MAX];
	struct memory_request q;

	close_others(fd);
	drop_capabilities();
	while (recv(CHILD_FD, &q, sizeof(q), 0) == sizeof(q)) {
		struct iovec to = {bytes, q.bytes}, from = {(void *)(uintptr_t)q.addr, q.bytes};
		bool ok = process_vm_readv(q.pid, &to, 1, &from, 1, 0) == (ssize_t)q.bytes;

		/* One byte: it can't be read. */
		if (send(CHILD_FD, bytes, ok ? sizeof(bytes) : 1, MSG_NOSIGNAL) < 0)
			break;
	}
	_Exit(0);
}

/* ---- the recorder ---- */

/* A grandchild: its end need not be waited for. */
static int start(int fd)
{
	pid_t pid = fork();

	if (pid < 0)
		return -errno;
	if (!pid) {
		prctl(PR_SET_NAME, NAME);
		if (!fork())
			serve(fd);
		_Exit(0);
	}
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return 0;
}

int memory_reader_open(struct memory_reader **out, struct err *err)
{
	struct memory_reader *r = calloc(1, sizeof(*r));
	int ends[2], rc;

	if (!r)
		return err_set(err, -ENOMEM, "out of memory for a trigger");
	rc = socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) ? -errno : 0;
	if (!rc) {
		r->fd = ends[0];
		rc = start(ends[1]);
		close(ends[1]);
		if (rc)
			close(ends[0]);
	}
	if (rc) {
		free(r);
		return err_sys(err, rc, "can't start the process that reads memory");
	}
	*out = r;
	return 0;
}

void memory_reader_close(struct memory_reader *r)
{
	if (r)
		close(r->fd);
	free(r);
}

static bool has_answer(const struct memory_reader *r)
{
	struct pollfd p = {.fd = r->fd, .events = POLLIN};
	int n;

	while ((n = poll(&p, 1, WAIT_MS)) < 0 && errno == EINTR)
		;
	return n > 0;
}

bool memory_reader_read(struct memory_reader *r, pid_t pid, uint64_t addr, void *out, size_t n)
{
	struct memory_request q = {addr, pid, (uint32_t)n};
	uint8_t bytes[MEMORY_READER_MAX];

	assert(n <= sizeof(bytes));
	if (r->late && recv(r->fd, bytes, sizeof(bytes), MSG_DONTWAIT) < 0)
		return false;
	r->late = false;
	if (send(r->fd, &q, sizeof(q), MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		return false;
	r->late = !has_answer(r);
	if (r->late || recv(r->fd, bytes, sizeof(bytes), MSG_DONTWAIT) != sizeof(bytes))
		return false;
	memcpy(out, bytes, n);
	return true;
}

bool memory_reader_hangs(const struct memory_reader *r)
{
	return r && r->late;
}

bool memory_reader_is(pid_t pid)
{
	char path[32], exe[PATH_MAX], own[PATH_MAX], comm[sizeof(NAME)] = "";
	ssize_t n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	f = fopen(path, "re");
	if (f) {
		if (!fgets(comm, sizeof(comm), f))
			comm[0] = '\0';
		fclose(f);
	}
	if (strcmp(comm, NAME) != 0)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	n = readlink(path, exe, sizeof(exe));
	return n > 0 && n == readlink("/proc/self/exe", own, sizeof(own)) &&
	       !memcmp(exe, own, (size_t)n);
}
