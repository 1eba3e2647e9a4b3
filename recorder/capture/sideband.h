/* SPDX-License-Identifier: MIT */
/*
 * Drains the forward rings of the sideband into the ledger, in the order of time over all CPUs.
 * Called on a watermark wake-up and before each dump. LOST records mean that the ledger may be
 * wrong: the caller is told and starts another scan of /proc.
 */
#pragma once

#include "dump/format/record.h"
#include "trigger/kernel/caps.h"
#include "recorder/ledger/ledger.h"
#include "trigger/kernel/ring.h"

struct err;
struct kept_log;
struct sideband;

/*
 * The attr of the sideband's event: a dummy with mmap2, comm, task, namespaces, ksymbol, bpf_event,
 * cgroup, build_id, as far as the kernel supports and the user may have them. *layout describes its
 * records (TID, TIME, CPU; sample_id_all) and the samples of new_tasks.h (also RAW). The caller
 * sets inherit, disabled and the target.
 */
void sideband_attr(const struct caps *caps, uint64_t ring_bytes, struct perf_event_attr *attr,
		   struct record_layout *layout);

/* Allocates memory for sorting. It grows only when a drain has more records than ever before. */
int sideband_new(struct ledger *l, const struct record_layout *layout, struct sideband **out,
		 struct err *err);
void sideband_free(struct sideband *s);

/*
 * Takes everything that happened before the call. NULL entries of `rings` are skipped. While a dump
 * is written from the ledger, records are kept here, within bounds, for the next call. *lost:
 * records the kernel dropped since the last call. On -ENOMEM the remaining records stay in their
 * rings.
 */
int sideband_drain(struct sideband *s, struct ring *const *rings, size_t nr, uint64_t *lost,
		   struct err *err);
/*
 * From now on drained records are written to `log`, too, which is borrowed. What it holds already
 * is taken first: the records that another recorder drained. 0 or -ENOMEM.
 */
int sideband_log(struct sideband *s, struct kept_log *log);
/* Fills in all fields except nr_scans and nr_wakeups, which the caller counts. */
void sideband_stats(const struct sideband *s, struct fmt_sideband_stats *out);
