// SPDX-License-Identifier: MIT
/*
 * Source "crash[:COMM|:PID]": a signal that indicates a fault is about to end a thread. The tap is
 * on signal:signal_deliver, where the signal takes effect with its default action. Neither the
 * system nor the crashing process is changed. The kernel filters: signals with a handler, ignored
 * signals, SIGKILL and SIGTERM do not wake the recorder.
 *
 * The record has the thread's registers and as much of its stack as perf copies, so the dump shows
 * where it crashed even after the process has exited.
 *
 * Programs with libringback-crash.so report their crash themselves, earlier (crash_told.h).
 */
#include "dump/base/err.h"
#include "dump/base/str.h"
#include "dump/base/signame.h"
#include "trigger/events/aux_pause.h"
#include "trigger/crash/crash_place.h"
#include "trigger/crash/crash_told.h"
#include "trigger/engine/evidence.h"
#include "trigger/kernel/event.h"
#include "trigger/kernel/tracefs.h"
#include "trigger/engine/rule_check.h"
#include "trigger/crash/held_cores.h"
#include "trigger/engine/source.h"
#include "trigger/events/wakeup_ring.h"
#include "trigger/sources/threads.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

/* A record is shorter than 64 KiB. This leaves room for its other fields, and for those that an
 * export to perf.data adds. */
#define STACK_BYTES 65024
/* Simultaneous crashes: records kept for one dump, and records read per call. */
#define MAX_KEPT 4
#define MAX_PASS 64
#define COMM_MAX 15

struct source {
	struct event_list events;
	struct wakeup_ring *tap;   /* NULL: not permitted, only programs report crashes */
	char why_told[200];	   /* the reason, if tap is NULL */
	uint32_t sig_at, code_at;  /* offsets in the tracepoint's fields */
	pid_t pid;		   /* 0: any process */
	char comm[COMM_MAX + 1];   /* a pattern; "": any name */
	struct told *told;	   /* crashes reported by programs; NULL: no socket */
	uint64_t nr_unseen;	   /* hits that left no record */
	struct held_cores *parked; /* borrowed; NULL: no --crash-hold */
	int epoll_fd;		   /* with `parked`: of tap and `parked`; else -1 */
	bool hold_ended;
};

/* ---- the argument ---- */

static bool all_digits(const char *s)
{
	return *s && !s[strspn(s, "0123456789")];
}

static int parse_pid(const struct rule *r, struct source *s, struct err *err)
{
	uint64_t pid;

	if (str_u64(r->arg, &pid, NULL) || !pid || pid > INT32_MAX)
		return rule_err(r->text, r->arg_at, err, "'%s' is no process id", r->arg);
	s->pid = (pid_t)pid;
	return 0;
}

static int parse_comm(const struct rule *r, struct source *s, struct err *err)
{
	size_t n = strlen(r->arg);

	if (strpbrk(r->arg, "\"\\"))
		return rule_err(r->text, r->arg_at, err,
				"a name with a quote or backslash can't be given to the kernel; "
				"take * in its place");
	if (n > COMM_MAX) {
		rule_err(r->text, r->arg_at, err,
			 "names of threads have at most %d bytes: the kernel keeps '%.*s'",
			 COMM_MAX, COMM_MAX, r->arg);
		return -EINVAL;
	}
	memcpy(s->comm, r->arg, n + 1);
	return 0;
}

static int parse(const struct rule *r, struct source *s, struct err *err)
{
	int rc;

	if (r->op != RULE_OP_NONE)
		return rule_err(r->text, r->op_at, err, "crash takes no comparison");
	rc = rule_check_moment(r, "a crash", err);
	if (rc || !*r->arg)
		return rc;
	return all_digits(r->arg) ? parse_pid(r, s, err) : parse_comm(r, s, err);
}

/* ---- opening ---- */

/* Finds the offset of a field in a tracepoint's format: "field:int sig;\toffset:8;\tsize:4;". */
static int find_field(const char *format, const char *name, uint32_t *at)
{
	char want[64];
	const char *p;
	unsigned offset, size;

	snprintf(want, sizeof(want), " %s;", name);
	p = strstr(format, want);
	if (!p || sscanf(p + strlen(want), " offset:%u; size:%u;", &offset, &size) != 2 ||
	    size != 4)
		return -ENOENT;
	*at = offset;
	return 0;
}

static int find_fields(struct source *s, struct err *err)
{
	struct buf format = {0};
	int rc = tracefs_read("events/signal/signal_deliver/format", &format, err);

	if (!rc && (find_field((char *)format.p, "sig", &s->sig_at) ||
		    find_field((char *)format.p, "code", &s->code_at)))
		rc = err_set(err, -ENOENT,
			     "signal:signal_deliver has other fields here than crash knows");
	buf_free(&format);
	return rc;
}

/* "signal:signal_deliver[sa_handler==0 && (sig==11 || ...) && comm=="x"]" */
static void write_event(const struct source *s, char *out, size_t n)
{
	size_t len = (size_t)snprintf(out, n, "signal:signal_deliver[sa_handler==0 && (");

	for (size_t i = 0; signame_faults[i]; i++)
		len += (size_t)snprintf(out + len, n - len, "%ssig==%d", i ? " || " : "",
					signame_faults[i]);
	len += (size_t)snprintf(out + len, n - len, ")");
	if (*s->comm)
		len += (size_t)snprintf(out + len, n - len, " && comm%s\"%s\"",
					strpbrk(s->comm, "*?[") ? "~" : "==", s->comm);
	snprintf(out + len, n - len, "]");
}

static int list_threads(pid_t pid, pid_t **out, size_t *nr, struct err *err)
{
	int rc = threads_list(pid, out, nr, err);

	if (rc == -ESRCH)
		err_hint(err, "crash:NAME waits for whoever has that name, also later");
	return rc;
}

static int open_tap(struct source *s, const struct rule *r, const struct source_env *env,
		    struct err *err)
{
	struct wakeup_ring_options o = {
		.event = s->events.v[0],
		.sample_type = PERF_SAMPLE_STACK_USER,
		.stack_bytes = STACK_BYTES,
		.inherit = true,
		.brakes = env && !aux_pause_unfit(r, env) ? env->brakes : NULL,
	};
	pid_t *tids = NULL;
	int rc = s->pid ? list_threads(s->pid, &tids, &o.nr_tids, err) : 0;

	o.tids = tids;
	if (!rc)
		rc = wakeup_ring_open(&o, env, &s->tap, err);
	free(tids);
	return rc;
}

/* Also waits for the threads that --crash-hold reports. */
static int join_parked(struct source *s, struct held_cores *parked, struct err *err)
{
	struct epoll_event ev = {.events = EPOLLIN};

	s->parked = parked;
	s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (s->epoll_fd < 0 || epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, wakeup_ring_fd(s->tap), &ev) ||
	    epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, held_cores_fd(parked), &ev))
		return err_sys(err, -errno, "can't wait for crashes");
	return 0;
}

static void crash_close(struct source *s)
{
	if (!s)
		return;
	told_free(s->told);
	wakeup_ring_close(s->tap);
	event_list_free(&s->events);
	if (s->epoll_fd >= 0)
		close(s->epoll_fd);
	free(s);
}

static int watch_signals(struct source *s, const struct rule *r, const struct source_env *env,
			 struct err *err)
{
	char event[512];
	int rc;

	write_event(s, event, sizeof(event));
	rc = event_parse(event, env ? env->caps : NULL, &s->events, err);
	if (!rc)
		rc = find_fields(s, err);
	if (!rc)
		rc = open_tap(s, r, env, err);
	return rc;
}

/* Without permission to watch signals the rule still serves programs with libringback-crash.so. */
static int watch_programs(struct source *s, int rc, const struct err *err)
{
	const char *why = strstr(err->what, "': ");

	if ((rc != -EACCES && rc != -EPERM) || !s->told || s->parked)
		return rc;
	snprintf(s->why_told, sizeof(s->why_told),
		 "only programs with libringback-crash.so are seen: %.130s",
		 why ? why + 3 : err->what);
	return 0;
}

static int crash_open(const struct rule *r, const struct source_env *env, struct source **out,
		      struct err *err)
{
	struct source *s = calloc(1, sizeof(*s));
	struct err why = ERR_INIT;
	int rc;

	if (!s)
		return err_set(err, -ENOMEM, "out of memory for a trigger");
	s->epoll_fd = -1;
	rc = parse(r, s, &why);
	if (!rc && env && env->tell && told_new(env->tell, s->pid, s->comm, &s->told))
		rc = err_set(&why, -ENOMEM, "out of memory for a trigger");
	if (!rc) {
		s->parked = env ? env->parked : NULL;
		rc = watch_signals(s, r, env, &why);
		if (rc)
			rc = watch_programs(s, rc, &why);
	}
	if (!rc && s->parked)
		rc = join_parked(s, s->parked, &why);
	if (rc) {
		if (err)
			*err = why;
		crash_close(s);
		return rc;
	}
	*out = s;
	return 0;
}

/* ---- a crash ---- */

static int32_t number(struct bytes raw, uint32_t at)
{
	int32_t v = 0;

	if (span_fits(at, sizeof(v), raw.len))
		memcpy(&v, raw.p + at, sizeof(v));
	return v;
}

/* Names the process too, if the thread has another name, such as bio_aof of redis-server. */
static void say_process(const struct wakeup_ring_sample *t, struct sighting *what)
{
	char leader[16] = "", safe[64];

	if (t->pid != t->tid)
		source_comm(t->pid, leader);
	if (*leader && strcmp(leader, what->comm) != 0)
		sighting_add(what, "process=%s",
			     str_safe(safe, sizeof(safe), leader, strlen(leader)));
}

static void fill(struct source *s, const struct wakeup_ring_sample *t, struct sighting *what)
{
	int sig = number(t->raw, s->sig_at), code = number(t->raw, s->code_at);
	char name[32], code_name[32];
	struct event_frame f;

	wakeup_ring_sighting(s->tap, t, what); /* reads the thread's name before it exits */
	what->stack_hash = crash_place_hash(t->regs, t->stack, sig);
	sighting_add(what, "signal=%s", signame(sig, name, sizeof(name)));
	sighting_add(what, "code=%s", signame_code(sig, code, code_name, sizeof(code_name)));
	say_process(t, what);
	if (event_user_frame(t->regs, &f))
		sighting_add(what, "ip=0x%llx", (unsigned long long)f.ip);
	if (s->parked && what->evidence)
		held_cores_expect(s->parked, (pid_t)t->pid, what->evidence);
}

/* Adds another crash of the same moment; its record joins the first one's evidence. */
static void add_other(struct source *s, const struct wakeup_ring_sample *t, struct sighting *what)
{
	int sig = number(t->raw, s->sig_at);
	char comm[16], safe[64], name[32];

	what->nr_hits++;
	if (what->nr_hits > MAX_KEPT)
		return;
	if (what->evidence)
		evidence_add(what->evidence, 0, t->cpu, t->rec);
	if (s->parked && what->evidence)
		held_cores_expect(s->parked, (pid_t)t->pid, what->evidence);
	source_comm(t->tid, comm);
	sighting_add(what, "also=%s, pid %u, tid %u, %s",
		     *comm ? str_safe(safe, sizeof(safe), comm, strlen(comm)) : "?", t->pid, t->tid,
		     signame(sig, name, sizeof(name)));
}

/* Crashes without a record are hits too. */
static void count_unseen(struct source *s, struct sighting *what)
{
	uint64_t lost = wakeup_ring_take_lost(s->tap);

	s->nr_unseen += lost;
	if (what->nr_hits)
		what->nr_hits += lost < 1000000 ? (uint32_t)lost : 1000000;
}

static int crash_ready(struct source *s, struct sighting *what, struct err *err)
{
	struct wakeup_ring_sample t;
	int rc = 0;

	/* First, because these programs wait for the answer. */
	if (s->told && told_next(s->told, what)) {
		if (s->parked && what->evidence)
			held_cores_expect(s->parked, (pid_t)what->pid, what->evidence);
		return 1;
	}
	if (!s->tap)
		return 0;
	for (int i = 0; i < MAX_PASS && (rc = wakeup_ring_next(s->tap, &t, err)) > 0; i++) {
		if (s->pid && t.pid != (uint32_t)s->pid)
			continue; /* the event is inherited by child processes */
		if (s->told && told_is_same(s->told, (pid_t)t.pid))
			continue; /* the program has reported this crash itself */
		if (what->nr_hits)
			add_other(s, &t, what);
		else
			fill(s, &t, what);
	}
	count_unseen(s, what);
	/* The signal precedes the core, so the process of each thread reported here is known. */
	if (s->parked)
		s->hold_ended = !held_cores_pump(s->parked);
	return rc < 0 ? rc : what->nr_hits > 0;
}

static void crash_answered(struct source *s)
{
	if (s->told)
		told_answer(s->told);
}

static int crash_fd(const struct source *s, uint32_t *events)
{
	if (!s->tap)
		return -1;
	return s->epoll_fd >= 0 ? s->epoll_fd : wakeup_ring_fd(s->tap);
}

static int crash_cpu(struct source *s, int cpu, bool online, struct err *err)
{
	return s->tap ? wakeup_ring_cpu(s->tap, cpu, online, err) : 0;
}

static void crash_brake(struct source *s, bool on)
{
	if (s->tap)
		wakeup_ring_brake(s->tap, on);
}

/* ---- plan and trouble ---- */

static void crash_plan(const struct source *s, struct source_plan *out)
{
	char whom[64] = "any thread";

	out->brakes = s->tap && wakeup_ring_brakes(s->tap);
	if (s->pid)
		snprintf(whom, sizeof(whom), "a thread of process %d", (int)s->pid);
	else if (*s->comm)
		snprintf(whom, sizeof(whom), "a thread named %s", s->comm);
	if (!s->tap) {
		snprintf(out->watches, sizeof(out->watches), "%s", s->why_told);
		snprintf(out->costs, sizeof(out->costs), "nothing until such a program crashes");
		return;
	}
	snprintf(out->watches, sizeof(out->watches),
		 "signal:signal_deliver, for a fatal signal that %s does not handle", whom);
	snprintf(out->costs, sizeof(out->costs),
		 "a comparison in the kernel for each signal that is delivered; no wake-up until "
		 "something crashes");
}

static bool crash_trouble(const struct source *s, char *out, size_t n)
{
	if (s->pid && kill(s->pid, 0) && errno == ESRCH)
		snprintf(out, n, "process %d has ended: it can't crash any more", (int)s->pid);
	else if (s->hold_ended)
		snprintf(out, n, "--crash-hold has ended: only crashing threads are recorded");
	else if (!s->tap)
		snprintf(out, n, "%s", s->why_told);
	else if (s->nr_unseen)
		snprintf(out, n, "%llu crashes came too fast to be looked at",
			 (unsigned long long)s->nr_unseen);
	else
		return false;
	return true;
}

const struct source_ops source_crash = {
	.name = "crash",
	.syntax = "crash[:COMM|:PID]",
	.help = "a thread is ended by a signal that means a fault (SIGSEGV, SIGABRT, ...)",
	.example = "crash",
	.open = crash_open,
	.fd = crash_fd,
	.ready = crash_ready,
	.answered = crash_answered,
	.brake = crash_brake,
	.cpu = crash_cpu,
	.plan = crash_plan,
	.trouble = crash_trouble,
	.close = crash_close,
};
