/* LAYERS: view dump base */
// SPDX-License-Identifier: MIT
/*
 * Compares the names and mappings in a dump's ledger with what the kernel itself wrote: prev_comm
 * of each sched_switch, and for getpgid(pid) of load_short "p<pid>". For every sample with a user
 * call chain, the first user address must lie in a known mapping. Prints
 *
 *	samples=N wrong=N unmapped=N mapped=N exited=N kworkers=N wrong_kworkers=N
 *
 * and up to ten lines about errors. "exited": samples of processes that had ended before the
 * freeze; "kworkers": names of kernel workers among those compared. With further arguments, tids,
 * it prints the namespaces and control group of these threads at the freeze instead:
 *
 *	tid=N net=INODE uts=INODE ipc=INODE pid=INODE user=INODE mnt=INODE cgroup=INODE in=PATH
 */
#include "dump/base/err.h"
#include "dump/file/reader.h"
#include "dump/view/model/process_history.h"
#include "dump/view/model/timeline.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct counts {
	uint64_t samples, wrong, unmapped, mapped, exited, kworkers, wrong_kworkers;
};

static int fail(const struct err *err)
{
	fprintf(stderr, "%s\n", err->what);
	return 1;
}

/* The first user address of a call chain, or 0. */
static uint64_t user_ip(const struct record_sample *s)
{
	bool user = false;

	for (uint64_t i = 0; i < s->nr_callchain; i++) {
		uint64_t ip;

		memcpy(&ip, s->callchain + i * 8, 8);
		if (ip == (uint64_t)PERF_CONTEXT_USER)
			user = true;
		else if (ip >= (uint64_t)PERF_CONTEXT_MAX)
			user = false;
		else if (user)
			return ip;
	}
	return 0;
}

static void wrong(struct counts *c, const struct timeline_record *rec, const char *is,
		  const char *want)
{
	if (c->wrong++ < 10)
		printf("tid %u at %" PRIu64 " is called %s, was %s\n", rec->tid, rec->time_ns,
		       is ? is : "(nothing)", want);
}

/*
 * The thread's name according to the kernel: sched_switch begins with prev_comm[16], prev_pid. Two
 * names are not compared, because another thread sets them some time before the record of the
 * change: before Linux 6.4 a kernel thread is "kthreadd" until it gets its own name, which the
 * ledger gives it from its birth on, and before 6.10 a worker about to end becomes "kworker/dying".
 */
static bool true_name(const struct timeline_record *rec, char name[32])
{
	uint64_t arg;

	if (!strcmp(rec->event->name, "sched:sched_switch") && rec->s.raw.len >= 28) {
		memcpy(name, rec->s.raw.p + 8, 16);
		name[16] = '\0';
		return strcmp(name, "kworker/dying") && (strcmp(name, "kthreadd") || rec->tid == 2);
	}
	if (!strcmp(rec->event->name, "raw_syscalls:sys_enter") && rec->s.raw.len >= 24) {
		memcpy(&arg, rec->s.raw.p + 16, 8);
		snprintf(name, 32, "p%" PRIu64, arg);
		return arg == rec->tid; /* else another program's call */
	}
	return false;
}

static void check(struct counts *c, const struct process_history *p,
		  const struct timeline_record *rec)
{
	const char *is = history_comm(p, rec->tid, rec->time_ns);
	const struct fmt_task *task = history_task(p, rec->tid, rec->time_ns);
	uint64_t ip = user_ip(&rec->s);
	struct history_map map;
	char name[32];

	if (!rec->tid) /* the idle task has no process */
		return;
	c->samples++;
	if (task && task->exit_ns)
		c->exited++;
	if (true_name(rec, name)) {
		bool is_kworker = !strncmp(name, "kworker/", 8);
		bool is_wrong = !is || strncmp(is, name, 15);

		c->kworkers += is_kworker;
		c->wrong_kworkers += is_kworker && is_wrong;
		if (is_wrong)
			wrong(c, rec, is, name);
	}
	if (!ip)
		return;
	if (history_map(p, rec->tid, rec->time_ns, ip, &map)) {
		c->mapped++;
	} else if (c->unmapped++ < 10) {
		printf("tid %u (%s) at %" PRIu64 ": %#" PRIx64 " is in no mapping\n", rec->tid,
		       is ? is : "?", rec->time_ns, ip);
	}
}

static void place(const struct process_history *p, uint32_t tid, uint64_t ns)
{
	static const char *const kinds[] = {"net", "uts", "ipc", "pid", "user", "mnt", "cgroup"};
	const struct fmt_task *t = history_task(p, tid, ns);
	const char *cgroup = t ? history_cgroup(p, t, ns) : NULL;

	printf("tid=%u", tid);
	for (uint32_t i = 0; i < 7; i++)
		printf(" %s=%" PRIu64, kinds[i], t ? history_namespace(p, t, ns, i) : 0);
	printf(" in=%s\n", cgroup ? cgroup : "");
}

static int compare(struct reader *r, const struct meta *m, const struct process_history *p,
		   struct err *err)
{
	struct timeline_options all = {.to_ns = UINT64_MAX, .cpu = -1};
	struct timeline_record rec;
	struct timeline *t = NULL;
	struct counts c = {0};
	int rc = timeline_open(r, m, &all, &t, err);

	while (!rc && (rc = timeline_next(t, &rec, err)) > 0) {
		if (rec.event)
			check(&c, p, &rec);
		rc = 0;
	}
	printf("samples=%" PRIu64 " wrong=%" PRIu64 " unmapped=%" PRIu64 " mapped=%" PRIu64
	       " exited=%" PRIu64 " kworkers=%" PRIu64 " wrong_kworkers=%" PRIu64 "\n",
	       c.samples, c.wrong, c.unmapped, c.mapped, c.exited, c.kworkers, c.wrong_kworkers);
	timeline_close(t);
	return rc;
}

int main(int argc, char **argv)
{
	struct process_history *p = NULL;
	struct reader *r = NULL;
	struct meta *m = NULL;
	struct err err = ERR_INIT;
	int rc = 0;

	if (argc < 2 || reader_open(argv[1], &r, &err) || meta_load(r, &m, &err) ||
	    history_load(r, &p, &err))
		return fail(&err);
	for (int i = 2; i < argc; i++)
		place(p, strtoul(argv[i], NULL, 10), m->trigger.freeze_ns);
	if (argc == 2)
		rc = compare(r, m, p, &err);
	history_free(p);
	meta_free(m);
	reader_close(r);
	return rc ? fail(&err) : 0;
}
