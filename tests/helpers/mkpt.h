/* SPDX-License-Identifier: MIT */
/*
 * A whole dump with Intel PT, made by hand: a program of a few instructions, its page as in the
 * dump's SYMBOLS, and two CPUs on which two threads ran it one after the other. The fuzz targets'
 * seeds are made from it; t_pthard.c checks that these seeds decode.
 *
 *	main    call called     called  ret
 *	        jne main
 *	        syscall
 */
#pragma once

#include "tests/helpers/mkaux.h"
#include "tests/helpers/pt_packets.h"

#define MK_PT_HIT    1000000ull
#define MK_PT_MAIN   0x401000ull
#define MK_PT_CALLED 0x401100ull
#define MK_PT_OFF    0x1000u /* of main in the file */
#define MK_PT_CODE   0x140u
#define MK_PT_LOOPS  4u	 /* of main */
#define MK_PT_TID    10u /* of the first thread; the second is the next */
#define MK_PT_CPUS   2u

static const char *const mk_pt_files[] = {"type",
					  "9",
					  "tsc_art_ratio",
					  "240:2",
					  "max_nonturbo_ratio",
					  "30",
					  "format/tsc",
					  "config:10",
					  "format/mtc",
					  "config:9",
					  "format/mtc_period",
					  "config:14-17",
					  NULL};

static inline void mk_pt_code(struct mk *d, uint32_t image)
{
	static const uint8_t at_main[] = {0xe8, 0xfb, 0, 0, 0, 0x75, 0xf9, 0x0f, 0x05};
	struct fmt_code f = {.image = image, .start = MK_PT_OFF};
	const size_t first = MK_PT_CALLED - MK_PT_MAIN;
	uint8_t code[MK_PT_CODE];

	memset(code, 0xcc, sizeof(code));
	memcpy(code, at_main, sizeof(at_main));
	code[first] = 0xc3;
	mk_item(d, FMT_SYMBOLS, FMT_SYM_CODE, &f, sizeof(f), code, first);
	f.start += first;
	mk_item(d, FMT_SYMBOLS, FMT_SYM_CODE, &f, sizeof(f), code + first, sizeof(code) - first);
}

/* Starts with a PSB, before anything is traced. */
static inline void mk_pt_begin(struct pt_packets *p, uint64_t ns)
{
	pt_psb(p);
	pt_tsc(p, ns);
	pt_mode(p);
	pt_psbend(p);
}

/* One run: main's loop of calls, then the system call. */
static inline void mk_pt_run(struct pt_packets *p, uint64_t ns)
{
	mk_pt_begin(p, ns);
	p->max_tnt = 6;
	pt_ip(p, PT_IP_PGE, MK_PT_MAIN);
	for (uint32_t i = 0; i < 2 * MK_PT_LOOPS; i++) {
		if (pt_tnt_full(p))
			pt_tnt_flush(p);
		pt_tnt(p, i + 1 < 2 * MK_PT_LOOPS);
	}
	pt_tnt_flush(p);
	pt_ip_none(p, PT_IP_PGD);
}

/* Context switch from `tid` to `other`. */
static inline void mk_pt_switch(struct mk_records *r, uint32_t tid, uint32_t other, bool out,
				uint64_t ns)
{
	struct {
		uint32_t other_pid, other_tid, pid, tid;
		uint64_t ns;
	} body = {other, other, tid, tid, ns};

	mk_record(r, PERF_RECORD_SWITCH_CPU_WIDE, out ? PERF_RECORD_MISC_SWITCH_OUT : 0, &body,
		  sizeof(body));
}

static inline void mk_pt_windows(struct mk *d, uint32_t ring, int cpu, uint64_t bytes,
				 uint32_t nr_records)
{
	mk_window(d, &(struct fmt_window){.ring = ring,
					  .cpu = cpu,
					  .tid = -1,
					  .nr_records = nr_records,
					  .last_ns = MK_PT_HIT});
	mk_aux_window(d, &(struct fmt_window_aux){.ring = ring,
						  .nr_aux = 1,
						  .area_bytes = bytes,
						  .bytes = bytes,
						  .new_bytes = bytes,
						  .written_bytes = bytes,
						  .head = bytes,
						  .start_ns = 1,
						  .stop_ns = MK_PT_HIT,
						  .stop_cycles = MK_PT_HIT,
						  .stop_cycles_ns = MK_PT_HIT,
						  .time_mult = 1});
}

/* Frees both. */
static inline void mk_pt_ring(struct mk *d, uint32_t ring, struct mk_records *r,
			      struct pt_packets *p)
{
	const uint8_t *from = p->out.p;
	uint64_t newer = p->out.len;

	mk_pt_windows(d, ring, (int)ring, p->out.len, r->nr);
	mk_block(d, ring, 0, 0, MK_PT_HIT, r);
	while (newer) {
		uint32_t n = newer < 100000 ? (uint32_t)newer : 100000;
		struct writer_area a = {.ring = ring, .content_bytes = n, .newer_bytes = newer - n};
		struct bytes piece = {from, n};

		MK_OK(writer_area(d->w, &a, &piece, 1));
		from += n;
		newer -= n;
	}
	mk_records_free(r);
	buf_free(&p->out);
}

/* The dump without rings and symbols: two processes of one program. */
static inline struct mk mk_pt_dump(void)
{
	static const char comms[2][16] = {"first", "second\x1b[2J"};
	struct mk d = mk_begin();

	mk_host(&d);
	mk_text(&d, FMT_HOST, FMT_HOST_CPU_ID, "GenuineIntel,6,85,7");
	mk_trigger(&d, MK_PT_HIT);
	mk_aux_channel(&d, 0, 0, "pt", "intel_pt", mk_pt_files);
	mk_path(&d, 1, "/no/such/pro\x1b[2Jgram");
	for (uint32_t i = 0; i < 2; i++) {
		mk_task(&d, i + 1, MK_PT_TID + i, MK_PT_TID + i, 1, 0, 0);
		mk_comm(&d, i + 1, 0, comms[i]);
		mk_map(&d, &(struct fmt_map){.key = i + 1,
					     .path = 1,
					     .start = MK_PT_MAIN,
					     .end = MK_PT_MAIN + 0x1000,
					     .pgoff = MK_PT_OFF});
	}
	return d;
}

static inline void mk_pt_symbols(struct mk *d)
{
	mk_image(d, 0, FMT_IMAGE_FILE, 0, 1, "/no/such/pro\x1b[2Jgram");
	mk_function(d, 0, MK_PT_OFF, 0x100, "ma\x1b[31min");
	mk_function(d, 0, MK_PT_OFF + 0x100, 0x40, "called");
	mk_pt_code(d, 0);
}

/* The dump described above, not finished. */
static inline struct mk mk_pt_seed(void)
{
	struct mk d = mk_pt_dump();

	mk_pt_symbols(&d);
	for (uint32_t cpu = 0; cpu < MK_PT_CPUS; cpu++) {
		struct mk_records r = {.nr = 0};
		struct pt_packets p = {.max_tnt = 6};

		mk_pt_switch(&r, MK_PT_TID, 0, false, 1000);
		mk_pt_switch(&r, MK_PT_TID, MK_PT_TID + 1, true, 500000);
		mk_pt_switch(&r, MK_PT_TID + 1, MK_PT_TID, false, 500100);
		mk_pt_run(&p, 2000 + cpu);
		mk_pt_run(&p, 600000 + cpu);
		mk_pt_ring(&d, cpu, &r, &p);
	}
	mk_stats(&d);
	return d;
}
