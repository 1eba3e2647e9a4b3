// SPDX-License-Identifier: MIT
/*
 * The client's end of the control socket, for `ringback trigger` and `ringback status`; see ctl.h.
 * Connects only to sockets in a directory that other users can't write to.
 */
#include "recorder/daemon/ctl.h"

#include "dump/base/bytes.h"
#include "dump/base/err.h"
#include "trigger/kernel/clock.h"
#include "recorder/base/ctl_dir.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REPLY_MAX (64u << 20)

static int connect_to(int dir_fd, const char *name, int *out)
{
	struct sockaddr_un addr;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	ctl_address(dir_fd, name, "sock", &addr);
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr))) {
		int rc = -errno;

		close(fd);
		return rc;
	}
	*out = fd;
	return 0;
}

/* ---- running recorders ---- */

static int by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* NAME of "NAME.sock"; false for other files. */
static bool socket_name(const char *file, char name[CTL_NAME_BYTES])
{
	size_t n = strlen(file);

	if (n <= 5 || strcmp(file + n - 5, ".sock") || n - 5 >= CTL_NAME_BYTES)
		return false;
	memcpy(name, file, n - 5);
	name[n - 5] = '\0';
	return ctl_name_check(name, NULL) == 0;
}

size_t ctl_running(char names[][CTL_NAME_BYTES], size_t max)
{
	struct dirent *d;
	size_t nr = 0;
	int dir_fd, fd;
	DIR *dir;

	if (ctl_dir_open(false, &dir_fd, NULL))
		return 0;
	dir = fdopendir(dir_fd);
	if (!dir) {
		close(dir_fd);
		return 0;
	}
	while (nr < max && (d = readdir(dir))) {
		/* A killed recorder leaves a socket that refuses connections. */
		if (!socket_name(d->d_name, names[nr]) || connect_to(dir_fd, names[nr], &fd))
			continue;
		close(fd);
		nr++;
	}
	closedir(dir);
	qsort(names, nr, CTL_NAME_BYTES, by_name);
	return nr;
}

/* Sets the error, with the running recorders or how to start one as the hint. */
static int no_recorder(const char *name, struct err *err)
{
	char names[16][CTL_NAME_BYTES], list[300] = "";
	size_t nr = ctl_running(names, 16);

	for (size_t i = 0; i < nr; i++) {
		size_t n = strlen(list);

		snprintf(list + n, sizeof(list) - n, "%s%s", i ? ", " : "", names[i]);
	}
	err_set(err, -ENOENT, "no recorder named '%s' is running", name);
	if (nr)
		err_hint(err, "running: %s; choose with -n NAME", list);
	else if (geteuid() && !access("/run/ringback", F_OK))
		err_hint(err,
			 "start one: ringback record -n %s -o /var/tmp; one that root has started "
			 "answers root only: try with sudo",
			 name);
	else
		err_hint(err, "start one: ringback record -a -n %s -o /var/tmp", name);
	return -ENOENT;
}

/* ---- one request ---- */

static int64_t now_ms(void)
{
	return (int64_t)(clock_ns() / 1000000);
}

/* A recorder may reject the request early and close: EPIPE is no error, since its answer can
 * be read. */
static int send_request(int fd, json_t *request, struct err *err)
{
	char *text = json_dumps(request, JSON_COMPACT);
	size_t len, done = 0;
	int rc = 0;

	if (!text)
		return err_set(err, -ENOMEM, "out of memory for a request");
	len = strlen(text);
	text[len++] = '\n'; /* replaces the NUL, so the text has no terminator from here on */
	while (done < len) {
		ssize_t n = send(fd, text + done, len - done, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EPIPE && errno != ECONNRESET)
			rc = err_sys(err, -errno, "can't send to the recorder");
		if (n < 0)
			break;
		done += (size_t)n;
	}
	free(text);
	return rc;
}

static int wait_readable(int fd, int64_t until_ms, struct err *err)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	for (;;) {
		int64_t left = until_ms < 0 ? -1 : until_ms - now_ms();
		int n = poll(&p, 1, until_ms < 0 ? -1 : left > 0 ? (int)left : 0);

		if (n > 0)
			return 0;
		if (n == 0)
			return err_set(err, -ETIMEDOUT, "the recorder did not answer in time");
		if (errno != EINTR)
			return err_sys(err, -errno, "can't wait for the recorder");
	}
}

/* Reads up to the newline, which is not included. */
static int read_line(int fd, int64_t until_ms, struct buf *line, struct err *err)
{
	for (;;) {
		uint8_t *end;
		ssize_t n;
		int rc = wait_readable(fd, until_ms, err);

		if (rc)
			return rc;
		if (line->len > REPLY_MAX)
			return err_set(err, -EMSGSIZE, "the recorder's answer has no end");
		if (buf_reserve(line, 16384))
			return err_set(err, -ENOMEM, "out of memory for the recorder's answer");
		n = recv(fd, line->p + line->len, line->cap - line->len, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			err_set(err, -ECONNRESET, "the recorder went away before it answered");
			err_hint(err, "ringback status shows whether it still runs");
			return -ECONNRESET;
		}
		end = memchr(line->p + line->len, '\n', (size_t)n);
		line->len += (size_t)n;
		if (end) {
			line->len = (size_t)(end - line->p);
			return 0;
		}
	}
}

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static int parse_reply(const struct buf *line, json_t **reply, struct err *err)
{
	json_t *got = json_loadb((const char *)line->p, line->len, 0, NULL);
	int rc = 0;

	if (!json_is_object(got)) {
		rc = err_set(err, -EBADMSG, "the recorder's answer is no JSON object");
	} else if (!json_is_true(json_object_get(got, "ok"))) {
		rc = err_set(err, -EREMOTEIO, "%s", text_of(got, "error"));
		err_hint(err, "%s", text_of(got, "hint"));
	}
	if (rc)
		json_decref(got);
	else
		*reply = got;
	return rc;
}

static int call(const char *name, json_t *request, int timeout_ms, json_t **reply, struct err *err)
{
	int64_t until_ms = timeout_ms < 0 ? -1 : now_ms() + timeout_ms;
	struct buf line = {0};
	int dir_fd, fd = -1, rc = ctl_name_check(name, err);

	if (!rc)
		rc = ctl_dir_open(false, &dir_fd, err);
	if (rc)
		return rc == -ENOENT ? no_recorder(name, err) : rc;
	rc = connect_to(dir_fd, name, &fd);
	close(dir_fd);
	if (rc == -ENOENT || rc == -ECONNREFUSED)
		return no_recorder(name, err);
	if (rc)
		return err_sys(err, rc, "can't connect to the recorder '%s'", name);
	rc = send_request(fd, request, err);
	if (!rc)
		rc = read_line(fd, until_ms, &line, err);
	if (!rc)
		rc = parse_reply(&line, reply, err);
	close(fd);
	buf_free(&line);
	return rc;
}

int ctl_call(const char *name, json_t *request, int timeout_ms, json_t **reply, struct err *err)
{
	int rc = call(name, request, timeout_ms, reply, err);

	json_decref(request);
	return rc;
}
