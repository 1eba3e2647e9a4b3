/* SPDX-License-Identifier: MIT */
/*
 * Executables that events in the rings may refer to. The recorder holds them open, so that their
 * functions can be named even if the file was replaced or deleted after its processes had ended:
 *
 *	/proc scan, MMAP2 ──▶ struct path of the ledger ──▶ kept: an O_PATH descriptor
 *	the last mapping with that path is forgotten ─────▶ closed
 *	a dump ──▶ pinned_share() ──▶ the symbolizer process opens the files it needs
 *
 * Nothing is read, and the look-up uses only the kernel's cached names, so it never waits for a
 * disk or a server. Only files in our mount namespace or that of process 1 are held, on the file
 * systems of pinned_mounts.h. Their number is bounded; the file that was mapped longest ago is
 * closed first. The disk space of a deleted file stays in use until its descriptor is closed.
 *
 * Not locked; the caller holds the ledger's lock.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct err;
struct pinned;
struct pinned_share;
struct path;

/* The bound comes from RLIMIT_NOFILE. 0 or -errno. */
int pinned_new(struct pinned **out, struct err *err);
void pinned_free(struct pinned *k); /* free the paths first */

/* `p` was mapped in the mount namespace with inode `mnt_ns` (0: unknown). `k` may be NULL. */
void pinned_want(struct pinned *k, struct path *p, uint64_t mnt_ns);
/* `p` is about to be freed: closes its file. */
void pinned_drop(struct pinned *k, struct path *p);
/* Call after pinned_drop(). Closing a deleted file may wait for the disk, so a thread does it. */
void pinned_settle(struct pinned *k);

/* Duplicates all held descriptors; pinned_share_close() is due. 0 or -errno. */
int pinned_share(const struct pinned *k, struct pinned_share *out);

struct pinned_stats {
	uint64_t nr, max;
	uint64_t nr_dropped; /* closed early because of the bound */
};
void pinned_stats(const struct pinned *k, struct pinned_stats *out);
