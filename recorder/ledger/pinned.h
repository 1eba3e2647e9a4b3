/* SPDX-License-Identifier: MIT */
/*
 * Executables that the rings may refer to, held so that their functions can be named also when they
 * were replaced or deleted after their processes had ended:
 *
 *	/proc scan, MMAP2 ──▶ struct path of the ledger ──▶ kept: an O_PATH descriptor
 *	the last mapping with that path is forgotten ─────▶ closed
 *	a dump ──▶ pinned_share() ──▶ the process that looks for names opens what it needs
 *
 * Nothing is read, and opening takes no more than the names that the kernel has in memory: it never
 * waits for a disk or a server. Only files as this or the system's first mount namespace sees them,
 * on the file systems of pinned_mounts.h. At most so many; the one that was mapped longest ago goes
 * first. The disk space of a deleted file is not free before it is let go.
 *
 * Not locked: the ledger's lock is held by whoever calls.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct err;
struct pinned;
struct pinned_share;
struct path;

/* As many as RLIMIT_NOFILE has room for. 0 or -errno. */
int pinned_new(struct pinned **out, struct err *err);
void pinned_free(struct pinned *k); /* after the paths are gone, or ask for nothing more */

/* `p` is mapped, in the mount namespace with this inode (0: unknown). `k` NULL: nothing is held. */
void pinned_want(struct pinned *k, struct path *p, uint64_t mnt_ns);
/* `p` goes. */
void pinned_drop(struct pinned *k, struct path *p);
/* After some were dropped: the last link of a deleted file is let go in a thread of its own, since
 * the disk may be waited for. */
void pinned_settle(struct pinned *k);

/* All that are held, with descriptors of their own; pinned_share_close() is due. 0 or -errno. */
int pinned_share(const struct pinned *k, struct pinned_share *out);

struct pinned_stats {
	uint64_t nr, max;
	uint64_t nr_dropped; /* before they were no longer needed, because of the bound */
};
void pinned_stats(const struct pinned *k, struct pinned_stats *out);
