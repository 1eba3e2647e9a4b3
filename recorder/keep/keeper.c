// SPDX-License-Identifier: MIT
/* The process that holds rings while no recorder runs; see keeper.h. Called by cmd_keep.c. */
#include "recorder/keep/keeper.h"

#include "dump/base/err.h"
#include "recorder/base/ctl_dir.h"
#include "recorder/base/log.h"
#include "recorder/base/notify.h"
#include "recorder/keep/keep_client.h"
#include "recorder/keep/keep_set.h"
#include "trigger/kernel/event.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

struct keeper {
	char file[CTL_NAME_BYTES + 8];
	int dir_fd, listen_fd, peer_fd, signal_fd;
	struct keep_set held;
};

/* Mapped read-only and never read: the mapping alone keeps the ring's memory. */
static int map_all(struct keep_set *s)
{
	for (size_t i = 0; i < s->nr; i++) {
		struct keep_fd *f = &s->v[i];
		void *p = NULL;

		if (f->map_bytes)
			p = mmap(NULL, f->map_bytes, PROT_READ, MAP_SHARED, f->fd, 0);
		if (p == MAP_FAILED)
			return -errno;
		f->map = p;
	}
	return 0;
}

/* Maps the new rings before the former ones are let go: most are the same. */
static int put(struct keeper *k)
{
	struct keep_set fresh;
	int rc = keep_receive_set(k->peer_fd, &fresh);

	if (!rc)
		rc = map_all(&fresh);
	if (rc) {
		keep_set_close(&fresh);
	} else {
		keep_set_close(&k->held);
		k->held = fresh;
	}
	return keep_send(k->peer_fd, KEEP_DONE, rc);
}

static void drop_peer(struct keeper *k)
{
	close(k->peer_fd);
	k->peer_fd = -1;
}

static void serve(struct keeper *k)
{
	struct keep_message m;
	int rc = keep_receive(k->peer_fd, &m);

	if (!rc && m.what == KEEP_PUT)
		rc = put(k);
	else if (!rc && m.what == KEEP_GET)
		rc = keep_send_set(k->peer_fd, &k->held);
	else if (!rc)
		rc = -EBADMSG;
	if (rc)
		drop_peer(k);
}

/* A recorder that hangs must not stop the keeper. */
static void accept_peer(struct keeper *k)
{
	struct timeval patience = {.tv_sec = KEEP_TIMEOUT_S};
	int fd = accept4(k->listen_fd, NULL, NULL, SOCK_CLOEXEC);
	struct ucred cred;
	socklen_t n = sizeof(cred);

	if (fd < 0)
		return;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &n) || cred.uid != geteuid() ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience))) {
		close(fd);
		return;
	}
	k->peer_fd = fd;
}

static int loop(struct keeper *k, struct err *err)
{
	for (;;) {
		struct pollfd p[] = {{.fd = k->signal_fd, .events = POLLIN},
				     {.fd = k->peer_fd, .events = POLLIN},
				     /* The next peer waits until the recorder is gone. */
				     {.fd = k->peer_fd < 0 ? k->listen_fd : -1, .events = POLLIN}};

		if (poll(p, 3, -1) < 0) {
			if (errno == EINTR)
				continue;
			return err_sys(err, -errno, "poll");
		}
		if (p[0].revents)
			return 0;
		if (p[1].revents)
			serve(k);
		if (p[2].revents)
			accept_peer(k);
	}
}

static int start(struct keeper *k, const char *name, struct err *err)
{
	struct sockaddr_un addr;
	sigset_t ends;
	mode_t mask;
	int sock, rc = keep_connect(name, &sock, err);

	if (!rc && sock >= 0) {
		close(sock);
		return err_set(err, -EADDRINUSE, "a keeper named '%s' is running already", name);
	}
	if (!rc)
		rc = ctl_dir_open(true, &k->dir_fd, err);
	if (rc)
		return rc;
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	k->signal_fd = signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
	k->listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (k->signal_fd < 0 || k->listen_fd < 0)
		return err_sys(err, -errno, "can't make the keeper's socket");
	keep_address(k->dir_fd, name, &addr);
	snprintf(k->file, sizeof(k->file), "%s.keep", name);
	unlinkat(k->dir_fd, k->file, 0); /* of a killed keeper */
	mask = umask(0177);
	rc = bind(k->listen_fd, (struct sockaddr *)&addr, sizeof(addr)) ? -errno : 0;
	umask(mask);
	if (rc || listen(k->listen_fd, 4))
		return err_sys(err, rc ? rc : -errno, "can't listen on the keeper's socket %s",
			       k->file);
	return 0;
}

static void close_all(const struct keeper *k)
{
	const int fds[] = {k->dir_fd, k->listen_fd, k->peer_fd, k->signal_fd};

	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

int keeper_run(const char *name, struct err *err)
{
	struct keeper k = {.dir_fd = -1, .listen_fd = -1, .peer_fd = -1, .signal_fd = -1};
	int rc;

	event_raise_nofile();
	rc = start(&k, name, err);
	if (!rc) {
		log_info("keeping the rings of recorder '%s'", name);
		notify_manager("READY=1");
		rc = loop(&k, err);
		unlinkat(k.dir_fd, k.file, 0);
	}
	keep_set_close(&k.held);
	close_all(&k);
	return rc;
}
