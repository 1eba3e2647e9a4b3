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
#include "recorder/base/sandbox.h"
#include "recorder/cli/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
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

/* The job's exit code. */
static int wait_for_job(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return EXIT_FAILED | CMD_DUMP_DISCARD;
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	fprintf(stderr, "ringback: the process that reads the dump ended by signal %d\n",
		WTERMSIG(status));
	return EXIT_FAILED | CMD_DUMP_DISCARD;
}

static int no_process(int rc)
{
	struct err err = ERR_INIT;

	err_sys(&err, rc, "can't start the process that reads the dump");
	log_err(&err);
	return EXIT_FAILED | CMD_DUMP_DISCARD;
}

/* Prints the error. EXIT_USAGE. */
static int no_dump(const struct command *c, const char *dir, struct err *err)
{
	if (!*err->what)
		err_set(err, -ENOENT, "there is no dump in %s",
			strcmp(dir, ".") ? dir : "the current directory");
	err_hint(err,
		 "write ringback %s DUMP, or make one: ringback record -a, and in another shell: "
		 "ringback trigger",
		 c->name);
	log_err(err);
	return EXIT_USAGE;
}

/* Lets the dumps in the directory of `path` be read. */
static void allow_others(struct sandbox *s, const char *path)
{
	const char *slash = strrchr(path, '/');
	struct dump_dir all = {0};
	char dir[PATH_MAX];

	snprintf(dir, sizeof(dir), "%.*s", slash ? (int)(slash + 1 - path) : 1, slash ? path : ".");
	if (!dump_dir_read(dir, &all, NULL))
		dump_dir_allow(&all, s);
	dump_dir_free(&all);
}

/* In a process of its own: it may have to read dumps to know which is the newest. Writes its path. */
static _Noreturn void find_newest(const struct command *c, int out)
{
	struct sandbox *s = sandbox_new();
	const struct dump_dir_entry *e;
	struct dump_dir all = {0};
	struct err err = ERR_INIT;
	char dir[PATH_MAX];

	dump_dir_default(dir);
	dump_dir_read(dir, &all, &err);
	dump_dir_allow(&all, s);
	sandbox_enter(s);
	dump_dir_sort(&all);
	e = dump_dir_newest(&all);
	if (!e)
		_exit(no_dump(c, dir, &err));
	_exit(write(out, e->path, strlen(e->path)) < 0 ? EXIT_FAILED : EXIT_FINE);
}

int cmd_dump_newest(const struct command *c, const char **path)
{
	static char newest[PATH_MAX]; /* static, since it must live as long as argv */
	int ends[2], code;
	pid_t pid = -1;
	ssize_t n = 0;

	fflush(stdout);
	if (!pipe2(ends, O_CLOEXEC))
		pid = fork();
	if (pid < 0)
		return no_process(-errno) & ~CMD_DUMP_DISCARD;
	if (!pid)
		find_newest(c, ends[1]);
	close(ends[1]);
	n = read(ends[0], newest, sizeof(newest) - 1);
	close(ends[0]);
	code = wait_for_job(pid) & ~CMD_DUMP_DISCARD;
	if (code || n <= 0)
		return code ? code : EXIT_FAILED;
	newest[n] = '\0';
	*path = newest;
	log_info("reading the newest dump, %s", newest);
	return EXIT_FINE;
}

static const char *const programs[] = {"/usr", "/lib", "/lib64", "/bin", "/sbin", "/opt"};

int cmd_dump_begin(const struct command *c, char **dumps, const char *also, bool others,
		   const char **path)
{
	struct sandbox *s;
	int code;

	*path = dumps[0];
	if (!*path && (code = cmd_dump_newest(c, path)))
		return code;
	s = sandbox_new();
	sandbox_read(s, *path);
	for (size_t i = 0; dumps[i]; i++)
		sandbox_read(s, dumps[i]);
	if (also)
		sandbox_read(s, also);
	if (others)
		allow_others(s, *path);
	/* A hardware trace is followed through the code of programs, where the dump has none. */
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		sandbox_read(s, programs[i]);
	sandbox_enter(s);
	return EXIT_FINE;
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

/* In the child. The file has no name yet; the parent gives it one. */
static _Noreturn void run_job(const char *path, const struct cmd_dump_job *job, FILE *out)
{
	int code;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	code = job->write(job->ctx, out);
	if ((code == EXIT_FINE || code == EXIT_DAMAGED) && (fflush(out) || ferror(out))) {
		struct err err = ERR_INIT;

		err_sys(&err, -EIO, "%s can't be written", path);
		log_err(&err);
		code = EXIT_FAILED;
	}
	fflush(stdout);
	exit(code);
}

int cmd_dump_to_file(const char *path, bool force, const struct cmd_dump_job *job)
{
	struct err err = ERR_INIT;
	struct output_file *o = NULL;
	bool keep;
	pid_t pid;
	int code;

	code = output_file_open(path, force, &o, &err);
	if (code == -EEXIST)
		err_hint(&err, option_find(job->command->options, "force")
				       ? "--force replaces it"
				       : "name a file that does not exist yet");
	if (code) {
		log_err(&err);
		return EXIT_FAILED;
	}
	fflush(stdout);
	pid = fork();
	if (!pid)
		run_job(path, job, output_file_stream(o));
	if (pid > 0 && job->serve)
		job->serve(job->ctx, output_file_stream(o));
	code = pid < 0 ? no_process(-errno) : wait_for_job(pid);
	keep = !(code & CMD_DUMP_DISCARD);
	code &= ~CMD_DUMP_DISCARD;
	if (keep && (code == EXIT_FINE || code == EXIT_DAMAGED) && output_file_commit(o, &err)) {
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
