// SPDX-License-Identifier: MIT
/* Loads blocks ahead; see prefetch.h. Called by timeline.c. */
#include "dump/view/model/prefetch.h"

#include "dump/file/reader.h"

/* More helpers would wait for the thread that takes the blocks. */
#define MAX_HELPERS 4

static void load(void *reader, struct pool_job *job)
{
	struct prefetch_job *b = (struct prefetch_job *)job;

	b->rc = time_block_load(&b->block, reader, b->index, b->wish);
}

static int open_copy(const void *reader, void **out)
{
	struct reader *copy;
	int rc = reader_copy(reader, &copy, NULL);

	if (!rc)
		*out = copy;
	return rc;
}

static void close_copy(void *reader)
{
	reader_close(reader);
}

int prefetch_new(const struct reader *r, unsigned nr_threads, struct thread_pool **out)
{
	struct thread_pool_options opt = {
		.nr_threads = nr_threads,
		.run = load,
		.begin = open_copy,
		.end = close_copy,
		.ctx = r,
	};

	return thread_pool_new(&opt, out);
}

unsigned prefetch_helpers(void)
{
	return thread_pool_useful(MAX_HELPERS);
}
