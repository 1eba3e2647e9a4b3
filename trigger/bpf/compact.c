// SPDX-License-Identifier: MIT
/* Loads the programs of compact channels (compact.bpf.c) and makes their memory; see compact.h. */
#include "trigger/bpf/compact.h"

#include "dump/base/err.h"
#include "trigger/bpf/compact_shared.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <trigger/bpf/compact.skel.h>

#define NR_PROGRAMS (COMPACT_KINDS - 1)
/* The verifier allows no larger distance within a map (BPF_MAX_VAR_OFF). */
#define MAX_RING_BYTES (256ull << 20)

_Static_assert(offsetof(struct perf_event_mmap_page, data_head) == COMPACT_HEAD_AT,
	       "the head's place");
_Static_assert(COMPACT_FDS == 2 + 2 * NR_PROGRAMS, "all descriptors");

struct compact {
	uint64_t ring_bytes;
	int rings_fd, bss_fd;
	volatile uint32_t *turn; /* in the programs' memory, which is mapped */
	void *bss;
	size_t bss_bytes;
	int program_fd[NR_PROGRAMS], link_fd[NR_PROGRAMS]; /* -1: not used, not attached */
	int template_fd; /* the map that the programs were loaded with: the first CPU's; -1: given */
	uint64_t nr_missed;
};

static const struct {
	const char *event, *program;
} kinds[COMPACT_KINDS] = {
	[COMPACT_SWITCH] = {"sched:sched_switch", "ringback_switch"},
	[COMPACT_WAKING] = {"sched:sched_waking", "ringback_waking"},
	[COMPACT_WAKEUP] = {"sched:sched_wakeup", "ringback_wakeup"},
	[COMPACT_WAKEUP_NEW] = {"sched:sched_wakeup_new", "ringback_new"},
	[COMPACT_MIGRATE] = {"sched:sched_migrate_task", "ringback_move"},
};

unsigned compact_kind(const char *event)
{
	for (unsigned i = 1; i < COMPACT_KINDS; i++)
		if (!strcmp(kinds[i].event, event))
			return i;
	return 0;
}

/* ---- memory ---- */

static uint64_t map_bytes(uint64_t ring_bytes)
{
	return 2 * (COMPACT_HEAD_BYTES + ring_bytes);
}

static int new_map(uint64_t ring_bytes)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "ringback_cpu", 4,
				(uint32_t)map_bytes(ring_bytes), 1, &opts);

	return fd < 0 ? -errno : fd;
}

int compact_add(struct compact *c, int cpu, int *map_fd)
{
	int fd = c->template_fd >= 0 ? c->template_fd : new_map(c->ring_bytes);

	if (fd < 0)
		return fd;
	c->template_fd = -1;
	if (bpf_map_update_elem(c->rings_fd, &cpu, &fd, BPF_ANY)) {
		int rc = -errno;

		close(fd);
		return rc;
	}
	*map_fd = fd;
	return 0;
}

static uint32_t map_id(int map_fd)
{
	struct bpf_map_info info = {0};
	uint32_t n = sizeof(info);

	return bpf_obj_get_info_by_fd(map_fd, &info, &n) ? 0 : info.id;
}

void compact_drop(struct compact *c, int cpu, int map_fd)
{
	uint32_t id;

	if (!bpf_map_lookup_elem(c->rings_fd, &cpu, &id) && id == map_id(map_fd))
		bpf_map_delete_elem(c->rings_fd, &cpu);
}

int compact_map(const struct compact *c, int map_fd, struct ring banks[2])
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t bytes = (map_bytes(c->ring_bytes) + page - 1) / page * page;
	uint8_t *p = mmap(NULL, bytes, PROT_READ, MAP_SHARED, map_fd, 0);

	if (p == MAP_FAILED)
		return -errno;
	for (int i = 0; i < 2; i++) {
		uint8_t *bank = p + (i ? COMPACT_HEAD_BYTES + c->ring_bytes : 0);

		banks[i] = (struct ring){
			.page = (struct perf_event_mmap_page *)bank,
			.data = bank + COMPACT_HEAD_BYTES,
			.size = c->ring_bytes,
			.map_bytes = i ? 0 : bytes,
			.fd = -1,
		};
	}
	return 0;
}

/* ---- programs ---- */

static int map_turn(struct compact *c)
{
	struct bpf_map_info info = {0};
	uint32_t n = sizeof(info);

	if (bpf_obj_get_info_by_fd(c->bss_fd, &info, &n))
		return -errno;
	c->bss_bytes = (size_t)sysconf(_SC_PAGESIZE);
	c->bss = mmap(NULL, c->bss_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, c->bss_fd, 0);
	if (c->bss == MAP_FAILED) {
		c->bss = NULL;
		return -errno;
	}
	/* The programs' only variable. */
	c->turn = info.value_size == sizeof(*c->turn) ? c->bss : NULL;
	return c->turn ? 0 : -EPROTO;
}

static int keep_fd(int fd, int *out)
{
	*out = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return *out < 0 ? -errno : 0;
}

static struct bpf_program *program(const struct compact_bpf *skel, unsigned kind)
{
	return bpf_object__find_program_by_name(skel->obj, kinds[kind].program);
}

/* The offset of a variable among those of a CPU; 0: not found. */
static uint64_t percpu_offset(const struct btf *btf, const char *name)
{
	int id = btf__find_by_name_kind(btf, ".data..percpu", BTF_KIND_DATASEC);
	const struct btf_type *sec = id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;
	const struct btf_var_secinfo *v = sec ? btf_var_secinfos(sec) : NULL;

	for (int i = 0; sec && i < btf_vlen(sec); i++) {
		const struct btf_type *var = btf__type_by_id(btf, v[i].type);

		if (var && !strcmp(btf__name_by_offset(btf, var->name_off), name))
			return v[i].offset;
	}
	return 0;
}

/* The first member of pcpu_hot is current_task; the count follows (Linux 6.2 to 6.14). */
#define PCPU_HOT_COUNT 8

static uint64_t count_distance(void)
{
	struct btf *btf = btf__load_vmlinux_btf();
	uint64_t rq, count;

	if (!btf)
		return 0;
	rq = percpu_offset(btf, "runqueues");
	count = percpu_offset(btf, "__preempt_count");
	if (!count && (count = percpu_offset(btf, "pcpu_hot")))
		count += PCPU_HOT_COUNT;
	btf__free(btf);
	return rq && count ? count - rq : 0;
}

static int load(struct compact *c, struct compact_bpf *skel, unsigned wanted)
{
	int nr_cpus = libbpf_num_possible_cpus(), rc = 0;

	if (nr_cpus < 0 || nr_cpus > (int)COMPACT_CPU_MASK + 1)
		return nr_cpus < 0 ? nr_cpus : -E2BIG;
	c->template_fd = new_map(c->ring_bytes);
	if (c->template_fd < 0)
		return c->template_fd;
	skel->rodata->ring_bytes = c->ring_bytes;
	skel->rodata->count_distance = count_distance();
	skel->bss->turn = 2; /* never 0, which is the turn of memory that nothing wrote */
	rc = bpf_map__set_max_entries(skel->maps.rings, (uint32_t)nr_cpus);
	rc = rc ? rc : bpf_map__set_inner_map_fd(skel->maps.rings, c->template_fd);
	for (unsigned i = 1; i < COMPACT_KINDS && !rc; i++)
		rc = bpf_program__set_autoload(program(skel, i), wanted & 1u << i);
	return rc ? rc : compact_bpf__load(skel);
}

/* The descriptors alone keep all that is needed. */
static int keep_fds(struct compact *c, const struct compact_bpf *skel, unsigned wanted)
{
	int rc = keep_fd(bpf_map__fd(skel->maps.rings), &c->rings_fd);

	rc = rc ? rc : keep_fd(bpf_map__fd(skel->maps.bss), &c->bss_fd);
	for (unsigned i = 1; i < COMPACT_KINDS && !rc; i++)
		if (wanted & 1u << i)
			rc = keep_fd(bpf_program__fd(program(skel, i)), &c->program_fd[i - 1]);
	return rc ? rc : map_turn(c);
}

static struct compact *new_compact(uint64_t ring_bytes)
{
	struct compact *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->ring_bytes = ring_bytes;
	c->rings_fd = c->bss_fd = c->template_fd = -1;
	memset(c->program_fd, -1, sizeof(c->program_fd));
	memset(c->link_fd, -1, sizeof(c->link_fd));
	return c;
}

int compact_open(uint64_t ring_bytes, unsigned wanted, struct compact **out, struct err *err)
{
	struct compact *c = new_compact(ring_bytes);
	struct compact_bpf *skel = NULL;
	int rc = ring_bytes > MAX_RING_BYTES ? -E2BIG : 0;

	if (!c)
		return err_set(err, -ENOMEM, "out of memory");
	libbpf_set_print(NULL);
	if (!rc && !(skel = compact_bpf__open()))
		rc = -errno;
	rc = rc ? rc : load(c, skel, wanted);
	rc = rc ? rc : keep_fds(c, skel, wanted);
	compact_bpf__destroy(skel);
	if (!rc) {
		*out = c;
		return 0;
	}
	compact_close(c);
	err_sys(err, rc, "can't load the BPF programs of compact records");
	err_hint(err, "they need CAP_BPF and CAP_PERFMON, /sys/kernel/btf/vmlinux and Linux 5.18");
	return -EOPNOTSUPP;
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

void compact_close(struct compact *c)
{
	if (!c)
		return;
	if (c->bss)
		munmap(c->bss, c->bss_bytes);
	for (int i = 0; i < NR_PROGRAMS; i++) {
		close_fd(c->link_fd[i]);
		close_fd(c->program_fd[i]);
	}
	close_fd(c->template_fd);
	close_fd(c->rings_fd);
	close_fd(c->bss_fd);
	free(c);
}

int compact_try(struct err *err)
{
	struct compact *c;
	int rc = compact_open((uint64_t)sysconf(_SC_PAGESIZE), ~1u, &c, err);

	if (!rc)
		compact_close(c);
	return rc;
}

int compact_start(struct compact *c, struct err *err)
{
	for (int i = 0; i < NR_PROGRAMS; i++) {
		if (c->program_fd[i] < 0 || c->link_fd[i] >= 0)
			continue;
		c->link_fd[i] = bpf_raw_tracepoint_open(NULL, c->program_fd[i]);
		if (c->link_fd[i] < 0)
			return err_sys(err, -errno,
				       "can't attach the BPF programs of compact records");
	}
	return 0;
}

void compact_turn(struct compact *c)
{
	__atomic_store_n(c->turn, *c->turn + 1, __ATOMIC_SEQ_CST);
}

unsigned compact_bank(const struct compact *c)
{
	return *c->turn & 1;
}

uint64_t compact_missed(struct compact *c)
{
	uint64_t sum = 0, before = c->nr_missed;

	for (int i = 0; i < NR_PROGRAMS; i++) {
		struct bpf_prog_info info = {0};
		uint32_t n = sizeof(info);

		if (c->program_fd[i] >= 0 && !bpf_obj_get_info_by_fd(c->program_fd[i], &info, &n))
			sum += info.recursion_misses;
	}
	c->nr_missed = sum;
	return sum - before;
}

/* ---- programs that outlive the recorder ---- */

/* A descriptor that is not used is the first one. */
void compact_fds(const struct compact *c, int fds[COMPACT_FDS])
{
	*fds++ = c->bss_fd;
	*fds++ = c->rings_fd;
	for (int i = 0; i < NR_PROGRAMS; i++) {
		*fds++ = c->program_fd[i] >= 0 ? c->program_fd[i] : c->bss_fd;
		*fds++ = c->link_fd[i] >= 0 ? c->link_fd[i] : c->bss_fd;
	}
}

static bool is_program(int fd)
{
	struct bpf_prog_info info = {0};
	uint32_t n = sizeof(info);

	return !bpf_obj_get_info_by_fd(fd, &info, &n) && info.type == BPF_PROG_TYPE_TRACING;
}

int compact_take(const int fds[COMPACT_FDS], uint64_t ring_bytes, struct compact **out)
{
	struct compact *c = new_compact(ring_bytes);
	int rc = c ? 0 : -ENOMEM;

	rc = rc ? rc : keep_fd(fds[0], &c->bss_fd);
	rc = rc ? rc : keep_fd(fds[1], &c->rings_fd);
	for (int i = 0; i < NR_PROGRAMS && !rc; i++) {
		if (!is_program(fds[2 + 2 * i]))
			continue;
		rc = keep_fd(fds[2 + 2 * i], &c->program_fd[i]);
		rc = rc ? rc : keep_fd(fds[3 + 2 * i], &c->link_fd[i]);
	}
	rc = rc ? rc : map_turn(c);
	if (rc) {
		compact_close(c);
		return rc;
	}
	*out = c;
	return 0;
}
