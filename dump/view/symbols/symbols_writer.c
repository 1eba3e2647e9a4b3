// SPDX-License-Identifier: MIT
/* Payloads of SYMBOLS blocks; see symbols_writer.h. Called by whatever collects symbols. */
#include "dump/view/symbols/symbols_writer.h"

#include "dump/base/elf.h"
#include "dump/view/cfi/cfi.h"

#include <errno.h>
#include <string.h>

_Static_assert(CFI_SIGNAL == FMT_UNWIND_SIGNAL && CFI_SWITCH == FMT_UNWIND_SWITCH, "flags");

/* Longer texts are cut. */
#define MAX_TEXT 4096

void symbols_writer_free(struct symbols_writer *s)
{
	buf_free(&s->payload);
}

int symbols_writer_flush(struct symbols_writer *s)
{
	if (!s->rc && s->payload.len)
		s->rc = s->out(s->ctx, (struct bytes){s->payload.p, s->payload.len});
	s->payload.len = 0;
	s->next_id = 0;
	s->stands = false;
	return s->rc;
}

static size_t item_bytes(size_t bytes)
{
	return sizeof(struct fmt_item) + align_up(bytes, 8);
}

static size_t text_bytes(const char *text)
{
	return strnlen(text, MAX_TEXT);
}

/*
 * Begins an item of `bytes`: writes the fixed part; the caller adds the rest and calls end_item().
 */
static bool begin_item(struct symbols_writer *s, uint16_t kind, size_t bytes, const void *fixed,
		       size_t fixed_bytes)
{
	struct fmt_item item = {.kind = kind, .bytes = (uint32_t)bytes};

	if (s->rc || buf_reserve(&s->payload, item_bytes(bytes))) {
		s->rc = s->rc ? s->rc : -ENOMEM;
		return false;
	}
	buf_put(&s->payload, &item, sizeof(item));
	buf_put(&s->payload, fixed, fixed_bytes);
	return true;
}

static void end_item(struct symbols_writer *s, size_t bytes)
{
	static const uint8_t zeros[8];

	buf_put(&s->payload, zeros, align_up(bytes, 8) - bytes);
}

/* Writes an item: a fixed part and two texts; the first, if not NULL, with its NUL. */
static void put(struct symbols_writer *s, uint16_t kind, const void *fixed, size_t fixed_bytes,
		const char *first, const char *text)
{
	size_t bytes = fixed_bytes + (first ? text_bytes(first) + 1 : 0) + text_bytes(text);

	if (!begin_item(s, kind, bytes, fixed, fixed_bytes))
		return;
	if (first) {
		buf_put(&s->payload, first, text_bytes(first));
		buf_put(&s->payload, "", 1);
	}
	buf_put(&s->payload, text, text_bytes(text));
	end_item(s, bytes);
}

void symbols_writer_image(struct symbols_writer *s, const struct fmt_image *image, const char *path)
{
	s->image = *image;
	s->path = path;
	s->stands = false;
}

/* Ensures that the payload contains the image and has room for `bytes` more. Returns the image's id
 * there. */
static uint32_t stand(struct symbols_writer *s, size_t bytes)
{
	size_t head = item_bytes(sizeof(s->image) + text_bytes(s->path));

	if (s->payload.len + head + item_bytes(bytes) > FMT_BLOCK_BYTES)
		symbols_writer_flush(s);
	if (!s->stands) {
		s->image.id = s->next_id++;
		put(s, FMT_SYM_IMAGE, &s->image, sizeof(s->image), NULL, s->path);
		s->stands = true;
	}
	return s->image.id;
}

void symbols_writer_function(struct symbols_writer *s, uint64_t start, uint64_t bytes,
			     const char *name)
{
	struct fmt_function f = {.start = start, .bytes = bytes};

	f.image = stand(s, sizeof(f) + text_bytes(name));
	put(s, FMT_SYM_FUNCTION, &f, sizeof(f), NULL, name);
}

void symbols_writer_place(struct symbols_writer *s, uint64_t at, uint32_t depth,
			  const char *function, const char *file, uint32_t line)
{
	struct fmt_place f = {.depth = depth,
			      .at = at,
			      .line = line,
			      .function_bytes = (uint32_t)text_bytes(function) + 1};

	f.image = stand(s, sizeof(f) + text_bytes(function) + 1 + text_bytes(file));
	put(s, FMT_SYM_PLACE, &f, sizeof(f), function, file);
}

void symbols_writer_segment(struct symbols_writer *s, uint32_t flags, const struct elf_segment *e)
{
	struct fmt_segment f = {
		.flags = flags, .value = e->value, .offset = e->offset, .bytes = e->bytes};

	f.image = stand(s, sizeof(f));
	put(s, FMT_SYM_SEGMENT, &f, sizeof(f), NULL, "");
}

void symbols_writer_note(struct symbols_writer *s, const char *text)
{
	struct fmt_note f = {0};

	f.image = stand(s, sizeof(f) + text_bytes(text));
	put(s, FMT_SYM_NOTE, &f, sizeof(f), NULL, text);
}

void symbols_writer_rule(struct symbols_writer *s, const struct cfi_rule *r)
{
	size_t bytes = sizeof(struct fmt_unwind) + r->initial.len + r->program.len;
	struct fmt_unwind f = {.flags = r->flags, /* the same numbers */
			       .start = r->start,
			       .bytes = r->bytes,
			       .code_align = r->code_align,
			       .data_align = r->data_align,
			       .return_register = r->return_register,
			       .initial_bytes = (uint32_t)r->initial.len};

	f.image = stand(s, bytes);
	if (!begin_item(s, FMT_SYM_UNWIND, bytes, &f, sizeof(f)))
		return;
	buf_put(&s->payload, r->initial.p, r->initial.len);
	buf_put(&s->payload, r->program.p, r->program.len);
	end_item(s, bytes);
}

void symbols_writer_code(struct symbols_writer *s, uint64_t start, struct bytes code)
{
	size_t bytes = sizeof(struct fmt_code) + code.len;
	struct fmt_code f = {.start = start};

	f.image = stand(s, bytes);
	if (!begin_item(s, FMT_SYM_CODE, bytes, &f, sizeof(f)))
		return;
	buf_put(&s->payload, code.p, code.len);
	end_item(s, bytes);
}
