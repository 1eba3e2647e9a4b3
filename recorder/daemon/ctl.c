// SPDX-License-Identifier: MIT
/*
 * The recorder's end of the control socket; see ctl.h. The daemon adds ctl_fd() to its loop and
 * calls ctl_next() until it returns 0. Nothing here blocks, and no timer runs without a client. The
 * states of a client:
 *
 *	          request whole            ctl_reply()
 *	READING ─────────────────▶ WAITING ────────────▶ WRITING ──▶ closed
 *	   │ 5 s, bad request         (daemon's time)       │ 5 s
 *	   ▼ error sent, closed                             ▼ closed
 */
#include "recorder/daemon/ctl.h"

#include "dump/base/bytes.h"
#include "dump/base/err.h"
#include "dump/base/str.h"
#include "trigger/kernel/clock.h"
#include "trigger/kernel/recv_cred.h"
#include "recorder/base/ctl_dir.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define MAX_CLIENTS  32
#define MAX_SCRAPERS 4 /* of these; a proxy may let anyone connect */
#define BACKLOG	     64

enum client_state { FREE, READING, WAITING, WRITING };

struct ctl_client {
	enum client_state state;
	bool scraper; /* connected to NAME.metrics: speaks HTTP */
	int fd;
	uint32_t pid, uid;
	struct buf in;
	char *out;
	size_t out_bytes, sent;
	uint64_t deadline_ns; /* in READING and WRITING */
};

struct ctl {
	char name[CTL_NAME_BYTES];
	int dir_fd, lock_fd, listen_fd, metrics_fd, timer_fd, epoll_fd;
	int spare_fd;	   /* closed briefly, to reject a client when descriptors run out */
	uint64_t timer_ns; /* expiry of timer_fd; 0: off */
	struct ctl_client clients[MAX_CLIENTS];
};

/* Values in epoll_data: these, or TAG_CLIENT + index. */
enum { TAG_LISTEN, TAG_METRICS, TAG_TIMER, TAG_CLIENT };

static uint64_t new_deadline(void)
{
	return clock_ns() + CTL_TIMEOUT_MS * 1000000ull;
}

static int watch(struct ctl *c, int op, int fd, uint32_t events, uint32_t tag)
{
	struct epoll_event ev = {.events = events, .data.u32 = tag};

	return epoll_ctl(c->epoll_fd, op, fd, &ev) ? -errno : 0;
}

static uint32_t tag_of(const struct ctl *c, const struct ctl_client *client)
{
	return TAG_CLIENT + (uint32_t)(client - c->clients);
}

/* ---- opening and closing ---- */

static bool is_linked(int dir_fd, const char *name, int fd)
{
	struct stat a, b;

	return !fstat(fd, &a) && !fstatat(dir_fd, name, &b, AT_SYMLINK_NOFOLLOW) &&
	       a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static int already_running(const char *name, int lock_fd, struct err *err)
{
	char pid[16] = "";
	ssize_t n = pread(lock_fd, pid, sizeof(pid) - 1, 0);

	pid[n > 0 ? strspn(pid, "0123456789") : 0] = '\0';
	err_set(err, -EADDRINUSE, "a recorder named '%s' is running already%s%s%s", name,
		*pid ? " (pid " : "", pid, *pid ? ")" : "");
	err_hint(err,
		 "give this one another name with -n NAME; ringback status -n %s shows the other",
		 name);
	return -EADDRINUSE;
}

/* Locks NAME.lock. A recorder removes its lock file when it ends, so the locked file may no longer
 * be the one with that name; then it tries again. */
static int take_lock(struct ctl *c, struct err *err)
{
	char file[CTL_NAME_BYTES + 8];
	int fd;

	snprintf(file, sizeof(file), "%s.lock", c->name);
	for (;;) {
		fd = openat(c->dir_fd, file, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd < 0)
			return err_sys(err, -errno, "can't make the lock file %s", file);
		if (flock(fd, LOCK_EX | LOCK_NB)) {
			int rc = errno == EWOULDBLOCK ? already_running(c->name, fd, err)
						      : err_sys(err, -errno, "can't lock %s", file);

			close(fd);
			return rc;
		}
		if (is_linked(c->dir_fd, file, fd))
			break;
		close(fd);
	}
	c->lock_fd = fd;
	if (ftruncate(fd, 0) || dprintf(fd, "%d\n", getpid()) < 0)
		return err_sys(err, -errno, "can't write %s", file);
	return 0;
}

/* A killed recorder leaves a socket. We hold the lock, so no process listens on it. */
static int remove_stale(struct ctl *c, const char *kind, struct err *err)
{
	char file[CTL_NAME_BYTES + 8];
	struct stat st;

	snprintf(file, sizeof(file), "%s.%s", c->name, kind);
	if (fstatat(c->dir_fd, file, &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? 0 : err_sys(err, -errno, "%s", file);
	if (!S_ISSOCK(st.st_mode))
		return err_set(err, -EEXIST,
			       "%s in the control directory is no socket: it is in the way", file);
	return unlinkat(c->dir_fd, file, 0) ? err_sys(err, -errno, "can't remove %s", file) : 0;
}

static int start_listening(struct ctl *c, const char *kind, int *fd, struct err *err)
{
	struct sockaddr_un addr;
	mode_t mask;
	int rc;

	rc = remove_stale(c, kind, err);
	if (rc)
		return rc;
	*fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (*fd < 0)
		return err_sys(err, -errno, "can't make the control socket");
	ctl_address(c->dir_fd, c->name, kind, &addr);
	mask = umask(0177);
	if (bind(*fd, (struct sockaddr *)&addr, sizeof(addr)))
		rc = err_sys(err, -errno, "can't bind the control socket %s.%s", c->name, kind);
	umask(mask);
	if (!rc && (recv_cred_enable(*fd) || listen(*fd, BACKLOG)))
		rc = err_sys(err, -errno, "can't listen on the control socket %s.%s", c->name,
			     kind);
	return rc;
}

static int open_loop(struct ctl *c, struct err *err)
{
	c->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	c->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	c->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (c->epoll_fd < 0 || c->timer_fd < 0)
		return err_sys(err, -errno, "can't wait for control clients");
	if (watch(c, EPOLL_CTL_ADD, c->listen_fd, EPOLLIN, TAG_LISTEN) ||
	    watch(c, EPOLL_CTL_ADD, c->metrics_fd, EPOLLIN, TAG_METRICS) ||
	    watch(c, EPOLL_CTL_ADD, c->timer_fd, EPOLLIN, TAG_TIMER))
		return err_sys(err, -errno, "can't wait for control clients");
	return 0;
}

int ctl_listen(const char *name, struct ctl **out, struct err *err)
{
	struct ctl *c;
	int rc = ctl_name_check(name, err);

	if (rc)
		return rc;
	c = calloc(1, sizeof(*c));
	if (!c)
		return err_set(err, -ENOMEM, "out of memory for the control socket");
	c->dir_fd = c->lock_fd = c->listen_fd = c->metrics_fd = -1;
	c->timer_fd = c->epoll_fd = c->spare_fd = -1;
	snprintf(c->name, sizeof(c->name), "%s", name);
	rc = ctl_dir_open(true, &c->dir_fd, err);
	if (!rc)
		rc = take_lock(c, err);
	if (!rc)
		rc = start_listening(c, "sock", &c->listen_fd, err);
	if (!rc)
		rc = start_listening(c, "metrics", &c->metrics_fd, err);
	if (!rc)
		rc = open_loop(c, err);
	if (rc)
		ctl_close(c);
	else
		*out = c;
	return rc;
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

static void client_close(struct ctl_client *client)
{
	close(client->fd);
	buf_free(&client->in);
	free(client->out);
	*client = (struct ctl_client){0};
}

/* ---- answers ---- */

static void set_text(json_t *object, const char *key, const char *text)
{
	char safe[2048];

	json_object_set_new(object, key,
			    json_string(str_safe(safe, sizeof(safe), text, strlen(text))));
}

static json_t *error_reply(const struct err *err)
{
	json_t *reply = json_object();

	json_object_set_new(reply, "ok", json_false());
	set_text(reply, "error", err->what);
	if (*err->hint)
		set_text(reply, "hint", err->hint);
	return reply;
}

/* One line, owned by the caller; takes over `reply`. */
static char *line_of(json_t *reply, size_t *bytes)
{
	char *text = json_dumps(reply, JSON_COMPACT), *line = NULL;
	int n = text ? asprintf(&line, "%s\n", text) : -1;

	free(text);
	json_decref(reply);
	if (n < 0)
		return NULL;
	*bytes = (size_t)n;
	return line;
}

/* An answer to HTTP, owned by the caller. */
static char *http_of(const char *status, const char *body, size_t *bytes)
{
	char *text;
	int n = asprintf(&text,
			 "HTTP/1.1 %s\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
			 "Content-Length: %zu\r\nConnection: close\r\n\r\n%s",
			 status, strlen(body), body);

	if (n < 0)
		return NULL;
	*bytes = (size_t)n;
	return text;
}

/* Sends an error to a client before closing it, without waiting for space in the socket. */
static void last_words(int fd, bool scraper, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static void last_words(int fd, bool scraper, const char *fmt, ...)
{
	struct err err = ERR_INIT;
	size_t bytes;
	va_list ap;
	char *line;

	va_start(ap, fmt);
	vsnprintf(err.what, sizeof(err.what), fmt, ap);
	va_end(ap);
	line = scraper ? http_of("503 Service Unavailable", err.what, &bytes)
		       : line_of(error_reply(&err), &bytes);
	if (line)
		send(fd, line, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
	free(line);
}

void ctl_close(struct ctl *c)
{
	char file[CTL_NAME_BYTES + 8];

	if (!c)
		return;
	for (size_t i = 0; i < MAX_CLIENTS; i++) {
		if (c->clients[i].state == FREE)
			continue;
		if (c->clients[i].state != WRITING)
			last_words(c->clients[i].fd, c->clients[i].scraper,
				   "the recorder stopped before it could answer");
		client_close(&c->clients[i]);
	}
	/* Removes the socket before the lock, which is still held: the next recorder finds both or
	 * neither. */
	if (c->listen_fd >= 0) {
		snprintf(file, sizeof(file), "%s.sock", c->name);
		unlinkat(c->dir_fd, file, 0);
	}
	if (c->metrics_fd >= 0) {
		snprintf(file, sizeof(file), "%s.metrics", c->name);
		unlinkat(c->dir_fd, file, 0);
	}
	if (c->lock_fd >= 0) {
		snprintf(file, sizeof(file), "%s.lock", c->name);
		unlinkat(c->dir_fd, file, 0);
	}
	close_fd(c->listen_fd);
	close_fd(c->metrics_fd);
	close_fd(c->timer_fd);
	close_fd(c->spare_fd);
	close_fd(c->epoll_fd);
	close_fd(c->lock_fd);
	close_fd(c->dir_fd);
	free(c);
}

int ctl_fd(const struct ctl *c)
{
	return c->epoll_fd;
}

/* ---- the timer ---- */

/* Sets the timer to the next deadline, or turns it off. */
static void set_timer(struct ctl *c)
{
	struct itimerspec t = {0};
	uint64_t next = 0;

	for (size_t i = 0; i < MAX_CLIENTS; i++) {
		const struct ctl_client *client = &c->clients[i];

		if ((client->state == READING || client->state == WRITING) &&
		    (!next || client->deadline_ns < next))
			next = client->deadline_ns;
	}
	if (next == c->timer_ns)
		return;
	t.it_value.tv_sec = (time_t)(next / 1000000000);
	t.it_value.tv_nsec = (long)(next % 1000000000);
	timerfd_settime(c->timer_fd, TFD_TIMER_ABSTIME, &t, NULL);
	c->timer_ns = next;
}

static void drop_late(struct ctl *c)
{
	uint64_t now = clock_ns(), fired;

	if (read(c->timer_fd, &fired, sizeof(fired)) == sizeof(fired))
		c->timer_ns = 0;
	for (size_t i = 0; i < MAX_CLIENTS; i++) {
		struct ctl_client *client = &c->clients[i];

		if ((client->state != READING && client->state != WRITING) ||
		    client->deadline_ns > now)
			continue;
		if (client->state == READING)
			last_words(client->fd, client->scraper, "no whole request came within %d s",
				   CTL_TIMEOUT_MS / 1000);
		client_close(client);
	}
}

/* ---- clients ---- */

/* Out of descriptors: a pending connection would wake the loop forever, so it is accepted and
 * closed. */
static void turn_away(struct ctl *c, int listen_fd)
{
	int fd;

	close_fd(c->spare_fd);
	fd = accept4(listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd >= 0)
		last_words(fd, listen_fd == c->metrics_fd,
			   "the recorder has no file descriptor left to answer with");
	close_fd(fd);
	c->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/* NULL: there are too many. */
static struct ctl_client *free_client(struct ctl *c, bool scraper)
{
	struct ctl_client *client = NULL;
	int nr_scrapers = 0;

	for (size_t i = 0; i < MAX_CLIENTS; i++) {
		nr_scrapers += c->clients[i].scraper;
		if (!client && c->clients[i].state == FREE)
			client = &c->clients[i];
	}
	return scraper && nr_scrapers == MAX_SCRAPERS ? NULL : client;
}

static bool is_allowed(int fd, bool scraper, const struct ucred *cred)
{
	if (cred->uid == geteuid() || !cred->uid)
		return true;
	last_words(fd, scraper, "only uid %u and root may talk to this recorder, not uid %u",
		   geteuid(), cred->uid);
	return false;
}

static void admit(struct ctl *c, int fd, bool scraper)
{
	struct ctl_client *client = free_client(c, scraper);
	struct ucred cred;
	socklen_t n = sizeof(cred);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &n)) {
		close(fd);
	} else if (!is_allowed(fd, scraper, &cred)) {
		close(fd);
	} else if (!client) {
		last_words(fd, scraper,
			   "%d clients are waiting for this recorder already; try again later",
			   scraper ? MAX_SCRAPERS : MAX_CLIENTS);
		close(fd);
	} else if (watch(c, EPOLL_CTL_ADD, fd, EPOLLIN, tag_of(c, client))) {
		close(fd);
	} else {
		*client = (struct ctl_client){.state = READING,
					      .scraper = scraper,
					      .fd = fd,
					      .pid = (uint32_t)cred.pid,
					      .uid = cred.uid,
					      .deadline_ns = new_deadline()};
	}
}

static void accept_one(struct ctl *c, int listen_fd)
{
	int fd = accept4(listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd >= 0)
		admit(c, fd, listen_fd == c->metrics_fd);
	else if (errno == EMFILE || errno == ENFILE)
		turn_away(c, listen_fd);
}

static void refuse_request(struct ctl_client *client, const char *why)
{
	last_words(client->fd, client->scraper, "the request %s", why);
	client_close(client);
}

/* Input is ignored until the answer is ready. */
static void wait_for_answer(struct ctl *c, struct ctl_client *client)
{
	epoll_ctl(c->epoll_fd, EPOLL_CTL_DEL, client->fd, NULL);
	buf_free(&client->in);
	client->state = WAITING;
}

static bool parse_request(struct ctl *c, struct ctl_client *client, size_t len, json_t **request)
{
	json_t *got = json_loadb((const char *)client->in.p, len, JSON_REJECT_DUPLICATES, NULL);

	if (!json_is_object(got)) {
		json_decref(got);
		refuse_request(client, "is no JSON object on one line");
		return false;
	}
	wait_for_answer(c, client);
	*request = got;
	return true;
}

static void send_reply(struct ctl *c, struct ctl_client *client);

/* The head of an HTTP request; only GET /metrics is served. */
static bool parse_http(struct ctl *c, struct ctl_client *client, json_t **request)
{
	static const char get[] = "GET /metrics";
	const struct buf *in = &client->in;
	bool known;

	if (!memmem(in->p, in->len, "\r\n\r\n", 4))
		return false;
	known = in->len > strlen(get) && !memcmp(in->p, get, strlen(get)) &&
		strchr(" ?", in->p[strlen(get)]);
	wait_for_answer(c, client);
	*request = NULL;
	if (known)
		return true;
	client->out =
		http_of("404 Not Found", "only GET /metrics is answered\n", &client->out_bytes);
	send_reply(c, client);
	return false;
}

/* Receives more of a request; the sender may not be the process that connected. -EAGAIN: nothing
 * yet; -EPERM: the client is refused. */
static ssize_t receive(struct ctl_client *client)
{
	struct buf *in = &client->in;
	struct ucred cred;
	bool cut;
	ssize_t n;

	if (buf_reserve(in, 4096))
		return -ENOMEM;
	n = recv_cred(client->fd, in->p + in->len, in->cap - in->len, &cred, &cut);
	if (n <= 0)
		return n == -EINTR ? -EAGAIN : n;
	if (!is_allowed(client->fd, client->scraper, &cred))
		return -EPERM;
	client->pid = (uint32_t)cred.pid;
	client->uid = cred.uid;
	return n;
}

/* True when the request is complete and valid. Without a newline it ends at the end of the
 * stream. */
static bool read_request(struct ctl *c, struct ctl_client *client, json_t **request)
{
	struct buf *in = &client->in;
	ssize_t n = receive(client);
	const uint8_t *end;

	if (n == -EAGAIN)
		return false;
	if (n < 0 || (!n && !in->len)) {
		client_close(client);
		return false;
	}
	end = n ? memchr(in->p + in->len, '\n', (size_t)n) : in->p + in->len;
	in->len += (size_t)n;
	if ((end && !client->scraper ? (size_t)(end - in->p) : in->len) > CTL_LINE_MAX) {
		refuse_request(client, "is longer than 64 KiB");
		return false;
	}
	if (client->scraper)
		return parse_http(c, client, request);
	return end && parse_request(c, client, (size_t)(end - in->p), request);
}

static void write_reply(struct ctl *c, struct ctl_client *client)
{
	ssize_t n = send(client->fd, client->out + client->sent, client->out_bytes - client->sent,
			 MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n > 0)
		client->sent += (size_t)n;
	if (client->sent == client->out_bytes || (n < 0 && errno != EAGAIN && errno != EINTR))
		client_close(client);
}

int ctl_next(struct ctl *c, struct ctl_client **out, json_t **request)
{
	struct epoll_event ev;
	int found = 0;

	while (!found && epoll_wait(c->epoll_fd, &ev, 1, 0) > 0) {
		struct ctl_client *client;

		if (ev.data.u32 == TAG_LISTEN) {
			accept_one(c, c->listen_fd);
			continue;
		}
		if (ev.data.u32 == TAG_METRICS) {
			accept_one(c, c->metrics_fd);
			continue;
		}
		if (ev.data.u32 == TAG_TIMER) {
			drop_late(c);
			continue;
		}
		client = &c->clients[ev.data.u32 - TAG_CLIENT];
		if (client->state == WRITING) {
			write_reply(c, client);
		} else if (read_request(c, client, request)) {
			*out = client;
			found = 1;
		}
	}
	set_timer(c);
	return found;
}

void ctl_client_cred(const struct ctl_client *client, uint32_t *pid, uint32_t *uid)
{
	*pid = client->pid;
	*uid = client->uid;
}

/* Sends client->out; NULL: out of memory. */
static void send_reply(struct ctl *c, struct ctl_client *client)
{
	assert(client->state == WAITING);
	client->state = WRITING;
	client->deadline_ns = new_deadline();
	if (!client->out) {
		client_close(client);
		return;
	}
	write_reply(c, client);
	if (client->state == WRITING &&
	    watch(c, EPOLL_CTL_ADD, client->fd, EPOLLOUT, tag_of(c, client)))
		client_close(client);
	set_timer(c);
}

void ctl_reply(struct ctl *c, struct ctl_client *client, json_t *reply)
{
	client->out = line_of(reply, &client->out_bytes);
	send_reply(c, client);
}

void ctl_reply_err(struct ctl *c, struct ctl_client *client, const struct err *err)
{
	ctl_reply(c, client, error_reply(err));
}

void ctl_reply_metrics(struct ctl *c, struct ctl_client *client, const char *text)
{
	client->out = text ? http_of("200 OK", text, &client->out_bytes) : NULL;
	send_reply(c, client);
}
