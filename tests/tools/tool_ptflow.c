/* LAYERS: view dump base */
// SPDX-License-Identifier: MIT
/*
 * tool_ptflow TRACE LOG CODE [THREADS [SKIPPED]]: decodes the output of tool_pt step and compares
 * each call, return, end and begin with the log. TRACE may lack its end, or its first SKIPPED
 * bytes: then everything from the next PSB on must be there. Prints the decoder's speed on one CPU,
 * and the differences; exits with 1 if there are any.
 */
#include "tests/helpers/pt_code.h"
#include "tests/helpers/pt_log.h"

#include <err.h>
#include <sys/stat.h>

/* Bytes of packets behind a step that the decoder needs to know the step. */
#define BEHIND 80
/* Bytes from a PSB to the first step that the decoder knows. */
#define PSB_BYTES 100

/* All steps, in reverse order: parts come newest first. */
struct gathered {
	struct pt_flow_step *v;
	size_t nr, cap;
};

static struct bytes map(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	struct bytes b;

	if (fd < 0 || fstat(fd, &st))
		err(2, "%s", path);
	b.len = (size_t)st.st_size;
	b.p = mmap(NULL, b.len, PROT_READ, MAP_PRIVATE, fd, 0);
	if (b.p == MAP_FAILED)
		err(2, "%s", path);
	close(fd);
	return b;
}

static int gather(void *ctx, size_t part, const struct pt_flow_steps *s)
{
	struct gathered *g = ctx;

	if (g->nr + s->nr > g->cap) {
		g->cap = 2 * (g->nr + s->nr);
		g->v = reallocarray(g->v, g->cap, sizeof(*g->v));
		assert(g->v);
	}
	for (size_t i = s->nr; i--;)
		g->v[g->nr++] = s->v[i];
	return 0;
}

/* CPU time of all threads, which other load on the machine does not distort. */
static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static int drop(void *ctx, size_t part, const struct pt_flow_steps *s)
{
	return 0;
}

/* Returns the number of steps that differ or are missing. */
static size_t compare(const struct gathered *g, const struct pt_truth *t, size_t nr,
		      struct bytes trace, size_t skipped)
{
	size_t first = skipped ? nr - g->nr : 0, nr_wrong = 0, from = 0;

	if (g->nr > nr) {
		printf("%zu steps, and there were %zu\n", g->nr, nr);
		return g->nr - nr;
	}
	for (size_t i = 0; i < g->nr; i++) {
		const struct pt_flow_step *a = &g->v[g->nr - 1 - i];
		const struct pt_truth *b = &t[first + i];

		if ((int)a->kind == (int)b->kind && a->from == b->from && a->to == b->to)
			continue;
		if (!nr_wrong++)
			printf("step %zu: %s %" PRIx64 " %" PRIx64 ", and it was %s %" PRIx64
			       " %" PRIx64 "\n",
			       first + i, pt_log_kinds[a->kind], a->from, a->to,
			       pt_log_kinds[b->kind], b->from, b->to);
	}
	if (skipped) {
		const uint8_t *psb =
			memmem(trace.p, trace.len, "\2\x82\2\x82\2\x82\2\x82\2\x82", 10);

		from = psb ? skipped + (size_t)(psb - trace.p) + PSB_BYTES : SIZE_MAX;
	}
	for (size_t i = 0; i < nr; i++)
		if (t[i].offset >= from && t[i].offset + BEHIND <= skipped + trace.len &&
		    (i < first || i >= first + g->nr) && !nr_wrong++)
			printf("step %zu of %zu is missing: %zu to %zu are there\n", i, nr, first,
			       first + g->nr - 1);
	return nr_wrong;
}

int main(int argc, char **argv)
{
	struct pt_flow_input in = {
		.clock = {.mult = 1},
		.mtc_freq = 3,
		.nominal_ratio = PT_NOMINAL,
		.crystal_eax = PT_CRYSTAL_EAX,
		.crystal_ebx = PT_CRYSTAL_EBX,
	};
	unsigned int threads = argc > 4 ? (unsigned int)atoi(argv[4]) : 1;
	struct gathered g = {0};
	struct pt_truth *truth;
	struct bytes code;
	struct pt_memory *memory;
	struct pt_flow *f;
	struct pt_log log;
	size_t nr, nr_wrong = 0;
	uint64_t ns;
	FILE *file;

	if (argc < 4)
		errx(2, "TRACE LOG CODE [THREADS [SKIPPED]]");
	in.bytes = map(argv[1]);
	code = map(argv[3]);
	file = fopen(argv[2], "re");
	if (!file || !pt_log_read(file, &log))
		errx(2, "%s: it is no log", argv[2]);
	truth = pt_log_steps(file, &nr);
	fclose(file);
	memory = pt_code((const struct pt_page *)code.p, code.len / sizeof(struct pt_page));
	in.source = pt_memory_source(memory);
	if (pt_flow_new(&in, &f, NULL))
		errx(2, "%s: can't be decoded", argv[1]);
	ns = cpu_ns();
	if (pt_flow_backwards(f, threads, nr ? gather : drop, &g, NULL))
		errx(1, "%s: can't be decoded", argv[1]);
	ns = cpu_ns() - ns;
	if (nr)
		nr_wrong =
			compare(&g, truth, nr, in.bytes, argc > 5 ? strtoul(argv[5], NULL, 0) : 0);
	printf("%zu bytes, %zu of %zu steps, %.3f s of CPU, %.1f MB/s, %zu wrong\n", in.bytes.len,
	       g.nr, nr, (double)ns / 1e9, (double)in.bytes.len / (double)ns * 1e3, nr_wrong);
	free(truth);
	free(g.v);
	pt_flow_free(f);
	pt_memory_free(memory);
	return nr_wrong ? 1 : 0;
}
