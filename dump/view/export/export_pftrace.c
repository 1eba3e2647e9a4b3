// SPDX-License-Identifier: MIT
/* `ringback export -f pftrace`: a Perfetto trace. See export_pftrace.h for its parts. */
#include "dump/view/export/export_pftrace.h"

#include "dump/base/err.h"
#include "dump/base/str.h"
#include "dump/view/model/process_history.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

/* Clock numbers of Perfetto. */
#define CLOCK_ID_REALTIME  1
#define CLOCK_ID_MONOTONIC 3
#define CLOCK_ID_BOOTTIME  6

enum { TRACE_PACKET = 1 };
enum { SNAPSHOT_CLOCK = 1 };
enum { CLOCK_ID = 1, CLOCK_TIMESTAMP };
enum { SYSTEM_UTSNAME = 1 };
enum { UTSNAME_SYSNAME = 1, UTSNAME_VERSION, UTSNAME_RELEASE, UTSNAME_MACHINE };
enum { TREE_PROCESS = 1, TREE_THREAD };
enum { PROCESS_PID = 1, PROCESS_PPID, PROCESS_CMDLINE };
enum { THREAD_TID = 1, THREAD_NAME, THREAD_TGID };

#define SEQUENCE	 1
#define SEQUENCE_ANEW	 1
#define SEQUENCE_GOES_ON 2
/* A thread runs on after the record of its exit, up to its last switch. */
#define RUNS_ON_NS 1000000000u

uint64_t pf_ns(const struct pftrace *pf, uint64_t ns)
{
	return ns + (uint64_t)pf->x->a.m->host.boot_minus_clock;
}

char *pf_text(char *out, size_t n, const char *text, size_t len)
{
	return str_safe(out, n, text ? text : "", text ? len : 0);
}

struct text *pf_begin(struct pftrace *pf, uint64_t ns)
{
	pf->packet.b.len = 0;
	proto_number(&pf->packet, PACKET_TIMESTAMP, pf_ns(pf, ns));
	return &pf->packet;
}

void pf_put(struct pftrace *pf)
{
	struct text *p = &pf->packet;

	if (pf->rc)
		return;
	proto_number(p, PACKET_SEQUENCE_ID, SEQUENCE);
	proto_number(p, PACKET_SEQUENCE_FLAGS, pf->begun ? SEQUENCE_GOES_ON : SEQUENCE_ANEW);
	pf->begun = true;
	pf->rc = p->rc;
	if (pf->rc)
		return;
	proto_bytes(&pf->x->out, TRACE_PACKET, p->b.p, p->b.len);
	text_flush_large(&pf->x->out);
}

/* ---- the beginning ---- */

static void put_clocks(struct pftrace *pf)
{
	const struct meta *m = pf->x->a.m;
	uint64_t ns = m->trigger.hit_ns;
	const uint64_t values[][2] = {
		{CLOCK_ID_BOOTTIME, pf_ns(pf, ns)},
		{CLOCK_ID_MONOTONIC, ns},
		{CLOCK_ID_REALTIME, ns + (uint64_t)m->host.real_minus_clock},
	};
	struct text *p = pf_begin(pf, ns);
	size_t snapshot = proto_open(p, PACKET_CLOCK_SNAPSHOT);

	for (size_t i = 0; i < 3; i++) {
		size_t clock = proto_open(p, SNAPSHOT_CLOCK);

		proto_number(p, CLOCK_ID, values[i][0]);
		proto_number(p, CLOCK_TIMESTAMP, values[i][1]);
		proto_close(p, clock);
	}
	proto_close(p, snapshot);
	pf_put(pf);
}

/* Perfetto reads prev_state of a switch by the kernel's release. */
static void put_system(struct pftrace *pf)
{
	struct text *p = &pf->packet;
	char uname[512], *save = NULL, *machine, *sysname, *release;
	size_t info, name;

	pf_text(uname, sizeof(uname), pf->x->a.m->uname, strlen(pf->x->a.m->uname));
	machine = strrchr(uname, ' ');
	if (machine)
		*machine++ = '\0';
	sysname = strtok_r(uname, " ", &save);
	release = strtok_r(NULL, " ", &save);
	if (!release)
		return;
	p->b.len = 0;
	info = proto_open(p, PACKET_SYSTEM_INFO);
	name = proto_open(p, SYSTEM_UTSNAME);
	proto_string(p, UTSNAME_SYSNAME, sysname);
	proto_string(p, UTSNAME_VERSION, strtok_r(NULL, "", &save));
	proto_string(p, UTSNAME_RELEASE, release);
	proto_string(p, UTSNAME_MACHINE, machine);
	proto_close(p, name);
	proto_close(p, info);
	pf_put(pf);
}

/* 0: no tree is open. */
static size_t end_tree(struct pftrace *pf, size_t tree)
{
	proto_close(&pf->packet, tree);
	pf_put(pf);
	return 0;
}

static void put_thread(struct pftrace *pf, const struct fmt_task *t)
{
	const char *comm =
		history_comm(pf->x->a.history, t->tid, t->exit_ns ? t->exit_ns : UINT64_MAX);
	struct text *p = &pf->packet;
	char name[72];
	size_t m;

	pf_text(name, sizeof(name), comm, comm ? strlen(comm) : 0);
	if (t->tid == t->pid) {
		m = proto_open(p, TREE_PROCESS);
		proto_number(p, PROCESS_PID, t->pid);
		proto_number(p, PROCESS_PPID, t->ppid);
		proto_string(p, PROCESS_CMDLINE, name);
		proto_close(p, m);
	}
	m = proto_open(p, TREE_THREAD);
	proto_number(p, THREAD_TID, t->tid);
	proto_string(p, THREAD_NAME, name);
	proto_number(p, THREAD_TGID, t->pid);
	proto_close(p, m);
}

/* Writes the tasks that were there at `from_ns` in one packet, and each later one in a packet of
 * its own at its own time, since a tid may be reused. */
static void put_tasks(struct pftrace *pf, uint64_t from_ns)
{
	const struct process_history *h = pf->x->a.history;
	size_t tree = 0;

	for (size_t i = 0; i < history_nr_tasks(h); i++) {
		const struct fmt_task *t = history_nth(h, i);
		bool late = t->start_ns > from_ns;

		if (t->exit_ns && t->exit_ns + RUNS_ON_NS < from_ns)
			continue;
		if (tree && late)
			tree = end_tree(pf, tree);
		if (!tree)
			tree = proto_open(pf_begin(pf, late ? t->start_ns : from_ns),
					  PACKET_PROCESS_TREE);
		put_thread(pf, t);
		if (late)
			tree = end_tree(pf, tree);
	}
	if (tree)
		end_tree(pf, tree);
}

/* The time of the oldest record in any ring. */
static uint64_t oldest(const struct export *x)
{
	uint64_t ns = x->a.m->trigger.hit_ns;

	for (size_t i = 0; i < x->a.m->nr_windows; i++)
		if (x->a.m->windows[i].first_ns && x->a.m->windows[i].first_ns < ns)
			ns = x->a.m->windows[i].first_ns;
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
	put_tasks(pf, oldest(x));
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
		/* Bundles cannot hold stacks. */
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
	text_free(&pf->packet);
	free(pf);
}

const struct exporter export_pftrace = {
	.name = "pftrace",
	.help = "a trace for ui.perfetto.dev and trace_processor",
	.suffix = ".pftrace",
	.binary = true,
	.needs = ANALYSIS_STACKS | ANALYSIS_FIELDS,
	.begin = begin,
	.record = record,
	.end = end,
	.drop = drop,
};
