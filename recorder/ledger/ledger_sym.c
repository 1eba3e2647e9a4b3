// SPDX-License-Identifier: MIT
/* Kernel symbols that come and go (BPF programs, trampolines), BPF programs, paths of cgroup
 * ids. */
#include "recorder/ledger/ledger_parts.h"

#include "dump/base/hash.h"

#include <string.h>

size_t record_text(struct bytes b)
{
	return strnlen((const char *)b.p, b.len);
}

/* ---- KSYMBOL: u64 addr, u32 len, u16 type, u16 flags, name ---- */

static struct ksym **ksym_bucket(struct ledger *l, uint64_t addr)
{
	return &l->ksyms[hash_mix(0, addr) % KSYM_BUCKETS];
}

static size_t ksym_bytes(const struct ksym *k)
{
	return sizeof(*k) + k->name_len + 1;
}

static struct ksym *ksym_live(struct ledger *l, const struct ksym *like)
{
	struct ksym *k = *ksym_bucket(l, like->addr);

	while (k && (k->addr != like->addr || k->program != like->program || k->end_ns))
		k = k->next;
	return k;
}

/* False: it was not known. */
static bool ksym_end(struct ledger *l, const struct ksym *like)
{
	struct ksym *k = ksym_live(l, like);

	if (!k)
		return false;
	if (k->ns <= like->ns) {
		k->end_ns = like->ns;
		retire(l, &k->r, RETIRED_KSYM, like->ns);
	}
	return true;
}

/* Adds a copy of `like` with a name. */
static struct ksym *ksym_add(struct ledger *l, const struct ksym *like, const void *name,
			     size_t len)
{
	struct ksym **bucket = ksym_bucket(l, like->addr), *k;

	if (!ledger_admits(l, sizeof(*k) + len + 1))
		return NULL;
	k = ledger_alloc(l, sizeof(*k) + len + 1);
	if (!k)
		return NULL;
	*k = *like;
	k->name_len = len;
	memcpy(k->name, name, len);
	k->next = *bucket;
	if (k->next)
		k->next->prev = k;
	*bucket = k;
	return k;
}

/* One that was there before the recorder is known by its end only. */
static void ksym_was(struct ledger *l, const struct ksym *like, const void *name, size_t len)
{
	struct ksym was = *like, *k;

	was.ns = 0;
	was.flags = 0;
	was.end_ns = like->ns;
	k = ksym_add(l, &was, name, len);
	if (k)
		retire(l, &k->r, RETIRED_KSYM, like->ns);
}

void ksym_record(struct ledger *l, uint64_t ns, struct bytes body)
{
	struct ksym new = {.ns = ns};
	bool known;

	if (!bytes_u64(&body, &new.addr) || !bytes_u32(&body, &new.bytes) ||
	    !bytes_u16(&body, &new.type) || !bytes_u16(&body, &new.flags))
		return;
	known = ksym_end(l, &new);
	if (!(new.flags &PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER))
		ksym_add(l, &new, body.p, record_text(body));
	else if (!known)
		ksym_was(l, &new, body.p, record_text(body));
}

/* ---- BPF_EVENT: u16 type, u16 flags, u32 id, u8 tag[8] ---- */

void bpf_record(struct ledger *l, uint64_t ns, struct bytes body)
{
	struct ksym new = {.ns = ns, .program = true};
	uint8_t tag[sizeof(((struct fmt_bpf *)0)->tag)];
	uint16_t type, flags;
	uint32_t id;

	if (!bytes_u16(&body, &type) || !bytes_u16(&body, &flags) || !bytes_u32(&body, &id) ||
	    !bytes_get(&body, tag, sizeof(tag)))
		return;
	new.addr = id;
	ksym_end(l, &new);
	if (type == PERF_BPF_EVENT_PROG_LOAD)
		ksym_add(l, &new, tag, sizeof(tag));
}

void ksym_drop(struct ledger *l, struct ksym *k)
{
	unretire(l, &k->r);
	if (k->prev)
		k->prev->next = k->next;
	else
		*ksym_bucket(l, k->addr) = k->next;
	if (k->next)
		k->next->prev = k->prev;
	ledger_release(l, k, ksym_bytes(k));
}

/* ---- CGROUP: u64 id, path. No record tells a removal, so the oldest entries are dropped. ---- */

static struct cgroup **cgroup_bucket(struct ledger *l, uint64_t id)
{
	return &l->cgroups[id % CGROUP_BUCKETS];
}

static void cgroup_drop_oldest(struct ledger *l)
{
	struct cgroup *c = l->oldest_cgroup, **at = cgroup_bucket(l, c->id);

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	l->oldest_cgroup = c->newer;
	if (!c->newer)
		l->newest_cgroup = NULL;
	l->nr_cgroups--;
	ledger_release(l, c, sizeof(*c) + c->path_len + 1);
}

void cgroup_record(struct ledger *l, struct bytes body)
{
	struct cgroup **bucket, *c;
	uint64_t id;
	size_t len;

	if (!bytes_u64(&body, &id))
		return;
	len = record_text(body);
	bucket = cgroup_bucket(l, id);
	for (c = *bucket; c; c = c->next) {
		if (c->id == id && c->path_len == len && !memcmp(c->path, body.p, len))
			return;
	}
	if (l->nr_cgroups >= MAX_CGROUPS) {
		cgroup_drop_oldest(l);
		l->nr_evicted++;
	}
	if (!ledger_admits(l, sizeof(*c) + len + 1))
		return;
	c = ledger_alloc(l, sizeof(*c) + len + 1);
	if (!c)
		return;
	c->id = id;
	c->path_len = len;
	memcpy(c->path, body.p, len);
	c->next = *bucket;
	*bucket = c;
	if (l->newest_cgroup)
		l->newest_cgroup->newer = c;
	else
		l->oldest_cgroup = c;
	l->newest_cgroup = c;
	l->nr_cgroups++;
}

void syms_free(struct ledger *l)
{
	for (size_t i = 0; i < KSYM_BUCKETS; i++) {
		while (l->ksyms[i])
			ksym_drop(l, l->ksyms[i]);
	}
	while (l->oldest_cgroup)
		cgroup_drop_oldest(l);
}
