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

static int salvage(const char *path, const char *out_path, int code)
{
	struct reader_verdict v;
	struct err err = ERR_INIT;
	char good[32], records[32];
	int rc = reader_salvage(path, out_path, &v, &err);

	if (rc) {
		log_err(&err);
		return rc == -ENODATA || rc == -EBADMSG ? EXIT_DAMAGED : EXIT_FAILED;
	}
	str_fmt_count(good, sizeof(good), v.nr_blocks - v.nr_bad_blocks);
	str_fmt_count(records, sizeof(records), v.nr_records);
	printf("%s: saved %s block%s with %s record%s\n", out_path, good,
	       str_plural(v.nr_blocks - v.nr_bad_blocks), records, str_plural(v.nr_records));
	return code;
}

static int check(const char *path, const char *out_path)
{
	struct reader_verdict v = {0};
	struct err err = ERR_INIT;
	int rc = reader_check(path, &v, print_finding, NULL, &err);

	if (rc && rc != -EBADMSG) {
		log_err(&err);
		return EXIT_FAILED;
	}
	if (!rc || v.nr_blocks || v.unclaimed_bytes)
		print_summary(path, &v, !rc);
	if (out_path)
		return salvage(path, out_path, rc ? EXIT_DAMAGED : EXIT_FINE);
	if (rc) {
		fflush(stdout);
		log_err(&err);
	}
	return rc ? EXIT_DAMAGED : EXIT_FINE;
}

static const struct option_row options[] = {
	{"salvage", 0, "OUT", OPTION_WORD, .values = VALUES_FILE,
	 .help = "save the intact blocks as a new dump OUT, which must not exist"},
	{.name = NULL},
};

static int run(int argc, char **argv)
{
	const char *out_path = NULL;
	char **operands;
	int code = cmd_parse(&cmd_check, &out_path, argc, argv, &operands);

	return code ? code : check(operands[0], out_path);
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
