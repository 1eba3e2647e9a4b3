// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * PMUs with AUX areas that a timer fills, for the tests of ringback; they need no hardware. They
 * use the AUX interface as real drivers do: perf_aux_output_begin() at each start,
 * perf_aux_output_end() at each stop, which publishes aux_head and PERF_RECORD_AUX.
 *
 *	rb_aux_count, rb_aux_mod	a known sequence: the word at byte 8 * i of all bytes that
 *					a buffer ever got is mark | (i + 1), little-endian;
 *					never 0, so that unwritten memory shows
 *	intel_pt			the bytes given in debugfs for its CPU, once
 *	cs_etm				as rb_aux_count
 *	intel_bts			the known sequence, in the part of the buffer that holds
 *					whole records of 24 bytes
 *
 *	/sys/module/rb_aux/parameters/	may be changed at any time
 *	  rate				bytes at each tick of a millisecond
 *	  limit				most bytes that a buffer gets; 0: no limit
 *	  flags				PERF_AUX_FLAG_* given with each end (1 truncated,
 *					4 partial, 8 collision)
 *	  restart			ends and begins again every that many ticks, as an
 *					interrupt does; 0: never
 *	  lose				that many ticks after each start it loses data: it ends
 *					with PERF_AUX_FLAG_TRUNCATED, as Arm SPE; 0: never
 *	  silent			that many ticks after each start it ends without any
 *					notice, and the event stays active; 0: never
 *	  min_pages, max_pages		areas that setup_aux takes; 0: any
 *	  readers			1: setup_aux takes no area that is overwritten
 *	  serves			cpumask of rb_aux_count; empty: all
 *	  zeros				1: writes zeros, not the sequence
 *	  sizes				1: rb_aux_mod too tells in its records how much it wrote
 *	  refuse			CPUs (a mask) on which it does not start
 *	  odd				CPUs on which `lose` and `silent` have an effect
 *	/sys/kernel/debug/ringback/
 *	  written			"PMU CPU BYTES BUFFER-BYTES" of the last stop on each CPU
 *	  paused			"PMU CPU NOW PAUSES RESUMES AT": bytes in its buffer so
 *					far, how often an event paused and resumed it, and the
 *					bytes at the last pause (Linux 6.13)
 *	  ticks				"PMU CPU TICKS": number of ticks with a write since the
 *					module was loaded
 *	  pt/cpuN			to be written: what intel_pt plays back on CPU N
 */
#include "rb_aux.h"

#include <linux/debugfs.h>
#include <linux/hrtimer.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/version.h>

#define TICK_NS 1000000

#ifdef PERF_PMU_CAP_AUX_PAUSE
#define CAP_PAUSE PERF_PMU_CAP_AUX_PAUSE
#else
#define CAP_PAUSE 0
#endif

static unsigned int rate = 8192, flags, restart;
static unsigned int lose, silent, zeros, sizes;
static unsigned int min_pages, max_pages, readers;
static char *serves = "";
static unsigned long limit, refuse, odd = ~0ul;
module_param(rate, uint, 0644);
module_param(limit, ulong, 0644);
module_param(flags, uint, 0644);
module_param(restart, uint, 0644);
module_param(lose, uint, 0644);
module_param(min_pages, uint, 0644);
module_param(max_pages, uint, 0644);
module_param(readers, uint, 0644);
module_param(serves, charp, 0644);
module_param(zeros, uint, 0644);
module_param(sizes, uint, 0644);
module_param(silent, uint, 0644);
module_param(refuse, ulong, 0644);
module_param(odd, ulong, 0644);

/* One PMU on one CPU. Only that CPU writes it, with interrupts off; debugfs also reads the `last_`
 * fields and those after them. */
struct unit {
	struct perf_output_handle handle;
	struct hrtimer timer;
	struct perf_event *event; /* NULL: stopped */
	struct area *area;
	u64 begun;		       /* area->written at perf_aux_output_begin() */
	unsigned int ticks, ticks_all; /* since the output was begun; since the start */
	u64 last_written, last_bytes;
	u64 all_ticks, now, pauses, resumes, paused_at; /* for debugfs */
};

struct test_pmu {
	struct pmu pmu;
	const char *name;
	struct unit __percpu *units;
};

static struct test_pmu pmus[NR_KINDS] = {
	[KIND_COUNT].name = "rb_aux_count", [KIND_MOD].name = "rb_aux_mod",
	[KIND_PT].name = "intel_pt",	    [KIND_BTS].name = "intel_bts",
	[KIND_ETM].name = "cs_etm",
};
static struct dentry *dir;

static enum kind kind_of(struct perf_event *event)
{
	return container_of(event->pmu, struct test_pmu, pmu) - pmus;
}

static struct unit *unit_of(struct perf_event *event)
{
	return this_cpu_ptr(pmus[kind_of(event)].units);
}

/* Writes `n` bytes at the area's position; they must not cross a page's end. */
static void put(struct area *a, const u8 *bytes, size_t n)
{
	u64 at = a->written % a->used;

	memcpy(a->pages[at >> PAGE_SHIFT] + (at & ~PAGE_MASK), bytes, n);
	a->written += n;
}

static void put_sequence(struct area *a, u64 n)
{
	while (n) {
		u64 word = READ_ONCE(zeros) ? 0 : a->mark | (a->written / 8 + 1);
		size_t from = a->written % 8, part = min_t(u64, n, 8 - from);

		put(a, (u8 *)&word + from, part);
		n -= part;
	}
}

static void put_playback(struct area *a, u64 n)
{
	while (n) {
		const u8 *bytes;
		u64 room = PAGE_SIZE - a->written % PAGE_SIZE;
		size_t part =
			play_bytes(smp_processor_id(), a->written, min_t(u64, n, room), &bytes);

		if (!part)
			return;
		put(a, bytes, part);
		n -= part;
	}
}

static void produce(struct unit *u)
{
	struct area *a = u->area;
	u64 n = READ_ONCE(rate), most = READ_ONCE(limit);

	if (most)
		n = min_t(u64, n, most > a->written ? most - a->written : 0);
	if (!a->overwrite) {
		u64 room = u->handle.size - min_t(u64, u->handle.size, a->written - u->begun);

		if (n > room) {
			n = room;
			perf_aux_output_flag(&u->handle, PERF_AUX_FLAG_TRUNCATED);
		}
	}
	if (kind_of(u->event) == KIND_PT)
		put_playback(a, n);
	else
		put_sequence(a, n);
}

/* True when an event in its group has paused it and none has resumed it since. Outlives stop and
 * start. */
static bool is_paused(const struct perf_event *event)
{
#ifdef PERF_EF_PAUSE
	return READ_ONCE(event->hw.aux_paused);
#else
	return false;
#endif
}

/* Handles pause and resume, which such an event requests. True: nothing else to do. */
static bool pause_or_resume(struct perf_event *event, int how)
{
#ifdef PERF_EF_PAUSE
	struct unit *u = unit_of(event);

	if (how & PERF_EF_PAUSE) {
		u->pauses++;
		u->paused_at = u->event == event ? u->area->written : 0;
	} else if (how & PERF_EF_RESUME) {
		u->resumes++;
	}
	return how & (PERF_EF_PAUSE | PERF_EF_RESUME);
#else
	return false;
#endif
}

static int begin(struct unit *u, struct perf_event *event)
{
	struct area *a = perf_aux_output_begin(&u->handle, event);

	if (!a)
		return -EINVAL;
	u->area = a;
	u->begun = a->written;
	u->event = event;
	return 0;
}

/* The record's size: bytes since begin; in overwrite mode except for KIND_COUNT the whole buffer,
 * as from Intel PT's driver. */
static void end(struct unit *u)
{
	struct area *a = u->area;
	u64 n = a->written - u->begun;
	bool mod = kind_of(u->event) != KIND_COUNT && kind_of(u->event) != KIND_ETM;

	u->last_written = a->written;
	u->last_bytes = a->bytes;
	u->event = NULL;
	if (READ_ONCE(flags))
		perf_aux_output_flag(&u->handle, READ_ONCE(flags));
	if (a->overwrite) {
		u->handle.head = mod ? a->written % a->used : u->handle.head + n;
		n = mod && !READ_ONCE(sizes) ? a->bytes : n;
	}
	perf_aux_output_end(&u->handle, n);
}

static bool is_in(unsigned long mask)
{
	return mask & 1ul << smp_processor_id();
}

/* Ends for ever, with or without a reason for the kernel to disable the event. */
static bool give_up(struct unit *u, struct perf_event *event)
{
	unsigned int loses = READ_ONCE(lose), silence = READ_ONCE(silent);

	if (!is_in(READ_ONCE(odd)))
		return false;
	if (loses && u->ticks_all >= loses)
		perf_aux_output_flag(&u->handle, PERF_AUX_FLAG_TRUNCATED);
	else if (!silence || u->ticks_all < silence)
		return false;
	end(u);
	event->hw.state = PERF_HES_STOPPED;
	return true;
}

static enum hrtimer_restart tick(struct hrtimer *timer)
{
	struct unit *u = container_of(timer, struct unit, timer);
	struct perf_event *event = u->event;
	unsigned int every = READ_ONCE(restart);

	if (!event)
		return HRTIMER_NORESTART;
	if (!is_paused(event))
		produce(u);
	WRITE_ONCE(u->now, u->area->written);
	u->ticks++;
	u->ticks_all++;
	WRITE_ONCE(u->all_ticks, u->all_ticks + 1);
	if (give_up(u, event))
		return HRTIMER_NORESTART;
	if ((every && u->ticks >= every) || (u->handle.aux_flags & PERF_AUX_FLAG_TRUNCATED)) {
		u->ticks = 0;
		end(u);
		if (begin(u, event)) {
			event->hw.state = PERF_HES_STOPPED;
			return HRTIMER_NORESTART;
		}
	}
	hrtimer_forward_now(timer, ns_to_ktime(TICK_NS));
	return HRTIMER_RESTART;
}

static void pmu_start(struct perf_event *event, int how)
{
	struct unit *u = unit_of(event);

	if (pause_or_resume(event, how))
		return;
	if (begin(u, event)) {
		event->hw.state = PERF_HES_STOPPED;
		return;
	}
	event->hw.state = 0;
	u->ticks = u->ticks_all = 0;
	hrtimer_start(&u->timer, ns_to_ktime(TICK_NS), HRTIMER_MODE_REL_PINNED_HARD);
}

static void pmu_stop(struct perf_event *event, int how)
{
	struct unit *u = unit_of(event);

	if (pause_or_resume(event, how))
		return;
	if (event->hw.state & PERF_HES_STOPPED)
		return;
	event->hw.state = PERF_HES_STOPPED;
	hrtimer_try_to_cancel(&u->timer);
	if (u->event == event)
		end(u);
}

static int pmu_add(struct perf_event *event, int how)
{
	if (unit_of(event)->event)
		return -EBUSY;
	if (is_in(READ_ONCE(refuse)))
		return -EINVAL;
	event->hw.state = PERF_HES_STOPPED;
	if (how & PERF_EF_START) {
		pmu_start(event, 0);
		if (event->hw.state)
			return -EINVAL;
	}
	return 0;
}

static void pmu_del(struct perf_event *event, int how)
{
	pmu_stop(event, PERF_EF_UPDATE);
}

static void pmu_read(struct perf_event *event)
{
}

/* Bits that format/ has. */
static const u64 configs[NR_KINDS] = {[KIND_ETM] = 1 << 28 | 1 << 14};

static int pmu_event_init(struct perf_event *event)
{
	if (event->attr.type != event->pmu->type)
		return -ENOENT;
	if (kind_of(event) == KIND_PT ? !intel_pt_config_ok(event->attr.config)
				      : event->attr.config & ~configs[kind_of(event)])
		return -EINVAL;
	return 0;
}

static void *setup_area(struct perf_event *event, void **pages, int nr, bool overwrite)
{
	unsigned int most = READ_ONCE(max_pages);
	struct area *a;

	if (nr < READ_ONCE(min_pages) || (most && nr > most) || (overwrite && READ_ONCE(readers)))
		return NULL;
	a = kzalloc(sizeof(*a), GFP_KERNEL);
	if (!a)
		return NULL;
	a->pages = pages;
	a->bytes = (u64)nr << PAGE_SHIFT;
	a->used = a->bytes - (kind_of(event) == KIND_BTS ? a->bytes % 24 : 0);
	a->overwrite = overwrite;
	a->mark = (u64)(event->cpu + 1) << 48;
	return a;
}

static void free_area(void *area)
{
	kfree(area);
}

static int written_show(struct seq_file *s, void *unused)
{
	int kind, cpu;

	for (kind = 0; kind < NR_KINDS; kind++)
		for_each_possible_cpu(cpu)
		{
			struct unit *u = per_cpu_ptr(pmus[kind].units, cpu);

			seq_printf(s, "%s %d %llu %llu\n", pmus[kind].name, cpu,
				   READ_ONCE(u->last_written), READ_ONCE(u->last_bytes));
		}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(written);

static int paused_show(struct seq_file *s, void *unused)
{
	int kind, cpu;

	for (kind = 0; kind < NR_KINDS; kind++)
		for_each_possible_cpu(cpu)
		{
			struct unit *u = per_cpu_ptr(pmus[kind].units, cpu);

			seq_printf(s, "%s %d %llu %llu %llu %llu\n", pmus[kind].name, cpu,
				   READ_ONCE(u->now), READ_ONCE(u->pauses), READ_ONCE(u->resumes),
				   READ_ONCE(u->paused_at));
		}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(paused);

static void setup_timer(struct hrtimer *timer)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 15, 0)
	hrtimer_setup(timer, tick, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
#else
	hrtimer_init(timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	timer->function = tick;
#endif
}

static int ticks_show(struct seq_file *s, void *unused)
{
	int kind, cpu;

	for (kind = 0; kind < NR_KINDS; kind++)
		for_each_possible_cpu(cpu)
			seq_printf(s, "%s %d %llu\n", pmus[kind].name, cpu,
				   READ_ONCE(per_cpu_ptr(pmus[kind].units, cpu)->all_ticks));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(ticks);

static ssize_t cpumask_show(struct device *dev, struct device_attribute *attr, char *page)
{
	size_t n = strcspn(serves, "\n");

	if (n)
		return sysfs_emit(page, "%.*s\n", (int)n, serves);
	return sysfs_emit(page, "%*pbl\n", cpumask_pr_args(cpu_possible_mask));
}
static DEVICE_ATTR_RO(cpumask);

static struct attribute *cpumask_attrs[] = {&dev_attr_cpumask.attr, NULL};
static const struct attribute_group cpumask_group = {.attrs = cpumask_attrs};
static const struct attribute_group *cpumask_groups[] = {&cpumask_group, NULL};

static int register_pmu(struct test_pmu *t)
{
	int cpu, rc;

	t->units = alloc_percpu(struct unit);
	if (!t->units)
		return -ENOMEM;
	for_each_possible_cpu(cpu) setup_timer(&per_cpu_ptr(t->units, cpu)->timer);
	t->pmu = (struct pmu){
		.module = THIS_MODULE,
		.capabilities = PERF_PMU_CAP_EXCLUSIVE | PERF_PMU_CAP_ITRACE | CAP_PAUSE,
		.task_ctx_nr = perf_sw_context,
		.attr_groups = t == &pmus[KIND_PT]	? intel_pt_groups
			       : t == &pmus[KIND_COUNT] ? cpumask_groups
			       : t == &pmus[KIND_ETM]	? cs_etm_groups
							: NULL,
		.event_init = pmu_event_init,
		.add = pmu_add,
		.del = pmu_del,
		.start = pmu_start,
		.stop = pmu_stop,
		.read = pmu_read,
		.setup_aux = setup_area,
		.free_aux = free_area,
	};
	rc = perf_pmu_register(&t->pmu, t->name, -1);
	if (rc) {
		free_percpu(t->units);
		t->units = NULL;
	}
	return rc;
}

static void rb_aux_exit(void)
{
	int kind;

	debugfs_remove(dir);
	for (kind = 0; kind < NR_KINDS; kind++)
		if (pmus[kind].units) {
			perf_pmu_unregister(&pmus[kind].pmu);
			free_percpu(pmus[kind].units);
		}
	play_exit();
	cs_etm_exit();
}

static int __init rb_aux_init(void)
{
	int kind, rc = 0;

	for (kind = 0; kind < NR_KINDS && !rc; kind++)
		rc = register_pmu(&pmus[kind]);
	dir = debugfs_create_dir("ringback", NULL);
	if (!rc) {
		debugfs_create_file("written", 0444, dir, NULL, &written_fops);
		debugfs_create_file("paused", 0444, dir, NULL, &paused_fops);
		debugfs_create_file("ticks", 0444, dir, NULL, &ticks_fops);
		rc = play_init(dir);
		if (!rc)
			rc = cs_etm_init(pmus[KIND_ETM].pmu.dev);
	}
	if (rc)
		rb_aux_exit();
	return rc;
}

module_init(rb_aux_init);
module_exit(rb_aux_exit);
MODULE_DESCRIPTION("PMUs with AUX areas for the tests of ringback");
MODULE_LICENSE("Dual MIT/GPL");
