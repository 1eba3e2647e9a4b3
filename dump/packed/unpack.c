// SPDX-License-Identifier: MIT
/*
 * Opens packed records; see unpack.h. unpack_columns.c reads columns, unpack_classes.c the words of
 * a class, unpack_chains.c chains; unpack_records.c restores records. Called by the timeline and by
 * check.
 */
#include "dump/packed/unpack_impl.h"

#include "dump/base/err.h"

#include <errno.h>
#include <stdlib.h>

int unpack_broken(struct err *err, int rc, const char *what)
{
	if (rc == -ENOMEM)
		return err_set(err, rc, "out of memory for unpacking records");
	return err_set(err, rc, "its packed records are inconsistent (%s)", what);
}

int unpacker_new(struct unpacker **out, struct err *err)
{
	struct unpacker *u = calloc(1, sizeof(*u));

	if (!u)
		return err_set(err, -ENOMEM, "out of memory for unpacking records");
	*out = u;
	return 0;
}

static void class_free(struct unpack_class *c)
{
	buf_free(&c->masks);
	buf_free(&c->images);
	buf_free(&c->values);
	buf_free(&c->varying);
}

void unpacker_free(struct unpacker *u)
{
	if (!u)
		return;
	for (uint32_t i = 0; i < u->max_class; i++)
		class_free(&u->classes[i]);
	buf_free(&u->streams);
	buf_free(&u->tpl);
	buf_free(&u->ordinal);
	buf_free(&u->times);
	buf_free(&u->tids);
	buf_free(&u->offsets);
	buf_free(&u->bulk);
	buf_free(&u->tpl_by_class);
	buf_free(&u->chain_by_class);
	buf_free(&u->tpl_class);
	buf_free(&u->tpl_place);
	buf_free(&u->leaf);
	buf_free(&u->depth_of_chain);
	buf_free(&u->parent);
	buf_free(&u->addr);
	buf_free(&u->addrs);
	buf_free(&u->scratch);
	free(u);
}

/* ---- header, classes, streams ---- */

/* Whether the positions of a class are valid. */
static bool class_fits(const struct fmt_pack_class *f)
{
	uint32_t bulk_at = f->bulk_at == FMT_PACK_NONE ? f->words : f->bulk_at;

	if (f->words < 2 || f->words % 2 || bulk_at > f->words)
		return false;
	if (f->bulk_at == FMT_PACK_NONE ? f->bulk_words : f->bulk_words % 2 || f->bulk_at % 2)
		return false;
	if (f->chain_at == FMT_PACK_NONE)
		return true;
	return f->chain_at >= 2 && f->chain_at % 2 == 0 && f->chain_at <= bulk_at;
}

/* Checks roles that require others. */
static bool roles_fit(const struct unpack_class *c)
{
	for (uint32_t w = 0; w < c->f.words; w++) {
		uint8_t role = c->roles[w], next = w + 1u < c->f.words ? c->roles[w + 1] : 0;

		if (role > FMT_ROLE_IP_HI)
			return false;
		if (role == FMT_ROLE_TIME && next != FMT_ROLE_TIME_HI)
			return false;
		if (role == FMT_ROLE_IP && next != FMT_ROLE_IP_HI)
			return false;
		if ((role == FMT_ROLE_SIZE || role == FMT_ROLE_NR || role == FMT_ROLE_IP) &&
		    !c->has_chain)
			return false;
	}
	return true;
}

static void read_roles(struct unpack_class *c)
{
	c->has_chain = c->f.chain_at != FMT_PACK_NONE;
	c->has_time = c->has_tid = false;
	c->nr_vary = c->nr_direct = 0;
	for (uint32_t w = c->f.words; w-- > 0;) {
		if (c->roles[w] == FMT_ROLE_TIME)
			c->has_time = true;
		if (c->roles[w] == FMT_ROLE_TID)
			c->has_tid = true;
		c->nr_vary += c->roles[w] == FMT_ROLE_VARY;
		c->nr_direct += c->roles[w] == FMT_ROLE_DIRECT;
	}
}

static uint32_t count_roles(const struct unpack_class *c, uint8_t a, uint8_t b)
{
	uint32_t nr = 0;

	for (uint32_t w = 0; w < c->f.words; w++)
		nr += c->roles[w] == a || c->roles[w] == b;
	return nr;
}

/* Class 0 has no description; its fields are 0. */
static int open_classes(struct unpacker *u, struct bytes *rest)
{
	uint32_t stream = FMT_STREAM_CLASS, records = 0, words = u->h.content_bytes / 4;

	if (!u->h.nr_classes || u->h.nr_classes > MAX_CLASSES)
		return -EBADMSG;
	if (u->max_class < u->h.nr_classes)
		u->max_class = u->h.nr_classes;
	for (uint32_t i = 0; i < u->h.nr_classes; i++) {
		struct unpack_class *c = &u->classes[i];

		memset(&c->f, 0, sizeof(c->f));
		c->have_masks = c->have_fixed = c->has_chain = c->has_time = c->has_tid = false;
		c->have_values = UNPACK_FIXED;
		c->needed = 0;
		c->f.bulk_at = c->f.chain_at = FMT_PACK_NONE;
		if (i && (!bytes_get(rest, &c->f, sizeof(c->f)) || !class_fits(&c->f)))
			return -EBADMSG;
	}
	for (uint32_t i = 1; i < u->h.nr_classes; i++) {
		struct unpack_class *c = &u->classes[i];
		struct bytes roles;

		if (!bytes_take(rest, c->f.words, &roles))
			return -EBADMSG;
		c->roles = roles.p;
		read_roles(c);
		if (c->nr_vary > FMT_PACK_MAX_VARY || !roles_fit(c))
			return -EBADMSG;
		c->first_stream = stream;
		stream += FMT_STREAM_CLASS_WORDS + c->nr_vary + c->nr_direct +
			  count_roles(c, FMT_ROLE_KEEP, FMT_ROLE_KEEP);
		if (c->f.nr_records > u->h.nr_records - records ||
		    (uint64_t)c->f.nr_records * c->f.words > words)
			return -EBADMSG;
		words -= c->f.nr_records * c->f.words;
		c->first_record = records;
		records += c->f.nr_records;
	}
	u->classes[0].first_record = records;
	u->classes[0].f.nr_records = u->h.nr_records - records;
	for (uint32_t i = 1; i < u->h.nr_classes; i++) {
		struct bytes constants;

		if (!bytes_take(rest,
				4u * count_roles(&u->classes[i], FMT_ROLE_CONST, FMT_ROLE_SIZE),
				&constants))
			return -EBADMSG;
		u->classes[i].constants = constants.p;
	}
	return stream == u->h.nr_streams ? 0 : -EBADMSG;
}

static int open_streams(struct unpacker *u, struct bytes rest)
{
	struct bytes lengths;
	int rc;

	if (!bytes_take(&rest, (size_t)u->h.nr_streams * 4, &lengths))
		return -EBADMSG;
	rc = unpack_room(&u->streams, u->h.nr_streams, sizeof(struct bytes));
	if (rc)
		return rc;
	for (uint32_t i = 0; i < u->h.nr_streams; i++) {
		uint32_t n;

		if (!bytes_u32(&lengths, &n) ||
		    !bytes_take(&rest, n, &((struct bytes *)u->streams.p)[i]))
			return -EBADMSG;
	}
	return rest.len ? -EBADMSG : 0;
}

/* ---- which template each record has ---- */

static int open_templates(struct unpacker *u)
{
	uint32_t nr = u->h.nr_templates, words = 0;
	struct bytes s = stream_of(u, FMT_STREAM_CLASSES);
	uint32_t *cls, *place;
	int rc;

	if (nr > UINT16_MAX - 1u)
		return -EBADMSG;
	rc = unpack_column32(s, nr, &u->tpl_class);
	if (!rc)
		rc = unpack_room(&u->tpl_place, nr, 4);
	if (rc)
		return rc;
	cls = (uint32_t *)u->tpl_class.p;
	place = (uint32_t *)u->tpl_place.p;
	for (uint32_t i = 0; i < u->h.nr_classes; i++)
		u->classes[i].nr_templates = 0;
	for (uint32_t i = 0; i < nr; i++) {
		struct unpack_class *c;

		if (!cls[i] || cls[i] >= u->h.nr_classes)
			return -EBADMSG;
		c = &u->classes[cls[i]];
		place[i] = c->nr_templates++;
		words += c->f.words;
		if (words > FMT_PACK_MAX_WORDS)
			return -EBADMSG;
	}
	return 0;
}

/* Restores the templates from runs of correct predictions and the others. */
static int follow_templates(struct unpacker *u, const uint32_t *runs, const uint32_t *misses,
			    uint32_t nr)
{
	uint16_t *tpl = (uint16_t *)u->tpl.p, *succ = (uint16_t *)u->scratch.p;
	uint32_t i = 0, last = 0;

	memset(succ, 0, (u->h.nr_templates + 1u) * sizeof(*succ));
	for (uint32_t k = 0; k <= nr; k++) {
		uint32_t run = k < nr ? runs[k] : u->h.nr_records - i;

		if (run > u->h.nr_records - i)
			return -EBADMSG;
		for (; run; run--) {
			last = succ[last];
			tpl[i++] = (uint16_t)last;
		}
		if (k == nr)
			break;
		if (i == u->h.nr_records || misses[k] > u->h.nr_templates)
			return -EBADMSG;
		succ[last] = (uint16_t)misses[k];
		last = misses[k];
		tpl[i++] = (uint16_t)last;
	}
	return 0;
}

static int sort_by_class(struct unpacker *u)
{
	const uint16_t *tpl = (const uint16_t *)u->tpl.p;
	const uint32_t *place = (const uint32_t *)u->tpl_place.p;
	uint32_t *ordinal = (uint32_t *)u->ordinal.p, seen[MAX_CLASSES] = {0};
	uint16_t *by_class = (uint16_t *)u->tpl_by_class.p;

	for (uint32_t i = 0; i < u->h.nr_records; i++) {
		uint32_t cls = unpack_class_of(u, tpl[i]);
		struct unpack_class *c = &u->classes[cls];

		if (seen[cls] == c->f.nr_records)
			return -EBADMSG;
		by_class[c->first_record + seen[cls]] = tpl[i] ? (uint16_t)place[tpl[i] - 1] : 0;
		ordinal[i] = seen[cls]++;
	}
	return 0; /* all classes are full: their numbers of records add up */
}

static int open_sequence(struct unpacker *u)
{
	struct buf runs = {0}, misses = {0};
	uint32_t nr;
	int rc;

	rc = unpack_column32_upto(stream_of(u, FMT_STREAM_RUNS), u->h.nr_records, &runs, &nr);
	if (!rc)
		rc = unpack_column32(stream_of(u, FMT_STREAM_TEMPLATES), nr, &misses);
	if (!rc)
		rc = unpack_room(&u->tpl, u->h.nr_records, 2);
	if (!rc)
		rc = unpack_room(&u->scratch, u->h.nr_templates + 1u, 2);
	if (!rc)
		rc = unpack_room(&u->ordinal, u->h.nr_records, 4);
	if (!rc)
		rc = unpack_room(&u->tpl_by_class, u->h.nr_records, 2);
	if (!rc)
		rc = follow_templates(u, (uint32_t *)runs.p, (uint32_t *)misses.p, nr);
	if (!rc)
		rc = sort_by_class(u);
	buf_free(&runs);
	buf_free(&misses);
	return rc;
}

int unpack_open(struct unpacker *u, struct bytes payload, uint32_t nr_records,
		uint32_t content_bytes, struct err *err)
{
	struct bytes rest = payload;
	int rc;

	u->have = 0;
	u->payload = payload;
	if (!bytes_get(&rest, &u->h, sizeof(u->h)) || u->h.nr_records != nr_records ||
	    u->h.content_bytes != content_bytes || nr_records > FMT_PACK_MAX_RECORDS ||
	    content_bytes > FMT_MAX_BLOCK_BYTES || u->h.tail_bytes > content_bytes)
		return unpack_broken(err, -EBADMSG, "head");
	rc = open_classes(u, &rest);
	if (rc)
		return unpack_broken(err, rc, "classes");
	rc = open_streams(u, rest);
	if (rc)
		return unpack_broken(err, rc, "streams");
	rc = open_templates(u);
	if (!rc)
		rc = open_sequence(u);
	return rc ? unpack_broken(err, rc, "templates") : 0;
}

/* ---- times and threads ---- */

static int read_times(struct unpacker *u)
{
	const uint16_t *tpl = (const uint16_t *)u->tpl.p;
	const uint32_t *ordinal = (const uint32_t *)u->ordinal.p;
	uint64_t ns = u->h.time_ns, *times, *steps;
	int rc = unpack_room(&u->times, u->h.nr_records, 8);

	if (!rc)
		rc = unpack_room(&u->scratch, u->h.nr_records, 8);
	if (rc)
		return rc;
	steps = (uint64_t *)u->scratch.p;
	for (uint32_t k = 1; k < u->h.nr_classes && !rc; k++) {
		struct unpack_class *c = &u->classes[k];
		struct packed_column col;

		rc = column_open(stream_of(u, c->first_stream + FMT_STREAM_CLASS_TIMES), &col);
		if (!rc && col.h.nr != (c->has_time ? c->f.nr_records : 0))
			rc = -EBADMSG;
		if (!rc)
			rc = column_get_u64(&col, steps + c->first_record);
	}
	if (rc)
		return rc;
	times = (uint64_t *)u->times.p;
	for (uint32_t i = 0; i < u->h.nr_records; i++) {
		const struct unpack_class *c = &u->classes[unpack_class_of(u, tpl[i])];

		times[i] = UINT64_MAX;
		if (c->has_time)
			times[i] = ns -= steps[c->first_record + ordinal[i]];
	}
	return 0;
}

int unpack_times(struct unpacker *u, const uint64_t **times, struct err *err)
{
	int rc = u->have & HAVE_TIMES ? 0 : read_times(u);

	if (rc)
		return unpack_broken(err, rc, "times");
	u->have |= HAVE_TIMES;
	*times = (const uint64_t *)u->times.p;
	return 0;
}

/* tids[i] is the thread before record i, tids[i + 1] that of record i. */
static int follow_threads(struct unpacker *u, const uint32_t *runs, uint32_t nr,
			  struct word_stream *w)
{
	const uint16_t *tpl = (const uint16_t *)u->tpl.p;
	uint32_t *tids = (uint32_t *)u->tids.p, *succ = (uint32_t *)u->scratch.p;
	uint32_t k = 0, left = nr ? runs[0] : UINT32_MAX;

	memset(succ, 0, FMT_PACK_THREADS * sizeof(*succ));
	tids[0] = u->h.first_tid;
	for (uint32_t i = 0; i < u->h.nr_records; i++) {
		const struct unpack_class *c = &u->classes[unpack_class_of(u, tpl[i])];
		uint32_t tid, *next = &succ[tids[i] % FMT_PACK_THREADS];

		tids[i + 1] = tids[i];
		if (!c->has_tid)
			continue;
		tid = c->f.flags & FMT_PACK_CHANGES ? *next : tids[i];
		if (left) {
			left -= left != UINT32_MAX;
		} else {
			if (words_next(w, 0, &tid))
				return -EBADMSG;
			left = ++k < nr ? runs[k] : UINT32_MAX;
		}
		if (c->f.flags & FMT_PACK_CHANGES)
			*next = tid;
		tids[i + 1] = tid;
	}
	return 0;
}

static int read_threads(struct unpacker *u)
{
	struct buf runs = {0};
	struct word_stream w = {0};
	uint32_t nr;
	int rc;

	rc = unpack_column32_upto(stream_of(u, FMT_STREAM_TID_RUNS), u->h.nr_records, &runs, &nr);
	if (!rc)
		rc = words_open(&w, stream_of(u, FMT_STREAM_TIDS), u->h.nr_records);
	if (!rc && w.nr != nr)
		rc = -EBADMSG;
	if (!rc)
		rc = unpack_room(&u->tids, u->h.nr_records + 1u, 4);
	if (!rc)
		rc = unpack_room(&u->scratch, FMT_PACK_THREADS, 4);
	if (!rc)
		rc = follow_threads(u, (uint32_t *)runs.p, nr, &w);
	words_close(&w);
	buf_free(&runs);
	return rc;
}

static int need_threads(struct unpacker *u)
{
	int rc = u->have & HAVE_TIDS ? 0 : read_threads(u);

	u->have |= rc ? 0 : HAVE_TIDS;
	return rc;
}

int unpack_threads(struct unpacker *u, const uint32_t **tids, struct err *err)
{
	int rc = need_threads(u);

	if (rc)
		return unpack_broken(err, rc, "threads");
	*tids = (const uint32_t *)u->tids.p + 1;
	return 0;
}

/* ---- offsets ---- */

static int need_chains(struct unpacker *u)
{
	int rc = u->have & HAVE_CHAINS ? 0 : unpack_chains(u);

	u->have |= rc ? 0 : HAVE_CHAINS;
	return rc;
}

/* Size of a record; a record of class 0 is the next in `bulk`. 0: invalid. */
static uint32_t size_of(const struct unpacker *u, const struct unpack_class *c, uint32_t ordinal,
			struct bytes bulk, uint32_t *from_bulk)
{
	uint32_t size, chain;
	uint64_t h;

	if (c == &u->classes[0]) {
		if (!bytes_u64(&bulk, &h))
			return 0;
		size = (uint32_t)(h >> 48);
		*from_bulk = size;
		return size < 8 || size % 8 ? 0 : size;
	}
	*from_bulk = c->f.bulk_words * 4u;
	size = c->f.words * 4u + *from_bulk;
	if (c->has_chain) {
		chain = ((const uint32_t *)u->chain_by_class.p)[c->first_record + ordinal];
		size += ((const uint32_t *)u->depth_of_chain.p)[chain] * 8;
	}
	return size;
}

static int read_offsets(struct unpacker *u)
{
	const uint16_t *tpl = (const uint16_t *)u->tpl.p;
	const uint32_t *ordinal = (const uint32_t *)u->ordinal.p;
	struct bytes bulk = stream_of(u, FMT_STREAM_BULK), taken;
	uint32_t *offsets, *from, off = 0, limit = u->h.content_bytes - u->h.tail_bytes;
	size_t total = bulk.len;
	int rc = need_chains(u);

	if (!rc)
		rc = unpack_room(&u->offsets, u->h.nr_records + 1u, 4);
	if (!rc)
		rc = unpack_room(&u->bulk, u->h.nr_records, 4);
	if (rc)
		return rc;
	offsets = (uint32_t *)u->offsets.p;
	from = (uint32_t *)u->bulk.p;
	for (uint32_t i = 0; i < u->h.nr_records; i++) {
		uint32_t n = 0, size = size_of(u, &u->classes[unpack_class_of(u, tpl[i])],
					       ordinal[i], bulk, &n);

		from[i] = (uint32_t)(total - bulk.len);
		offsets[i] = off;
		if (!size || size > limit - off || !bytes_take(&bulk, n, &taken))
			return -EBADMSG;
		off += size;
	}
	offsets[u->h.nr_records] = off;
	return off == limit && bulk.len == u->h.tail_bytes ? 0 : -EBADMSG;
}

static int need_offsets(struct unpacker *u)
{
	int rc = u->have & HAVE_OFFSETS ? 0 : read_offsets(u);

	u->have |= rc ? 0 : HAVE_OFFSETS;
	return rc;
}

int unpack_offsets(struct unpacker *u, const uint32_t **offsets, struct err *err)
{
	int rc = need_offsets(u);

	if (rc)
		return unpack_broken(err, rc, "lengths");
	*offsets = (const uint32_t *)u->offsets.p;
	return 0;
}

int unpack_need_all(struct unpacker *u)
{
	int rc = need_offsets(u);

	if (!rc && !(u->have & HAVE_TIMES))
		rc = read_times(u);
	if (rc)
		return rc;
	u->have |= HAVE_TIMES;
	return need_threads(u);
}
