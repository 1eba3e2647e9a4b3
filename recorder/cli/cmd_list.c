// SPDX-License-Identifier: MIT
/* `ringback list`: the dumps in a directory, one a line, newest last. */
#include "recorder/cli/cmd_args.h"

#include "dump/base/err.h"
#include "dump/base/str.h"
#include "dump/file/meta.h"
#include "dump/file/reader.h"
#include "dump/view/base/json.h"
#include "recorder/cli/dump_dir.h"
#include "recorder/base/log.h"
#include "recorder/cli/pager.h"
#include "recorder/base/table.h"

#include <errno.h>

static void options(FILE *out)
{
	fputs("  --json  one JSON object a line, described in SCHEMA.md\n"
	      "\n"
	      "Without DIR: where the running recorder writes; else where the configuration file\n"
	      "says; else the current directory, or /var/lib/ringback.\n",
	      out);
}

/* An entry and what its file says; NULL where that can't be read. */
struct dump {
	const struct dump_dir_entry *e;
	struct reader *r;
	struct meta *m;
	const char *state;
};

static void open_dump(const struct dump_dir_entry *e, struct dump *d)
{
	int rc;

	*d = (struct dump){.e = e, .state = "complete"};
	rc = reader_open(e->path, &d->r, NULL);
	if (rc == -EBADMSG)
		rc = reader_open_damaged(e->path, &d->r, NULL);
	if (!rc)
		rc = meta_load(d->r, &d->m, NULL);
	if (e->being_written)
		d->state = "being written";
	else if (e->part || (d->r && !reader_committed(d->r)))
		d->state = "incomplete";
	else if (rc == -EBADMSG || (d->m && d->m->nr_broken))
		d->state = "damaged";
	else if (rc)
		d->state = "unreadable";
}

static void close_dump(struct dump *d)
{
	meta_free(d->m);
	reader_close(d->r);
}

static void put_row(struct table *t, const struct dump *d)
{
	char utc[40], size[32];

	table_cell(t, "%s", str_fmt_utc(utc, sizeof(utc), d->e->real_ns));
	table_cell(t, "%s", d->m ? d->m->hostname : "");
	table_cell(t, "%s", d->m ? d->m->instance : "");
	table_cell(t, "%s", d->m ? d->m->trigger_name : "");
	table_cell(t, "%s", str_fmt_size(size, sizeof(size), d->e->file_bytes));
	table_cell(t, "%s", d->state);
	table_cell(t, "%s", d->e->path);
}

static void put_object(struct text *t, const struct dump *d)
{
	struct json j = {.t = t};
	char utc[40];

	json_open(&j, NULL, '{');
	json_cstr(&j, "file", d->e->path);
	json_u64(&j, "file_bytes", d->e->file_bytes);
	json_cstr(&j, "state", d->state);
	json_cstr(&j, "utc", str_fmt_utc(utc, sizeof(utc), d->e->real_ns));
	json_cstr(&j, "hostname", d->m ? d->m->hostname : NULL);
	json_cstr(&j, "instance", d->m ? d->m->instance : NULL);
	json_cstr(&j, "trigger", d->m ? d->m->trigger_name : NULL);
	json_cstr(&j, "rule", d->m ? d->m->trigger_rule : NULL);
	json_cstr(&j, "reason", d->m ? d->m->trigger_reason : NULL);
	json_close(&j, '}');
	text_char(t, '\n');
}

static int print(const struct dump_dir *dir, bool json)
{
	static const char *const titles[] = {"TIME", "HOST",  "NAME", "TRIGGER",
					     "SIZE", "STATE", "FILE"};
	struct table *table = table_new("llllrll");
	struct text text = TEXT_INIT(stdout);
	int rc = 0;

	for (size_t i = 0; i < sizeof(titles) / sizeof(*titles); i++)
		table_cell(table, "%s", titles[i]);
	for (size_t i = 0; i < dir->nr; i++) {
		struct dump d;

		open_dump(&dir->v[i], &d);
		if (json)
			put_object(&text, &d);
		else
			put_row(table, &d);
		close_dump(&d);
	}
	if (!json && dir->nr)
		rc = table_print(table, 0, stdout);
	else
		rc = text_flush(&text);
	text_free(&text);
	table_free(table);
	return rc == -ENOMEM ? rc : 0; /* a write that failed is told by main.c */
}

static int take(void *ctx, int c, char *arg, struct err *err)
{
	(void)c, (void)arg, (void)err;
	*(bool *)ctx = true;
	return 0;
}

static int run(int argc, char **argv)
{
	static const struct option longs[] = {{"json", no_argument, NULL, 'j'}, {0}};
	static const struct cmd_args args = {.longs = longs, .take = take};
	struct dump_dir all = {0};
	struct err err = ERR_INIT;
	char dir[PATH_MAX];
	bool json = false;
	int rc, code = cmd_args_take(&cmd_list, &args, &json, argc, argv);

	if (code)
		return code;
	if (optind < argc - 1)
		return cmd_misuse(&cmd_list, "one directory at a time");
	if (optind < argc)
		snprintf(dir, sizeof(dir), "%s", argv[optind]);
	else
		dump_dir_default(dir);
	rc = dump_dir_read(dir, &all, &err);
	if (!rc && !all.nr)
		log_info("there is no dump in %s", dir);
	if (!rc && all.nr)
		pager_start();
	if (!rc && print(&all, json))
		rc = err_set(&err, -ENOMEM, "out of memory");
	dump_dir_free(&all);
	if (rc)
		log_err(&err);
	return rc ? EXIT_FAILED : EXIT_FINE;
}

const struct command cmd_list = {
	.name = "list",
	.args = "[DIR] [--json]",
	.help = "the dumps in a directory, newest last",
	.run = run,
	.options = options,
};
