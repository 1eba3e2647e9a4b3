// SPDX-License-Identifier: MIT
/* Names of code generated at run time; see perf_map.h. Called by whatever collects symbols. */
#include "dump/view/symbols/perf_map.h"

#include "dump/base/array.h"
#include "dump/base/bytes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NAME 1024
#define MAX_LINE (MAX_NAME + 40) /* start and size before the name */
/* Limit for all stored names: a line may cover many addresses and be replaced repeatedly. */
#define MAX_NAMES_BYTES (64u << 20)

/* The function that contains an address. */
struct cover {
	uint64_t start, bytes; /* bytes 0: none */
	size_t name;	       /* offset in `names` */
};

struct perf_map {
	const uint64_t *addrs;
	size_t nr;
	struct cover *covers; /* one per address */
	struct buf names;
};

int perf_map_new(const uint64_t *addrs, size_t nr, struct perf_map **out)
{
	struct perf_map *m = calloc(1, sizeof(*m));

	if (m)
		m->covers = calloc(nr + 1, sizeof(*m->covers));
	if (!m || !m->covers) {
		perf_map_free(m);
		return -ENOMEM;
	}
	m->addrs = addrs;
	m->nr = nr;
	*out = m;
	return 0;
}

void perf_map_free(struct perf_map *m)
{
	if (!m)
		return;
	free(m->covers);
	buf_free(&m->names);
	free(m);
}

/* The index of the first address >= `addr`. */
static size_t first_from(const struct perf_map *m, uint64_t addr)
{
	return array_bisect(i, m->nr, m->addrs[i] < addr);
}

static int take(struct perf_map *m, uint64_t start, uint64_t bytes, const char *name)
{
	size_t i = first_from(m, start), len = strcspn(name, "\n");
	struct cover c = {start, bytes, m->names.len};

	if (!bytes || i == m->nr || m->addrs[i] - start >= bytes || !len)
		return 0;
	if (len > MAX_NAME)
		len = MAX_NAME;
	if (m->names.len + len >= MAX_NAMES_BYTES)
		return 0;
	if (buf_put(&m->names, name, len) || buf_put(&m->names, "", 1))
		return -ENOMEM;
	for (; i < m->nr && m->addrs[i] - start < bytes; i++)
		m->covers[i] = c;
	return 0;
}

/* The rest of a line that is too long is dropped: a file without an end of line may be huge. */
static bool next_line(FILE *in, char line[MAX_LINE])
{
	int c;

	line[MAX_LINE - 2] = '\0';
	if (!fgets(line, MAX_LINE, in))
		return false;
	if (line[MAX_LINE - 2] && line[MAX_LINE - 2] != '\n')
		while ((c = getc_unlocked(in)) != EOF && c != '\n')
			;
	return true;
}

int perf_map_read(struct perf_map *m, FILE *in)
{
	char line[MAX_LINE], *at, *end;
	int rc = 0;

	while (!rc && next_line(in, line)) {
		uint64_t start = strtoull(line, &at, 16), bytes;

		if (at == line || *at != ' ')
			continue;
		bytes = strtoull(at, &end, 16);
		if (end != at && *end == ' ')
			rc = take(m, start, bytes, end + 1);
	}
	return rc;
}

bool perf_map_has(const struct perf_map *m, size_t i)
{
	return m->covers[i].bytes;
}

void perf_map_each(const struct perf_map *m,
		   void (*each)(void *ctx, uint64_t start, uint64_t bytes, const char *name),
		   void *ctx)
{
	uint64_t until = 0; /* end of the previous function */

	for (size_t i = 0, next; i < m->nr; i = next) {
		const struct cover *c = &m->covers[i];
		uint64_t start = c->start < until ? until : c->start, bytes;

		next = i + 1;
		if (!c->bytes)
			continue;
		while (next < m->nr && m->covers[next].bytes && m->covers[next].name == c->name)
			next++;
		bytes = c->bytes - (start - c->start);
		if (next < m->nr && m->covers[next].bytes && m->covers[next].start > start &&
		    m->covers[next].start - start < bytes)
			bytes = m->covers[next].start - start;
		until = start + bytes;
		each(ctx, start, bytes, (const char *)m->names.p + c->name);
	}
}
