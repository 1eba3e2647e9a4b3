// SPDX-License-Identifier: MIT
/*
 * `ringback check`: verifies every byte of a dump and, with --salvage, saves the intact blocks of a
 * damaged one. Findings and the summary go to stdout, errors and hints to stderr.
 */
#include "recorder/cli/cmd.h"

#include "dump/base/err.h"
#include "dump/base/str.h"
#include "dump/file/reader.h"
#include "recorder/base/log.h"
#include "recorder/cli/cmd_dump.h"

#include <errno.h>
#include <string.h>

/* A finding may quote a path, which may hold control characters. */
static void print_finding(void *ctx, const char *text)
{
	char safe[1024];

	puts(str_safe(safe, sizeof(safe), text, strlen(text)));
}

static void print_summary(const char *path, const struct reader_verdict *v, bool intact)
{
	char blocks[32], good[32], records[32], lost[32];

	str_fmt_count(blocks, sizeof(blocks), v->nr_blocks);
	str_fmt_count(records, sizeof(records), v->nr_records);
	if (intact) {
		printf("%s: intact: %s block%s, %s record%s\n", path, blocks,
		       str_plural(v->nr_blocks), records, str_plural(v->nr_records));
		return;
	}
	str_fmt_count(good, sizeof(good), v->nr_blocks - v->nr_bad_blocks);
	str_fmt_size(lost, sizeof(lost), v->unclaimed_bytes);
	printf("%s: damaged: %s of %s known block%s intact, with %s record%s; %s outside any "
	       "block\n",
	       path, good, blocks, str_plural(v->nr_blocks), records, str_plural(v->nr_records),
	       lost);
}

static int salvage(const char *path, const char *out_path, FILE *out, int code)
{
	struct reader_verdict v;
	struct err err = ERR_INIT;
	char good[32], records[32];
	struct reader *r;
	int rc = reader_open_damaged(path, &r, &err);

	if (!rc) {
		rc = reader_salvage_fd(r, fileno(out), &v, &err);
		reader_close(r);
	}
	if (rc) {
		log_err(&err);
		code = rc == -ENODATA || rc == -EBADMSG ? EXIT_DAMAGED : EXIT_FAILED;
		return code | CMD_DUMP_DISCARD;
	}
	str_fmt_count(good, sizeof(good), v.nr_blocks - v.nr_bad_blocks);
	str_fmt_count(records, sizeof(records), v.nr_records);
	printf("%s: saved %s block%s with %s record%s\n", out_path, good,
	       str_plural(v.nr_blocks - v.nr_bad_blocks), records, str_plural(v.nr_records));
	return code;
}

struct check_args {
	char **dump;
	const char *out_path; /* NULL: only check */
};

/* `out` NULL: only check. */
static int check(void *ctx, FILE *out)
{
	const struct check_args *q = ctx;
	struct reader_verdict v = {0};
	struct err err = ERR_INIT;
	const char *path;
	int rc;

	cmd_dump_begin(&cmd_check, q->dump, NULL, false, &path);
	rc = reader_check(path, &v, print_finding, NULL, &err);
	if (rc && rc != -EBADMSG) {
		log_err(&err);
		return EXIT_FAILED;
	}
	if (!rc || v.nr_blocks || v.unclaimed_bytes)
		print_summary(path, &v, !rc);
	if (out)
		return salvage(path, q->out_path, out, rc ? EXIT_DAMAGED : EXIT_FINE);
	if (rc) {
		fflush(stdout);
		log_err(&err);
	}
	return rc ? EXIT_DAMAGED : EXIT_FINE;
}

static const struct option_row options[] = {
	{"salvage", 0, "OUT", OPTION_WORD, offsetof(struct check_args, out_path),
	 .values = VALUES_FILE,
	 .help = "save the intact blocks as a new dump OUT, which must not exist"},
	{.name = NULL},
};

static int run(int argc, char **argv)
{
	struct check_args q = {0};
	const struct cmd_dump_job job = {.command = &cmd_check, .write = check, .ctx = &q};
	int code = cmd_parse(&cmd_check, &q, argc, argv, &q.dump);

	if (code)
		return code;
	return q.out_path ? cmd_dump_to_file(q.out_path, false, &job) : check(&q, NULL);
}

const struct command cmd_check = {
	.name = "check",
	.operands = "DUMP",
	.help = "verify every block of a dump; save the intact blocks of a damaged one",
	.notes = "Exit status: 0 DUMP is intact, 3 it is damaged, 1 it could not be checked or "
		 "salvaged.\n",
	.run = run,
	.options = options,
};
