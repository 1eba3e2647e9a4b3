/* SPDX-License-Identifier: MIT */
/*
 * AUX areas for mkdump.h: channels of a PMU with an AUX area, the state of their areas, and blocks
 * of a known sequence in which each byte tells its place. The test module in tests/vm writes the
 * same sequence.
 */
#pragma once

#include "tests/helpers/mkdump.h"

/* Byte at offset `at` of the PMU's output on `cpu`. */
static inline uint8_t mk_aux_byte(int cpu, uint64_t at)
{
	return (uint8_t)(((uint64_t)(cpu + 1) << 48 | (at / 8 + 1)) >> at % 8 * 8);
}

/* A channel with one event, of a PMU with files in sysfs: "path", "content", ..., NULL. */
static inline void mk_aux_channel(struct mk *d, uint32_t id, uint32_t event, const char *name,
				  const char *pmu, const char *const *files)
{
	struct fmt_channel c = {
		.id = id,
		.nr_banks = 1,
		.ring_bytes = 262144,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
	};
	struct perf_event_attr attr = {
		.type = 9,
		.size = sizeof(attr),
		.config = 0x2401,
		.sample_type = c.sample_type,
		.sample_id_all = 1,
		.write_backward = 1,
	};
	struct fmt_event e = {.id = event, .channel = id, .attr_bytes = sizeof(attr)};
	struct buf texts = {0};
	char shown[64];

	snprintf(shown, sizeof(shown), "%s//u", pmu);
	MK_OK(buf_put(&texts, pmu, strlen(pmu) + 1));
	for (; *files; files++)
		MK_OK(buf_put(&texts, *files, strlen(*files) + 1));
	mk_item(d, FMT_CHANNELS, FMT_CHANNEL, &c, sizeof(c), name, strlen(name));
	mk_item(d, FMT_CHANNELS, FMT_EVENT, &e, sizeof(e), &attr, sizeof(attr));
	mk_item(d, FMT_CHANNELS, FMT_EVENT_NAME, &event, sizeof(event), shown, strlen(shown));
	mk_item(d, FMT_CHANNELS, FMT_EVENT_PMU, &event, sizeof(event), texts.p, texts.len);
	buf_free(&texts);
}

static inline void mk_aux_window(struct mk *d, const struct fmt_window_aux *f)
{
	mk_item(d, FMT_WINDOWS, FMT_WINDOW_AUX, f, sizeof(*f), NULL, 0);
}

/* One block in two pieces: `bytes` of the sequence of `cpu`, ending `newer` bytes before the end of
 * the `written` ones. */
static inline void mk_aux_block(struct mk *d, uint32_t ring, int cpu, uint64_t written,
				uint64_t newer, uint32_t bytes)
{
	struct writer_area area = {.ring = ring, .content_bytes = bytes, .newer_bytes = newer};
	uint8_t *p = malloc(bytes + 1);
	struct bytes pieces[2] = {{p, bytes / 3}, {p + bytes / 3, bytes - bytes / 3}};

	assert(p && newer + bytes <= written);
	for (uint32_t i = 0; i < bytes; i++)
		p[i] = mk_aux_byte(cpu, written - newer - bytes + i);
	MK_OK(writer_area(d->w, &area, pieces, 2));
	free(p);
}

/* The newest `bytes` of `written` ones, in blocks of `block_bytes`, newest first. */
static inline void mk_aux_blocks(struct mk *d, uint32_t ring, int cpu, uint64_t written,
				 uint64_t bytes, uint32_t block_bytes)
{
	for (uint64_t newer = 0; newer < bytes; newer += block_bytes) {
		uint64_t left = bytes - newer;

		mk_aux_block(d, ring, cpu, written, newer,
			     left < block_bytes ? (uint32_t)left : block_bytes);
	}
}

/* True when `b` holds the bytes of the sequence that end `newer` bytes before the newest. */
static inline bool mk_aux_is(const struct buf *b, int cpu, uint64_t written, uint64_t newer)
{
	for (size_t i = 0; i < b->len; i++)
		if (b->p[i] != mk_aux_byte(cpu, written - newer - b->len + i))
			return false;
	return true;
}
