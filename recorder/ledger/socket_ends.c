// SPDX-License-Identifier: MIT
/* Tables of sockets, and which of them belong together; see socket_ends.h. */
#include "recorder/ledger/socket_ends.h"

#include "dump/base/bytes.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define MAX_NAMESPACES 32

struct inet_end {
	struct in6_addr
		address; /* IPv4 as ::ffff:a.b.c.d: a socket of either family may accept it */
	uint16_t port;
};

struct inet_socket {
	uint64_t ino, ns;
	struct inet_end local, remote;
	bool udp;
};

struct unix_socket {
	uint32_t ino;
	uint32_t peer; /* 0: not connected, or not accepted */
	char name[110];
};

/* The client waits in the queue of the listening socket. */
struct unix_pending {
	uint32_t listener, client;
};

struct socket_ends {
	int proc_fd;
	bool (*over)(void *ctx);
	void *ctx;
	uint64_t ns[MAX_NAMESPACES]; /* inodes of the namespaces read */
	size_t nr_ns;
	uint64_t own_ns;
	struct buf inet, unixes, pending; /* struct inet_socket[], ... */
};

/* ---- TCP and UDP ---- */

/* "0100007F:0CEA": words as in memory, port in host order. */
static bool parse_end(const char *s, struct inet_end *out)
{
	size_t nr = strspn(s, "0123456789ABCDEF");
	uint32_t v[4] = {0, 0, htonl(0xffff), 0};

	if (nr == 8)
		sscanf(s, "%8" SCNx32, &v[3]);
	else if (nr == 32)
		sscanf(s, "%8" SCNx32 "%8" SCNx32 "%8" SCNx32 "%8" SCNx32, &v[0], &v[1], &v[2],
		       &v[3]);
	else
		return false;
	memcpy(&out->address, v, sizeof(v));
	return sscanf(s + nr, ":%" SCNx16, &out->port) == 1;
}

static void take_line(struct socket_ends *s, const char *line, uint64_t ns, bool udp)
{
	struct inet_socket k = {.ns = ns, .udp = udp};
	char local[48], remote[48];

	if (sscanf(line, " %*u: %47s %47s %*s %*s %*s %*s %*u %*u %" SCNu64, local, remote,
		   &k.ino) == 3 &&
	    k.ino && parse_end(local, &k.local) && parse_end(remote, &k.remote))
		buf_put(&s->inet, &k, sizeof(k));
}

static void read_inet(struct socket_ends *s, uint32_t pid, uint64_t ns, const char *name, bool udp)
{
	FILE *f = thread_proc_lines(s->proc_fd, "%u/net/%s", pid, name);
	char line[512];

	while (f && !s->over(s->ctx) && fgets(line, sizeof(line), f))
		take_line(s, line, ns, udp);
	if (f)
		fclose(f);
}

static bool is_loopback(const struct inet_end *e)
{
	return IN6_IS_ADDR_V4MAPPED(&e->address) ? e->address.s6_addr[12] == 127
						 : IN6_IS_ADDR_LOOPBACK(&e->address);
}

static bool is_any(const struct inet_end *e)
{
	static const struct in6_addr any4 = {{{[10] = 0xff, [11] = 0xff}}};

	return IN6_IS_ADDR_UNSPECIFIED(&e->address) || !memcmp(&e->address, &any4, sizeof(any4));
}

static bool same_end(const struct inet_end *a, const struct inet_end *b)
{
	return a->port == b->port && !memcmp(&a->address, &b->address, sizeof(a->address));
}

/* A socket that waits for connections or datagrams to k->remote. One on any address counts only if
 * the address surely is one of this namespace. */
static bool listens_to(const struct inet_socket *t, const struct inet_socket *k)
{
	bool own = is_loopback(&k->remote) ||
		   !memcmp(&k->remote.address, &k->local.address, sizeof(k->local.address));

	return !t->remote.port && t->local.port == k->remote.port &&
	       (same_end(&t->local, &k->remote) || (is_any(&t->local) && own && t->ns == k->ns));
}

static const struct inet_socket *inet_at(const struct socket_ends *s, size_t i)
{
	return (const struct inet_socket *)s->inet.p + i;
}

static uint64_t inet_peer(const struct socket_ends *s, const struct inet_socket *k)
{
	uint64_t listener = 0;

	if (!k->remote.port)
		return 0;
	for (size_t i = 0; i < s->inet.len / sizeof(*k); i++) {
		const struct inet_socket *t = inet_at(s, i);

		if (t->udp != k->udp || t == k || (is_loopback(&k->remote) && t->ns != k->ns))
			continue;
		if (same_end(&t->local, &k->remote) && same_end(&t->remote, &k->local))
			return t->ino;
		if (listens_to(t, k))
			listener = t->ino;
	}
	return listener;
}

static void put_end(char *out, size_t n, const struct inet_end *e)
{
	char address[INET6_ADDRSTRLEN];

	if (IN6_IS_ADDR_V4MAPPED(&e->address))
		inet_ntop(AF_INET, e->address.s6_addr + 12, address, sizeof(address));
	else
		inet_ntop(AF_INET6, &e->address, address, sizeof(address));
	snprintf(out, n, strchr(address, ':') ? "[%s]:%u" : "%s:%u", address, e->port);
}

/* ---- unix sockets ---- */

static void take_unix(struct socket_ends *s, const struct nlmsghdr *h)
{
	const struct unix_diag_msg *m = NLMSG_DATA(h);
	int left = (int)NLMSG_PAYLOAD(h, sizeof(*m));
	struct unix_socket k = {.ino = m->udiag_ino};

	for (const struct rtattr *a = (const struct rtattr *)(m + 1); RTA_OK(a, left);
	     a = RTA_NEXT(a, left)) {
		size_t n = RTA_PAYLOAD(a);

		if (a->rta_type == UNIX_DIAG_NAME && n && n < sizeof(k.name)) {
			memcpy(k.name, RTA_DATA(a), n);
			if (!k.name[0])
				k.name[0] = '@';
		} else if (a->rta_type == UNIX_DIAG_PEER && n == sizeof(k.peer)) {
			memcpy(&k.peer, RTA_DATA(a), n);
		} else if (a->rta_type == UNIX_DIAG_ICONS) {
			for (size_t i = 0; i < n / sizeof(uint32_t); i++) {
				struct unix_pending p = {.listener = k.ino};

				memcpy(&p.client,
				       (const uint8_t *)RTA_DATA(a) + i * sizeof(p.client),
				       sizeof(p.client));
				buf_put(&s->pending, &p, sizeof(p));
			}
		}
	}
	buf_put(&s->unixes, &k, sizeof(k));
}

/* False: the last message was there. */
static bool take_messages(struct socket_ends *s, const void *p, ssize_t n)
{
	unsigned left = n > 0 ? (unsigned)n : 0;

	for (const struct nlmsghdr *h = p; NLMSG_OK(h, left); h = NLMSG_NEXT(h, left)) {
		if (h->nlmsg_type == NLMSG_DONE || h->nlmsg_type == NLMSG_ERROR)
			return false;
		if (h->nlmsg_type == SOCK_DIAG_BY_FAMILY &&
		    NLMSG_PAYLOAD(h, 0) >= sizeof(struct unix_diag_msg))
			take_unix(s, h);
	}
	return n > 0;
}

static int ask_unix(int fd)
{
	struct {
		struct nlmsghdr h;
		struct unix_diag_req r;
	} ask = {
		.h = {.nlmsg_len = sizeof(ask),
		      .nlmsg_type = SOCK_DIAG_BY_FAMILY,
		      .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
		.r = {.sdiag_family = AF_UNIX,
		      .udiag_states = UINT32_MAX,
		      .udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_PEER | UDIAG_SHOW_ICONS},
	};

	return send(fd, &ask, sizeof(ask), 0) == sizeof(ask) ? 0 : -errno;
}

/* A socket stays in the namespace in which it was created; this thread returns to its own. */
static int open_diag(const struct socket_ends *s, uint32_t pid, uint64_t ns)
{
	char path[64];
	int of, own, fd = -1;

	if (ns == s->own_ns)
		return socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	snprintf(path, sizeof(path), "%u/ns/net", pid);
	of = openat(s->proc_fd, path, O_RDONLY | O_CLOEXEC);
	own = openat(s->proc_fd, "thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	if (of >= 0 && own >= 0 && !setns(of, CLONE_NEWNET)) {
		fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
		setns(own, CLONE_NEWNET);
	}
	if (of >= 0)
		close(of);
	if (own >= 0)
		close(own);
	return fd;
}

static void read_unix(struct socket_ends *s, uint32_t pid, uint64_t ns)
{
	static const struct timeval wait = {.tv_usec = 10000};
	_Alignas(struct nlmsghdr) char reply[32768];
	int fd = open_diag(s, pid, ns);

	if (fd < 0)
		return;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	if (!ask_unix(fd))
		while (!s->over(s->ctx) &&
		       take_messages(s, reply, recv(fd, reply, sizeof(reply), 0)))
			;
	close(fd);
}

static const struct unix_socket *unix_of(const struct socket_ends *s, uint64_t ino)
{
	const struct unix_socket *v = (const struct unix_socket *)s->unixes.p;

	for (size_t i = 0; ino && i < s->unixes.len / sizeof(*v); i++)
		if (v[i].ino == ino)
			return &v[i];
	return NULL;
}

static uint64_t unix_peer(const struct socket_ends *s, const struct unix_socket *k)
{
	const struct unix_pending *v = (const struct unix_pending *)s->pending.p;

	for (size_t i = 0; !k->peer && i < s->pending.len / sizeof(*v); i++)
		if (v[i].client == k->ino)
			return v[i].listener;
	return k->peer;
}

/* ---- all ---- */

static uint64_t namespace_of(const struct socket_ends *s, const char *path)
{
	struct stat st;

	return fstatat(s->proc_fd, path, &st, 0) ? 0 : st.st_ino;
}

int socket_ends_new(int proc_fd, bool (*over)(void *ctx), void *ctx, struct socket_ends **out)
{
	struct socket_ends *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->proc_fd = proc_fd;
	s->over = over;
	s->ctx = ctx;
	s->own_ns = namespace_of(s, "self/ns/net");
	*out = s;
	return 0;
}

void socket_ends_free(struct socket_ends *s)
{
	if (!s)
		return;
	buf_free(&s->inet);
	buf_free(&s->unixes);
	buf_free(&s->pending);
	free(s);
}

void socket_ends_read(struct socket_ends *s, uint32_t pid)
{
	char path[64];
	uint64_t ns;

	snprintf(path, sizeof(path), "%u/ns/net", pid);
	ns = namespace_of(s, path);
	for (size_t i = 0; i < s->nr_ns; i++)
		if (s->ns[i] == ns)
			return;
	if (!ns || s->nr_ns == MAX_NAMESPACES)
		return;
	s->ns[s->nr_ns++] = ns;
	read_unix(s, pid, ns);
	read_inet(s, pid, ns, "tcp", false);
	read_inet(s, pid, ns, "tcp6", false);
	read_inet(s, pid, ns, "udp", true);
	read_inet(s, pid, ns, "udp6", true);
}

uint64_t socket_ends_find(const struct socket_ends *s, struct thread_file *file)
{
	const struct unix_socket *k, *peer;
	uint64_t ino, other;

	if (sscanf(file->link, "socket:[%" SCNu64, &ino) != 1)
		return 0;
	k = unix_of(s, ino);
	if (k) {
		other = unix_peer(s, k);
		peer = unix_of(s, other);
		snprintf(file->protocol, sizeof(file->protocol), "unix");
		snprintf(file->local, sizeof(file->local), "%s", k->name);
		snprintf(file->remote, sizeof(file->remote), "%s", peer ? peer->name : "");
		return other;
	}
	for (size_t i = 0; i < s->inet.len / sizeof(struct inet_socket); i++) {
		const struct inet_socket *t = inet_at(s, i);

		if (t->ino != ino)
			continue;
		snprintf(file->protocol, sizeof(file->protocol), t->udp ? "udp" : "tcp");
		put_end(file->local, sizeof(file->local), &t->local);
		if (t->remote.port)
			put_end(file->remote, sizeof(file->remote), &t->remote);
		return inet_peer(s, t);
	}
	return 0;
}
