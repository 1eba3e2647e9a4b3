/* LAYERS: dump base */
// SPDX-License-Identifier: MIT
/*
 * tool_names DUMP OUT <PAYLOADS: adds names to a dump as the recorder would have. PAYLOADS is the
 * output of the recorder's child for names: for each, a length, a section and a payload of it;
 * length 0 ends it.
 */
#include "dump/base/err.h"
#include "dump/file/reader.h"
#include "dump/file/writer.h"

#include <err.h>
#include <fcntl.h>
#include <stdio.h>

static int add(void *ctx, struct writer *w, struct err *err)
{
	struct bytes all = *(struct bytes *)ctx, payload, item;
	bool broken = false;
	uint16_t kind;
	uint32_t n, section;
	int rc = 0;

	while (!rc && bytes_u32(&all, &n) && bytes_u32(&all, &section) && n &&
	       bytes_take(&all, n, &payload)) {
		if (section != FMT_SYMBOLS)
			continue;
		rc = writer_section(w, FMT_SYMBOLS);
		while (!rc && reader_next_item(&payload, &kind, &item, &broken))
			rc = writer_item(w, kind, item.p, item.len, NULL, 0, NULL);
		rc = rc ? rc : writer_flush(w);
	}
	return rc;
}

int main(int argc, char **argv)
{
	struct err err = ERR_INIT;
	struct buf in = {0};
	struct bytes all;
	struct reader *r;
	char part[4096];
	size_t n;
	int fd;

	if (argc != 3)
		errx(2, "tool_names DUMP OUT <PAYLOADS");
	while ((n = fread(part, 1, sizeof(part), stdin)))
		if (buf_put(&in, part, n))
			errx(2, "out of memory");
	all = (struct bytes){in.p, in.len};
	if (reader_open(argv[1], &r, &err))
		errx(2, "%s", err.what);
	fd = open(argv[2], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		errx(2, "%s: it can't be made", argv[2]);
	if (reader_extend_fd(r, fd, add, &all, &err))
		errx(2, "%s", err.what);
	reader_close(r);
	buf_free(&in);
	return 0;
}
