// SPDX-License-Identifier: MIT
/* Loads and attaches the programs of rules on durations and reads their rings; see bpf_latency.h.
 * The programs are in latency.bpf.c and wait.bpf.c, while-running is in bpf_latency_look.c. */
#include "trigger/bpf/bpf_latency_impl.h"

#include "dump/base/err.h"
#include "dump/base/str.h"
#include "trigger/kernel/clock.h"
#include "trigger/kernel/settings.h"
#include "trigger/engine/rule.h"
#include "trigger/engine/source.h"

#include <assert.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <trigger/bpf/latency.skel.h>
#include <trigger/bpf/wait.skel.h>

#define LOG_BYTES (256u << 10)
#define BTF_PATH  "/sys/kernel/btf/vmlinux"

/* ---- loading ---- */

static int refuse(struct err *err, int code, const char *what)
{
	int64_t v;

	err_sys(err, code, "the kernel refuses %s", what);
	if (code == -ENOSYS)
		err_hint(err,
			 "this kernel has no bpf(2): use one with CONFIG_BPF_SYSCALL, or rules "
			 "such as event: and psi:");
	else if (code != -EPERM && code != -EACCES)
		;
	else if (!(setting_capable(CAP_BPF) && setting_capable(CAP_PERFMON)) &&
		 !setting_capable(CAP_SYS_ADMIN))
		err_hint(err,
			 "rules on latency are decided by BPF programs in the kernel: run as root, "
			 "or "
			 "sudo setcap cap_bpf,cap_perfmon,cap_dac_read_search+ep %s%s",
			 setting_program((char[256]){0}, 256),
			 setting_number("kernel/unprivileged_bpf_disabled", &v) && v
				 ? "  (kernel.unprivileged_bpf_disabled lets nobody else)"
				 : "");
	else
		err_hint(err, "a locked-down kernel does not let BPF programs read: "
			      "cat /sys/kernel/security/lockdown");
	return code;
}

/* The end of the verifier's log, as one line. */
static void last_words(const char *log, char *out, size_t n)
{
	size_t len = strlen(log), from;

	while (len && log[len - 1] == '\n')
		len--;
	/* The summary line ("processed 12 insns ...") does not give the reason. */
	for (from = len; from && log[from - 1] != '\n'; from--)
		;
	if (from && !strncmp(log + from, "processed ", 10))
		for (len = from - 1; len && log[len - 1] == '\n'; len--)
			;
	from = len > 300 ? len - 300 : 0;
	str_safe(out, n, log + from, len - from);
}

/* Reports the verifier's reason, or what the kernel lacks. */
static int explain(int rc, bool waits, const char *log, struct err *err)
{
	char words[500];

	if (waits && access(BTF_PATH, R_OK)) {
		err_sys(err, rc, "can't load BPF programs: this kernel has no " BTF_PATH);
		err_hint(err, "use a kernel with CONFIG_DEBUG_INFO_BTF, or rules such as latency: "
			      "and syscall:");
		return rc;
	}
	refuse(err, rc, "BPF programs");
	last_words(log, words, sizeof(words));
	if (words[0])
		err_sys(err, rc, "the kernel refuses BPF programs: %s", words);
	return rc;
}

static int open_programs(struct bpf_latency *w, bool waits, const struct bpf_object_open_opts *opts,
			 const struct bpf_latency_params *params)
{
	if (waits) {
		struct wait_bpf *b = w->waits = wait_bpf__open_opts(opts);

		if (!b)
			return -errno;
		w->programs = b->obj;
		w->skeleton = b->skeleton;
		w->state = &b->bss->state;
		b->rodata->params = *params;
	} else {
		struct latency_bpf *b = w->latency = latency_bpf__open_opts(opts);

		if (!b)
			return -errno;
		w->programs = b->obj;
		w->skeleton = b->skeleton;
		w->state = &b->bss->state;
		b->rodata->params = *params;
		/* Load only the programs that fit this note size: the others access memory beyond
		 * it. */
		bpf_program__set_autoload(b->progs.latency_start, !w->nr_extra);
		bpf_program__set_autoload(b->progs.latency_return, !w->nr_extra);
		bpf_program__set_autoload(b->progs.latency_enter, w->nr_extra);
		bpf_program__set_autoload(b->progs.latency_exit, w->nr_extra);
	}
	return 0;
}

static int load_programs(struct bpf_latency *w, const struct bpf_latency_options *o,
			 struct err *err)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .kernel_log_buf = calloc(1, LOG_BYTES),
		    .kernel_log_size = LOG_BYTES);
	struct bpf_latency_params params = o->params;
	struct bpf_map *calls, *output;
	int rc;

	if (!opts.kernel_log_buf)
		return err_set(err, -ENOMEM, "out of memory for a trigger");
	params.threshold_ns = w->threshold_ns;
	params.while_running = w->while_running;
	libbpf_set_print(NULL);
	rc = open_programs(w, o->waits, &opts, &params);
	if (!rc) {
		calls = bpf_object__find_map_by_name(w->programs, "rb_calls");
		output = bpf_object__find_map_by_name(w->programs, "rb_output");
		bpf_map__set_value_size(calls, bpf_latency_note_bytes(w));
		bpf_map__set_max_entries(output, (uint32_t)libbpf_num_possible_cpus());
		rc = bpf_object__load_skeleton(w->skeleton);
	}
	if (rc) {
		rc = explain(rc, o->waits, opts.kernel_log_buf, err);
	} else {
		w->calls = bpf_map__fd(calls);
		w->output = bpf_map__fd(output);
	}
	free(opts.kernel_log_buf);
	return rc;
}

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

/* Makes the programs that run on `cpu` write into the ring of the tap's event there. */
static int connect_cpu(struct bpf_latency *w, uint32_t cpu, struct err *err)
{
	int fd = wakeup_ring_cpu_fd(w->tap, (int)cpu), rc;

	if (fd < 0)
		return 0;
	rc = bpf_map_update_elem(w->output, &cpu, &fd, BPF_ANY);
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
	for (uint32_t cpu = 0; !rc && cpu < (uint32_t)libbpf_num_possible_cpus(); cpu++)
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
	w->epoll_fd = -1;
	rc = load_programs(w, o, err);
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

/* Detaches the programs first, in the order of attachment, so that no new notes are made. */
void bpf_latency_close(struct bpf_latency *w)
{
	if (!w)
		return;
	for (unsigned i = 0; i < w->nr_on; i++) {
		bpf_link__destroy(w->on[i].link);
		close_fd(w->on[i].event);
	}
	bpf_latency_running_close(w);
	close_fd(w->epoll_fd);
	wakeup_ring_close(w->tap);
	event_list_free(&w->output_event);
	wait_bpf__destroy(w->waits);
	latency_bpf__destroy(w->latency);
	free(w);
}

/* ---- attaching ---- */

static int any_cpu(void)
{
	int cpu = 0;

	while (cpu < 4096 && !setting_cpu_online(cpu))
		cpu++;
	return cpu;
}

/*
 * An event that only runs the program: it counts and samples nothing and needs no ring. It is never
 * enabled. The kernel runs a program for hits on all CPUs as soon as it is set, because
 * trace_call_bpf() comes before the check for enabled events. So one event serves all CPUs, and its
 * own CPU may go offline. bpf_program__attach_perf_event() would enable it.
 */
static int attach_event(const struct event *e, int prog_fd, int *fd, struct err *err)
{
	struct perf_event_attr a = e->attr;
	int cpu = any_cpu(), event, rc;
	char what[300];

	a.size = sizeof(a);
	a.sample_period = 0;
	a.sample_type = 0;
	a.freq = 0;
	a.wakeup_events = 0;
	a.disabled = 1;
	event = event_open(&a, -1, cpu, -1, 0);
	if (event < 0)
		return event_strerror(err, event, e->name, &a, -1, cpu, 0, NULL);
	*fd = event;
	if (!ioctl(event, PERF_EVENT_IOC_SET_BPF, prog_fd))
		return 0;
	rc = -errno;
	snprintf(what, sizeof(what), "a BPF program on %s", e->name);
	refuse(err, rc, what);
	if (rc == -E2BIG)
		err_hint(err, "at most 64 programs may be on one tracepoint");
	else if (rc == -EINVAL)
		err_hint(err, "use a kernel with CONFIG_BPF_EVENTS");
	return rc;
}

int bpf_latency_attach(struct bpf_latency *w, const char *name, const char *text,
		       const struct source_env *env, struct err *err)
{
	struct bpf_program *prog = bpf_object__find_program_by_name(w->programs, name);
	struct bpf_link *link = NULL;
	struct event_list l = {0};
	int event = -1, rc;

	if (text) {
		rc = event_parse(text, env ? env->caps : NULL, &l, err);
		if (!rc)
			rc = attach_event(l.v[0], bpf_program__fd(prog), &event, err);
		event_list_free(&l);
	} else {
		link = bpf_program__attach(prog);
		rc = link ? 0 : refuse(err, -errno, "a BPF program on a tracepoint");
	}
	assert(w->nr_on < BPF_LATENCY_PROGRAMS);
	w->on[w->nr_on].prog = prog;
	w->on[w->nr_on].link = link;
	w->on[w->nr_on++].event = event;
	return rc;
}

int bpf_latency_attach_ends(struct bpf_latency *w, struct err *err)
{
	int rc = bpf_latency_attach(w, "latency_exited", NULL, NULL, err);

	return rc ? rc : bpf_latency_attach(w, "latency_exec", NULL, NULL, err);
}

/* ---- records ---- */

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

/* The process of a thread, and its parent; 0: it has exited. */
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

/* True for the recorder and its child processes other than the command. Otherwise a dump's own slow
 * fsync (it is written at idle priority) would trigger the next dump, endlessly. */
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

/* The next call not yet reported while it ran; `given` is its sample. */
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
		bpf_map_delete_elem(w->output, &(uint32_t){(uint32_t)cpu});
	rc = wakeup_ring_cpu(w->tap, cpu, online, err);
	if (!rc && online)
		rc = connect_cpu(w, (uint32_t)cpu, err);
	return rc;
}

/* ---- misses ---- */

/* How often the kernel skipped a program because another one ran on that CPU; 0: unknown. */
static uint64_t nr_missed(const struct bpf_program *prog)
{
	struct bpf_prog_info info = {0};
	uint32_t n = sizeof(info);

	return bpf_obj_get_info_by_fd(bpf_program__fd(prog), &info, &n) ? 0 : info.recursion_misses;
}

bool bpf_latency_trouble(const struct bpf_latency *w, char *out, size_t n)
{
	uint64_t full = w->state->nr_full, untold = w->state->nr_untold, missed = 0;
	size_t at = 0;

	for (unsigned i = 0; i < w->nr_on; i++)
		missed += nr_missed(w->on[i].prog);
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
