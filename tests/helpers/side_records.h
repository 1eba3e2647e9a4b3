/* SPDX-License-Identifier: MIT */
/* Sideband records in the kernel's layout, for tests of the ledger and the sideband. */
#pragma once

#include "dump/format/record.h"

#include <string.h>

struct side_record {
	uint8_t p[512];
	uint16_t len;
};

/* TID, TIME, CPU behind each record, as sideband_attr() requests, and RAW in samples. */
static const struct record_layout side_layout = {
	.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_RAW,
	.sample_id_all = true,
};

static inline void side_put(struct side_record *r, const void *src, size_t n)
{
	memcpy(r->p + r->len, src, n);
	r->len += n;
}

static inline void side_u16(struct side_record *r, uint16_t v)
{
	side_put(r, &v, sizeof(v));
}

static inline void side_u32(struct side_record *r, uint32_t v)
{
	side_put(r, &v, sizeof(v));
}

static inline void side_u64(struct side_record *r, uint64_t v)
{
	side_put(r, &v, sizeof(v));
}

static inline void side_begin(struct side_record *r, uint32_t type, uint16_t misc)
{
	struct perf_event_header h = {.type = type, .misc = misc};

	memset(r, 0, sizeof(*r));
	side_put(r, &h, sizeof(h));
}

static inline void side_text(struct side_record *r, const char *s)
{
	side_put(r, s, strlen(s) + 1);
	r->len = (r->len + 7) / 8 * 8;
}

static inline struct bytes side_end(struct side_record *r, uint32_t pid, uint32_t tid, uint64_t ns)
{
	side_u32(r, pid);
	side_u32(r, tid);
	side_u64(r, ns);
	side_u64(r, 0);
	memcpy(r->p + offsetof(struct perf_event_header, size), &r->len, sizeof(r->len));
	return (struct bytes){r->p, r->len};
}

static inline struct bytes side_comm(struct side_record *r, uint64_t ns, uint32_t pid, uint32_t tid,
				     const char *comm, bool exec)
{
	side_begin(r, PERF_RECORD_COMM, exec ? PERF_RECORD_MISC_COMM_EXEC : 0);
	side_u32(r, pid);
	side_u32(r, tid);
	side_text(r, comm);
	return side_end(r, pid, tid, ns);
}

static inline struct bytes side_task(struct side_record *r, uint32_t type, uint64_t ns,
				     uint32_t pid, uint32_t ppid, uint32_t tid, uint32_t ptid)
{
	side_begin(r, type, 0);
	side_u32(r, pid);
	side_u32(r, ppid);
	side_u32(r, tid);
	side_u32(r, ptid);
	side_u64(r, ns);
	return side_end(r, ppid, ptid, ns);
}

static inline struct bytes side_fork(struct side_record *r, uint64_t ns, uint32_t pid, uint32_t tid,
				     uint32_t ppid, uint32_t ptid)
{
	return side_task(r, PERF_RECORD_FORK, ns, pid, ppid, tid, ptid);
}

static inline struct bytes side_exit(struct side_record *r, uint64_t ns, uint32_t pid, uint32_t tid,
				     uint32_t ppid)
{
	return side_task(r, PERF_RECORD_EXIT, ns, pid, ppid, tid, ppid);
}

/* A sample of task:task_newtask: 44 bytes of fields, the kernel's size. */
static inline struct bytes side_newborn(struct side_record *r, uint64_t ns, uint32_t tid,
					uint32_t ptid, const char *name)
{
	uint8_t raw[44] = {0};

	memcpy(raw + 8, &tid, sizeof(tid));
	strncpy((char *)raw + 12, name, 15);
	side_begin(r, PERF_RECORD_SAMPLE, 0);
	side_u32(r, ptid);
	side_u32(r, ptid);
	side_u64(r, ns);
	side_u64(r, 0);
	side_u32(r, sizeof(raw));
	side_put(r, raw, sizeof(raw));
	memcpy(r->p + offsetof(struct perf_event_header, size), &r->len, sizeof(r->len));
	return (struct bytes){r->p, r->len};
}

struct side_mmap {
	uint64_t start, len, pgoff, ino;
	const char *path;
	const uint8_t *build_id; /* 20 bytes; NULL: the layout with device and inode */
};

static inline struct bytes side_mmap2(struct side_record *r, uint64_t ns, uint32_t pid,
				      uint32_t tid, const struct side_mmap *m)
{
	uint8_t head[4] = {20};

	side_begin(r, PERF_RECORD_MMAP2,
		   PERF_RECORD_MISC_USER | (m->build_id ? PERF_RECORD_MISC_MMAP_BUILD_ID : 0));
	side_u32(r, pid);
	side_u32(r, tid);
	side_u64(r, m->start);
	side_u64(r, m->len);
	side_u64(r, m->pgoff);
	if (m->build_id) {
		side_put(r, head, sizeof(head));
		side_put(r, m->build_id, 20);
	} else {
		side_u32(r, 8);
		side_u32(r, 1);
		side_u64(r, m->ino);
		side_u64(r, 7);
	}
	side_u32(r, 5);
	side_u32(r, 2);
	side_text(r, m->path);
	return side_end(r, pid, tid, ns);
}

static inline struct bytes side_ksymbol(struct side_record *r, uint64_t ns, uint64_t addr,
					uint32_t bytes, bool unregister, const char *name)
{
	side_begin(r, PERF_RECORD_KSYMBOL, 0);
	side_u64(r, addr);
	side_u32(r, bytes);
	side_u16(r, PERF_RECORD_KSYMBOL_TYPE_BPF);
	side_u16(r, unregister ? PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER : 0);
	side_text(r, name);
	return side_end(r, 1, 1, ns);
}

static inline struct bytes side_cgroup(struct side_record *r, uint64_t ns, uint64_t id,
				       const char *path)
{
	side_begin(r, PERF_RECORD_CGROUP, 0);
	side_u64(r, id);
	side_text(r, path);
	return side_end(r, 1, 1, ns);
}

/* The seven namespaces of a task: inodes from `first` on, without kind `missing` (7: all). */
static inline struct bytes side_namespaces(struct side_record *r, uint64_t ns, uint32_t pid,
					   uint32_t tid, uint64_t first, unsigned missing)
{
	side_begin(r, PERF_RECORD_NAMESPACES, 0);
	side_u32(r, pid);
	side_u32(r, tid);
	side_u64(r, 7);
	for (unsigned i = 0; i < 7; i++) {
		side_u64(r, i == missing ? 0 : 4);
		side_u64(r, i == missing ? 0 : first + i);
	}
	return side_end(r, pid, tid, ns);
}

static inline struct bytes side_bpf(struct side_record *r, uint64_t ns, uint32_t id, bool unload,
				    const uint8_t tag[8])
{
	side_begin(r, PERF_RECORD_BPF_EVENT, 0);
	side_u16(r, unload ? PERF_BPF_EVENT_PROG_UNLOAD : PERF_BPF_EVENT_PROG_LOAD);
	side_u16(r, 0);
	side_u32(r, id);
	side_put(r, tag, 8);
	return side_end(r, 1, 1, ns);
}

static inline struct bytes side_lost(struct side_record *r, uint64_t ns, uint64_t nr)
{
	side_begin(r, PERF_RECORD_LOST, 0);
	side_u64(r, 0);
	side_u64(r, nr);
	return side_end(r, 0, 0, ns);
}

/* A record of a symbol or BPF program as the kernel writes it for the listener after `before`
 * others: that many unwritten sample_ids lie at its end (see dump/format/record.c). */
static inline struct bytes side_unwritten(struct side_record *r, unsigned before)
{
	memset(r->p + r->len, 0x7f, before * 24);
	r->len += before * 24;
	memcpy(r->p + offsetof(struct perf_event_header, size), &r->len, sizeof(r->len));
	return (struct bytes){r->p, r->len};
}
