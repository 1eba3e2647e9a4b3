/* LAYERS: base */
// SPDX-License-Identifier: MIT
/*
 * Holds dump/format/FORMAT.md, with SYMBOLS.md and PACKED.md, and dump/format/format.h, with
 * format_packed.h, together: every struct, field and number of the one is in the other, and the
 * tables leave no byte of a struct out. Run from the source tree's root.
 */
#include "dump/format/format.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* What the compiler says about a field. */
struct field {
	const char *of, *name;
	size_t offset, size;
};

#define F(s, f)                                                                                    \
	{                                                                                          \
#s, #f, offsetof(struct s, f), sizeof(((struct s *)0)->f)                          \
	}

static const struct field fields[] = {
	F(fmt_header, magic),
	F(fmt_header, version),
	F(fmt_header, header_bytes),
	F(fmt_header, id),
	F(fmt_header, created_real_ns),
	F(fmt_header, reserved),
	F(fmt_header, hash),
	F(fmt_block, magic),
	F(fmt_block, section),
	F(fmt_block, encoding),
	F(fmt_block, flags),
	F(fmt_block, seq),
	F(fmt_block, ring),
	F(fmt_block, stored_bytes),
	F(fmt_block, payload_bytes),
	F(fmt_block, content_bytes),
	F(fmt_block, nr_records),
	F(fmt_block, first_ns),
	F(fmt_block, last_ns),
	F(fmt_block, ring_off),
	F(fmt_block, stored_hash),
	F(fmt_block, hash),
	F(fmt_trailer, footer_off),
	F(fmt_trailer, file_bytes),
	F(fmt_trailer, chain),
	F(fmt_trailer, id),
	F(fmt_trailer, created_real_ns),
	F(fmt_trailer, magic),
	F(fmt_trailer, hash),
	F(fmt_item, kind),
	F(fmt_item, reserved),
	F(fmt_item, bytes),
	F(fmt_dir, offset),
	F(fmt_dir, stored_bytes),
	F(fmt_dir, payload_bytes),
	F(fmt_dir, section),
	F(fmt_dir, encoding),
	F(fmt_dir, ring),
	F(fmt_dir, nr_records),
	F(fmt_dir, content_bytes),
	F(fmt_dir, first_ns),
	F(fmt_dir, last_ns),
	F(fmt_dir, ring_off),
	F(fmt_pack, nr_records),
	F(fmt_pack, content_bytes),
	F(fmt_pack, time_ns),
	F(fmt_pack, first_tid),
	F(fmt_pack, nr_classes),
	F(fmt_pack, nr_templates),
	F(fmt_pack, nr_chains),
	F(fmt_pack, nr_shared),
	F(fmt_pack, nr_addrs),
	F(fmt_pack, nr_streams),
	F(fmt_pack, tail_bytes),
	F(fmt_pack_class, nr_records),
	F(fmt_pack_class, words),
	F(fmt_pack_class, chain_at),
	F(fmt_pack_class, bulk_at),
	F(fmt_pack_class, bulk_words),
	F(fmt_pack_class, flags),
	F(fmt_column, nr),
	F(fmt_column, kind),
	F(fmt_column, bits),
	F(fmt_column, nr_symbols),
	F(fmt_column, reserved),
	F(fmt_host, nr_cpus_online),
	F(fmt_host, nr_cpus_possible),
	F(fmt_host, page_bytes),
	F(fmt_host, clockid),
	F(fmt_host, real_minus_clock),
	F(fmt_host, boot_minus_clock),
	F(fmt_host, mem_total_bytes),
	F(fmt_host, recorder_pid),
	F(fmt_host, recorder_uid),
	F(fmt_host, flags),
	F(fmt_host, reserved),
	F(fmt_trigger, hit_ns),
	F(fmt_trigger, real_ns),
	F(fmt_trigger, freeze_ns),
	F(fmt_trigger, post_ns),
	F(fmt_trigger, pid),
	F(fmt_trigger, tid),
	F(fmt_trigger, uid),
	F(fmt_trigger, nr),
	F(fmt_merged, first_ns),
	F(fmt_merged, last_ns),
	F(fmt_merged, nr_hits),
	F(fmt_repeats, signature),
	F(fmt_repeats, nr_seen),
	F(fmt_repeats, nr_kept),
	F(fmt_repeats, first_ns),
	F(fmt_channel, id),
	F(fmt_channel, nr_banks),
	F(fmt_channel, ring_bytes),
	F(fmt_channel, sample_type),
	F(fmt_channel, regs_user),
	F(fmt_channel, stack_user),
	F(fmt_channel, flags),
	F(fmt_channel_horizon, channel),
	F(fmt_channel_horizon, reserved),
	F(fmt_channel_horizon, horizon_ns),
	F(fmt_event, id),
	F(fmt_event, channel),
	F(fmt_event, tracepoint),
	F(fmt_event, attr_bytes),
	F(fmt_event_id, id),
	F(fmt_event_id, event),
	F(fmt_event_id, ring),
	F(fmt_tracepoint, id),
	F(fmt_tracepoint, system_bytes),
	F(fmt_window, ring),
	F(fmt_window, channel),
	F(fmt_window, cpu),
	F(fmt_window, tid),
	F(fmt_window, ring_bytes),
	F(fmt_window, bytes),
	F(fmt_window, nr_records),
	F(fmt_window, first_ns),
	F(fmt_window, last_ns),
	F(fmt_window, armed_ns),
	F(fmt_window, paused_ns),
	F(fmt_window, overwritten_bytes),
	F(fmt_window, lost),
	F(fmt_window, lost_spare),
	F(fmt_window, throttled),
	F(fmt_window, gap_ns),
	F(fmt_window, prev_paused_ns),
	F(fmt_window, flags),
	F(fmt_window, tail_bytes),
	F(fmt_window, samples),
	F(fmt_window_aux, ring),
	F(fmt_window_aux, event),
	F(fmt_window_aux, flags),
	F(fmt_window_aux, nr_aux),
	F(fmt_window_aux, nr_truncated),
	F(fmt_window_aux, nr_partial),
	F(fmt_window_aux, nr_collision),
	F(fmt_window_aux, reserved),
	F(fmt_window_aux, area_bytes),
	F(fmt_window_aux, bytes),
	F(fmt_window_aux, new_bytes),
	F(fmt_window_aux, written_bytes),
	F(fmt_window_aux, head),
	F(fmt_window_aux, start_ns),
	F(fmt_window_aux, stop_ns),
	F(fmt_window_aux, copy_ns),
	F(fmt_window_aux, blackout_ns),
	F(fmt_window_aux, start_cycles),
	F(fmt_window_aux, start_cycles_ns),
	F(fmt_window_aux, stop_cycles),
	F(fmt_window_aux, stop_cycles_ns),
	F(fmt_window_aux, time_zero),
	F(fmt_window_aux, time_mult),
	F(fmt_window_aux, time_shift),
	F(fmt_trace_stop, ring),
	F(fmt_trace_stop, reason),
	F(fmt_trace_stop, from_ns),
	F(fmt_trace_stop, to_ns),
	F(fmt_trace_stop, stood_ns),
	F(fmt_trace_stop, nr),
	F(fmt_trace_stop, reserved),
	F(fmt_path, id),
	F(fmt_path, build_id_bytes),
	F(fmt_path, reserved),
	F(fmt_path, build_id),
	F(fmt_path, reserved2),
	F(fmt_task, key),
	F(fmt_task, tid),
	F(fmt_task, pid),
	F(fmt_task, ppid),
	F(fmt_task, start_ns),
	F(fmt_task, exit_ns),
	F(fmt_task, flags),
	F(fmt_task, uid),
	F(fmt_comm, key),
	F(fmt_comm, flags),
	F(fmt_comm, ns),
	F(fmt_comm, comm),
	F(fmt_map, key),
	F(fmt_map, path),
	F(fmt_map, start),
	F(fmt_map, end),
	F(fmt_map, pgoff),
	F(fmt_map, ns),
	F(fmt_map, end_ns),
	F(fmt_map, ino),
	F(fmt_map, maj),
	F(fmt_map, min),
	F(fmt_map, prot),
	F(fmt_map, flags),
	F(fmt_map, ino_generation),
	F(fmt_namespaces, id),
	F(fmt_namespaces, nr),
	F(fmt_namespace, kind),
	F(fmt_namespace, dev),
	F(fmt_namespace, ino),
	F(fmt_stay, key),
	F(fmt_stay, what),
	F(fmt_stay, ns),
	F(fmt_stay, flags),
	F(fmt_stay, reserved),
	F(fmt_ksym, addr),
	F(fmt_ksym, bytes),
	F(fmt_ksym, type),
	F(fmt_ksym, flags),
	F(fmt_ksym, ns),
	F(fmt_ksym, end_ns),
	F(fmt_bpf, id),
	F(fmt_bpf, reserved),
	F(fmt_bpf, tag),
	F(fmt_bpf, ns),
	F(fmt_bpf, end_ns),
	F(fmt_image, id),
	F(fmt_image, kind),
	F(fmt_image, build_id_bytes),
	F(fmt_image, reserved),
	F(fmt_image, build_id),
	F(fmt_image, key),
	F(fmt_image, ino),
	F(fmt_image, ino_generation),
	F(fmt_image, maj),
	F(fmt_image, min),
	F(fmt_function, image),
	F(fmt_function, reserved),
	F(fmt_function, start),
	F(fmt_function, bytes),
	F(fmt_place, image),
	F(fmt_place, depth),
	F(fmt_place, at),
	F(fmt_place, line),
	F(fmt_place, function_bytes),
	F(fmt_segment, image),
	F(fmt_segment, flags),
	F(fmt_segment, value),
	F(fmt_segment, offset),
	F(fmt_segment, bytes),
	F(fmt_unwind, image),
	F(fmt_unwind, flags),
	F(fmt_unwind, start),
	F(fmt_unwind, bytes),
	F(fmt_unwind, code_align),
	F(fmt_unwind, data_align),
	F(fmt_unwind, return_register),
	F(fmt_unwind, initial_bytes),
	F(fmt_code, image),
	F(fmt_code, reserved),
	F(fmt_code, start),
	F(fmt_note, image),
	F(fmt_note, reserved),
	F(fmt_dump_stats, enable_ns),
	F(fmt_dump_stats, pause_ns),
	F(fmt_dump_stats, disable_ns),
	F(fmt_dump_stats, barrier_ns),
	F(fmt_dump_stats, signal_ns),
	F(fmt_dump_stats, walk_ns),
	F(fmt_dump_stats, write_ns),
	F(fmt_dump_stats, nr_rings),
	F(fmt_dump_stats, ring_bytes),
	F(fmt_dump_stats, nr_dumps),
	F(fmt_dump_stats, nr_refused),
	F(fmt_dump_stats, nr_hits),
	F(fmt_dump_stats, nr_held),
	F(fmt_dump_stats, cpu_ns),
	F(fmt_dump_stats, rss_bytes),
	F(fmt_sideband_stats, nr_records),
	F(fmt_sideband_stats, nr_lost),
	F(fmt_sideband_stats, nr_scans),
	F(fmt_sideband_stats, nr_wakeups),
	F(fmt_sideband_stats, ledger_bytes),
	F(fmt_sideband_stats, nr_tasks),
	F(fmt_sideband_stats, nr_tombstones),
	F(fmt_sideband_stats, nr_evicted),
	F(fmt_salvage, nr_bad_blocks),
	F(fmt_salvage, unclaimed_bytes),
	F(fmt_salvage, file_bytes),
	F(fmt_cgroup, version),
	F(fmt_cgroup, flags),
	F(fmt_cgroup, since_ns),
	F(fmt_cgroup, at_ns),
	F(fmt_cgroup, quota_ns),
	F(fmt_cgroup, period_ns),
	F(fmt_cgroup, nr_throttled),
	F(fmt_cgroup, throttled_ns),
	F(fmt_cgroup, memory_limit_bytes),
	F(fmt_cgroup, memory_bytes),
	F(fmt_cgroup, nr_limit_hits),
	F(fmt_cgroup, nr_oom_kills),
	F(fmt_cgroup, nr_pids),
	F(fmt_cgroup, reserved),
	F(fmt_threads, from_ns),
	F(fmt_threads, to_ns),
	F(fmt_threads, nr_threads),
	F(fmt_threads, nr_left_out),
	F(fmt_threads, nr_denied),
	F(fmt_threads, nr_unsearched),
	F(fmt_thread_state, ns),
	F(fmt_thread_state, tid),
	F(fmt_thread_state, pid),
	F(fmt_thread_state, state),
	F(fmt_thread_state, policy),
	F(fmt_thread_state, nice),
	F(fmt_thread_state, rt_priority),
	F(fmt_thread_state, flags),
	F(fmt_thread_state, syscall),
	F(fmt_thread_state, fd),
	F(fmt_thread_state, args),
	F(fmt_thread_state, sp),
	F(fmt_thread_state, pc),
	F(fmt_thread_state, timer_slack_ns),
	F(fmt_thread_state, nr_voluntary),
	F(fmt_thread_state, nr_involuntary),
	F(fmt_thread_state, stop_signal),
	F(fmt_thread_state, tracer_pid),
	F(fmt_thread_state, futex_word),
	F(fmt_thread_state, futex_owner),
	F(fmt_thread_state, peers),
	F(fmt_thread_state, nr_peers),
	F(fmt_thread_state, nr_cpu_words),
	F(fmt_symbol_stats, ns),
	F(fmt_symbol_stats, nr_blocks),
	F(fmt_symbol_stats, payload_bytes),
	F(fmt_symbol_stats, end),
	F(fmt_symbol_stats, reserved),
};

#define NR_FIELDS (sizeof(fields) / sizeof(fields[0]))

/* A struct as the document has it, or a number with a name. */
struct table {
	char name[64];
	size_t bytes, next; /* of the heading; where the next field must begin */
};

struct number {
	char name[64];
	unsigned long long value;
};

struct doc {
	struct table tables[64];
	size_t nr_tables;
	struct number numbers[256];
	size_t nr_numbers;
	bool seen[NR_FIELDS];
};

static char *slurp(const char *path)
{
	FILE *f = fopen(path, "r");
	char *text = calloc(1, 1 << 20);

	if (!f)
		fail_msg("cannot read %s: run this test from the source tree's root", path);
	assert_true(fread(text, 1, (1 << 20) - 1, f) > 0);
	fclose(f);
	return text;
}

/* Both headers. */
static char *slurp_headers(void)
{
	char *text = slurp("dump/format/format.h"), *packed = slurp("dump/format/format_packed.h");

	assert_true(strlen(text) + strlen(packed) < 1 << 20);
	strcat(text, packed);
	free(packed);
	return text;
}

static void check_field(struct doc *d, struct table *t, size_t offset, size_t size,
			const char *name)
{
	for (size_t i = 0; i < NR_FIELDS; i++) {
		const struct field *f = &fields[i];

		if (strcmp(f->of, t->name) || strcmp(f->name, name))
			continue;
		if (f->offset != offset || f->size != size)
			fail_msg("%s.%s is %zu bytes at %zu, the document says %zu at %zu", t->name,
				 name, f->size, f->offset, size, offset);
		if (offset != t->next)
			fail_msg("%s: nothing is said about bytes %zu to %zu", t->name, t->next,
				 offset);
		t->next = offset + size;
		d->seen[i] = true;
		return;
	}
	fail_msg("%s.%s is in the document only (or missing in this test)", t->name, name);
}

static void add_number(struct number *to, size_t *nr, const char *name, unsigned long long value)
{
	for (size_t i = 0; i < *nr; i++)
		if (!strcmp(to[i].name, name))
			fail_msg("%s is there twice", name);
	snprintf(to[*nr].name, sizeof(to[*nr].name), "%s", name);
	to[(*nr)++].value = value;
}

static void parse_line(struct doc *d, const char *line)
{
	char name[64], value[64];
	size_t a, b;

	if (sscanf(line, "### %63s (%zu bytes)", name, &a) == 2) {
		struct table *t = &d->tables[d->nr_tables++];

		snprintf(t->name, sizeof(t->name), "%s", name);
		t->bytes = a;
	} else if (sscanf(line, "| %zu | %zu | %63[a-z0-9_] |", &a, &b, name) == 3) {
		assert_true(d->nr_tables > 0);
		check_field(d, &d->tables[d->nr_tables - 1], a, b, name);
	} else if (sscanf(line, "| %zu | `%63[A-Z0-9_]` |", &a, name) == 2) {
		add_number(d->numbers, &d->nr_numbers, name, a);
	} else if (sscanf(line, "| `%63[A-Z0-9_]` | %63[0-9a-fx] |", name, value) == 2) {
		add_number(d->numbers, &d->nr_numbers, name, strtoull(value, NULL, 0));
	}
}

static void parse_page(struct doc *d, const char *path)
{
	char *text = slurp(path), *save = NULL;

	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		parse_line(d, line);
	free(text);
}

static int load_doc(void **state)
{
	struct doc *d = calloc(1, sizeof(*d));

	parse_page(d, "dump/format/FORMAT.md");
	parse_page(d, "dump/format/SYMBOLS.md");
	parse_page(d, "dump/format/PACKED.md");
	*state = d;
	return 0;
}

static int free_doc(void **state)
{
	free(*state);
	return 0;
}

static void every_field_is_documented(void **state)
{
	struct doc *d = *state;

	for (size_t i = 0; i < NR_FIELDS; i++)
		if (!d->seen[i])
			fail_msg("%s.%s is not in the document", fields[i].of, fields[i].name);
}

/* The bytes that the compiler gives a struct: the end of its last field, structs being unpadded. */
static size_t size_of(const char *name)
{
	size_t end = 0;

	for (size_t i = 0; i < NR_FIELDS; i++)
		if (!strcmp(fields[i].of, name) && fields[i].offset + fields[i].size > end)
			end = fields[i].offset + fields[i].size;
	return end;
}

static void tables_cover_their_structs(void **state)
{
	struct doc *d = *state;

	for (size_t i = 0; i < d->nr_tables; i++) {
		const struct table *t = &d->tables[i];

		if (t->next != t->bytes || t->bytes != size_of(t->name))
			fail_msg("%s: heading %zu, fields up to %zu, struct %zu", t->name, t->bytes,
				 t->next, size_of(t->name));
	}
}

/* format.h asserts the size of each struct: read these, so that none is forgotten here. */
static void every_struct_is_documented(void **state)
{
	struct doc *d = *state;
	char *text = slurp_headers();
	size_t nr = 0;

	for (char *p = text; (p = strstr(p, "\nstruct fmt_")); p++) {
		char name[64];
		size_t bytes = 0, i;
		char want[128];

		assert_int_equal(sscanf(p, "\nstruct %63s {", name), 1);
		for (i = 0; i < d->nr_tables && strcmp(d->tables[i].name, name); i++)
			;
		if (i == d->nr_tables)
			fail_msg("struct %s is not in the document", name);
		bytes = d->tables[i].bytes;
		snprintf(want, sizeof(want), "_Static_assert(sizeof(struct %s) == %zu,", name,
			 bytes);
		if (!strstr(text, want))
			fail_msg("format.h has no '%s'", want);
		nr++;
	}
	assert_int_equal(nr, d->nr_tables);
	free(text);
}

/* Enumerators and flags of format.h, from its text: "FMT_X = 1" and "#define FMT_X 1u". */
static size_t header_numbers(struct number *out)
{
	char *text = slurp_headers(), *save = NULL;
	size_t nr = 0;

	for (char *line = strtok_r(text, "\n;", &save); line; line = strtok_r(NULL, "\n;", &save)) {
		char name[64];
		const char *p = line + strspn(line, " \t");
		unsigned long long v;

		if (!strncmp(p, "enum { ", 7))
			p += 7;
		if (sscanf(p, "FMT_%59[A-Z0-9_] = %llu", name, &v) == 2 ||
		    sscanf(p, "#define FMT_%59[A-Z0-9_] %lli", name, (long long *)&v) == 2) {
			char full[68];

			snprintf(full, sizeof(full), "FMT_%s", name);
			add_number(out, &nr, full, v);
		}
	}
	free(text);
	/* Those that are expressions there. */
	add_number(out, &nr, "FMT_MAX_BLOCK_BYTES", FMT_MAX_BLOCK_BYTES);
	add_number(out, &nr, "FMT_MAX_STORED_BYTES", FMT_MAX_STORED_BYTES);
	add_number(out, &nr, "FMT_BLOCK_BYTES", FMT_BLOCK_BYTES);
	add_number(out, &nr, "FMT_AUX_BLOCK_BYTES", FMT_AUX_BLOCK_BYTES);
	add_number(out, &nr, "FMT_MAX_BLOCKS", FMT_MAX_BLOCKS);
	return nr;
}

static bool has_number(const struct number *n, size_t nr, const char *name,
		       unsigned long long value)
{
	for (size_t i = 0; i < nr; i++)
		if (!strcmp(n[i].name, name))
			return n[i].value == value;
	return false;
}

static void every_number_is_the_same_in_both(void **state)
{
	struct doc *d = *state;
	struct number *h = calloc(256, sizeof(*h));
	size_t nr = header_numbers(h);

	assert_true(nr > 40);
	for (size_t i = 0; i < nr; i++)
		if (!has_number(d->numbers, d->nr_numbers, h[i].name, h[i].value))
			fail_msg("%s = %llu is not in the document", h[i].name, h[i].value);
	for (size_t i = 0; i < d->nr_numbers; i++)
		if (!has_number(h, nr, d->numbers[i].name, d->numbers[i].value))
			fail_msg("%s = %llu is in the document only", d->numbers[i].name,
				 d->numbers[i].value);
	free(h);
}

static void magics_are_the_documented_bytes(void **state)
{
	static const struct {
		const char *name;
		const char *bytes;
	} magics[] = {{"FMT_MAGIC", FMT_MAGIC}, {"FMT_TRAILER_MAGIC", FMT_TRAILER_MAGIC}};
	char *text = slurp("dump/format/FORMAT.md");

	for (size_t i = 0; i < 2; i++) {
		char row[128];
		int n = snprintf(row, sizeof(row), "| `%s` | `", magics[i].name);

		for (int k = 0; k < 8; k++)
			n += snprintf(row + n, sizeof(row) - (size_t)n, "%02x%s",
				      (unsigned char)magics[i].bytes[k], k < 7 ? " " : "` |");
		if (!strstr(text, row))
			fail_msg("the document has no row '%s'", row);
	}
	free(text);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_field_is_documented),
		cmocka_unit_test(tables_cover_their_structs),
		cmocka_unit_test(every_struct_is_documented),
		cmocka_unit_test(every_number_is_the_same_in_both),
		cmocka_unit_test(magics_are_the_documented_bytes),
	};

	return cmocka_run_group_tests(tests, load_doc, free_doc);
}
