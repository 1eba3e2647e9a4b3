// SPDX-License-Identifier: MIT
/* `ringback list`: the dumps in a directory, one per line, newest last. */
#include "recorder/cli/cmd.h"

#include "dump/base/err.h"
#include "dump/base/str.h"
#include "dump/file/meta.h"
#include "dump/file/reader.h"
#include "dump/view/base/json.h"
#include "dump/view/why/why.h"
#include "recorder/cli/dump_dir.h"
#include "recorder/base/log.h"
#include "recorder/cli/pager.h"
#include "recorder/base/sandbox.h"
#include "recorder/base/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct list_args {
	bool json, why;
};

/* A file and its content; NULL if unreadable. */
struct listed_dump {
	const struct dump_dir_entry *e;
	struct reader *r;
	struct meta *m;
	const char *state;
	char *why; /* the verdict's sentence; NULL: not asked for */
};

/* The first line of `ringback why`. */
static char *verdict(const struct listed_dump *d)
{
	const struct why_options opt = {0};
	struct why_result res;
	char *text = NULL;
	size_t n;
	FILE *out = d->m ? open_memstream(&text, &n) : NULL;

	if (!out)
		return strdup("");
	why_print(d->r, d->m, &opt, out, &res, NULL);
	fclose(out);
	if (text)
		text[strcspn(text, "\n")] = '\0';
	return text;
}

static void open_dump(const struct dump_dir_entry *e, bool why, struct listed_dump *d)
{
	int rc;

	*d = (struct listed_dump){.e = e, .state = "complete"};
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
	else if (*d->m->cut)
		d->state = "cut short";
	if (why)
		d->why = verdict(d);
}

static void close_dump(struct listed_dump *d)
{
	meta_free(d->m);
	reader_close(d->r);
	free(d->why);
}

/* "redis-server 812": the thread that met the rule. */
static void put_process(struct table *t, const struct meta *m)
{
	char comm[80];

	if (!m || !m->trigger.pid) {
		table_cell(t, "%s", "");
		return;
	}
	str_safe(comm, sizeof(comm), m->trigger_comm, strlen(m->trigger_comm));
	table_cell(t, "%s%s%u", comm, *comm ? " " : "", m->trigger.pid);
}

static void put_row(struct table *t, const struct listed_dump *d)
{
	char utc[40], size[32];

	table_cell(t, "%s", str_fmt_utc(utc, sizeof(utc), d->e->real_ns));
	table_cell(t, "%s", d->m ? d->m->hostname : "");
	table_cell(t, "%s", d->m ? d->m->instance : "");
	table_cell(t, "%s", d->m ? d->m->trigger_name : "");
	put_process(t, d->m);
	table_cell(t, "%s", str_fmt_size(size, sizeof(size), d->e->file_bytes));
	table_cell(t, "%s%s", d->state, d->e->pinned ? ", pinned" : "");
	table_cell(t, "%s", d->e->path);
	if (d->why)
		table_cell(t, "%s", d->why);
}

static void put_object(struct text *t, const struct listed_dump *d)
{
	struct json j = {.t = t};
	char utc[40];

	json_open(&j, NULL, '{');
	json_cstr(&j, "file", d->e->path);
	json_u64(&j, "file_bytes", d->e->file_bytes);
	json_cstr(&j, "state", d->state);
	json_bool(&j, "pinned", d->e->pinned);
	json_cstr(&j, "utc", str_fmt_utc(utc, sizeof(utc), d->e->real_ns));
	json_cstr(&j, "hostname", d->m ? d->m->hostname : NULL);
	json_cstr(&j, "instance", d->m ? d->m->instance : NULL);
	json_cstr(&j, "trigger", d->m ? d->m->trigger_name : NULL);
	json_cstr(&j, "rule", d->m ? d->m->trigger_rule : NULL);
	json_cstr(&j, "reason", d->m ? d->m->trigger_reason : NULL);
	json_cstr(&j, "comm", d->m ? d->m->trigger_comm : NULL);
	json_u64(&j, "pid", d->m ? d->m->trigger.pid : 0);
	json_cstr(&j, "why", d->why);
	json_close(&j, '}');
	text_char(t, '\n');
}

static int print(const struct dump_dir *dir, const struct list_args *q)
{
	static const char *const titles[] = {"TIME", "HOST",  "NAME", "TRIGGER", "PROCESS",
					     "SIZE", "STATE", "FILE", "WHY"};
	struct table *table = table_new(q->why ? "lllllrlll" : "lllllrll");
	struct text text = TEXT_INIT(stdout);
	int rc = 0;

	for (size_t i = 0; i < (q->why ? 9 : 8); i++)
		table_cell(table, "%s", titles[i]);
	for (size_t i = 0; i < dir->nr; i++) {
		struct listed_dump d;

		open_dump(&dir->v[i], q->why, &d);
		if (q->json)
			put_object(&text, &d);
		else
			put_row(table, &d);
		close_dump(&d);
	}
	if (!q->json && dir->nr)
		rc = table_print(table, 0, stdout);
	else
		rc = text_flush(&text);
	text_free(&text);
	table_free(table);
	return rc == -ENOMEM ? rc : 0; /* main.c reports a failed write */
}

static const struct option_row options[] = {
	{"why", 0, NULL, OPTION_FLAG, offsetof(struct list_args, why),
	 .help = "also the verdict's sentence; takes up to a second for a dump"},
	{"json", 0, NULL, OPTION_FLAG, offsetof(struct list_args, json),
	 .help = "one JSON object a line, described in SCHEMA.md"},
	{.name = NULL},
};

static int run(int argc, char **argv)
{
	struct dump_dir all = {0};
	struct err err = ERR_INIT;
	char dir[PATH_MAX], **operands;
	struct list_args q = {0};
	int rc, code = cmd_parse(&cmd_list, &q, argc, argv, &operands);

	if (code)
		return code;
	if (operands[0])
		snprintf(dir, sizeof(dir), "%s", operands[0]);
	else
		dump_dir_default(dir);
	rc = dump_dir_read(dir, &all, &err);
	if (!rc && !all.nr)
		log_info("there is no dump in %s", dir);
	if (!rc && all.nr) {
		struct sandbox *s = sandbox_new();

		pager_start();
		dump_dir_allow(&all, s);
		sandbox_enter(s);
		dump_dir_sort(&all);
	}
	if (!rc && print(&all, &q))
		rc = err_set(&err, -ENOMEM, "out of memory");
	dump_dir_free(&all);
	if (rc)
		log_err(&err);
	return rc ? EXIT_FAILED : EXIT_FINE;
}

const struct command cmd_list = {
	.name = "list",
	.operands = "[DIR]",
	.help = "the dumps in a directory, newest last",
	.notes = "DIR defaults to the directory of the running recorder, else that of the "
		 "configuration file,\n"
		 "else the current directory or, if that has no dumps, /var/lib/ringback.\n",
	.run = run,
	.options = options,
};
