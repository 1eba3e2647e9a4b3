/* LAYERS: dump base */
// SPDX-License-Identifier: MIT
/*
 * Payloads and their contents that every later version must read, tests/golden/NAME.packed and
 * NAME.records:
 *
 *	tool_golden make DIR			writes the missing ones
 *	tool_golden check PAYLOAD RECORDS	unpacks, compares; packs again, unpacks, compares
 *	tool_golden seeds DIR			inputs for fuzz_pack and fuzz_unpack
 *
 * Vectors in the tree are never rebuilt: a newer packer may write other bytes, but the old ones
 * must stay readable. A new feature gets a vector with a new name.
 */
#include "tests/fuzz/fuzz_seed.h"
#include "tests/helpers/golden_hand.h"
#include "tests/helpers/pack_make.h"
#include "tests/helpers/pack_trip.h"

#include <err.h>
#include <stdio.h>
#include <unistd.h>

#define TRACEPOINT (PERF_SAMPLE_TIME | PERF_SAMPLE_RAW)
#define COUNTER	   (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD)

struct vector {
	const char *name;
	struct record_layout layout;
	struct make_style style;
	uint32_t nr, tail;
};

static const struct vector vectors[] = {
	{
		.name = "scheduler",
		.layout = {.sample_type = TRACEPOINT, .sample_id_all = true},
		.style = {.nr_threads = 12,
			  .nr_events = 4,
			  .max_words = 10,
			  .step_ns = 3000,
			  .event_order = 200},
		.nr = 400,
	},
	{
		.name = "syscalls-chains",
		.layout = {.sample_type = TRACEPOINT | PERF_SAMPLE_CALLCHAIN,
			   .sample_id_all = true},
		.style = {.nr_threads = 5,
			  .nr_events = 3,
			  .nr_chains = 60,
			  .max_depth = 9,
			  .max_words = 6,
			  .step_ns = 50000},
		.nr = 300,
	},
	{
		.name = "faults-chains",
		.layout = {.sample_type = COUNTER | PERF_SAMPLE_ADDR | PERF_SAMPLE_CALLCHAIN,
			   .sample_id_all = true},
		.style = {.nr_threads = 20,
			  .nr_events = 1,
			  .nr_chains = 2000,
			  .max_depth = 12,
			  .step_ns = 1 << 20,
			  .odd = 5},
		.nr = 250,
	},
	{
		.name = "dwarf-stacks",
		.layout = {.sample_type = COUNTER | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER |
					  PERF_SAMPLE_STACK_USER,
			   .regs_user = 0xff0fff,
			   .sample_id_all = true},
		.style = {.nr_threads = 3,
			  .nr_events = 5,
			  .nr_chains = 9,
			  .max_depth = 6,
			  .stack_bytes = 128,
			  .step_ns = 10000000},
		.nr = 60,
	},
	{
		.name = "unknown-and-tail",
		.layout = {.sample_type = TRACEPOINT, .sample_id_all = true},
		.style = {.nr_threads = 3,
			  .nr_events = 2,
			  .max_words = 8,
			  .step_ns = 900,
			  .odd = 200,
			  .lies = 20},
		.nr = 300,
		.tail = 13,
	},
	{
		.name = "lost-and-throttled",
		.layout = {.sample_type = COUNTER | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |
					  PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER,
			   .sample_id_all = true},
		.style = {.nr_threads = 7, .nr_events = 6, .step_ns = 700, .odd = 700},
		.nr = 300,
	},
	{
		.name = "wide-times",
		.layout = {.sample_type = TRACEPOINT, .sample_id_all = true},
		.style = {.nr_threads = 4,
			  .nr_events = 2,
			  .max_words = 5,
			  .step_ns = 1 << 30,
			  .jumps = 400,
			  .strangers = 200},
		.nr = 300,
	},
	{
		.name = "wide-addresses",
		.layout = {.sample_type = COUNTER | PERF_SAMPLE_CALLCHAIN},
		.style = {.nr_threads = 4,
			  .nr_events = 2,
			  .nr_chains = 40000,
			  .max_depth = 40,
			  .jumps = 1000},
		.nr = 100,
	},
	{
		.name = "noise",
		.layout = {.sample_type = TRACEPOINT},
		.style = {.nr_threads = 4,
			  .nr_events = 3,
			  .max_words = 20,
			  .step_ns = 10,
			  .noise = 150,
			  .event_order = 500},
		.nr = 200,
	},
	{
		.name = "read-values",
		.layout = {.sample_type = TRACEPOINT | PERF_SAMPLE_READ | PERF_SAMPLE_TID |
					  PERF_SAMPLE_CALLCHAIN},
		.style = {.nr_threads = 4,
			  .nr_events = 3,
			  .nr_chains = 3,
			  .max_depth = 5,
			  .max_words = 4,
			  .step_ns = 10},
		.nr = 200,
	},
	{
		.name = "headers-only",
		.layout = {.sample_type = 0},
		.style = {.nr_events = 1},
		.nr = 500,
	},
};

#define NR_VECTORS (sizeof(vectors) / sizeof(vectors[0]))

static void save(const char *path, struct bytes b)
{
	FILE *f = fopen(path, "w");

	if (!f || fwrite(b.p, 1, b.len, f) != b.len || fclose(f))
		err(1, "%s", path);
}

static struct bytes load(const char *path)
{
	FILE *f = fopen(path, "r");
	uint8_t *p = malloc(FMT_MAX_BLOCK_BYTES + 1);
	struct bytes b = {p, 0};

	if (!f || !p)
		err(1, "%s", path);
	b.len = fread(p, 1, FMT_MAX_BLOCK_BYTES + 1, f);
	if (ferror(f) || b.len > FMT_MAX_BLOCK_BYTES)
		errx(1, "%s cannot be read, or is too large", path);
	fclose(f);
	return b;
}

/* ---- making ---- */

static void make_vector(struct make *m, const struct vector *v)
{
	uint8_t zeros[64] = {0};

	make_begin(m, v->nr, &v->layout, &v->style);
	make_run(m, PACK_RUN_BYTES, v->nr);
	if (buf_put(&m->b, zeros, v->tail))
		errx(1, "out of memory");
}

/* Writes DIR/NAME.packed and DIR/NAME.records unless they exist. */
static void write_pair(const char *dir, const char *name, struct bytes payload, struct bytes run)
{
	char packed[4096], records[4096];

	snprintf(packed, sizeof(packed), "%s/%s.packed", dir, name);
	snprintf(records, sizeof(records), "%s/%s.records", dir, name);
	if (!access(packed, F_OK))
		return;
	save(packed, payload);
	save(records, run);
}

/* An input of fuzz_pack: a few records to repeat, or the whole run. */
static void write_run(const char *dir, const struct vector *v, struct bytes run, uint32_t repeat)
{
	uint32_t type = (uint32_t)v->layout.sample_type, cut = (uint32_t)run.len / 2;
	struct fuzz_run head = {
		.regs_user = {0xff, 0xff},
		.sample_id_all = v->layout.sample_id_all,
		.repeat = (uint8_t)repeat,
	};
	struct perf_event_header h;
	struct buf b = {0};
	char path[4096];
	size_t n = 0;

	for (uint32_t i = 0; repeat && i < 6 && record_at(run, n, &h); i++)
		n += h.size;
	memcpy(head.sample_type, &type, sizeof(type));
	memcpy(head.cut, &cut, sizeof(cut));
	if (buf_put(&b, &head, sizeof(head)) || buf_put(&b, run.p, repeat ? n : run.len))
		errx(1, "out of memory");
	snprintf(path, sizeof(path), "%s/%s-%u", dir, v->name, repeat);
	save(path, (struct bytes){b.p, b.len});
	buf_free(&b);
}

static void write_vector(struct trip *t, const char *dir, const struct vector *v, bool seeds)
{
	struct make m = {.nr = 0};
	struct bytes run;
	const char *what;

	make_vector(&m, v);
	run = (struct bytes){m.b.p, m.b.len};
	what = trip(t, &v->layout, run, SIZE_MAX, TRIP_ALL);
	if (what || !t->payload.len)
		errx(1, "%s: %s", v->name, what ? what : "it does not pack");
	if (seeds) {
		write_run(dir, v, run, 0);
		write_run(dir, v, run, 20);
		write_run(dir, v, run, 100);
	}
	write_pair(dir, v->name, (struct bytes){t->payload.p, t->payload.len}, run);
	make_end(&m);
}

static void write_by_hand(const char *dir)
{
	struct buf payload = {0}, run = {0};

	hand_records(&run);
	hand_payload(&payload, (uint32_t)run.len);
	write_pair(dir, "by-hand", (struct bytes){payload.p, payload.len},
		   (struct bytes){run.p, run.len});
	buf_free(&payload);
	buf_free(&run);
}

/* ---- checking ---- */

/* Unpacking needs no layout: the payload describes its records. */
static void check_unpack(struct trip *t, struct bytes payload, struct bytes run, const char *name)
{
	const char *what;
	size_t end;

	assert(!buf_put(&t->payload, payload.p, payload.len));
	what = trip_open(t, run, trip_count(run, &end));
	if (!what)
		what = trip_all(t, run);
	if (what)
		errx(1, "%s: %s", name, what);
}

/* Packs with its own layout and with others: a layout is only a hint. */
static void check_pack(struct trip *t, struct bytes run, const char *name)
{
	for (size_t i = 0; i < NR_VECTORS; i++) {
		const char *what =
			trip(t, &vectors[i].layout, run, run.len / 3, TRIP_ALL | TRIP_PARTS);

		if (what)
			errx(1, "%s, packed again with the layout of %s: %s", name, vectors[i].name,
			     what);
	}
}

int main(int argc, char **argv)
{
	struct trip t;

	trip_begin(&t);
	if (argc == 3 && (!strcmp(argv[1], "make") || !strcmp(argv[1], "seeds"))) {
		for (size_t i = 0; i < NR_VECTORS; i++)
			write_vector(&t, argv[2], &vectors[i], argv[1][0] == 's');
		write_by_hand(argv[2]);
	} else if (argc == 4 && !strcmp(argv[1], "check")) {
		struct bytes payload = load(argv[2]), run = load(argv[3]);

		check_unpack(&t, payload, run, argv[2]);
		check_pack(&t, run, argv[3]);
		free((void *)payload.p);
		free((void *)run.p);
	} else {
		fputs("usage: tool_golden make DIR | check PAYLOAD RECORDS | pack RECORDS "
		      "PAYLOAD\n",
		      stderr);
		return 2;
	}
	trip_end(&t);
	return 0;
}
