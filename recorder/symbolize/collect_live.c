// SPDX-License-Identifier: MIT
/*
 * Names from the running machine; see collect_live.h. Called by cmd_symbols.c in its child process.
 */
#include "recorder/symbolize/collect_live.h"

#include "dump/base/err.h"
#include "dump/file/meta.h"
#include "dump/file/reader.h"
#include "dump/view/symbols/kallsyms.h"
#include "dump/view/pt/pt_trace.h"
#include "recorder/symbolize/collect.h"
#include "recorder/symbolize/collect_pt.h"
#include "recorder/symbolize/collect_unwind.h"
#include "recorder/symbolize/container_names.h"
#include "recorder/ledger/pinned_list.h"
#include "recorder/symbolize/live_code.h"
#include "recorder/symbolize/live_files.h"
#include "trigger/kernel/clock.h"
#include "trigger/kernel/settings.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_DWARF_BYTES (256ull << 20)
#define MAX_PARENTS	16
#define MAX_NEIGHBOURS	4

static const char *const debug_dirs[] = {"/usr/lib/debug"};

struct live_collector {
	struct reader *r;
	struct meta *m;
	struct process_history *history;
	struct addresses *hits;
	const struct fmt_task **by_key;
	size_t nr_tasks;
	struct kallsyms *kallsyms;
	struct pinned_list *kept; /* NULL: no files are held */
	struct live_code *code;
};

/* ---- processes ---- */

static int compare_keys(const void *a, const void *b)
{
	const struct fmt_task *const *x = a, *const *y = b;

	return (*x)->key < (*y)->key ? -1 : (*x)->key > (*y)->key;
}

static int index_tasks(struct live_collector *l)
{
	l->nr_tasks = history_nr_tasks(l->history);
	l->by_key = calloc(l->nr_tasks + 1, sizeof(*l->by_key));
	if (!l->by_key)
		return -ENOMEM;
	for (size_t i = 0; i < l->nr_tasks; i++)
		l->by_key[i] = history_nth(l->history, i);
	qsort(l->by_key, l->nr_tasks, sizeof(*l->by_key), compare_keys);
	return 0;
}

static const struct fmt_task *task_of(const struct live_collector *l, uint32_t key)
{
	struct fmt_task like = {.key = key};
	const struct fmt_task *p = &like, **found;

	found = bsearch(&p, l->by_key, l->nr_tasks, sizeof(p), compare_keys);
	return found ? *found : NULL;
}

/* The task's uid, or that of the parent that was read from /proc: few processes change it. */
static uint32_t uid_of(const struct live_collector *l, const struct fmt_task *t)
{
	for (int i = 0; t && t->uid == UINT32_MAX && i < MAX_PARENTS; i++)
		t = t->ppid ? history_task(l->history, t->ppid, t->start_ns) : NULL;
	return t ? t->uid : UINT32_MAX;
}

static bool alive(const struct fmt_task *t)
{
	return !t->exit_ns && t->tid == t->pid;
}

/* Finds live processes in the mount namespace of the image's process: they see its files under the
 * same paths. At most `max`; returns their number. */
static size_t neighbours(const struct live_collector *l, const struct addresses_image *image,
			 struct live_file_process *p, size_t max)
{
	const struct fmt_task *t = image->nr_mappings ? task_of(l, image->mappings[0].key) : NULL;
	uint64_t last = t && t->exit_ns ? t->exit_ns : UINT64_MAX;
	uint64_t ns = t ? history_namespace(l->history, t, last, FMT_NS_MNT) : 0;
	size_t nr = 0;

	for (size_t i = 0; i < l->nr_tasks && nr < max && ns; i++)
		if (alive(l->by_key[i]) &&
		    history_namespace(l->history, l->by_key[i], UINT64_MAX, FMT_NS_MNT) == ns)
			p[nr++] = (struct live_file_process){.pid = (pid_t)l->by_key[i]->pid};
	return nr;
}

/* ---- sources ---- */

static int open_vdso(const struct addresses_image *image, struct elf **e, struct err *err)
{
	struct buf b = {0};
	int rc;

	/* A 32-bit process has a different vdso. */
	if (image->nr_mappings && image->mappings[0].start <= UINT32_MAX)
		return err_set(err, -ENOENT, "it is a 32-bit process's");
	rc = live_file_vdso(&b, err);
	if (!rc)
		rc = elf_open_memory(&b, "[vdso]", e, err);
	buf_free(&b);
	return rc;
}

static int open_image(const struct live_collector *l, const struct addresses_image *image,
		      struct elf **e, struct err *err)
{
	struct live_file_process p[HITS_MAX_MAPPINGS + MAX_NEIGHBOURS];
	size_t nr = 0;
	int fd;

	if (!strcmp(image->path, "[vdso]"))
		return open_vdso(image, e, err);
	for (size_t k = 0; k < image->nr_mappings; k++) {
		const struct addresses_mapping *m = &image->mappings[k];
		const struct fmt_task *t = task_of(l, m->key);

		if (t && !t->exit_ns)
			p[nr++] = (struct live_file_process){(pid_t)t->pid, m->start, m->end};
	}
	nr += neighbours(l, image, p + nr, MAX_NEIGHBOURS);
	fd = live_file_open(image, p, nr, l->kept, err);
	return fd < 0 ? fd : elf_open_fd(fd, image->path, e, err);
}

static int open_file(void *ctx, size_t i, struct elf **e, struct symbol_file_options *opt,
		     struct err *err)
{
	const struct live_collector *l = ctx;
	const struct addresses_image *image = addresses_image(l->hits, i);

	*opt = (struct symbol_file_options){.path = image->path, .dirs = debug_dirs, .nr_dirs = 1};
	return open_image(l, image, e, err);
}

static int open_for_unwind(void *ctx, const struct addresses_image *image, struct elf **e)
{
	return open_image(ctx, image, e, NULL);
}

/* Reads the code of a live process or of the kernel. */
static size_t read_code(void *ctx, uint32_t key, uint64_t address, void *dst, size_t n)
{
	struct live_collector *l = ctx;
	const struct fmt_task *t = key ? task_of(l, key) : NULL;

	if (!l->code || (key && (!t || !alive(t))))
		return 0;
	return live_code_read(l->code, t ? (pid_t)t->pid : 0, address, dst, n);
}

/* Reads the build-id from the notes in /sys/kernel/notes. */
static void read_kernel_id(struct fmt_image *f)
{
	uint8_t notes[4096];
	int fd = open("/sys/kernel/notes", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, notes, sizeof(notes));
	struct bytes b = {notes, n > 0 ? (size_t)n : 0}, name, desc;
	uint32_t name_bytes, desc_bytes, type;

	if (fd >= 0)
		close(fd);
	while (bytes_u32(&b, &name_bytes) && bytes_u32(&b, &desc_bytes) && bytes_u32(&b, &type) &&
	       bytes_take(&b, align_up(name_bytes, 4), &name) &&
	       bytes_take(&b, align_up(desc_bytes, 4), &desc)) {
		if (type != 3 || name_bytes != 4 || memcmp(name.p, "GNU", 4) ||
		    desc_bytes > sizeof(f->build_id))
			continue;
		memcpy(f->build_id, desc.p, desc_bytes);
		f->build_id_bytes = (uint8_t)desc_bytes;
		return;
	}
}

static int open_kernel(void *ctx, const struct kallsyms **k, uint64_t *slide, struct fmt_image *f,
		       struct err *err)
{
	struct live_collector *l = ctx;
	FILE *in = l->kallsyms ? NULL : fopen("/proc/kallsyms", "re");
	int64_t restrict_level = 0;
	int rc = l->kallsyms ? 0 : in ? kallsyms_read(in, &l->kallsyms) : -errno;

	if (in)
		fclose(in);
	setting_number("kernel/kptr_restrict", &restrict_level);
	read_kernel_id(f);
	if (rc == -EACCES)
		return err_set(err, rc, "no kernel symbols: kernel.kptr_restrict is %ld%s",
			       restrict_level, restrict_level == 2 ? "" : ", for others than root");
	if (rc)
		return err_sys(err, rc, "no kernel symbols: /proc/kallsyms");
	*k = l->kallsyms;
	*slide = 0;
	return 0;
}

static int open_jit(void *ctx, size_t i, FILE **in, struct err *err)
{
	struct live_collector *l = ctx;
	const struct fmt_task *t = task_of(l, addresses_image(l->hits, i)->f.key);
	struct live_file_jit j;
	int fd;

	if (!t)
		return err_set(err, -ENOENT, "the process is not known");
	j = (struct live_file_jit){.pid = (pid_t)t->pid, .alive = !t->exit_ns};
	j.uid = uid_of(l, t);
	if (t->start_ns)
		j.start_ns = (int64_t)t->start_ns + l->m->host.real_minus_clock;
	if (t->exit_ns)
		j.exit_ns = (int64_t)t->exit_ns + l->m->host.real_minus_clock;
	fd = live_file_perfmap(&j, err);
	if (fd < 0 && j.alive) {
		/* The process may have exited in the meantime. */
		j.alive = false;
		j.exit_ns = INT64_MAX / 2;
		fd = live_file_perfmap(&j, NULL);
	}
	if (fd < 0)
		return fd;
	*in = fdopen(fd, "r");
	if (!*in)
		close(fd);
	return *in ? 0 : -ENOMEM;
}

/* ---- entry point ---- */

static int open_dump(struct live_collector *l, const char *path, struct err *err)
{
	int rc = reader_open_damaged(path, &l->r, err);

	if (!rc)
		rc = meta_load(l->r, &l->m, err);
	if (!rc)
		rc = history_load(l->r, &l->history, err);
	if (!rc)
		rc = index_tasks(l);
	return rc;
}

static int find_addresses(struct live_collector *l, struct err *err)
{
	int rc = addresses_new(l->history, HITS_MAX_PLACES, &l->hits, err);

	return rc ? rc : addresses_read(l->hits, l->r, l->m, err);
}

/* Unwinds copied stacks. Writes the rules before the names, since without them a reader does not
 * find the callers. */
static int unwind(struct live_collector *l, uint64_t deadline_ns, struct symbols_writer *put,
		  struct err *err)
{
	const struct collect_unwind_options opt = {open_for_unwind, l, deadline_ns};
	struct collect_unwind *u;
	int rc = collect_unwind(l->r, l->m, l->history, &opt, l->hits, &u, err);

	if (rc)
		return rc;
	collect_unwind_put(u, put);
	collect_unwind_free(u);
	return symbols_writer_flush(put);
}

/* Limited to half of the time left, since names matter more to a reader. */
static int follow_pt(struct live_collector *l, const struct collect_live_options *opt,
		     struct symbols_writer *put, struct err *err)
{
	uint64_t now = clock_ns();
	struct collect_pt_options o = {
		.code = {.open = open_for_unwind, .read = read_code, .ctx = l, .store = opt->store},
		.deadline_ns = opt->deadline_ns > now ? now + (opt->deadline_ns - now) / 2 : now,
	};
	int rc;

	if (!opt->store || !pt_trace_is_in(l->m))
		return 0;
	l->code = live_code_new(l->m->trigger.freeze_ns);
	rc = collect_pt(l->r, l->m, l->history, &o, l->hits, put, err);
	live_code_free(l->code);
	l->code = NULL;
	return rc;
}

/* Limited to a quarter of the time, since names of functions are still to be found. Of the groups
 * that processes were in last, and of those with limits: pods have limits, but no
 * processes of their own. */
static int find_containers(const struct live_collector *l, const struct collect_live_options *opt)
{
	uint64_t now = clock_ns();
	struct container_names_options o = {.root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC),
					    .deadline_ns = now + (opt->deadline_ns - now) / 4,
					    .out = opt->out_cgroups,
					    .ctx = opt->ctx};
	struct container_names *c = NULL;
	int rc = container_names_new(&o, &c);

	for (size_t i = 0; i < l->nr_tasks && !rc; i++)
		rc = container_names_add(c, history_cgroup(l->history, l->by_key[i], UINT64_MAX));
	for (size_t i = 0; i < l->m->nr_cgroups && !rc; i++)
		rc = container_names_add(c, l->m->cgroups[i].path);
	rc = rc ? rc : container_names_flush(c);
	container_names_free(c);
	if (o.root_fd >= 0)
		close(o.root_fd);
	return rc;
}

static void close_dump(struct live_collector *l)
{
	pinned_list_free(l->kept);
	kallsyms_free(l->kallsyms);
	addresses_free(l->hits);
	free(l->by_key);
	history_free(l->history);
	meta_free(l->m);
	reader_close(l->r);
}

int collect_live(const struct collect_live_options *opt, struct err *err)
{
	struct live_collector l = {0};
	struct collect_result *results = NULL;
	struct symbols_writer put = {.out = opt->out, .ctx = opt->ctx};
	int rc = open_dump(&l, opt->path, err);

	rc = rc ? rc : find_containers(&l, opt);
	rc = rc ? rc : find_addresses(&l, err);
	if (opt->table_fd >= 0)
		pinned_list_read(opt->table_fd, &l.kept);
	if (!rc)
		rc = unwind(&l, opt->deadline_ns, &put, err);
	/* Names are collected even when the trace can't be decoded. */
	if (!rc && follow_pt(&l, opt, &put, NULL) == -ENOMEM)
		rc = -ENOMEM;

	if (!rc) {
		struct collect_options co = {
			.hits = l.hits,
			.source = {open_file, open_kernel, open_jit, &l},
			.max_dwarf_bytes = MAX_DWARF_BYTES,
			.deadline_ns = opt->deadline_ns,
		};

		addresses_sort(l.hits);
		results = calloc(addresses_nr_images(l.hits) + 1, sizeof(*results));
		rc = results ? collect(&co, &put, results) : -ENOMEM;
	}
	free(results);
	symbols_writer_free(&put);
	close_dump(&l);
	return rc;
}
