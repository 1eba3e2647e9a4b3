// SPDX-License-Identifier: MIT
/*
 * Maps, rings and programs of a stopwatch, and what it tells; see bpf_latency.h. The pieces of the
 * programs are in bpf_latency_code.c, while-running in bpf_latency_look.c.
 */
#include "trigger/bpf/bpf_latency_impl.h"

#include "dump/base/err.h"
#include "dump/base/str.h"
#include "trigger/events/event_field.h"
#include "trigger/kernel/clock.h"
#include "trigger/engine/rule.h"
#include "trigger/engine/source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

/* ---- opening ---- */

static int check(const struct rule *r, int64_t *threshold_ns, struct err *err)
{
	if (r->op != RULE_OP_ABOVE)
		return rule_err(r->text, r->op == RULE_OP_NONE ? strcspn(r->text, ";") : r->op_at,
				err, "expected '>' and how long it may take, such as >10ms");
	if (str_time(r->threshold, threshold_ns, NULL) || *threshold_ns <= 0)
		return rule_err(r->text, r->threshold_at, err,
				"expected a time such as 250us, 10ms or 2s, found '%s'",
				r->threshold);
	if (r->for_ns >= 0 || r->hysteresis_percent >= 0)
		return rule_err(r->text, strcspn(r->text, ";"), err,
				"each call is judged by itself: %s makes no sense with %s",
				r->for_ns >= 0 ? "for=" : "hysteresis=", r->source);
	return 0;
}

static int open_maps(struct bpf_latency *w, struct err *err)
{
	const struct {
		struct bpf_map_options o;
		int *fd;
	} maps[] = {
		{{BPF_MAP_TYPE_HASH, 4, bpf_latency_note_bytes(w), BPF_LATENCY_CALLS, "rb_calls"},
		 &w->calls},
		{{BPF_MAP_TYPE_PERF_EVENT_ARRAY, 4, 4, bpf_nr_cpus(), "rb_output"}, &w->output},
		{{BPF_MAP_TYPE_PERCPU_ARRAY, 4, 8, NR_COUNTS, "rb_counts"}, &w->counts},
		{{BPF_MAP_TYPE_ARRAY, 4, 8, 1, "rb_awake"}, &w->awake},
	};

	for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++) {
		int rc = bpf_map_open(&maps[i].o, maps[i].fd, err);

		if (rc)
			return rc;
	}
	return 0;
}

/* The programs on that CPU write into the ring of the tap's event there. */
static int connect_cpu(struct bpf_latency *w, uint32_t cpu, struct err *err)
{
	int fd = wakeup_ring_cpu_fd(w->tap, (int)cpu), rc;

	if (fd < 0)
		return 0;
	rc = bpf_map_set(w->output, &cpu, &fd);
	return rc ? err_sys(err, rc, "BPF programs can't write into the ring of CPU %u", cpu) : 0;
}

static int open_tap(struct bpf_latency *w, const struct bpf_latency_options *o,
		    const struct source_env *env, struct err *err)
{
	struct wakeup_ring_options t = {.sample_type = PERF_SAMPLE_RAW,
					.stack_bytes = o->stack_bytes};
	int rc = event_parse("bpf-output/period=1/", NULL, &w->output_event, err);

	if (rc)
		return rc;
	t.event = w->output_event.v[0];
	if (o->stack_bytes)
		t.sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	rc = wakeup_ring_open(&t, env, &w->tap, err);
	for (uint32_t cpu = 0; !rc && cpu < bpf_nr_cpus(); cpu++)
		rc = connect_cpu(w, cpu, err);
	return rc;
}

static int add_fd(int epoll_fd, int fd)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.fd = fd};

	return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &ev) ? -errno : 0;
}

static int open_running(struct bpf_latency *w, struct err *err)
{
	int rc = bpf_latency_running_open(w, err);

	if (rc)
		return rc;
	w->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	rc = w->epoll_fd < 0 ? -errno : add_fd(w->epoll_fd, wakeup_ring_fd(w->tap));
	if (!rc)
		rc = add_fd(w->epoll_fd, bpf_latency_running_fd(w));
	return rc ? err_sys(err, rc, "epoll for a trigger") : 0;
}

int bpf_latency_open(const struct bpf_latency_options *o, const struct source_env *env,
		     struct bpf_latency **out, struct err *err)
{
	struct bpf_latency *w;
	int64_t threshold = 0;
	int rc = check(o->rule, &threshold, err);

	if (rc)
		return rc;
	w = calloc(1, sizeof(*w));
	if (!w)
		return err_set(err, -ENOMEM, "out of memory for a trigger");
	w->threshold_ns = (uint64_t)threshold;
	w->nr_frames = o->nr_frames;
	w->nr_extra = o->nr_extra;
	w->while_running = o->rule->while_running;
	w->own_pid = env ? (uint32_t)getpid() : 0;
	w->command_pid = env ? (uint32_t)env->command_pid : 0;
	w->calls = w->output = w->counts = w->awake = w->epoll_fd = -1;
	rc = open_maps(w, err);
	if (!rc)
		rc = open_tap(w, o, env, err);
	if (!rc && w->while_running)
		rc = open_running(w, err);
	if (rc)
		bpf_latency_close(w);
	else
		*out = w;
	return rc;
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

/* Programs first, in the order they were put on: what begins is noted no more. */
void bpf_latency_close(struct bpf_latency *w)
{
	if (!w)
		return;
	for (unsigned i = 0; i < w->nr_on; i++) {
		close_fd(w->on[i].event);
		close_fd(w->on[i].prog);
	}
	bpf_latency_running_close(w);
	close_fd(w->epoll_fd);
	wakeup_ring_close(w->tap);
	event_list_free(&w->output_event);
	close_fd(w->calls);
	close_fd(w->output);
	close_fd(w->counts);
	close_fd(w->awake);
	free(w);
}

/* ---- programs ---- */

int bpf_latency_attach(struct bpf_latency *w, const struct bpf_code *c, enum bpf_prog_type type,
		       const char *text, const struct source_env *env, struct err *err)
{
	struct event_list l = {0};
	int rc = event_parse(text, env ? env->caps : NULL, &l, err), prog = -1, event = -1;

	if (rc)
		return rc;
	rc = bpf_load(c, type, "ringback", &prog, err);
	if (!rc)
		rc = bpf_attach(&l.v[0]->attr, l.v[0]->name, prog, &event, err);
	event_list_free(&l);
	if (rc) {
		close_fd(prog);
		return rc;
	}
	w->on[w->nr_on].prog = prog;
	w->on[w->nr_on].event = event;
	w->nr_on++;
	return 0;
}

/* The thread that calls exec ends for all that is noted; when it is not the first of its process,
 * it also takes that one's id. */
static int attach_exec(struct bpf_latency *w, bool own_exec, const struct source_env *env,
		       struct err *err)
{
	struct bpf_code c = {0};
	struct event_field old_pid;
	int skip = bpf_label(&c);
	int rc = event_field_find("sched/sched_process_exec", "old_pid", &old_pid, err);

	if (rc)
		return rc;
	bpf_move(&c, BPF_REG_6, BPF_REG_1);
	bpf_latency_key(&c);
	bpf_get(&c, BPF_W, BPF_REG_1, BPF_REG_6, (int)old_pid.offset);
	bpf_put(&c, BPF_W, BPF_REG_10, -BPF_LATENCY_KEY_AT, BPF_REG_1);
	if (!own_exec) {
		bpf_alu_imm(&c, BPF_LSH, BPF_REG_0, 32);
		bpf_alu_imm(&c, BPF_LSH, BPF_REG_1, 32);
		bpf_jump_if(&c, BPF_JEQ, BPF_REG_0, BPF_REG_1, skip);
	}
	bpf_latency_drop(w, &c);
	bpf_place(&c, skip);
	bpf_return(&c, 1);
	return bpf_latency_attach(w, &c, BPF_PROG_TYPE_TRACEPOINT, "sched:sched_process_exec", env,
				  err);
}

int bpf_latency_attach_ends(struct bpf_latency *w, bool own_exec, const struct source_env *env,
			    struct err *err)
{
	struct bpf_code c = {0};
	int rc;

	bpf_latency_key(&c);
	bpf_latency_drop(w, &c);
	bpf_return(&c, 1);
	rc = bpf_latency_attach(w, &c, BPF_PROG_TYPE_TRACEPOINT, "sched:sched_process_exit", env,
				err);
	return rc ? rc : attach_exec(w, own_exec, env, err);
}

/* ---- what it tells ---- */

int bpf_latency_fd(const struct bpf_latency *w)
{
	return w->epoll_fd >= 0 ? w->epoll_fd : wakeup_ring_fd(w->tap);
}

/* "12.3ms" */
static char *fmt_ns(char *out, size_t n, uint64_t ns)
{
	char spaced[32], *to = out;

	str_fmt_time(spaced, sizeof(spaced), (int64_t)ns);
	for (const char *p = spaced; *p && n > 1; p++) {
		if (*p == ' ')
			continue;
		*to++ = *p;
		n--;
	}
	*to = '\0';
	return out;
}

/* The process of a thread, and its parent; 0 when it is gone. */
static uint32_t process_of(uint32_t tid, uint32_t *parent)
{
	char path[40], line[128];
	uint32_t pid = 0;
	FILE *f;

	*parent = 0;
	snprintf(path, sizeof(path), "/proc/%u/status", tid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f) && sscanf(line, "PPid: %u", parent) != 1)
		sscanf(line, "Tgid: %u", &pid);
	if (f)
		fclose(f);
	return pid;
}

/*
 * The recorder itself and the processes that it works with: a dump that is written at idle
 * priority, and its fsync, would be the reason of the next one for ever.
 */
static bool is_own(const struct bpf_latency *w, struct bpf_latency_record *rec)
{
	uint32_t parent, pid = process_of(rec->tid, &parent);

	if (!rec->pid)
		rec->pid = pid;
	if (!w->own_pid)
		return false;
	return rec->pid == w->own_pid || (parent == w->own_pid && rec->pid != w->command_pid);
}

static void describe(const struct bpf_latency *w, const struct bpf_latency_record *rec,
		     struct sighting *what)
{
	uint64_t end = rec->ended_ns ? rec->ended_ns : clock_ns();
	char took[32], threshold[32];

	what->ns = end;
	what->began_ns = rec->began_ns;
	what->tid = rec->tid;
	what->pid = rec->pid;
	what->uid = source_uid(rec->tid);
	memcpy(what->comm, rec->comm, sizeof(what->comm));
	what->comm[sizeof(what->comm) - 1] = '\0';
	if (!what->nr_hits)
		what->nr_hits = 1;
	sighting_add(what, "duration=%s%s", fmt_ns(took, sizeof(took), end - rec->began_ns),
		     rec->ended_ns ? "" : " so far");
	sighting_add(what, "threshold=%s", fmt_ns(threshold, sizeof(threshold), w->threshold_ns));
}

/* The next record that is news; `given`: the sample it came in. */
static int next_told(struct bpf_latency *w, struct bpf_latency_record *rec,
		     struct wakeup_ring_sample *given, struct err *err)
{
	int rc;

	while ((rc = wakeup_ring_next(w->tap, given, err)) == 1) {
		struct bytes raw = given->raw;

		if (!bytes_get(&raw, rec, sizeof(*rec)))
			continue;
		if (rec->kind == BPF_LATENCY_BEGUN)
			bpf_latency_running_start(w);
		else if (!bpf_latency_running_knows(w, rec->tid, rec->began_ns))
			return 1;
	}
	return rc;
}

int bpf_latency_ready(struct bpf_latency *w, struct bpf_latency_record *rec, struct sighting *what,
		      struct err *err)
{
	struct wakeup_ring_sample s;
	uint64_t more = 0;
	int rc;

	bpf_latency_running_look(w);
	do
		rc = next_told(w, rec, &s, err);
	while (rc == 1 && is_own(w, rec));
	if (rc == 1) {
		wakeup_ring_sighting(w->tap, &s, what);
	} else if (!rc) {
		do
			rc = bpf_latency_running_next(w, rec, &more);
		while (rc == 1 && is_own(w, rec));
		more += wakeup_ring_take_lost(w->tap);
		what->nr_hits = rc ? 1 : 0;
	}
	if (rc == 1) {
		describe(w, rec, what);
		what->nr_hits += (uint32_t)more;
	}
	return rc;
}

uint64_t bpf_latency_skip(struct bpf_latency *w)
{
	struct bpf_latency_record rec;
	struct wakeup_ring_sample s;
	uint64_t nr = 0, more = 0;

	bpf_latency_running_look(w);
	while (next_told(w, &rec, &s, NULL) == 1)
		nr++;
	while (bpf_latency_running_next(w, &rec, &more) == 1)
		nr += 1 + more;
	return nr + wakeup_ring_take_lost(w->tap);
}

int bpf_latency_cpu(struct bpf_latency *w, int cpu, bool online, struct err *err)
{
	int rc;

	if (!online)
		bpf_map_delete(w->output, &(uint32_t){(uint32_t)cpu});
	rc = wakeup_ring_cpu(w->tap, cpu, online, err);
	if (!rc && online)
		rc = connect_cpu(w, (uint32_t)cpu, err);
	return rc;
}

/* ---- what it has missed ---- */

static uint64_t sum(const struct bpf_latency *w, uint32_t index)
{
	uint32_t nr = bpf_nr_cpus();
	uint64_t *v = calloc(nr, sizeof(*v)), total = 0;

	if (v && !bpf_map_get(w->counts, &index, v))
		for (uint32_t i = 0; i < nr; i++)
			total += v[i];
	free(v);
	return total;
}

bool bpf_latency_trouble(const struct bpf_latency *w, char *out, size_t n)
{
	uint64_t full = sum(w, COUNT_FULL), untold = sum(w, COUNT_UNTOLD), missed = 0;
	size_t at = 0;

	for (unsigned i = 0; i < w->nr_on; i++)
		missed += bpf_nr_missed(w->on[i].prog);
	*out = '\0';
	if (full)
		at += (size_t)snprintf(out, n, "%llu not timed: %u threads were inside already",
				       (unsigned long long)full, BPF_LATENCY_CALLS);
	if (untold && at < n)
		at += (size_t)snprintf(out + at, n - at, "%s%llu not told: no ring on that CPU",
				       at ? "; " : "", (unsigned long long)untold);
	if (missed && at < n)
		snprintf(out + at, n - at, "%s%llu not seen: another BPF program ran",
			 at ? "; " : "", (unsigned long long)missed);
	return *out;
}

void bpf_latency_costs(const struct bpf_latency *w, char *out, size_t n)
{
	char ns[32];
	size_t at = strlen(out);

	if (w->while_running)
		snprintf(out + at, n - at, "; while calls come, a look each %s",
			 fmt_ns(ns, sizeof(ns), w->threshold_ns / 2));
}
