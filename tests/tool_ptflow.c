/* LAYERS: view dump base */
// SPDX-License-Identifier: MIT
/*
 * tool_ptflow TRACE LOG CODE [THREADS]: decodes what tool_pt step wrote, all of it, newest part
 * first, and compares each call, return, end and begin with the log. Prints the decoder's speed; 1:
 * something is not as it was.
 */
#include "tests/pt_code.h"
#include "tests/pt_log.h"

#include <err.h>
#include <sys/stat.h>

struct check {
	struct pt_truth *truth;
	size_t nr, left; /* left: before the steps that came so far */
	size_t nr_wrong;
	struct ptflow_step wrong; /* the first */
	size_t at;
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

/* The parts come newest first. */
static int compare(void *ctx, size_t part, const struct ptflow_steps *s)
{
	struct check *c = ctx;

	for (size_t i = s->nr; i--;) {
		struct ptflow_step *a = &s->v[i];
		struct pt_truth *t = c->left ? &c->truth[--c->left] : NULL;

		if (t && (int)a->kind == (int)t->kind && a->from == t->from && a->to == t->to)
			continue;
		if (!c->nr_wrong++)
			c->wrong = *a, c->at = c->left;
	}
	return 0;
}

static int drop(void *ctx, size_t part, const struct ptflow_steps *s)
{
	return 0;
}

int main(int argc, char **argv)
{
	struct ptflow_input in = {
		.clock = {.mult = 1},
		.mtc_freq = 3,
		.nominal_ratio = PT_NOMINAL,
		.crystal_eax = PT_CRYSTAL_EAX,
		.crystal_ebx = PT_CRYSTAL_EBX,
	};
	unsigned int threads = argc > 4 ? (unsigned int)atoi(argv[4]) : 1;
	struct check c = {0};
	struct bytes code;
	struct ptcode *ptcode;
	struct ptflow *f;
	struct pt_log log;
	uint64_t ns;
	FILE *file;

	if (argc < 4)
		errx(2, "TRACE LOG CODE [THREADS]");
	in.bytes = map(argv[1]);
	code = map(argv[3]);
	file = fopen(argv[2], "re");
	if (!file || !pt_log_read(file, &log))
		errx(2, "%s: it is no log", argv[2]);
	c.truth = pt_log_steps(file, &c.nr);
	c.left = c.nr;
	in.code = ptcode =
		pt_code((const struct pt_page *)code.p, code.len / sizeof(struct pt_page));
	if (ptflow_new(&in, &f, NULL))
		errx(2, "%s: can't be decoded", argv[1]);
	ns = pt_ns();
	if (ptflow_backwards(f, threads, drop, NULL, NULL))
		errx(1, "%s: can't be decoded", argv[1]);
	ns = pt_ns() - ns;
	ptflow_backwards(f, threads, compare, &c, NULL);
	printf("%zu bytes %zu instructions %zu steps %.3f s %.1f MB/s %u threads, %zu wrong, %zu "
	       "missing\n",
	       in.bytes.len, log.instructions, c.nr, (double)ns / 1e9,
	       (double)in.bytes.len / (double)ns * 1e3, threads, c.nr_wrong, c.left);
	if (c.nr_wrong)
		printf("the newest: step %zu of %zu, kind %d %" PRIx64 " -> %" PRIx64 "\n", c.at,
		       c.nr, c.wrong.kind, c.wrong.from, c.wrong.to);
	free(c.truth);
	fclose(file);
	ptflow_free(f);
	ptcode_free(ptcode);
	return c.nr_wrong || c.left;
}
