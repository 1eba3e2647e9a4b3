/* SPDX-License-Identifier: MIT */
/*
 * Drains the forward rings of the sideband into the ledger, in the order of time over all CPUs.
 * Woken by watermark and before each dump. LOST there means that the ledger may be wrong: the
 * caller is told and has /proc scanned again.
 */
#pragma once

#include "dump/format/record.h"
#include "trigger/kernel/caps.h"
#include "recorder/ledger/ledger.h"
#include "trigger/kernel/ring.h"

struct sideband;

/* The attr of the sideband's event: a dummy with mmap2, comm, task, namespaces, ksymbol, bpf_event,
 * cgroup, build_id as far as the kernel and user may; *layout describes its records (TID, TIME,
 * CPU; sample_id_all) and the samples of new_tasks.h (RAW besides). The caller sets inherit,
 * disabled and whom it is about. */
void sideband_attr(const struct caps *caps, uint64_t ring_bytes, struct perf_event_attr *attr,
		   struct record_layout *layout);

/* Sorts in memory that it takes here and grows only while draining more at once than ever before.
 */
int sideband_new(struct ledger *l, const struct record_layout *layout, struct sideband **out,
		 struct err *err);
void sideband_free(struct sideband *s);

/* Takes in everything that happened before the call; `rings`: pointers, NULL entries are skipped.
 * While a dump is being written from the ledger it is kept here, within bounds, for the next call.
 * *lost: records the kernel dropped since the last call. On -ENOMEM what was not taken stays in its
 * rings. */
int sideband_drain(struct sideband *s, struct ring *const *rings, size_t nr, uint64_t *lost,
		   struct err *err);
/* Fills all but nr_scans and nr_wakeups, which are the caller's to count. */
void sideband_stats(const struct sideband *s, struct fmt_sideband_stats *out);
