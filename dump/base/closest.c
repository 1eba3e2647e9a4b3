// SPDX-License-Identifier: MIT
/* Nearest names by edit distance; see closest.h. */
#include "dump/base/closest.h"

#include "dump/base/err.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool same(char a, char b)
{
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
	unsigned m = a < b ? a : b;

	return m < c ? m : c;
}

/* Optimal string alignment with three rolling rows. */
unsigned closest_distance(const char *a, const char *b, unsigned limit)
{
	unsigned rows[3][CLOSEST_BYTES + 1];
	unsigned *before = rows[0], *prev = rows[1], *cur = rows[2];
	size_t na = strlen(a), nb = strlen(b);

	if (nb > CLOSEST_BYTES || (na > nb ? na - nb : nb - na) > limit)
		return limit + 1;
	for (size_t j = 0; j <= nb; j++)
		prev[j] = (unsigned)j;
	for (size_t i = 1; i <= na; i++) {
		unsigned least = cur[0] = (unsigned)i, *spare;

		for (size_t j = 1; j <= nb; j++) {
			cur[j] = min3(prev[j] + 1, cur[j - 1] + 1,
				      prev[j - 1] + !same(a[i - 1], b[j - 1]));
			if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) &&
			    same(a[i - 2], b[j - 1]) && before[j - 2] + 1 < cur[j])
				cur[j] = before[j - 2] + 1;
			if (cur[j] < least)
				least = cur[j];
		}
		/* A swap reaches back two rows, so one more edit may still come back. */
		if (least > limit + 1)
			return limit + 1;
		spare = before;
		before = prev;
		prev = cur;
		cur = spare;
	}
	return prev[nb] > limit ? limit + 1 : prev[nb];
}

void closest_init(struct closest *c, const char *wanted)
{
	c->wanted = wanted;
	c->nr = 0;
}

void closest_add(struct closest *c, const char *name, const char *shown)
{
	size_t len = strlen(c->wanted), at;
	unsigned limit = len < 5 ? 1 : len < 8 ? 2 : (unsigned)(len / 4 < 6 ? len / 4 + 1 : 6);
	unsigned d = closest_distance(c->wanted, name, limit);

	if (!shown)
		shown = name;
	if (d > limit || strlen(shown) >= CLOSEST_BYTES)
		return;
	for (at = 0; at < c->nr && c->best[at].distance <= d; at++)
		if (!strcmp(c->best[at].name, shown))
			return;
	if (at == CLOSEST_MAX)
		return;
	if (c->nr < CLOSEST_MAX)
		c->nr++;
	memmove(&c->best[at + 1], &c->best[at], (c->nr - at - 1) * sizeof(c->best[0]));
	c->best[at].distance = d;
	snprintf(c->best[at].name, sizeof(c->best[at].name), "%s", shown);
}

void closest_hint(const struct closest *c, struct err *err, const char *otherwise)
{
	const struct closest_name *b = c->best;

	if (c->nr == 0)
		err_hint(err, "%s", otherwise ? otherwise : "");
	else if (c->nr == 1)
		err_hint(err, "did you mean %s?", b[0].name);
	else if (c->nr == 2)
		err_hint(err, "did you mean %s or %s?", b[0].name, b[1].name);
	else
		err_hint(err, "did you mean %s, %s or %s?", b[0].name, b[1].name, b[2].name);
}
