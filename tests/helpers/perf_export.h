/* SPDX-License-Identifier: MIT */
/* Exports test dumps as perf.data, for the tests of export -f perf. Includes mkdump.h and
 * perf_file.h. */
#pragma once

#include "dump/view/export/export.h"

#include "tests/helpers/mkdump.h"
#include "tests/helpers/perf_file.h"

#include <sys/stat.h>

struct exported {
	struct bytes b; /* free .p */
	struct export_result res;
	int rc;
	struct err err;
};

static inline struct exported export_of(struct reader *r, struct export_options opt)
{
	struct exported e = {.err = ERR_INIT};
	FILE *out = tmpfile();
	struct meta *m = mk_meta(r);
	struct stat st;
	uint8_t *p;

	assert_non_null(out);
	e.rc = export_run(r, m, &export_perf, &opt, out, &e.res, &e.err);
	assert_int_equal(fstat(fileno(out), &st), 0);
	p = malloc((size_t)st.st_size + 1);
	assert_true(p && pread(fileno(out), p, (size_t)st.st_size, 0) == st.st_size);
	e.b = (struct bytes){p, (size_t)st.st_size};
	fclose(out);
	meta_free(m);
	return e;
}

static inline struct exported export_all(struct mk *d)
{
	struct reader *r = mk_end(d);
	struct exported e = export_of(r, (struct export_options){.to_ns = UINT64_MAX});

	mk_close(d, r);
	return e;
}
