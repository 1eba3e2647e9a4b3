/* LAYERS: view dump base */
// SPDX-License-Identifier: MIT
/*
 * Damages a real dump in thousands of ways and reads each result as a user would: opened normally
 * and as damaged, metadata, processes, events in order of time, info, script, check, salvage.
 * Arguments: DUMP NOTE SEED NR_CUTS NR_FLIPS
 *
 *	cuts	at every border of two blocks, and at NR_CUTS random places
 *	flips	NR_FLIPS times one random bit; half of them read in one way, half in the other
 *
 * Requirements: check notices each damage; salvage (of each cut and every fourth flip) rescues each
 * undamaged block, and check accepts its output. NOTE is a file that names the damage being tried,
 * in case this program dies of it. One damage may take 10 s of CPU time or 2 min in all; more kills
 * the program. Prints errors, then "cuts=N flips=N blocks=N wrong=N"; exits with 1 after an error.
 */
#include "tests/helpers/small_dump.h"

#include "dump/base/err.h"
#include "dump/file/block.h"
#include "dump/file/reader.h"
#include "dump/view/info/info.h"
#include "dump/view/model/process_history.h"
#include "dump/view/script/script.h"
#include "dump/view/model/timeline.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/time.h>

#define SCRIPT_LINES 200 /* of each variant */

struct damage {
	struct bytes file; /* the undamaged dump */
	struct reader_block *blocks;
	size_t nr_blocks;
	uint64_t random;
	FILE *null;
	int note_fd;
	char note[80];
	uint64_t nr_wrong;
};

__attribute__((format(printf, 2, 3))) static void wrong(struct damage *d, const char *fmt, ...)
{
	va_list ap;

	if (d->nr_wrong++ >= 20)
		return;
	printf("%s: ", d->note);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
}

static uint64_t next_random(struct damage *d)
{
	d->random ^= d->random << 13;
	d->random ^= d->random >> 7;
	d->random ^= d->random << 17;
	return d->random;
}

/* ---- reading ---- */

/* Reads all records and looks up the thread of each; returns their number. */
static uint64_t walk(struct damage *d, struct reader *r, const struct meta *m,
		     const struct process_history *p)
{
	struct timeline_options all = {.to_ns = UINT64_MAX, .cpu = -1};
	struct timeline_record rec;
	struct err err = ERR_INIT;
	struct timeline *t;
	uint64_t nr = 0, last = 0;
	int rc;

	if (timeline_open(r, m, &all, &t, &err)) {
		wrong(d, "timeline_open: %s", err.what);
		return 0;
	}
	for (; (rc = timeline_next(t, &rec, &err)) > 0; nr++) {
		if (rec.time_ns < last)
			wrong(d, "time goes back to %" PRIu64, rec.time_ns);
		last = rec.time_ns;
		if (nr % 16 == 0)
			history_comm(p, rec.tid, rec.time_ns);
	}
	if (rc)
		wrong(d, "timeline_next: %s", err.what);
	timeline_close(t);
	return nr;
}

static void print(struct damage *d, struct reader *r, const struct meta *m)
{
	struct info_options info = {.path = "FILE", .json = next_random(d) & 1, .all = true};
	struct script_options script = {
		.to_ns = UINT64_MAX,
		.limit = SCRIPT_LINES,
		.json = next_random(d) & 1,
	};
	struct script_result lines;
	struct info_result bad;
	struct err err = ERR_INIT;

	/* Start at a random moment of the last second. */
	if (m->trigger.hit_ns > 1000000000 && next_random(d) & 1)
		script.from_ns = m->trigger.hit_ns - next_random(d) % 1000000000;
	if (info_print(r, m, &info, d->null, &bad, &err))
		wrong(d, "info: %s", err.what);
	if (script_print(r, m, &script, d->null, &lines, &err))
		wrong(d, "script: %s", err.what);
	if (lines.nr_printed > SCRIPT_LINES)
		wrong(d, "script printed %" PRIu64 " lines", lines.nr_printed);
}

static void use(struct damage *d, struct bytes file, bool damaged)
{
	struct err err = ERR_INIT;
	struct process_history *p = NULL;
	struct meta *m = NULL;
	struct reader *r;

	if (reader_open_bytes(file, damaged, &r, &err)) {
		if (!err.what[0])
			wrong(d, "refused without a word");
		return;
	}
	if (meta_load(r, &m, &err) || history_load(r, &p, &err)) {
		wrong(d, "%s", err.what);
	} else {
		walk(d, r, m, p);
		print(d, r, m);
	}
	history_free(p);
	meta_free(m);
	reader_close(r);
}

/* ---- requirements ---- */

static void must_notice(struct damage *d, struct bytes file)
{
	struct reader_verdict v;
	struct err err = ERR_INIT;
	int rc = reader_check_bytes(file, &v, NULL, NULL, &err);

	if (rc != -EBADMSG || !err.what[0])
		wrong(d, "check says %d, '%s'", rc, err.what);
}

/* Salvages: `nr_whole` blocks must come back, and check must accept the output. */
static void must_rescue(struct damage *d, struct bytes file, size_t nr_whole)
{
	struct reader_verdict v;
	struct err err = ERR_INIT;
	struct reader *r;
	struct bytes out;
	int fd, rc;

	if (reader_open_bytes(file, true, &r, &err)) {
		if (nr_whole)
			wrong(d, "can't be salvaged: %s", err.what);
		return;
	}
	fd = small_fd();
	rc = reader_salvage_fd(r, fd, &v, &err);
	reader_close(r);
	if (rc) {
		if (nr_whole || rc != -ENODATA)
			wrong(d, "salvage: %s", err.what);
		close(fd);
		return;
	}
	out = small_slurp(fd);
	close(fd);
	rc = reader_check_bytes(out, &v, NULL, NULL, &err);
	if (rc)
		wrong(d, "what was rescued: %s", err.what);
	/* Salvage adds a block about itself. */
	else if (v.nr_blocks != nr_whole + 1)
		wrong(d, "%" PRIu64 " blocks were rescued, %zu were whole", v.nr_blocks - 1,
		      nr_whole);
	free((void *)out.p);
}

/* Number of blocks of the original outside [from, to). */
static size_t nr_untouched(const struct damage *d, uint64_t from, uint64_t to)
{
	size_t nr = 0;

	for (size_t i = 0; i < d->nr_blocks; i++) {
		uint64_t at = d->blocks[i].offset, end = at + block_file_bytes(&d->blocks[i].h);

		nr += end <= from || at >= to;
	}
	return nr;
}

/* ---- damaging ---- */

static void begin(struct damage *d, const char *what, uint64_t at)
{
	memset(d->note, 0, sizeof(d->note));
	snprintf(d->note, sizeof(d->note), "%s at %" PRIu64 "\n", what, at);
	if (pwrite(d->note_fd, d->note, sizeof(d->note), 0) < 0)
		abort();
	d->note[strlen(d->note) - 1] = '\0';
	setitimer(ITIMER_PROF, &(struct itimerval){.it_value.tv_sec = 10}, NULL);
	alarm(120);
}

static void cut(struct damage *d, uint64_t len)
{
	/* Exactly this length, so that the sanitizer sees a read past the end. */
	uint8_t *copy = malloc(len + !len);
	struct bytes file = {copy, len};

	begin(d, "cut", len);
	memcpy(copy, d->file.p, len);
	use(d, file, false);
	use(d, file, true);
	must_notice(d, file);
	must_rescue(d, file, nr_untouched(d, len, UINT64_MAX));
	free(copy);
}

/*
 * `copy` is the whole file, and is restored afterwards. To save time each flip is read in one of
 * the two ways, and one in four is salvaged.
 */
static void flip(struct damage *d, uint8_t *copy, uint64_t bit, int turn)
{
	struct bytes file = {copy, d->file.len};

	begin(d, "bit flipped", bit);
	copy[bit / 8] ^= (uint8_t)(1u << bit % 8);
	must_notice(d, file);
	use(d, file, turn % 2);
	if (turn % 4 == 0)
		must_rescue(d, file, nr_untouched(d, bit / 8, bit / 8 + 1));
	copy[bit / 8] ^= (uint8_t)(1u << bit % 8);
}

static void cuts(struct damage *d, int nr)
{
	for (size_t i = 0; i < d->nr_blocks; i++)
		cut(d, d->blocks[i].offset);
	cut(d,
	    d->blocks[d->nr_blocks - 1].offset + block_file_bytes(&d->blocks[d->nr_blocks - 1].h));
	for (int i = 0; i < nr; i++)
		cut(d, next_random(d) % d->file.len);
}

static void flips(struct damage *d, int nr)
{
	uint8_t *copy = malloc(d->file.len);

	memcpy(copy, d->file.p, d->file.len);
	for (int i = 0; i < nr; i++)
		flip(d, copy, next_random(d) % (d->file.len * 8), i);
	free(copy);
}

/* ---- the dump ---- */

static bool load(struct damage *d, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct reader_verdict v;
	struct err err = ERR_INIT;
	struct reader *r;

	if (fd < 0)
		return false;
	d->file = small_slurp(fd);
	close(fd);
	if (reader_check_bytes(d->file, &v, NULL, NULL, &err) ||
	    reader_open_bytes(d->file, false, &r, &err)) {
		fprintf(stderr, "%s\n", err.what);
		return false;
	}
	d->nr_blocks = reader_nr_blocks(r);
	d->blocks = calloc(d->nr_blocks, sizeof(*d->blocks));
	for (size_t i = 0; i < d->nr_blocks; i++)
		d->blocks[i] = *reader_block(r, i);
	reader_close(r);
	return d->nr_blocks > 0;
}

int main(int argc, char **argv)
{
	struct damage d = {0};

	if (argc != 6 || !load(&d, argv[1])) {
		fputs("usage: tool_damage DUMP NOTE SEED NR_CUTS NR_FLIPS\n", stderr);
		return 2;
	}
	d.random = strtoull(argv[3], NULL, 10) | 1;
	d.null = fopen("/dev/null", "we");
	d.note_fd = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (!d.null || d.note_fd < 0)
		return 2;
	cuts(&d, atoi(argv[4]));
	flips(&d, atoi(argv[5]));
	printf("cuts=%zu flips=%d blocks=%zu wrong=%" PRIu64 "\n",
	       (size_t)atoi(argv[4]) + d.nr_blocks + 1, atoi(argv[5]), d.nr_blocks, d.nr_wrong);
	fclose(d.null);
	close(d.note_fd);
	free((void *)d.file.p);
	free(d.blocks);
	return d.nr_wrong > 0;
}
