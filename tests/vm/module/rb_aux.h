/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Shared by the files of the test module: pmu.c has the PMUs and their AUX areas, intel_pt.c the
 * sysfs files of intel_pt, and play.c the bytes that it plays back, given through debugfs.
 */
#pragma once

#include <linux/perf_event.h>

enum kind {
	KIND_COUNT, /* head never wraps, as CoreSight's and HiSilicon's */
	KIND_MOD,   /* head modulo the buffer, as Intel PT's and BTS's */
	KIND_PT,    /* as KIND_MOD; plays back */
	KIND_BTS,   /* as KIND_MOD; writes records of 24 bytes, and leaves the rest unused */
	KIND_ETM,   /* as KIND_COUNT; of CoreSight it has sysfs files */
	NR_KINDS,
};

/* One buffer: all bytes written to it since it was mapped, over all starts and stops. */
struct area {
	void **pages;
	u64 bytes;
	u64 used; /* of these, from the beginning */
	u64 written;
	u64 mark; /* upper 16 bits of each word: CPU of the event + 1; 0 for a thread's event */
	bool overwrite;
};

struct playback;

extern const struct attribute_group *intel_pt_groups[];

extern const struct attribute_group *cs_etm_groups[];
/* Links to the CPUs' tracers. */
int cs_etm_init(struct device *pmu);
void cs_etm_exit(void);

/* True when `config` sets only fields that format/ has. */
bool intel_pt_config_ok(u64 config);

/* debugfs: ringback/pt/cpuN, one file per CPU. */
int play_init(struct dentry *dir);
void play_exit(void);

/* Sets `p` to the bytes of `cpu` from `at` on and returns their number, at most `n`. Call with
 * interrupts off; `p` is valid until they are on. */
size_t play_bytes(int cpu, u64 at, size_t n, const u8 **p);
