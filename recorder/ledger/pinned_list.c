// SPDX-License-Identifier: MIT
/* Passes the held files to the symbolizer process; see pinned_list.h. */
#include "recorder/ledger/pinned_list.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_TABLE_BYTES (32 << 20)

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8u
#endif

/* A row of the table. Its path and a NUL follow, padded to 8 bytes. */
struct pinned_row {
	uint64_t ino;
	uint32_t maj, min;
	int32_t fd;
	uint32_t path_bytes;
	uint32_t build_id_bytes;
	uint8_t build_id[20];
};

/* ---- the recorder's side ---- */

int pinned_share_add(struct pinned_share *s, const struct pinned_file *f)
{
	struct pinned_row row = {
		.ino = f->ino,
		.maj = f->maj,
		.min = f->min,
		.path_bytes = (uint32_t)strlen(f->path) + 1,
		.build_id_bytes = f->build_id_bytes,
	};
	static const uint8_t zeros[8];
	int fd = fcntl(f->fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1), rc;

	if (fd < 0)
		return -errno;
	row.fd = fd;
	memcpy(row.build_id, f->build_id, sizeof(row.build_id));
	rc = buf_put(&s->fds, &fd, sizeof(fd));
	if (rc) {
		close(fd);
		return rc;
	}
	rc = buf_put(&s->table, &row, sizeof(row));
	if (!rc)
		rc = buf_put(&s->table, f->path, row.path_bytes);
	if (!rc)
		rc = buf_put(&s->table, zeros, align_up(row.path_bytes, 8) - row.path_bytes);
	return rc;
}

static int open_memory(void)
{
	int fd = memfd_create("kept", MFD_CLOEXEC | MFD_NOEXEC_SEAL);

	if (fd < 0 && errno == EINVAL) /* before Linux 6.3 */
		fd = memfd_create("kept", MFD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int pinned_share_seal(struct pinned_share *s)
{
	int fd = open_memory();

	if (fd < 0)
		return fd;
	if (s->table.len && pwrite(fd, s->table.p, s->table.len, 0) != (ssize_t)s->table.len) {
		close(fd);
		return -ENOSPC;
	}
	s->table_fd = fd;
	return 0;
}

void pinned_share_close(struct pinned_share *s)
{
	const int *fds = (const int *)s->fds.p;

	for (size_t i = 0; i < s->fds.len / sizeof(*fds); i++)
		close(fds[i]);
	if (s->table_fd >= 0)
		close(s->table_fd);
	buf_free(&s->fds);
	buf_free(&s->table);
	s->table_fd = -1;
}

/* ---- the symbolizer's side ---- */

struct pinned_list {
	struct pinned_file *v;
	size_t nr;
	uint8_t *table;
};

static int read_table(int fd, struct pinned_list *k, size_t *bytes)
{
	struct stat st;

	if (fstat(fd, &st) || st.st_size < 0 || st.st_size > MAX_TABLE_BYTES)
		return -EBADMSG;
	k->table = malloc((size_t)st.st_size + 1);
	k->v = calloc((size_t)st.st_size / sizeof(struct pinned_row) + 1, sizeof(*k->v));
	if (!k->table || !k->v)
		return -ENOMEM;
	if (pread(fd, k->table, (size_t)st.st_size, 0) != st.st_size)
		return -EIO;
	*bytes = (size_t)st.st_size;
	return 0;
}

static bool next_row(struct pinned_list *k, struct bytes *b)
{
	struct pinned_file *f = &k->v[k->nr];
	struct bytes path;
	struct pinned_row row;

	if (!bytes_get(b, &row, sizeof(row)) || !row.path_bytes ||
	    row.build_id_bytes > sizeof(row.build_id) ||
	    !bytes_take(b, align_up(row.path_bytes, 8), &path) || path.p[row.path_bytes - 1])
		return false;
	*f = (struct pinned_file){
		.fd = row.fd,
		.maj = row.maj,
		.min = row.min,
		.ino = row.ino,
		.build_id_bytes = (uint8_t)row.build_id_bytes,
		.path = (const char *)path.p,
	};
	memcpy(f->build_id, row.build_id, sizeof(f->build_id));
	k->nr++;
	return true;
}

int pinned_list_read(int table_fd, struct pinned_list **out)
{
	struct pinned_list *k = calloc(1, sizeof(*k));
	struct bytes b = {0};
	size_t bytes = 0;
	int rc = k ? read_table(table_fd, k, &bytes) : -ENOMEM;

	close(table_fd);
	if (rc) {
		pinned_list_free(k);
		return rc;
	}
	b = (struct bytes){k->table, bytes};
	while (next_row(k, &b))
		;
	*out = k;
	return 0;
}

void pinned_list_free(struct pinned_list *k)
{
	if (!k)
		return;
	free(k->v);
	free(k->table);
	free(k);
}

static bool may_be(const struct pinned_file *k, const struct fmt_image *f, const char *path)
{
	if (f->ino)
		return k->ino == f->ino && k->maj == f->maj && k->min == f->min;
	return f->build_id_bytes && !strcmp(k->path, path) &&
	       (!k->build_id_bytes || (k->build_id_bytes == f->build_id_bytes &&
				       !memcmp(k->build_id, f->build_id, f->build_id_bytes)));
}

const struct pinned_file *pinned_list_next(const struct pinned_list *k, const struct fmt_image *f,
					   const char *path, size_t *i)
{
	while (k && *i < k->nr) {
		const struct pinned_file *one = &k->v[(*i)++];

		if (may_be(one, f, path))
			return one;
	}
	return NULL;
}
