/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * What the files of the test module share. pmu.c has the PMUs and their AUX areas; intel_pt.c what
 * the one that calls itself so shows in sysfs; play.c the bytes that it plays back, given through
 * debugfs.
 */
#pragma once

#include <linux/perf_event.h>

enum kind {
	KIND_COUNT, /* head counts on, as CoreSight's and HiSilicon's */
	KIND_MOD,   /* head modulo the buffer, as Intel PT's and BTS's */
	KIND_PT,    /* so too; plays back */
	NR_KINDS,
};

/* One buffer: what was written to it since it was mapped, over all starts and stops. */
struct area {
	void **pages;
	u64 bytes;
	u64 written;
	u64 mark; /* upper 16 bits of each word: CPU of the event + 1; 0 for an event that goes with
		     its thread */
	bool overwrite;
};

struct playback;

extern const struct attribute_group *intel_pt_groups[];

/* Whether `config` sets fields only that format/ has. */
bool intel_pt_config_ok(u64 config);

/* debugfs: ringback/pt/cpuN, one file a CPU. */
int play_init(struct dentry *dir);
void play_exit(void);

/* The bytes of `cpu` from `at` on, at most `n`; sets `p`. Returns how many. Only with interrupts
 * off. */
size_t play_bytes(int cpu, u64 at, size_t n, const u8 **p);
