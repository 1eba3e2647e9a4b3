// SPDX-License-Identifier: MIT
/* libdebuginfod, loaded on demand; see debuginfod.h. Called by cmd_symbols.c and added_symbols.c. */
#include "recorder/symbolize/debuginfod.h"

#include "dump/base/elf.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct debuginfod {
	void *library, *client;
	void (*end)(void *client);
	int (*find_debug)(void *client, const unsigned char *id, int bytes, char **path);
	int (*find_program)(void *client, const unsigned char *id, int bytes, char **path);
};

struct debuginfod_request {
	uint8_t debug, bytes, id[ELF_BUILD_ID_MAX];
};

/* ---- the process with the network ---- */

/* Loads a function of the library. POSIX allows casting the result of dlsym(). */
static void load(struct debuginfod *d, const char *name, void *to)
{
	*(void **)to = dlsym(d->library, name);
}

/* client NULL: there is no libdebuginfod. */
static void begin(struct debuginfod *d)
{
	void *(*begin_client)(void) = NULL;

	d->library = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!d->library)
		return;
	load(d, "debuginfod_begin", &begin_client);
	load(d, "debuginfod_end", &d->end);
	load(d, "debuginfod_find_debuginfo", &d->find_debug);
	load(d, "debuginfod_find_executable", &d->find_program);
	if (begin_client && d->end && d->find_debug && d->find_program)
		d->client = begin_client();
}

/* Sends `found`, and as a descriptor if it is one. */
static bool answer(int fd, int found)
{
	union {
		char room[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {0};
	struct iovec iov = {&found, sizeof(found)};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};
	struct cmsghdr *c;

	if (found >= 0) {
		m.msg_control = control.room;
		m.msg_controllen = sizeof(control.room);
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &found, sizeof(found));
	}
	return sendmsg(fd, &m, MSG_NOSIGNAL) == sizeof(found);
}

void debuginfod_serve(int fd)
{
	struct debuginfod d = {0};
	struct debuginfod_request q;
	bool there = true;

	while (there && recv(fd, &q, sizeof(q), 0) == sizeof(q) && q.bytes <= sizeof(q.id)) {
		int found = -ENOENT;

		if (!d.library)
			begin(&d);
		if (d.client)
			found = (q.debug ? d.find_debug : d.find_program)(d.client, q.id, q.bytes,
									  NULL);
		there = answer(fd, found);
		if (found >= 0)
			close(found);
	}
	if (d.client)
		d.end(d.client);
	if (d.library)
		dlclose(d.library);
}

/* ---- the process that reads the dump ---- */

void debuginfod_connect(int ends[2])
{
	const char *urls = getenv("DEBUGINFOD_URLS");

	if (!urls || !*urls || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		ends[0] = ends[1] = -1;
}

int debuginfod_find(int fd, const uint8_t *id, size_t bytes, bool debug)
{
	struct debuginfod_request q = {.debug = debug, .bytes = (uint8_t)bytes};
	union {
		char room[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct cmsghdr *c;
	int found = -ENOENT;
	struct iovec iov = {&found, sizeof(found)};
	struct msghdr m = {.msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = control.room,
			   .msg_controllen = sizeof(control.room)};

	if (fd < 0 || !bytes || bytes > sizeof(q.id))
		return -ENOENT;
	memcpy(q.id, id, bytes);
	if (write(fd, &q, sizeof(q)) != sizeof(q) ||
	    recvmsg(fd, &m, MSG_CMSG_CLOEXEC) != sizeof(found))
		return -ENOENT;
	if (found < 0)
		return found;
	c = CMSG_FIRSTHDR(&m);
	if (!c)
		return -EMFILE;
	memcpy(&found, CMSG_DATA(c), sizeof(found));
	return found;
}
