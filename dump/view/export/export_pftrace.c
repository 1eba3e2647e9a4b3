// SPDX-License-Identifier: MIT
/* `ringback export -f pftrace`: a trace for Perfetto. See export_pftrace.h for its parts. */
#include "dump/view/export/export_pftrace.h"

#include "dump/base/err.h"
#include "dump/base/str.h"
#include "dump/view/model/process_history.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

/* Perfetto's numbers of clocks. */
#define CLOCK_ID_REALTIME  1
#define CLOCK_ID_MONOTONIC 3
#define CLOCK_ID_BOOTTIME  6

#define SEQUENCE	 1
#define SEQUENCE_ANEW	 1
#define SEQUENCE_GOES_ON 2
#define THREADS_A_PACKET 256
/* A thread goes on running after its exit was recorded, until it is switched from. */
#define RUNS_ON_NS 1000000000u

uint64_t pf_ns(const struct pftrace *pf, uint64_t ns)
{
	return ns + (uint64_t)pf->x->m->host.boot_minus_clock;
}

char *pf_text(char *out, size_t n, const char *text, size_t len)
{
	return str_safe(out, n, text ? text : "", text ? len : 0);
}

void pf_put(struct pftrace *pf, Perfetto__TracePacket *packet)
{
	Perfetto__Trace trace = PERFETTO__TRACE__INIT;
	size_t n;

	if (pf->rc)
		return;
	PF_SET(packet, trusted_packet_sequence_id, SEQUENCE);
	PF_SET(packet, sequence_flags, pf->begun ? SEQUENCE_GOES_ON : SEQUENCE_ANEW);
	pf->begun = true;
	trace.n_packet = 1;
	trace.packet = &packet;
	n = perfetto__trace__get_packed_size(&trace);
	pf->packed.len = 0;
	pf->rc = buf_reserve(&pf->packed, n);
	if (pf->rc)
		return;
	perfetto__trace__pack(&trace, pf->packed.p);
	text_put(&pf->x->out, pf->packed.p, n);
	text_flush_large(&pf->x->out);
}

/* ---- the beginning ---- */

static void put_clocks(struct pftrace *pf)
{
	const struct meta *m = pf->x->m;
	uint64_t ns = m->trigger.hit_ns;
	const uint64_t values[][2] = {
		{CLOCK_ID_BOOTTIME, pf_ns(pf, ns)},
		{CLOCK_ID_MONOTONIC, ns},
		{CLOCK_ID_REALTIME, ns + (uint64_t)m->host.real_minus_clock},
	};
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
	Perfetto__ClockSnapshot snapshot = PERFETTO__CLOCK_SNAPSHOT__INIT;
	Perfetto__ClockSnapshot__Clock clocks[3], *list[3];

	for (size_t i = 0; i < 3; i++) {
		clocks[i] = (Perfetto__ClockSnapshot__Clock)PERFETTO__CLOCK_SNAPSHOT__CLOCK__INIT;
		PF_SET(&clocks[i], clock_id, (uint32_t)values[i][0]);
		PF_SET(&clocks[i], timestamp, values[i][1]);
		list[i] = &clocks[i];
	}
	snapshot.n_clocks = 3;
	snapshot.clocks = list;
	packet.clock_snapshot = &snapshot;
	PF_SET(&packet, timestamp, pf_ns(pf, ns));
	pf_put(pf, &packet);
}

/* The kernel's release says how the state of a task that is switched from is to be read. */
static void put_system(struct pftrace *pf)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
	Perfetto__SystemInfo info = PERFETTO__SYSTEM_INFO__INIT;
	Perfetto__Utsname name = PERFETTO__UTSNAME__INIT;
	char uname[512], *save = NULL, *machine;

	pf_text(uname, sizeof(uname), pf->x->m->uname, strlen(pf->x->m->uname));
	machine = strrchr(uname, ' ');
	if (machine)
		*machine++ = '\0';
	name.machine = machine;
	name.sysname = strtok_r(uname, " ", &save);
	name.release = strtok_r(NULL, " ", &save);
	name.version = strtok_r(NULL, "", &save);
	if (!name.release)
		return;
	info.utsname = &name;
	packet.system_info = &info;
	pf_put(pf, &packet);
}

/* Some threads, each with its process. */
struct some_threads {
	Perfetto__ProcessTree__Thread threads[THREADS_A_PACKET], *thread[THREADS_A_PACKET];
	Perfetto__ProcessTree__Process processes[THREADS_A_PACKET], *process[THREADS_A_PACKET];
	char names[THREADS_A_PACKET][72], *cmdline[THREADS_A_PACKET];
	size_t nr_threads, nr_processes;
	uint64_t ns;
};

static void put_threads(struct pftrace *pf, struct some_threads *s)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
	Perfetto__ProcessTree tree = PERFETTO__PROCESS_TREE__INIT;

	if (!s->nr_threads)
		return;
	tree.n_threads = s->nr_threads;
	tree.threads = s->thread;
	tree.n_processes = s->nr_processes;
	tree.processes = s->process;
	packet.process_tree = &tree;
	PF_SET(&packet, timestamp, pf_ns(pf, s->ns));
	pf_put(pf, &packet);
	s->nr_threads = s->nr_processes = 0;
}

static void add_thread(struct pftrace *pf, struct some_threads *s, const struct fmt_task *t)
{
	const char *comm =
		history_comm(pf->x->history, t->tid, t->exit_ns ? t->exit_ns : UINT64_MAX);
	size_t i = s->nr_threads++;
	Perfetto__ProcessTree__Thread *thread = &s->threads[i];
	Perfetto__ProcessTree__Process *process;

	pf_text(s->names[i], sizeof(s->names[i]), comm, comm ? strlen(comm) : 0);
	*thread = (Perfetto__ProcessTree__Thread)PERFETTO__PROCESS_TREE__THREAD__INIT;
	PF_SET(thread, tid, (int32_t)t->tid);
	PF_SET(thread, tgid, (int32_t)t->pid);
	thread->name = s->names[i];
	s->thread[i] = thread;
	if (t->tid != t->pid)
		return;
	process = &s->processes[s->nr_processes];
	*process = (Perfetto__ProcessTree__Process)PERFETTO__PROCESS_TREE__PROCESS__INIT;
	PF_SET(process, pid, (int32_t)t->pid);
	PF_SET(process, ppid, (int32_t)t->ppid);
	s->cmdline[i] = s->names[i];
	process->n_cmdline = 1;
	process->cmdline = &s->cmdline[i];
	s->process[s->nr_processes++] = process;
}

/* Those that were there at the beginning at once, the others each at its own time: a tid may be
 * used again. */
static void put_people(struct pftrace *pf, uint64_t from_ns)
{
	const struct process_history *p = pf->x->history;
	struct some_threads *some = calloc(1, sizeof(*some));

	if (!some) {
		pf->rc = -ENOMEM;
		return;
	}
	some->ns = from_ns;
	for (size_t i = 0; i < history_nr_tasks(p) && !pf->rc; i++) {
		const struct fmt_task *t = history_nth(p, i);
		bool late = t->start_ns > from_ns;

		if (t->exit_ns && t->exit_ns + RUNS_ON_NS < from_ns)
			continue;
		if (late)
			put_threads(pf, some);
		some->ns = late ? t->start_ns : from_ns;
		add_thread(pf, some, t);
		if (late || some->nr_threads == THREADS_A_PACKET)
			put_threads(pf, some);
	}
	put_threads(pf, some);
	free(some);
}

/* The oldest moment of any ring. */
static uint64_t oldest(const struct export *x)
{
	uint64_t ns = x->m->trigger.hit_ns;

	for (size_t i = 0; i < x->m->nr_windows; i++)
		if (x->m->windows[i].first_ns && x->m->windows[i].first_ns < ns)
			ns = x->m->windows[i].first_ns;
	return ns > x->opt->from_ns ? ns : x->opt->from_ns;
}

static int result(const struct pftrace *pf, struct err *err)
{
	return pf->rc ? err_set(err, pf->rc, "out of memory for the trace") : 0;
}

static int begin(struct export *x, struct err *err)
{
	struct pftrace *pf = calloc(1, sizeof(*pf));

	x->state = pf;
	if (!pf)
		return err_set(err, -ENOMEM, "out of memory for the trace");
	pf->x = x;
	pf->rc = pf_sched_new(pf, &pf->sched);
	if (!pf->rc)
		pf->rc = pf_stacks_new(&pf->stacks);
	if (!pf->rc)
		pf->rc = pf_tracks_new(&pf->tracks);
	if (pf->rc)
		return result(pf, err);
	put_clocks(pf);
	put_system(pf);
	put_people(pf, oldest(x));
	pf_tracks_begin(pf);
	if (!pf->rc) {
		pf_pt_put(pf, err);
		if (pf->rc)
			return pf->rc;
	}
	return result(pf, err);
}

/* ---- records ---- */

static uint64_t lost_in(const struct timeline_record *rec)
{
	struct perf_event_header h;
	uint64_t lost = 0;

	if (!record_at(rec->rec, 0, &h) || h.type != PERF_RECORD_LOST || rec->rec.len < 24)
		return 0;
	memcpy(&lost, rec->rec.p + 16, sizeof(lost));
	return lost;
}

static int record(struct export *x, const struct timeline_record *rec, struct err *err)
{
	struct pftrace *pf = x->state;
	uint64_t lost = rec->event ? 0 : lost_in(rec);

	if (lost) {
		pf_sched_lost(pf, rec->window->cpu);
		pf_tracks_lost(pf, rec, lost);
	} else if (!rec->event) {
		x->nr_left_out += !pf_sched_take_own(pf, rec);
	} else if (rec->event->f.tracepoint) {
		/* Bundles have no place for stacks. */
		if (!pf_sched_take(pf, rec) || rec->s.nr_callchain)
			pf_tracks_take(pf, rec);
	} else if (!pf_stacks_take(pf, rec)) {
		pf_tracks_take(pf, rec);
	}
	return result(pf, err);
}

static int end(struct export *x, struct err *err)
{
	struct pftrace *pf = x->state;

	pf_sched_flush(pf);
	return result(pf, err);
}

static void drop(struct export *x)
{
	struct pftrace *pf = x->state;

	if (!pf)
		return;
	pf_sched_free(pf->sched);
	pf_stacks_free(pf->stacks);
	pf_tracks_free(pf->tracks);
	buf_free(&pf->packed);
	free(pf);
}

const struct exporter export_pftrace = {
	.name = "pftrace",
	.help = "a trace for ui.perfetto.dev and trace_processor",
	.suffix = ".pftrace",
	.binary = true,
	.needs = EXPORT_STACKS | EXPORT_FIELDS,
	.begin = begin,
	.record = record,
	.end = end,
	.drop = drop,
};
