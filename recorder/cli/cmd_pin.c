// SPDX-License-Identifier: MIT
/* `ringback pin`: marks dumps that the recorder's limits never delete, or removes the mark. */
#include "recorder/cli/cmd.h"

#include "dump/base/err.h"
#include "dump/format/format.h"
#include "recorder/base/log.h"
#include "recorder/writer/dump_name.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* -EOPNOTSUPP on a file system that accepts modes and forgets them. */
static int set_mode(int fd, struct stat *st, bool remove)
{
	mode_t mode = (st->st_mode & 07777 & ~DUMPNAME_PINNED) | (remove ? 0 : DUMPNAME_PINNED);

	if (mode == (st->st_mode & 07777))
		return 0;
	if (fchmod(fd, mode) || fstat(fd, st))
		return -errno;
	return (st->st_mode & 07777) == mode ? 0 : -EOPNOTSUPP;
}

/* Checks and changes the same open file: whoever owns the directory may swap the name. */
static int pin(const char *path, bool remove, struct err *err)
{
	char magic[sizeof(FMT_MAGIC) - 1] = "";
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), rc;
	struct stat st;

	if (fd < 0)
		return err_sys(err, -errno, "can't open '%s'", path);
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) ||
	    pread(fd, magic, sizeof(magic), 0) != sizeof(magic) ||
	    memcmp(magic, FMT_MAGIC, sizeof(magic)))
		rc = err_set(err, -EINVAL, "'%s' is not a dump", path);
	else if ((rc = set_mode(fd, &st, remove)))
		err_sys(err, rc, "can't %s '%s'", remove ? "unpin" : "pin", path);
	if (rc == -EPERM)
		err_hint(err, "only the owner of the file and root can");
	close(fd);
	return rc;
}

static const struct option_row options[] = {
	{"remove", 0, NULL, OPTION_FLAG, .help = "let the limits delete them again"},
	{.name = NULL},
};

static int run(int argc, char **argv)
{
	char **operands;
	bool remove = false;
	int code = cmd_parse(&cmd_pin, &remove, argc, argv, &operands);

	if (code)
		return code;
	for (; *operands; operands++) {
		struct err err = ERR_INIT;

		if (pin(*operands, remove, &err)) {
			log_err(&err);
			code = EXIT_FAILED;
		}
	}
	return code;
}

const struct command cmd_pin = {
	.name = "pin",
	.operands = "DUMP [DUMP]...",
	.help = "keep dumps that the recorder's limits would delete",
	.notes =
		"A pinned dump still counts against the limits. Its file has the sticky bit set.\n",
	.run = run,
	.options = options,
};
