// SPDX-License-Identifier: MIT
/*
 * Entries for systemd's journal; see journal.h. Called by log.c. A datagram is an entry, made of
 * fields in one form, which allows newlines:
 *
 *	NAME \n  length (64 bits, little-endian)  value \n
 */
#include "recorder/base/journal.h"

#include "dump/base/bytes.h"

#include <endian.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

bool journal_has_stderr(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long dev, ino;
	struct stat st;

	return stream && sscanf(stream, "%lu:%lu", &dev, &ino) == 2 && !fstat(STDERR_FILENO, &st) &&
	       st.st_dev == dev && st.st_ino == ino;
}

static int put_field(struct buf *b, const struct journal_field *f)
{
	size_t n = strlen(f->value);
	uint64_t length = htole64(n);

	if (buf_put(b, f->name, strlen(f->name)) || buf_put(b, "\n", 1) ||
	    buf_put(b, &length, sizeof(length)) || buf_put(b, f->value, n) || buf_put(b, "\n", 1))
		return -ENOMEM;
	return 0;
}

int journal_send(const char *path, const struct journal_field *fields, size_t nr)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	struct buf b = {0};
	int fd, rc = 0;

	for (size_t i = 0; i < nr && !rc; i++)
		rc = put_field(&b, &fields[i]);
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	fd = rc ? -1 : socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (!rc && (fd < 0 || sendto(fd, b.p, b.len, MSG_NOSIGNAL | MSG_DONTWAIT,
				     (struct sockaddr *)&addr, sizeof(addr)) < 0))
		rc = -errno;
	if (fd >= 0)
		close(fd);
	buf_free(&b);
	return rc;
}
