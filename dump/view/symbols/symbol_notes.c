// SPDX-License-Identifier: MIT
/* Segments and notes of a dump's images; see symbol_notes.h. Called by cmd_symbols.c. */
#include "dump/view/symbols/symbol_notes.h"

#include "dump/base/err.h"
#include "dump/file/section_items.h"
#include "dump/view/base/intern.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_IMAGES 16384

struct symbol_notes {
	struct intern texts;
	struct buf images; /* struct symbol_notes_image[], each (kind, key, path, identity) once */
	size_t nr;
};

struct notes_loader {
	struct symbol_notes *n;
	struct buf ids; /* uint32_t[]: index of the block's images */
	size_t nr_broken;
};

static struct symbol_notes_image *image_at(const struct symbol_notes *n, size_t i)
{
	return (struct symbol_notes_image *)n->images.p + i;
}

static bool is_same(const struct symbol_notes_image *x, const struct fmt_image *f, const char *path)
{
	const size_t skip = sizeof(f->id);

	return x->path == path &&
	       !memcmp((const char *)&x->f + skip, (const char *)f + skip, sizeof(*f) - skip);
}

static int take_image(struct notes_loader *l, struct bytes item)
{
	struct symbol_notes *n = l->n;
	struct symbol_notes_image image = {.note = ""};
	uint32_t index;

	if (!bytes_get(&item, &image.f, sizeof(image.f)) ||
	    image.f.build_id_bytes > sizeof(image.f.build_id))
		return -EBADMSG;
	image.path = intern(&n->texts, item);
	if (!image.path)
		return -ENOMEM;
	/* The same image may be in an earlier block. */
	for (index = 0; index < n->nr; index++)
		if (is_same(image_at(n, index), &image.f, image.path))
			break;
	if (index == n->nr) {
		if (n->nr == MAX_IMAGES)
			return -E2BIG;
		if (buf_put(&n->images, &image, sizeof(image)))
			return -ENOMEM;
		n->nr++;
	}
	return buf_put(&l->ids, &index, sizeof(index));
}

static struct symbol_notes_image *image_of(const struct notes_loader *l, uint32_t id)
{
	uint32_t index;

	if (id >= l->ids.len / sizeof(index))
		return NULL;
	memcpy(&index, l->ids.p + id * sizeof(index), sizeof(index));
	return image_at(l->n, index);
}

static int take_segment(struct notes_loader *l, struct bytes item)
{
	struct symbol_notes_image *i;
	struct elf_segment s;
	struct fmt_segment f;

	if (!bytes_get(&item, &f, sizeof(f)) || !(i = image_of(l, f.image)))
		return -EBADMSG;
	s = (struct elf_segment){f.value, f.offset, f.bytes};
	if (f.flags & FMT_SEGMENT_DATA && i->nr_data < SYMNOTES_MAX_DATA)
		i->data[i->nr_data++] = s;
	if (!(f.flags & FMT_SEGMENT_DATA) && i->nr_segments < SYMNOTES_MAX_SEGMENTS)
		i->segments[i->nr_segments++] = s;
	return 0;
}

static int take_note(struct notes_loader *l, struct bytes item)
{
	struct symbol_notes_image *i;
	struct fmt_note f;

	if (!bytes_get(&item, &f, sizeof(f)) || !(i = image_of(l, f.image)))
		return -EBADMSG;
	i->note = intern(&l->n->texts, item);
	return i->note ? 0 : -ENOMEM;
}

static int take_item(void *ctx, uint16_t kind, struct bytes item)
{
	struct notes_loader *l = ctx;

	return kind == FMT_SYM_IMAGE	 ? take_image(l, item)
	       : kind == FMT_SYM_SEGMENT ? take_segment(l, item)
	       : kind == FMT_SYM_NOTE	 ? take_note(l, item)
					 : 0;
}

static int take_block(void *ctx, struct bytes payload)
{
	struct notes_loader *l = ctx;

	l->ids.len = 0;
	return section_items_walk(payload, take_item, l, &l->nr_broken);
}

int symbol_notes_load(struct reader *r, struct symbol_notes **out, struct err *err)
{
	struct symbol_notes *n = calloc(1, sizeof(*n));
	struct notes_loader l = {.n = n};
	int rc = -ENOMEM;

	if (n)
		rc = section_items_load(r, FMT_SYMBOLS, UINT64_MAX, take_block, &l, &l.nr_broken);
	buf_free(&l.ids);
	if (rc) {
		symbol_notes_free(n);
		return err_set(err, rc, "the symbols of this dump can't be loaded");
	}
	*out = n;
	return 0;
}

void symbol_notes_free(struct symbol_notes *n)
{
	if (!n)
		return;
	intern_free(&n->texts);
	buf_free(&n->images);
	free(n);
}

static bool is_of(const struct symbol_notes_image *x, const struct addresses_image *i)
{
	if (x->f.kind != i->f.kind || x->f.key != i->f.key)
		return false;
	if (i->f.kind != FMT_IMAGE_FILE)
		return true;
	if (strcmp(x->path, i->path))
		return false;
	if (x->f.build_id_bytes && i->f.build_id_bytes)
		return x->f.build_id_bytes == i->f.build_id_bytes &&
		       !memcmp(x->f.build_id, i->f.build_id, i->f.build_id_bytes);
	return x->f.ino == i->f.ino && x->f.maj == i->f.maj && x->f.min == i->f.min;
}

const struct symbol_notes_image *symbol_notes_find(const struct symbol_notes *n,
						   const struct addresses_image *i)
{
	const struct symbol_notes_image *found = NULL;

	for (size_t k = 0; k < n->nr; k++) {
		const struct symbol_notes_image *x = image_at(n, k);

		if (!is_of(x, i))
			continue;
		/* Prefers the entry with more information. */
		if (!found || (!*found->note && *x->note) ||
		    (!found->nr_segments && x->nr_segments))
			found = x;
	}
	return found;
}

const struct symbol_notes_image *symbol_notes_nth(const struct symbol_notes *n, size_t i)
{
	return i < n->nr ? image_at(n, i) : NULL;
}
