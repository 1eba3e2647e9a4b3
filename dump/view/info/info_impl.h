/* SPDX-License-Identifier: MIT */
/* What info prints, collected once for the text and for JSON; private to info*.c, and used by
 * report, which begins with the losses. */
#pragma once

#include "dump/file/aux_areas.h"
#include "dump/view/analysis/analysis.h"
#include "dump/view/info/trigger_cause.h"
#include "dump/view/info/info.h"
#include "dump/view/model/thread_states.h"
#include "dump/view/base/json.h"

#define INFO_MAX_FINDINGS 24

/* A span of time in the dump's clock. */
struct info_span {
	uint64_t from_ns, to_ns;
};

struct info {
	struct analysis a;
	const struct info_options *opt;
	struct history_counts nr;
	struct thread_states *states;
	/* Rings in the dump, by channel, then CPU, then thread. */
	const struct fmt_window **rings;
	size_t nr_rings;
	/* The time that all rings cover, and the ring that covers least. */
	struct info_span common;
	const struct fmt_window *shortest;
	/* The losses, one sentence each; none: nothing was lost. */
	char findings[INFO_MAX_FINDINGS][200];
	size_t nr_findings;
	struct cause cause;    /* set by info_print(), like `areas` */
	struct aux_list areas; /* AUX areas */
	struct text text;
};

/* Fills the rest from r, m and people; the caller frees `rings`. 0, -ENOMEM. */
int info_collect(struct info *in, struct err *err);
/* The time that a ring covers without a gap: from its oldest record, or from when it was armed if
 * nothing has been overwritten since, to when it was paused. */
struct info_span info_ring_span(const struct fmt_window *w);
const char *info_channel_name(const struct info *in, const struct fmt_window *w);
/* Fills findings. */
void info_find_losses(struct info *in);

/* `ns` of the dump's clock relative to the trigger, with its sign: "-1.204 s", "+12 us". */
char *info_rel_time(const struct info *in, char *out, size_t n, uint64_t ns);

void info_text(struct info *in);
void info_json(struct info *in);

/* AUX areas: a line for each channel, a table, and the member "aux". Print nothing if there are
 * none. */
void info_aux_channels(struct info *in);
/* info_cgroups.c */
void info_cgroups_text(struct info *in);
void info_cgroups_json(const struct info *in, struct json *j);
/* info_threads.c */
void info_threads_text(struct info *in);
void info_threads_json(const struct info *in, struct json *j);

void info_aux_text(struct info *in);
void info_aux_json(const struct info *in, struct json *j);

struct info_flag {
	uint32_t flag;
	const char *name;
};
/* The member "flags": the names of the flags that are set. */
void info_flags_json(struct json *j, uint32_t set, const struct info_flag *flags, size_t nr);

/* A label and a text that is already safe, in lines of 100 columns. */
void info_put_line(struct info *in, const char *label, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* A cell of a table and the space after it. `width` negative: left-aligned, and cut. */
void info_put_cell(struct info *in, int width, const char *s, bool last);

/* How symbol collection ended: as a word, and as part of a sentence. */
struct info_symbols_end {
	const char *word, *text;
};
struct info_symbols_end info_symbols_end(const struct meta *m);
