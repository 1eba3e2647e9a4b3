// SPDX-License-Identifier: MIT
/* Names of threads, times and stacks in a report. */
#include "dump/base/str.h"
#include "dump/view/report/report_impl.h"
#include "dump/view/model/timeline.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>

const char *report_comm_of(struct report *rp, uint32_t tid, uint64_t ns)
{
	struct report_known *k = &rp->known[tid % REPORT_NR_KNOWN];
	struct history_span span;
	const char *comm;
	char number[24];

	if (k->comm && k->tid == tid && k->span.from_ns <= ns && ns <= k->span.to_ns)
		return k->comm;
	history_who(rp->a.history, tid, ns, &comm, &span);
	if (!comm) {
		snprintf(number, sizeof(number), ":%" PRIu32, tid);
		comm = tid == UINT32_MAX ? "?" : number;
	}
	comm = intern(&rp->names, (struct bytes){(const uint8_t *)comm, strlen(comm)});
	comm = comm ? comm : "?";
	*k = (struct report_known){comm, tid, span};
	return comm;
}

const char *report_comm(struct report *rp, uint32_t thread)
{
	const struct schedule_thread *t;
	const char *comm;

	if (thread == NO_THREAD)
		return "?";
	if (rp->comms[thread])
		return rp->comms[thread];
	t = schedule_thread(rp->a.sched, thread);
	comm = t->comm ? intern(&rp->names,
				(struct bytes){(const uint8_t *)t->comm, strlen(t->comm)})
		       : report_comm_of(rp, t->tid, rp->window.to_ns);
	rp->comms[thread] = comm ? comm : "?";
	return rp->comms[thread];
}

bool report_is_kernel(const struct report *rp, uint32_t thread)
{
	uint32_t tid = schedule_thread(rp->a.sched, thread)->tid;
	const struct fmt_task *t = history_task(rp->a.history, tid, rp->window.to_ns);

	/* Kernel threads are children of kthreadd, tid 2. */
	return !tid || tid == 2 || (t && t->ppid == 2);
}

char *report_fmt_window(const struct report *rp, char *out, size_t n, const struct report_window *w)
{
	uint64_t zero = rp->a.m->trigger.hit_ns, slack = 1000000;
	char from[32], to[32];

	page_fmt_moment(from, sizeof(from), w->from_ns, zero);
	page_fmt_moment(to, sizeof(to), w->to_ns, zero);
	if (w->from_ns == w->to_ns)
		snprintf(out, n, "nothing in this time");
	else if (w->to_ns > zero && w->to_ns - zero < slack && w->from_ns < zero)
		snprintf(out, n, "last %s", from + 1);
	else
		snprintf(out, n, "%s to %s", from, to);
	return out;
}

uint64_t report_from(const struct report *rp, const struct span *s)
{
	return s->from_ns > rp->window.from_ns ? s->from_ns : rp->window.from_ns;
}

void report_tid(struct report *rp, const char *comm, uint32_t tid)
{
	char number[16];

	snprintf(number, sizeof(number), "%" PRIu32, tid);
	page_left(&rp->page, comm, 16);
	page_right(&rp->page, tid == UINT32_MAX ? "" : number, 8);
}

void report_who(struct report *rp, uint32_t thread)
{
	report_tid(rp, report_comm(rp, thread), schedule_thread(rp->a.sched, thread)->tid);
}

/* ---- stacks ---- */

bool report_is_plumbing(const struct chain_frame *f)
{
	static const char *const names[] = {
		"__schedule",
		"schedule",
		"preempt_schedule",
		"preempt_schedule_common",
		"preempt_schedule_irq",
		"__cond_resched",
		"schedule_timeout",
		"io_schedule",
		"schedule_hrtimeout_range",
		"schedule_hrtimeout_range_clock",
		"io_schedule_timeout",
		"do_syscall_64",
		"x64_sys_call",
		"entry_SYSCALL_64_after_hwframe",
		"entry_SYSCALL_64",
		"ret_from_fork",
		"ret_from_fork_asm",
		"kthread",
		"_start",
		"__libc_start_main",
		"__libc_start_main_impl",
		"__libc_start_call_main",
		"start_thread",
		"clone",
		"clone3",
		"__clone",
		"__clone3",
		"perf_trace_sched_switch",
		"perf_tp_event",
		"perf_swevent_event",
		"perf_trace_run_bpf_submit",
		"asm_exc_page_fault",
		"asm_sysvec_apic_timer_interrupt",
		"invoke_syscall",
		"el0_svc",
		"do_el0_svc",
		"el0t_64_sync",
		"el0t_64_sync_handler",
		"el0_svc_common.constprop.0",
	};

	/* Frames of the programs that write sleep-stacks. */
	static const char *const prefixes[] = {"bpf_prog_", "bpf_trace_run", "bpf_trampoline_",
					       "__traceiter_"};

	/* An address without code, at the end of a chain of invalid frame pointers. */
	if (!f->function && !f->image && !f->kernel)
		return true;
	for (size_t i = 0; f->function && i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (!strncmp(f->function, prefixes[i], strlen(prefixes[i])))
			return true;
	for (size_t i = 0; f->function && i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(f->function, names[i]))
			return true;
	return false;
}

const char *report_frame(const struct chain_frame *f, char *buf, size_t n)
{
	const char *base;
	char name[200];

	if (f->function) {
		str_safe(buf, n, f->function, strlen(f->function));
		return buf;
	}
	base = f->image ? strrchr(f->image, '/') : NULL;
	base = base && base[1] ? base + 1 : f->image;
	if (base && !f->kernel)
		snprintf(buf, n, "%s+0x%" PRIx64, str_safe(name, sizeof(name), base, strlen(base)),
			 f->addr);
	else
		snprintf(buf, n, "0x%" PRIx64, f->addr);
	return buf;
}

const char *report_leaf(const struct report *rp, uint32_t chain, char *buf, size_t n)
{
	struct chain c = call_chains_get(rp->a.chains, chain);

	*buf = '\0';
	for (size_t i = 0; i < c.nr; i++)
		if (!report_is_plumbing(&c.frames[i]) || i + 1 == c.nr)
			return report_frame(&c.frames[i], buf, n);
	return buf;
}

/* Selects in `keep` the names that fit into `room` columns: from both ends of the stack in turn,
 * two inner frames for each outer one. Returns whether some are left out. */
static bool choose(char names[][REPORT_FRAME], size_t nr, size_t room, bool *keep)
{
	size_t used = 4, inner = nr, outer = 0;

	memset(keep, 0, nr);
	for (unsigned turn = 0; outer < inner; turn++) {
		size_t i = turn % 3 == 2 ? outer : inner - 1;

		used += page_columns(names[i]) + 3;
		if (used > room)
			return true;
		keep[i] = true;
		if (i == outer && turn % 3 == 2)
			outer++;
		else
			inner--;
	}
	return false;
}

void report_path(struct report *rp, uint32_t chain, unsigned indent, unsigned lines)
{
	report_path_to(rp, chain, UINT_MAX, indent, lines);
}

void report_times(char name[REPORT_FRAME], const char *how, uint64_t nr)
{
	char times[40];
	size_t len = strlen(name), room;

	room = REPORT_FRAME - 1 - (size_t)snprintf(times, sizeof(times), how, nr);
	if (len > room)
		for (len = room; len && ((unsigned char)name[len] & 0xc0) == 0x80;)
			len--;
	strcpy(name + len, times);
}

/* Merges consecutive calls of a function to itself into one name with a count; returns the number
 * of names. */
static size_t fold(char names[][REPORT_FRAME], size_t nr)
{
	size_t left = 0;

	for (size_t i = 0, next; i < nr; i = next) {
		for (next = i + 1; next < nr && !strcmp(names[next], names[i]);)
			next++;
		memmove(names[left], names[i], REPORT_FRAME);
		if (next - i > 1)
			report_times(names[left], " (×%" PRIu64 ")", next - i);
		left++;
	}
	return left;
}

void report_join(char names[][REPORT_FRAME], size_t nr, size_t room, char *out, size_t n)
{
	bool keep[REPORT_MAX_PATH], gap = false;
	size_t len = 0;

	*out = '\0';
	nr = fold(names, nr);
	choose(names, nr, room, keep);
	for (size_t i = 0; i < nr && len + REPORT_FRAME + 8 < n; i++) {
		if (!keep[i]) {
			gap = true;
			continue;
		}
		len += (size_t)snprintf(out + len, n - len, "%s%s%s",
					gap ? len ? " > .." : ".." : "", len || gap ? " > " : "",
					names[i]);
		gap = false;
	}
	if (!len && nr)
		snprintf(out, n, "%s", names[nr - 1]);
}

void report_path_to(struct report *rp, uint32_t chain, unsigned depth, unsigned indent,
		    unsigned lines)
{
	struct chain c = call_chains_get(rp->a.chains, chain);
	char names[REPORT_MAX_PATH][REPORT_FRAME], line[4096];
	size_t nr = 0;

	/* Outermost first. */
	for (size_t i = c.nr; i-- > 0 && nr < REPORT_MAX_PATH && c.nr - i <= depth;)
		if (!report_is_plumbing(&c.frames[i]))
			report_frame(&c.frames[i], names[nr++], sizeof(names[0]));
	if (!nr)
		return;
	/* Names are not broken, so lines are not filled: subtracts 12 columns for each line but the
	 * last. */
	report_join(names, nr, (size_t)(rp->page.width - indent) * lines - 12 * (lines - 1), line,
		    sizeof(line));
	page_color(&rp->page, PAGE_DIM);
	page_wrap(&rp->page, indent, line);
	page_end_color(&rp->page);
}
