// SPDX-License-Identifier: MIT
/*
 * Tells a task's names and mappings as records that the kernel could have written, for a ledger
 * that did not see the original ones. Called by sideband.c for tasks that exit.
 */
#include "recorder/ledger/ledger_parts.h"

#include "dump/format/record.h"

#include <string.h>

/* As sideband_attr() asks for them: PERF_SAMPLE_TID, TIME and CPU. */
struct sample_id {
	uint32_t pid, tid;
	uint64_t time;
	uint32_t cpu, reserved;
};

struct comm_record {
	struct perf_event_header h;
	uint32_t pid, tid;
	char name[16];
	struct sample_id id;
};

struct mmap2_record {
	struct perf_event_header h;
	uint32_t pid, tid;
	uint64_t start, len, pgoff;
	union {
		struct {
			uint32_t maj, min;
			uint64_t ino, ino_generation;
		};
		struct {
			uint8_t build_id_bytes, reserved[3];
			uint8_t build_id[20];
		};
	};
	uint32_t prot, flags;
	/* The path, padded with NULs, and a sample_id follow. */
};

static struct sample_id id_of(const struct task *t, uint64_t ns)
{
	uint64_t born_ns = t->start_ns ? t->start_ns : 1;

	return (struct sample_id){
		.pid = t->proc->pid, .tid = t->tid, .time = ns > born_ns ? ns : born_ns};
}

static int tell_comm(const struct task *t, const struct comm *c, struct buf *out)
{
	struct comm_record r = {
		.h = {.type = PERF_RECORD_COMM,
		      .misc = c->exec ? PERF_RECORD_MISC_COMM_EXEC : 0,
		      .size = sizeof(r)},
		.pid = t->proc->pid,
		.tid = t->tid,
		.id = id_of(t, comm_since(c)),
	};

	memcpy(r.name, c->name, sizeof(r.name));
	return buf_put(out, &r, sizeof(r));
}

static int tell_map(const struct task *t, const struct ledger_map *m, struct buf *out)
{
	static const char zeros[8];
	const struct path *p = m->path;
	size_t pad = 8 - p->len % 8; /* at least the NUL */
	struct sample_id id = id_of(t, m->ns);
	struct mmap2_record r = {
		.h = {.type = PERF_RECORD_MMAP2, .misc = PERF_RECORD_MISC_USER},
		.pid = t->proc->pid,
		.tid = t->tid,
		.start = m->start,
		.len = m->end - m->start,
		.pgoff = m->pgoff,
		.maj = m->maj,
		.min = m->min,
		.ino = m->ino,
		.ino_generation = m->ino_generation,
		.prot = m->prot,
		.flags = m->flags,
	};
	size_t bytes = sizeof(r) + p->len + pad + sizeof(id);
	int rc;

	if (bytes > UINT16_MAX)
		return 0;
	r.h.size = (uint16_t)bytes;
	if (p->build_id_bytes) {
		r.h.misc |= PERF_RECORD_MISC_MMAP_BUILD_ID;
		r.build_id_bytes = p->build_id_bytes;
		memset(r.reserved, 0, sizeof(r.reserved));
		memcpy(r.build_id, p->build_id, sizeof(r.build_id));
	}
	rc = buf_put(out, &r, sizeof(r));
	rc = rc ? rc : buf_put(out, p->text, p->len);
	rc = rc ? rc : buf_put(out, zeros, pad);
	return rc ? rc : buf_put(out, &id, sizeof(id));
}

static int tell(const struct task *t, struct buf *out)
{
	const struct maps *maps = t->tid == t->proc->pid ? t->proc->maps : NULL;
	const struct comm *c = t->comms;
	int rc = 0;

	while (c && c->older)
		c = c->older;
	for (; c && !rc; c = c->newer)
		rc = tell_comm(t, c, out);
	for (uint32_t i = 0; maps && i < maps->nr && !rc; i++)
		rc = tell_map(t, maps->v[i], out);
	return rc;
}

int ledger_retell(struct ledger *l, uint32_t tid, uint64_t since_ns, struct buf *out)
{
	const struct task *t;
	int rc = 0;

	pthread_mutex_lock(&l->lock);
	t = task_newest(l, tid);
	if (t && !t->exit_ns && (t->scanned || t->known_ns < since_ns))
		rc = tell(t, out);
	pthread_mutex_unlock(&l->lock);
	return rc;
}
