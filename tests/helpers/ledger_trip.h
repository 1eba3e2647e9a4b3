/* SPDX-License-Identifier: MIT */
/* From a ledger into a dump and back, for tests of both sides. */
#pragma once

#include "recorder/ledger/ledger.h"

#include "dump/file/reader.h"
#include "dump/view/model/process_history.h"
#include "dump/file/writer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

/* Writes a dump with nothing but the ledger and opens it. The caller frees *file. */
static inline struct reader *round_trip(struct ledger *l, const struct tidset *sampled,
					uint64_t from_ns, uint64_t to_ns, void **file)
{
	struct writer_options opt = {.max_blocks = 1000};
	int fd = memfd_create("dump", 0);
	struct reader *r;
	struct writer *w;
	uint64_t n;

	assert_true(fd >= 0);
	assert_int_equal(writer_new(&opt, &w, NULL), 0);
	assert_int_equal(writer_begin(w, fd, 1, NULL), 0);
	ledger_write(l, w, sampled, from_ns, to_ns);
	assert_int_equal(writer_finish(w, &n, NULL), 0);
	writer_free(w);
	*file = malloc(n);
	assert_int_equal(pread(fd, *file, n, 0), n);
	close(fd);
	assert_int_equal(reader_open_bytes((struct bytes){*file, n}, false, &r, NULL), 0);
	return r;
}

static inline struct tidset *set_of(const uint32_t *tids, size_t nr)
{
	struct tidset *s;

	assert_int_equal(tidset_new(&s, NULL), 0);
	for (size_t i = 0; i < nr; i++)
		tidset_add(s, tids[i]);
	return s;
}
