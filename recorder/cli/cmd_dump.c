// SPDX-License-Identifier: MIT
/* Opens a dump, and ends a command that printed one; see cmd_dump.h. */
#include "recorder/cli/cmd_dump.h"

#include "dump/base/err.h"
#include "dump/base/str.h"
#include "dump/file/meta.h"
#include "dump/file/reader.h"
#include "trigger/kernel/clock.h"
#include "recorder/cli/cmd.h"
#include "recorder/cli/dump_dir.h"
#include "recorder/base/log.h"
#include "recorder/base/output_file.h"
#include "recorder/cli/pager.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define MIN_WIDTH     80
#define MAX_WIDTH     200
#define DEFAULT_WIDTH 100
#define PROGRESS_NS   200000000u

/* A truncated file still has intact blocks: they are searched for if it can't be opened normally. */
static int open_reader(const char *path, struct cmd_dump *d)
{
	struct err err = ERR_INIT;
	int rc = reader_open(path, &d->r, &err);

	if (!rc)
		return EXIT_FINE;
	if (rc != -EBADMSG) {
		log_err(&err);
		return EXIT_FAILED;
	}
	d->damaged = true;
	if (reader_open_damaged(path, &d->r, NULL)) {
		log_err(&err);
		return EXIT_DAMAGED;
	}
	if (!reader_nr_blocks(d->r)) {
		log_err(&err);
		cmd_dump_close(d);
		return EXIT_DAMAGED;
	}
	log_warn_err(&err);
	return EXIT_FINE;
}

int cmd_dump_named(const struct command *c, char **operands, const char **path)
{
	static char newest[PATH_MAX]; /* static, since it must live as long as argv */
	const struct dump_dir_entry *e = NULL;
	struct dump_dir all = {0};
	struct err err = ERR_INIT;
	char dir[PATH_MAX];

	*path = operands[0];
	if (*path)
		return EXIT_FINE;
	dump_dir_default(dir);
	if (!dump_dir_read(dir, &all, &err))
		e = dump_dir_newest(&all);
	if (e) {
		snprintf(newest, sizeof(newest), "%s", e->path);
		*path = newest;
		log_info("reading the newest dump, %s", newest);
	} else if (!*err.what) {
		err_set(&err, -ENOENT, "there is no dump in %s",
			strcmp(dir, ".") ? dir : "the current directory");
	}
	dump_dir_free(&all);
	if (e)
		return EXIT_FINE;
	err_hint(&err,
		 "write ringback %s DUMP, or make one: ringback record -a, and in another shell: "
		 "ringback trigger",
		 c->name);
	log_err(&err);
	return EXIT_USAGE;
}

int cmd_dump_open(const char *path, struct cmd_dump *d)
{
	struct err err = ERR_INIT;
	int code;

	*d = (struct cmd_dump){0};
	code = open_reader(path, d);
	if (code)
		return code;
	if (meta_load(d->r, &d->m, &err)) {
		log_err(&err);
		cmd_dump_close(d);
		return EXIT_FAILED;
	}
	return EXIT_FINE;
}

void cmd_dump_close(struct cmd_dump *d)
{
	meta_free(d->m);
	reader_close(d->r);
	*d = (struct cmd_dump){0};
}

int cmd_dump_exit(const char *path, const struct cmd_dump *d, int rc, const struct err *err,
		  uint64_t nr_bad)
{
	if (rc == -EPIPE) {
		clearerr(stdout); /* EPIPE is no error: `ringback script DUMP | head` */
		return EXIT_FINE;
	}
	if (rc) {
		log_err(err);
		return EXIT_FAILED;
	}
	if (nr_bad)
		log_warn("%" PRIu64
			 " bad block%s or part%s of %s left out; for details: ringback check %s",
			 nr_bad, str_plural(nr_bad), str_plural(nr_bad), path, path);
	return nr_bad || d->damaged ? EXIT_DAMAGED : EXIT_FINE;
}

int cmd_dump_to_file(const char *path, bool force, int (*write)(void *ctx, FILE *out), void *ctx)
{
	struct err err = ERR_INIT;
	struct output_file *o = NULL;
	int code;

	if (output_file_open(path, force, &o, &err)) {
		log_err(&err);
		return EXIT_FAILED;
	}
	code = write(ctx, output_file_stream(o));
	if ((code == EXIT_FINE || code == EXIT_DAMAGED) && output_file_commit(o, &err)) {
		log_err(&err);
		code = EXIT_FAILED;
	}
	output_file_close(o);
	return code;
}

bool cmd_dump_color(void)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(pager_terminal()) && !(no && *no) && !(term && !strcmp(term, "dumb"));
}

unsigned cmd_dump_width(void)
{
	const char *columns = getenv("COLUMNS");
	struct winsize w = {0};
	unsigned long n = columns ? strtoul(columns, NULL, 10) : 0;

	if (!n && !ioctl(pager_terminal(), TIOCGWINSZ, &w))
		n = w.ws_col;
	if (!n)
		return DEFAULT_WIDTH;
	return n < MIN_WIDTH ? MIN_WIDTH : n > MAX_WIDTH ? MAX_WIDTH : (unsigned)n;
}

void cmd_dump_progress(void *ctx, uint64_t done, uint64_t total)
{
	struct cmd_progress *p = ctx;
	uint64_t now = clock_ns();

	if (done >= total) {
		log_status(NULL);
		return;
	}
	if (now - p->told_ns < PROGRESS_NS)
		return;
	p->told_ns = now;
	log_status("%s: %" PRIu64 " %% of %" PRIu64 " records", p->what,
		   total ? done * 100 / total : 100, total);
}
