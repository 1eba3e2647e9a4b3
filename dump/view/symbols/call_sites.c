// SPDX-License-Identifier: MIT
/*
 * Calls in x86-64 code; see call_sites.h. Called by collect_unwind.c.
 *
 * Functions begin at symbols and at the targets of calls; this is enough to separate them, even in
 * files without symbols.
 */
#include "dump/view/symbols/call_sites.h"

#include "dump/base/array.h"
#include "dump/base/elf.h"

#include <stdlib.h>
#include <string.h>

#define MAX_SEGMENTS   16
#define MAX_CODE_BYTES (64u << 20)
/* Limit on the bytes of a function to search for its final jump. */
#define MAX_FUNCTION_BYTES 4096
/* Limit on the code to search for an address; larger code counts as containing it. */
#define MAX_SEARCH_BYTES (8u << 20)

/* The lowest address of programs with a fixed address; lower words have another meaning. */
#define MIN_ABSOLUTE 0x400000u

enum { CALL = 0xe8, JUMP = 0xe9, REL_BYTES = 5 };

struct call_name {
	uint64_t place;
	const char *name; /* borrowed from the elf */
};

struct segment {
	uint64_t value, place;
	struct buf code;
};

struct call_sites {
	struct segment segments[MAX_SEGMENTS];
	size_t nr_segments;
	struct buf starts; /* uint64_t[], sorted */
	size_t nr_starts;
	struct buf exported; /* struct call_name[] */
	struct buf stubs;    /* struct call_name[] */
	bool failed;	     /* out of memory */
};

/* ---- reading ---- */

static bool to_place(const struct call_sites *c, uint64_t value, uint64_t *place)
{
	for (size_t i = 0; i < c->nr_segments; i++) {
		const struct segment *s = &c->segments[i];

		if (value >= s->value && value - s->value < s->code.len) {
			*place = value - s->value + s->place;
			return true;
		}
	}
	return false;
}

static void add_start(struct call_sites *c, uint64_t value)
{
	uint64_t place;

	if (to_place(c, value, &place) && buf_put(&c->starts, &place, sizeof(place)))
		c->failed = true;
}

static int add_function(void *ctx, const struct elf_code *f)
{
	struct call_sites *c = ctx;
	struct call_name n = {.name = f->name};

	if (!f->function || !to_place(c, f->value, &n.place))
		return 0;
	if (buf_put(&c->exported, &n, sizeof(n)))
		c->failed = true;
	add_start(c, f->value);
	return c->failed;
}

static int add_stub(void *ctx, const struct elf_code *f)
{
	struct call_sites *c = ctx;
	struct call_name n = {.name = f->name};

	if (to_place(c, f->value, &n.place) && buf_put(&c->stubs, &n, sizeof(n)))
		c->failed = true;
	return c->failed;
}

/* The target of the 5 bytes at `at`, if they are `op` with a distance. */
static bool goes_to(const struct segment *s, size_t at, uint8_t op, uint64_t *value)
{
	int32_t way;

	if (!span_fits(at, REL_BYTES, s->code.len) || s->code.p[at] != op)
		return false;
	memcpy(&way, s->code.p + at + 1, sizeof(way));
	*value = s->value + at + REL_BYTES + (uint64_t)(int64_t)way;
	return true;
}

static void add_called(struct call_sites *c, const struct segment *s)
{
	uint64_t value;

	for (size_t at = 0; at < s->code.len && !c->failed; at++)
		if (goes_to(s, at, CALL, &value))
			add_start(c, value);
}

static void read_code(struct call_sites *c, struct elf *e)
{
	struct elf_segment v[MAX_SEGMENTS];
	size_t nr = elf_code_segments(e, v, MAX_SEGMENTS), sum = 0;

	for (size_t i = 0; i < nr; i++) {
		struct segment *s = &c->segments[c->nr_segments];

		sum += v[i].bytes < MAX_CODE_BYTES ? v[i].bytes : MAX_CODE_BYTES + 1;
		if (sum > MAX_CODE_BYTES || buf_reserve(&s->code, v[i].bytes))
			break;
		s->value = v[i].value;
		s->place = v[i].offset;
		s->code.len = elf_read(e, v[i].offset, s->code.p, v[i].bytes);
		c->nr_segments++;
	}
}

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

struct call_sites *call_sites_new(struct elf *e)
{
	struct call_sites *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	read_code(c, e);
	elf_each_code(e, add_function, c);
	elf_each_stub(e, add_stub, c);
	for (size_t i = 0; i < c->nr_segments; i++)
		add_called(c, &c->segments[i]);
	c->nr_starts = c->starts.len / sizeof(uint64_t);
	if (c->failed || !c->nr_starts) {
		call_sites_free(c);
		return NULL;
	}
	qsort(c->starts.p, c->nr_starts, sizeof(uint64_t), compare);
	return c;
}

void call_sites_free(struct call_sites *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < MAX_SEGMENTS; i++)
		buf_free(&c->segments[i].code);
	buf_free(&c->starts);
	buf_free(&c->exported);
	buf_free(&c->stubs);
	free(c);
}

/* ---- asking ---- */

/* The number of functions that begin at or before `place`. */
static size_t begun(const struct call_sites *c, uint64_t place)
{
	const uint64_t *v = (const uint64_t *)c->starts.p;

	return array_bisect(i, c->nr_starts, v[i] <= place);
}

static bool start_of(const struct call_sites *c, uint64_t place, uint64_t *start)
{
	size_t nr = begun(c, place);

	if (!nr)
		return false;
	*start = ((const uint64_t *)c->starts.p)[nr - 1];
	return true;
}

static const struct segment *segment_of(const struct call_sites *c, uint64_t place)
{
	for (size_t i = 0; i < c->nr_segments; i++)
		if (place >= c->segments[i].place &&
		    place - c->segments[i].place < c->segments[i].code.len)
			return &c->segments[i];
	return NULL;
}

/* Whether the function at `start` has a jump to `place`. */
static bool jumps_to(const struct call_sites *c, uint64_t start, uint64_t place)
{
	const struct segment *s = segment_of(c, start);
	size_t nr = begun(c, start), at, end;
	uint64_t value, to;

	if (!s)
		return false;
	at = (size_t)(start - s->place);
	end = at + MAX_FUNCTION_BYTES;
	if (nr < c->nr_starts && ((const uint64_t *)c->starts.p)[nr] - s->place < end)
		end = (size_t)(((const uint64_t *)c->starts.p)[nr] - s->place);
	for (; at < end; at++)
		if (goes_to(s, at, JUMP, &value) && to_place(c, value, &to) && to == place)
			return true;
	return false;
}

/* Whether a call of `start` can reach the function that contains `place`. */
static bool reaches(const struct call_sites *c, uint64_t start, uint64_t place)
{
	uint64_t begin;

	return start_of(c, place, &begin) && (begin == start || jumps_to(c, start, begin));
}

static const char *name_at(const struct buf *names, uint64_t place)
{
	const struct call_name *n = (const struct call_name *)names->p;

	for (size_t i = 0; i < names->len / sizeof(*n); i++)
		if (n[i].place == place)
			return n[i].name;
	return NULL;
}

static bool reaches_name(const struct call_sites *c, const char *name, uint64_t place)
{
	const struct call_name *n = (const struct call_name *)c->exported.p;

	for (size_t i = 0; i < c->exported.len / sizeof(*n); i++)
		if (!strcmp(n[i].name, name) && reaches(c, n[i].place, place))
			return true;
	return false;
}

/* Size of a ModRM operand: ModRM, SIB, displacement. */
static size_t operand_bytes(const uint8_t *p)
{
	unsigned mod = p[0] >> 6, rm = p[0] & 7;
	size_t n = 1 + (mod != 3 && rm == 4);

	if (mod == 1)
		return n + 1;
	if (mod == 2 || (mod == 0 && rm == 5) || (mod == 0 && rm == 4 && (p[1] & 7) == 5))
		return n + 4;
	return n;
}

/* Whether a call through a register or a word in memory ends at `end`: ff /2. */
static bool pointer_call(const struct segment *s, size_t end)
{
	static const uint8_t pad[2];

	for (size_t n = 2; n <= 7 && n <= end; n++) {
		const uint8_t *p = s->code.p + end - n;
		uint8_t operand[2] = {p[1], n > 2 ? p[2] : pad[0]};

		if (p[0] == 0xff && (p[1] >> 3 & 7) == 2 && 1 + operand_bytes(operand) == n)
			return true;
	}
	return false;
}

enum call_sites_answer call_sites_lead(const struct call_sites *from, uint64_t ret,
				       const struct call_sites *to, uint64_t place)
{
	const struct segment *s = ret ? segment_of(from, ret - 1) : NULL;
	uint64_t value, start;
	const char *stub;
	size_t end;

	if (!s)
		return CALLS_NO;
	end = (size_t)(ret - s->place);
	if (end >= REL_BYTES && goes_to(s, end - REL_BYTES, CALL, &value) &&
	    to_place(from, value, &start)) {
		if (from == to && reaches(to, start, place))
			return CALLS_YES;
		stub = name_at(&from->stubs, start);
		return stub && reaches_name(to, stub, place) ? CALLS_YES : CALLS_NO;
	}
	return pointer_call(s, end) ? CALLS_MAYBE : CALLS_NO;
}

/*
 * Whether 4 bytes of the code are the address, or the distance to it from the end of these bytes.
 */
static bool mentions(const struct segment *s, uint64_t value)
{
	uint32_t word;

	for (size_t at = 1; span_fits(at, sizeof(word), s->code.len); at++) {
		uint64_t next = s->value + at + sizeof(word);

		memcpy(&word, s->code.p + at, sizeof(word));
		/* Zeros before a function are padding. */
		if ((!word || word != (uint32_t)(value - next)) &&
		    (value < MIN_ABSOLUTE || word != (uint32_t)value))
			continue;
		if (s->code.p[at - 1] != CALL && s->code.p[at - 1] != JUMP)
			return true;
	}
	return false;
}

bool call_sites_by_pointer(const struct call_sites *c, uint64_t place)
{
	const struct segment *s = segment_of(c, place);
	uint64_t start, value;

	if (!s || !start_of(c, place, &start) || start < s->place)
		return true;
	value = start - s->place + s->value;
	for (size_t i = 0; i < c->nr_segments; i++)
		if (c->segments[i].code.len > MAX_SEARCH_BYTES || mentions(&c->segments[i], value))
			return true;
	return false;
}
