// SPDX-License-Identifier: MIT
/* Blocks loaded ahead; see prefetch.h. Called by timeline.c. */
#include "dump/view/model/prefetch.h"

#include "dump/file/reader.h"

/* More would wait for who takes their blocks. */
#define MAX_HELPERS 4

static void load(void *reader, struct job *job)
{
	struct prefetch_job *b = (struct prefetch_job *)job;

	b->rc = time_block_load(&b->block, reader, b->index, b->wish);
}

static int open_twin(const void *reader, void **out)
{
	struct reader *twin;
	int rc = reader_copy(reader, &twin, NULL);

	if (!rc)
		*out = twin;
	return rc;
}

static void close_twin(void *reader)
{
	reader_close(reader);
}

int prefetch_new(const struct reader *r, unsigned nr_threads, struct jobs **out)
{
	static const struct jobs_work work = {.run = load, .begin = open_twin, .end = close_twin};

	return jobs_new(&work, r, nr_threads, out);
}

unsigned prefetch_helpers(void)
{
	return jobs_helpers(MAX_HELPERS);
}
