// SPDX-License-Identifier: MIT
/* The call stacks of a page as one tree: a node is a frame below its parent, so shared outer frames
 * are stored once. Parents come before their children. */
#include "dump/view/html/html_impl.h"

#include "dump/base/hash.h"

#include "dump/base/str.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define FRAME_NAME 300

struct node_row {
	uint64_t key; /* parent + 1, frame */
	uint32_t node;
};

struct frame_row {
	uint64_t key;
	uint32_t frame;
};

struct tree {
	struct html *h;
	struct map nodes, frames;
	struct json j;
	uint32_t nr_nodes, nr_frames;
};

/* Frames are compared by pointer; see call_chains.h. */
static uint64_t frame_key(const struct chain_frame *f)
{
	uint64_t key = hash_mix((uintptr_t)f->image, (uint64_t)f->kernel << 1 | f->inlined);

	return f->function ? hash_mix(key, (uintptr_t)f->function)
			   : hash_mix(hash_mix(key, 1), f->addr);
}

/* [name, image, flags]: 1 kernel, 2 inlined, 4 no name. */
static void put_frame(struct tree *t, const struct chain_frame *f)
{
	char name[FRAME_NAME], image[FRAME_NAME];
	const char *base = f->image ? str_base(f->image) : "";

	str_safe(image, sizeof(image), base, strlen(base));
	if (f->function)
		str_safe(name, sizeof(name), f->function, strlen(f->function));
	else if (f->image && !f->kernel)
		snprintf(name, sizeof(name), "%.200s+0x%" PRIx64, image, f->addr);
	else
		snprintf(name, sizeof(name), "0x%" PRIx64, f->addr);
	json_open(&t->j, NULL, '[');
	json_cstr(&t->j, NULL, name);
	json_cstr(&t->j, NULL, image);
	json_u64(&t->j, NULL, f->kernel | f->inlined << 1 | (f->function ? 0 : 4));
	json_close(&t->j, ']');
}

static int frame_of(struct tree *t, const struct chain_frame *f, uint32_t *out)
{
	struct frame_row *row = map_row(&t->frames, frame_key(f));

	if (!row)
		return -ENOMEM;
	if (!row->frame) {
		row->frame = ++t->nr_frames;
		put_frame(t, f);
	}
	*out = row->frame - 1;
	return 0;
}

/* `parent`: node + 1, or 0. */
static int node_of(struct tree *t, uint32_t parent, uint32_t frame, uint32_t *out)
{
	struct node_row *row = map_row(&t->nodes, (uint64_t)parent << 32 | frame);

	if (!row)
		return -ENOMEM;
	if (!row->node) {
		column_put(&t->h->cols, COL_NODE_PARENT, parent ? t->nr_nodes - (parent - 1) : 0);
		column_put(&t->h->cols, COL_NODE_FRAME, frame);
		row->node = ++t->nr_nodes;
	}
	*out = row->node;
	return 0;
}

/* When there are more nodes than a map can hold, the stack is cut. */
static void add_chain(struct tree *t, uint32_t id)
{
	struct chain c = call_chains_get(t->h->why.a.chains, id);
	uint32_t node = 0, frame;

	for (size_t i = c.nr; i-- > 0;)
		if (frame_of(t, &c.frames[i], &frame) || node_of(t, node, frame, &node))
			break;
	column_put(&t->h->cols, COL_CHAIN_NODE, node);
}

int html_stacks(struct html *h)
{
	struct tree t = {.h = h, .j.t = &h->frames};
	uint32_t nr = call_chains_nr(h->why.a.chains);

	t.nodes = MAP_INIT(struct node_row);
	t.frames = MAP_INIT(struct frame_row);
	column_put(&h->cols, COL_CHAIN_NODE, 0);
	json_open(&t.j, NULL, '[');
	for (uint32_t id = 1; id <= nr; id++)
		add_chain(&t, id);
	json_close(&t.j, ']');
	map_free(&t.nodes);
	map_free(&t.frames);
	h->nr_frames = t.nr_frames;
	return h->cols.rc ? h->cols.rc : h->frames.rc;
}
