// SPDX-License-Identifier: MIT
/*
 * `ringback symbols`: which addresses of a dump have names, and why others have none; adds names
 * from debug files. The recorder starts the hidden `symbols --collect=...` to look up names for a
 * new dump; see symbols_child.h.
 */
#include "recorder/cli/cmd.h"

#include "dump/base/err.h"
#include "dump/base/str.h"
#include "dump/file/meta.h"
#include "dump/file/reader.h"
#include "dump/view/pt/code_cache.h"
#include "dump/view/pt/pt_trace.h"
#include "dump/view/unwind/runtimes.h"
#include "dump/view/symbols/symbol_notes.h"
#include "recorder/cli/cmd_dump.h"
#include "recorder/symbolize/added_symbols.h"
#include "recorder/base/log.h"
#include "recorder/symbolize/symbols_child.h"
#include "recorder/symbolize/debug_dirs.h"
#include "recorder/symbolize/debuginfod.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_DIRS     64
#define MAX_ADVICE   5
#define PATH_COLUMNS 44

struct symbols_args {
	const char *path, *out_path;
	const char *dirs[MAX_DIRS];
	size_t nr_dirs;
	int debuginfod[2]; /* see debuginfod_connect() */
};

/* ---- the table ---- */

/* Cuts the beginning of a long path. */
static void print_path(const char *path, size_t columns)
{
	char safe[1024];
	size_t n = strlen(str_safe(safe, sizeof(safe), path, strlen(path)));

	if (n > columns)
		printf("...%-*s", (int)columns - 3, safe + n - (columns - 3));
	else
		printf("%-*s", (int)columns, safe);
}

static const char *name_of(const struct added_symbols_image *i)
{
	return i->image->f.kind == FMT_IMAGE_TASK ? "[in no file]" : i->image->path;
}

/* Rounded, but 100 only if all are counted. */
static unsigned percent(uint64_t part, uint64_t of)
{
	unsigned p = of ? (unsigned)(100.0 * (double)part / (double)of + 0.5) : 100;

	return p == 100 && part < of ? 99 : p;
}

static void print_image(const struct added_symbols_image *i)
{
	char count[32], safe[640];
	const char *why = i->nr_named == i->nr_hits ? ""
			  : *i->note		    ? i->note
			  : i->nr_named		    ? "some code has no name"
						    : "no names found";

	print_path(name_of(i), PATH_COLUMNS);
	printf(" %11s %4u %% %4u %%", str_fmt_count(count, sizeof(count), i->nr_hits),
	       percent(i->nr_named, i->nr_hits), percent(i->nr_lines, i->nr_hits));
	if (*why)
		printf("  %s", str_safe(safe, sizeof(safe), why, strlen(why)));
	putchar('\n');
}

static void add_image(struct added_symbols_image *sum, const struct added_symbols_image *i)
{
	sum->image = i->image;
	sum->note = i->note;
	sum->nr_hits += i->nr_hits;
	sum->nr_named += i->nr_named;
	sum->nr_lines += i->nr_lines;
}

/* Addresses outside all files are one line for all processes. */
static void print_table(const struct added_symbols *c)
{
	struct added_symbols_image i, sum = {0}, nowhere = {0};
	char count[32];

	printf("%-*s %11s %6s %6s\n", PATH_COLUMNS, "file", "frames", "named", "lines");
	for (size_t k = 0; k < added_symbols_nr(c); k++) {
		added_symbols_image(c, k, &i);
		add_image(&sum, &i);
		if (i.image->f.kind == FMT_IMAGE_TASK && !i.nr_named)
			add_image(&nowhere, &i);
		else
			print_image(&i);
	}
	nowhere.note = "generated code without a map file, or no code";
	if (nowhere.image)
		print_image(&nowhere);
	printf("%-*s %11s %4u %% %4u %%\n", PATH_COLUMNS, "all",
	       str_fmt_count(count, sizeof(count), sum.nr_hits), percent(sum.nr_named, sum.nr_hits),
	       percent(sum.nr_lines, sum.nr_hits));
}

/* `said`: the `nr` build-ids already printed; adds the new one. */
static bool advise_file(const struct added_symbols_image *i, struct fmt_image *said, size_t nr)
{
	char safe[1024];
	const struct fmt_image *f = i->image->f.build_id_bytes ? &i->image->f
				    : i->says		       ? &i->says->f
							       : NULL;

	if (i->image->f.kind != FMT_IMAGE_FILE || i->nr_named == i->nr_hits || !f ||
	    !f->build_id_bytes)
		return false;
	for (size_t k = 0; k < nr; k++)
		if (!memcmp(said[k].build_id, f->build_id, sizeof(f->build_id)))
			return false;
	said[nr] = *f;
	printf("  DIR/.build-id/%02x/", f->build_id[0]);
	for (int k = 1; k < f->build_id_bytes; k++)
		printf("%02x", f->build_id[k]);
	printf(".debug  for %s\n",
	       str_safe(safe, sizeof(safe), i->image->path, strlen(i->image->path)));
	return true;
}

/* Missing debug files, and the command that adds them. */
static void print_advice(const struct added_symbols *c, const char *dump)
{
	struct fmt_image said[MAX_ADVICE];
	struct added_symbols_image i;
	size_t nr = 0;

	for (size_t k = 0; k < added_symbols_nr(c); k++) {
		added_symbols_image(c, k, &i);
		if (i.image->f.kind != FMT_IMAGE_FILE || i.nr_named == i.nr_hits)
			continue;
		if (!nr)
			printf("\nFiles with these build-ids, under any name, have more names. To "
			       "add "
			       "them from a directory,\nand from servers if DEBUGINFOD_URLS is "
			       "set: "
			       "ringback symbols --add DIR %s\n",
			       dump);
		if (nr < MAX_ADVICE)
			nr += advise_file(&i, said, nr);
	}
}

/* Compiler and runtime flags that give generated code names, if most of a program's samples lack
 * names. */
static int print_runtimes(const struct cmd_dump *d, struct err *err)
{
	struct text t = TEXT_INIT(stdout);
	struct runtimes *v = NULL;
	struct process_history *history = NULL;
	uint32_t pid;
	int rc = history_load(d->r, &history, err);

	rc = rc ? rc : runtimes_new(history, &v, err);
	rc = rc ? rc : runtimes_read(v, d->r, d->m, err);
	for (size_t i = 0; !rc && i < MAX_ADVICE && (pid = runtimes_nth(v, i)); i++) {
		text_str(&t, i ? "" : "\n");
		runtimes_say(v, pid, &t);
		text_char(&t, '\n');
	}
	text_flush(&t);
	text_free(&t);
	runtimes_free(v);
	history_free(history);
	return rc;
}

/* The code stored for Intel PT. */
static int print_code(const struct cmd_dump *d, struct err *err)
{
	struct code_cache_counts n;
	struct process_history *history = NULL;
	struct code_cache *b = NULL;
	char size[32];
	int rc;

	if (!pt_trace_is_in(d->m))
		return 0;
	rc = history_load(d->r, &history, err);
	if (!rc)
		rc = code_cache_new(d->r, history, &(struct code_cache_options){0}, &b, err);
	if (!rc) {
		code_cache_counts(b, &n);
		printf("\ncode that Intel PT traced: %s of %zu file%s in the dump\n",
		       str_fmt_size(size, sizeof(size), n.kept_bytes), n.nr_kept,
		       str_plural(n.nr_kept));
	}
	code_cache_free(b);
	history_free(history);
	return rc;
}

/* ---- the dump ---- */

static int show(const char *path)
{
	char *dumps[] = {(char *)path, NULL};
	struct err err = ERR_INIT;
	struct added_symbols *c;
	struct cmd_dump d;
	int code, rc;

	cmd_dump_begin(&cmd_symbols, dumps, NULL, false, &path);
	code = cmd_dump_open(path, &d);
	if (code)
		return code;
	rc = added_symbols_open(d.r, d.m, &c, &err);
	if (!rc) {
		print_table(c);
		print_advice(c, path);
		added_symbols_close(c);
		rc = print_runtimes(&d, &err);
		rc = rc ? rc : print_code(&d, &err);
	}
	code = cmd_dump_exit(path, &d, rc, &err, 0);
	cmd_dump_close(&d);
	return code;
}

static int add_dirs(const struct symbols_args *q, struct debug_dirs **out, struct err *err)
{
	int rc = debug_dirs_new(out, err);

	for (size_t i = 0; i < q->nr_dirs && !rc; i++)
		rc = debug_dirs_add(*out, q->dirs[i], err);
	return rc;
}

static int complete_dump(const struct symbols_args *q, const struct cmd_dump *d, FILE *out,
			 bool *changed, struct err *err)
{
	struct debug_dirs *dirs = NULL;
	struct added_symbols *c = NULL;
	int rc = add_dirs(q, &dirs, err);

	if (!rc)
		rc = added_symbols_open(d->r, d->m, &c, err);
	if (!rc)
		rc = added_symbols_find(c, dirs, q->debuginfod[0], changed, err);
	if (!rc && (*changed || q->out_path))
		rc = added_symbols_write(c, fileno(out), err);
	added_symbols_close(c);
	debug_dirs_free(dirs);
	return rc;
}

/* The dump names files anywhere, so all can be read. */
static int complete(void *ctx, FILE *out)
{
	const struct symbols_args *q = ctx;
	char *dumps[] = {(char *)q->path, NULL};
	struct err err = ERR_INIT;
	bool changed = false;
	struct cmd_dump d;
	const char *path;
	int code, rc;

	if (q->debuginfod[1] >= 0)
		close(q->debuginfod[1]);
	cmd_dump_begin(&cmd_symbols, dumps, "/", false, &path);
	code = cmd_dump_open(path, &d);
	if (code)
		return code;
	rc = complete_dump(q, &d, out, &changed, &err);
	code = cmd_dump_exit(path, &d, rc, &err, 0);
	cmd_dump_close(&d);
	if (code || changed)
		return code;
	log_warn("no missing names were found");
	return q->out_path ? EXIT_FINE : CMD_DUMP_DISCARD;
}

/* The new dump keeps the owner of the old one, and its pin, which is the sticky bit. */
static void keep_owner(int fd, const char *path)
{
	struct stat st;

	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return;
	if (fchown(fd, st.st_uid, st.st_gid))
		errno = 0; /* without the right to chown, the file is ours */
	fchmod(fd, 0600 | (st.st_mode & S_ISVTX));
}

static void serve(void *ctx, FILE *out)
{
	const struct symbols_args *q = ctx;

	if (!q->out_path)
		keep_owner(fileno(out), q->path);
	if (q->debuginfod[0] < 0)
		return;
	close(q->debuginfod[0]);
	debuginfod_serve(q->debuginfod[1]);
}

static int complete_and_show(struct symbols_args *q)
{
	const struct cmd_dump_job job = {
		.command = &cmd_symbols, .write = complete, .serve = serve, .ctx = q};
	const char *out_path = q->out_path ? q->out_path : q->path;
	int code;

	debuginfod_connect(q->debuginfod);
	code = cmd_dump_to_file(out_path, !q->out_path, &job);
	return code ? code : show(out_path);
}

/* ---- the command ---- */

static int add_dir(void *field, const char *arg, struct err *err)
{
	struct symbols_args *q = field;

	if (q->nr_dirs == MAX_DIRS)
		return err_set(err, -E2BIG, "at most %d times", MAX_DIRS);
	q->dirs[q->nr_dirs++] = arg;
	return 0;
}

static const struct option_row options[] = {
	{"add", 0, "DIR", OPTION_OWN, .set = add_dir, .values = VALUES_DIRECTORY,
	 .help = "add the names that the debug files and programs below DIR (or that one file) "
		 "have; "
		 "they are found by build-id. May be repeated. If DEBUGINFOD_URLS is set, its "
		 "servers are asked too"},
	{"output", 'o', "OUT", OPTION_WORD, offsetof(struct symbols_args, out_path),
	 .values = VALUES_FILE,
	 .help = "write the completed dump to OUT, which must not exist, instead of DUMP itself"},
	{.name = NULL},
};

static int run(int argc, char **argv)
{
	static const char collect[] = "--collect=";
	struct symbols_args q = {0};
	char **operands;
	int code;

	if (argc == 2 && !strncmp(argv[1], collect, sizeof(collect) - 1))
		return symbols_child_main(argv[1] + sizeof(collect) - 1);
	code = cmd_parse(&cmd_symbols, &q, argc, argv, &operands);
	if (code)
		return code;
	q.path = operands[0];
	return q.nr_dirs || q.out_path ? complete_and_show(&q) : show(q.path);
}

const struct command cmd_symbols = {
	.name = "symbols",
	.operands = "DUMP",
	.help = "which addresses of a dump have names; add names from debug files",
	.notes = "Without options DUMP is not changed.\n",
	.run = run,
	.options = options,
};
