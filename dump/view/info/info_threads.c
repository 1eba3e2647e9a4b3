// SPDX-License-Identifier: MIT
/* States of threads at the freeze in info: those that waited for another thread or process or were
 * stopped as a line each, and all of them as JSON. Called by info_text.c and info_json.c. */
#include "dump/view/info/info_impl.h"

#include "dump/base/signame.h"
#include "dump/base/str.h"
#include "dump/view/print/syscall_names.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MAX_LINES 12 /* threads that get a line each without --all */

static const char *const policies[] = {
	[0] = "other", [1] = "fifo",	 [2] = "rr",  [3] = "batch",
	[5] = "idle",  [6] = "deadline", [7] = "ext",
};

/* ---- text ---- */

static const char *comm_of(const struct info *in, uint32_t tid)
{
	return history_comm(in->a.history, tid, in->a.m->trigger.freeze_ns);
}

/* "cat (4711)" */
static void put_name(const struct info *in, struct text *t, uint32_t tid)
{
	const char *comm = comm_of(in, tid);

	text_safe(t, comm ? comm : "?", comm ? strlen(comm) : 1);
	text_fmt(t, " (%u)", tid);
}

static void put_file(struct text *t, const struct thread_state *s)
{
	const char *what = *s->protocol ? s->protocol : s->file;

	text_char(t, ' ');
	text_safe(t, what, strlen(what));
	if (*s->local && strcmp(s->local, s->remote)) {
		text_char(t, ' ');
		text_safe(t, s->local, strlen(s->local));
	}
	if (*s->remote) {
		text_str(t, *s->protocol == 'u' && s->protocol[1] == 'n' ? " " : " > ");
		text_safe(t, s->remote, strlen(s->remote));
	}
}

static void put_peers(const struct info *in, struct text *t, const struct thread_state *s)
{
	uint32_t nr = s->f.nr_peers < FMT_THREAD_MAX_PEERS ? s->f.nr_peers : FMT_THREAD_MAX_PEERS;

	for (uint32_t i = 0; i < nr; i++) {
		text_str(t, i ? ", " : "; other end: ");
		put_name(in, t, s->f.peers[i]);
	}
	if (s->f.nr_peers > nr)
		text_fmt(t, " and %u more", s->f.nr_peers - nr);
}

static void put_wait(const struct info *in, struct text *t, const struct thread_state *s)
{
	const char *call =
		thread_state_in_syscall(s) ? syscall_name(in->a.m, (uint64_t)s->f.syscall) : NULL;
	char name[16];

	put_name(in, t, s->f.tid);
	if (s->f.state == 'T' || s->f.state == 't') {
		text_str(t, " stopped");
		if (s->f.stop_signal)
			text_fmt(t, " by %s", signame((int)s->f.stop_signal, name, sizeof(name)));
		if (s->f.tracer_pid) {
			text_str(t, ", traced by ");
			put_name(in, t, s->f.tracer_pid);
		}
		return;
	}
	text_fmt(t, " in %s", call ? call : *s->wchan ? "the kernel" : "?");
	if (s->f.futex_owner) {
		text_str(t, "; lock held by ");
		put_name(in, t, s->f.futex_owner);
	}
	if (*s->file)
		put_file(t, s);
	put_peers(in, t, s);
}

static bool is_linked(const struct thread_state *s)
{
	return s->f.futex_owner || s->f.nr_peers || s->f.state == 'T' || s->f.state == 't';
}

static void put_line(struct info *in, const char *label, const struct thread_state *s)
{
	struct text t = TEXT_INIT(NULL);

	put_wait(in, &t, s);
	text_char(&t, '\0');
	if (t.rc)
		in->text.rc = t.rc;
	else
		info_put_line(in, label, "%s", (const char *)t.b.p);
	text_free(&t);
}

static void put_head(struct info *in, const struct fmt_threads *f)
{
	char from[32], time[32], out[48] = "", denied[64] = "";

	if (f->nr_left_out)
		snprintf(out, sizeof(out), "; no time for %u more", f->nr_left_out);
	if (f->nr_denied)
		snprintf(denied, sizeof(denied), "; no permission for the system calls of %u",
			 f->nr_denied);
	info_put_line(in, "threads", "states of %u read at %s in %s%s%s", f->nr_threads,
		      info_rel_time(in, from, sizeof(from), f->from_ns),
		      str_fmt_time(time, sizeof(time), (int64_t)(f->to_ns - f->from_ns)), out,
		      denied);
	if (f->nr_unsearched)
		info_put_line(in, "",
			      "files of %u process%s not searched for other ends of pipes and "
			      "sockets",
			      f->nr_unsearched, f->nr_unsearched == 1 ? "" : "es");
}

void info_threads_text(struct info *in)
{
	const struct fmt_threads *f = thread_states_read(in->states);
	uint32_t asked = in->a.m->trigger.pid;
	size_t nr = 0;

	if (!f)
		return;
	put_head(in, f);
	for (int first = 1; first >= 0; first--) {
		for (size_t i = 0; i < thread_states_nr(in->states); i++) {
			const struct thread_state *s = thread_states_nth(in->states, i);

			if (is_linked(s) && (s->f.pid == asked) == first &&
			    (nr++ < MAX_LINES || in->opt->all))
				put_line(in, nr == 1 ? "  waited" : "", s);
		}
	}
	if (nr > MAX_LINES && !in->opt->all)
		info_put_line(in, "", "and %zu more that waited for others (--all)",
			      nr - MAX_LINES);
}

/* ---- JSON ---- */

static void put_text(struct json *j, const char *key, const char *s)
{
	if (*s)
		json_cstr(j, key, s);
}

/* "0-3,6" */
static void put_cpus(struct json *j, const struct thread_state *s)
{
	struct text t = TEXT_INIT(NULL);

	for (uint32_t i = 0, n; s->f.nr_cpu_words && i < s->f.nr_cpu_words * 64; i += n) {
		for (n = 0; i + n < s->f.nr_cpu_words * 64 && thread_state_may_run_on(s, i + n);
		     n++)
			;
		if (n)
			text_fmt(&t, "%s%u", t.b.len ? "," : "", i);
		if (n > 1)
			text_fmt(&t, "-%u", i + n - 1);
		n += !n;
	}
	json_str(j, "cpus", t.b.p ? (const char *)t.b.p : "", t.b.len);
	if (t.rc)
		j->t->rc = t.rc;
	text_free(&t);
}

static void put_syscall(const struct info *in, struct json *j, const struct thread_state *s)
{
	const char *name =
		thread_state_in_syscall(s) ? syscall_name(in->a.m, (uint64_t)s->f.syscall) : NULL;

	if (!(s->f.flags & FMT_THREAD_SYSCALL))
		return;
	json_open(j, "syscall", '{');
	json_i64(j, "nr", s->f.syscall);
	json_cstr(j, "name", name);
	json_open(j, "args", '[');
	for (size_t i = 0; i < 6 && s->f.syscall >= 0; i++)
		json_hex(j, NULL, s->f.args[i]);
	json_close(j, ']');
	json_hex(j, "sp", s->f.sp);
	json_hex(j, "pc", s->f.pc);
	json_close(j, '}');
}

static void put_waited(struct json *j, const struct thread_state *s)
{
	if (s->f.fd >= 0)
		json_i64(j, "fd", s->f.fd);
	put_text(j, "file", s->file);
	put_text(j, "protocol", s->protocol);
	put_text(j, "local", s->local);
	put_text(j, "remote", s->remote);
	if (s->f.nr_peers) {
		json_open(j, "peers", '[');
		for (size_t i = 0; i < FMT_THREAD_MAX_PEERS && s->f.peers[i]; i++)
			json_u64(j, NULL, s->f.peers[i]);
		json_close(j, ']');
		json_u64(j, "nr_peers", s->f.nr_peers);
	}
	if (s->f.flags & FMT_THREAD_FUTEX) {
		json_u64(j, "futex_word", s->f.futex_word);
		json_u64(j, "futex_owner", s->f.futex_owner);
	}
}

static void put_sched(struct json *j, const struct thread_state *s)
{
	size_t nr = sizeof(policies) / sizeof(policies[0]);

	if (s->f.flags & FMT_THREAD_SCHED) {
		json_cstr(j, "policy", s->f.policy < nr ? policies[s->f.policy] : NULL);
		json_i64(j, "nice", s->f.nice);
		json_u64(j, "rt_priority", s->f.rt_priority);
	}
	if (s->f.nr_cpu_words)
		put_cpus(j, s);
	if (s->f.timer_slack_ns)
		json_u64(j, "timer_slack_ns", s->f.timer_slack_ns);
	json_u64(j, "voluntary", s->f.nr_voluntary);
	json_u64(j, "involuntary", s->f.nr_involuntary);
}

static void put_state(const struct info *in, struct json *j, const struct thread_state *s)
{
	const char state[] = {(char)s->f.state, '\0'};

	json_open(j, NULL, '{');
	json_u64(j, "tid", s->f.tid);
	json_u64(j, "pid", s->f.pid);
	json_cstr(j, "comm", comm_of(in, s->f.tid));
	json_i64(j, "at", (int64_t)(s->f.ns - in->a.m->trigger.hit_ns));
	json_cstr(j, "state", state);
	json_bool(j, "kernel", s->f.flags & FMT_THREAD_KERNEL);
	put_sched(j, s);
	put_text(j, "wchan", s->wchan);
	put_syscall(in, j, s);
	put_waited(j, s);
	if (s->f.stop_signal)
		json_u64(j, "stop_signal", s->f.stop_signal);
	if (s->f.tracer_pid)
		json_u64(j, "tracer_pid", s->f.tracer_pid);
	json_close(j, '}');
}

void info_threads_json(const struct info *in, struct json *j)
{
	const struct fmt_threads *f = thread_states_read(in->states);

	if (!f)
		return;
	json_open(j, "threads", '{');
	json_i64(j, "from", (int64_t)(f->from_ns - in->a.m->trigger.hit_ns));
	json_i64(j, "to", (int64_t)(f->to_ns - in->a.m->trigger.hit_ns));
	json_u64(j, "left_out", f->nr_left_out);
	json_u64(j, "denied", f->nr_denied);
	json_u64(j, "unsearched", f->nr_unsearched);
	json_open(j, "states", '[');
	for (size_t i = 0; i < thread_states_nr(in->states); i++)
		put_state(in, j, thread_states_nth(in->states, i));
	json_close(j, ']');
	json_close(j, '}');
}
