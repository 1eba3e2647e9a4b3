// SPDX-License-Identifier: MIT
/* Measures for the detectors: a thread's time by state, threads that ran instead, and functions in
 * samples. */
#include "dump/base/str.h"

#include "dump/base/array.h"
#include "dump/view/why/why_impl.h"

#include <stdlib.h>
#include <string.h>

void sums_of(const struct why *w, uint32_t thread, uint64_t from_ns, uint64_t to_ns,
	     struct sums *out)
{
	const struct schedule_thread *t = schedule_thread(w->a.sched, thread);

	*out = (struct sums){0};
	for (size_t i = 0; i < t->nr; i++) {
		const struct span *s = schedule_span(w->a.sched, t->first + i);
		uint64_t ns = overlap(s->from_ns, s->to_ns, from_ns, to_ns);

		if (!ns)
			continue;
		out->ns[s->state] += ns;
		out->nr[s->state]++;
		if (ns > out->longest_ns[s->state]) {
			out->longest_ns[s->state] = ns;
			out->longest[s->state] = s;
		}
	}
}

/* ---- who ran instead ---- */

static bool same_name(const struct why *w, uint32_t a, uint32_t b)
{
	const char *x = schedule_thread(w->a.sched, a)->comm,
		   *y = schedule_thread(w->a.sched, b)->comm;

	return a == b || (x && y && !strcmp(x, y));
}

/* The length without a number at the end, and what separates it. */
static size_t stem_bytes(const char *comm)
{
	size_t n = strlen(comm);

	while (n && strchr("0123456789-_/#: ", comm[n - 1]))
		n--;
	return n;
}

/* Threads of a pool: of one process, with names that differ by a number at the end. */
static bool same_pool(const struct why *w, uint32_t a, uint32_t b)
{
	const struct schedule_thread *x = schedule_thread(w->a.sched, a),
				     *y = schedule_thread(w->a.sched, b);
	size_t n;

	if (!x->pid || x->pid != y->pid || !x->comm || !y->comm)
		return false;
	n = stem_bytes(x->comm);
	return n && n == stem_bytes(y->comm) && !strncmp(x->comm, y->comm, n);
}

/* Counts a run. With more than MAX_RIVALS names none is a likely culprit, so others are dropped. */
static void add_rival(const struct why *w, struct rivals *r, const struct span *run, uint64_t ns,
		      uint64_t *by_thread)
{
	size_t i;

	for (i = 0; i < r->nr; i++)
		if (same_name(w, r->top[i].thread, run->thread) ||
		    same_pool(w, r->top[i].thread, run->thread))
			break;
	if (i == MAX_RIVALS)
		return;
	if (i == r->nr)
		r->top[r->nr++] = (struct rival){.thread = run->thread, .prio = run->prio};
	r->top[i].mixed |= !same_name(w, r->top[i].thread, run->thread);
	if (!by_thread[run->thread])
		r->top[i].nr++;
	by_thread[run->thread] += ns;
	r->top[i].ns += ns;
	if (by_thread[run->thread] > r->top[i].most_ns) {
		r->top[i].most_ns = by_thread[run->thread];
		r->top[i].thread = run->thread;
	}
	if (run->prio >= 0 && (r->top[i].prio < 0 || run->prio < r->top[i].prio))
		r->top[i].prio = run->prio;
}

uint64_t why_offline_ns(const struct why *w, size_t cpu)
{
	for (size_t i = 0; i < w->a.m->nr_windows; i++) {
		const struct fmt_window *win = &w->a.m->windows[i];

		if (win->cpu == (int32_t)cpu && win->flags & FMT_WINDOW_OFFLINE && win->last_ns)
			return win->last_ns;
	}
	return 0;
}

static uint64_t idle_on(const struct why *w, size_t cpu, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t ns = 0, offline_ns = why_offline_ns(w, cpu);

	to_ns = offline_ns && offline_ns < to_ns ? offline_ns : to_ns;

	for (size_t i = schedule_run_after(w->a.sched, cpu, from_ns);
	     i < schedule_nr_runs(w->a.sched, cpu); i++) {
		const struct span *run = schedule_run(w->a.sched, cpu, i);

		if (run->from_ns >= to_ns)
			break;
		if (!run->thread)
			ns += overlap(run->from_ns, run->to_ns, from_ns, to_ns);
	}
	return ns;
}

/* Adds a wait for `cpu`. */
static void add_wait(const struct why *w, struct rivals *r, int32_t cpu, uint64_t from_ns,
		     uint64_t to_ns, uint64_t *by_thread)
{
	uint64_t most = 0;

	for (size_t i = schedule_run_after(w->a.sched, (size_t)cpu, from_ns);
	     i < schedule_nr_runs(w->a.sched, (size_t)cpu); i++) {
		const struct span *run = schedule_run(w->a.sched, (size_t)cpu, i);
		uint64_t ns = overlap(run->from_ns, run->to_ns, from_ns, to_ns);

		if (run->from_ns >= to_ns)
			break;
		/* A kernel thread does not run for long: its switch is missing. */
		if (run->thread && !(run->flags & SPAN_GUESSED && why_is_kernel(w, run->thread)))
			add_rival(w, r, run, ns, by_thread);
		else
			r->idle_ns += ns;
	}
	for (size_t other = 0; other < schedule_nr_cpus(w->a.sched); other++) {
		uint64_t ns = other == (size_t)cpu ? 0 : idle_on(w, other, from_ns, to_ns);

		if (ns > most) {
			most = ns;
			r->elsewhere_cpu = (int32_t)other;
		}
	}
	r->elsewhere_ns += most;
}

static int by_ns(const void *a, const void *b)
{
	const struct rival *x = a, *y = b;

	return x->ns < y->ns ? 1 : x->ns > y->ns ? -1 : 0;
}

void rivals_on(const struct why *w, int32_t cpu, uint64_t from_ns, uint64_t to_ns,
	       struct rivals *out)
{
	uint64_t *by_thread = calloc(schedule_nr_threads(w->a.sched) + 1, sizeof(*by_thread));

	*out = (struct rivals){.cpu = cpu, .elsewhere_cpu = -1, .ns = to_ns - from_ns};
	if (by_thread && cpu >= 0 && (size_t)cpu < schedule_nr_cpus(w->a.sched))
		add_wait(w, out, cpu, from_ns, to_ns, by_thread);
	free(by_thread);
	qsort(out->top, out->nr, sizeof(out->top[0]), by_ns);
}

void rivals_of(const struct why *w, uint32_t thread, uint64_t from_ns, uint64_t to_ns,
	       struct rivals *out)
{
	const struct schedule_thread *t = schedule_thread(w->a.sched, thread);
	uint64_t *by_thread = calloc(schedule_nr_threads(w->a.sched) + 1, sizeof(*by_thread));
	uint64_t longest = 0;

	*out = (struct rivals){.cpu = -1, .elsewhere_cpu = -1};
	for (size_t i = 0; by_thread && i < t->nr; i++) {
		const struct span *s = schedule_span(w->a.sched, t->first + i);
		uint64_t from = s->from_ns > from_ns ? s->from_ns : from_ns;
		uint64_t to = s->to_ns < to_ns ? s->to_ns : to_ns;

		if (s->state != SPAN_READY || from >= to)
			continue;
		out->ns += to - from;
		if (s->cpu < 0 || (size_t)s->cpu >= schedule_nr_cpus(w->a.sched))
			continue;
		add_wait(w, out, s->cpu, from, to, by_thread);
		if (to - from > longest) {
			longest = to - from;
			out->cpu = s->cpu;
		}
	}
	free(by_thread);
	qsort(out->top, out->nr, sizeof(out->top[0]), by_ns);
}

/* ---- stacks ---- */

/* Kernel functions that reveal an activity. Each has several, since names change between versions
 * and small functions are inlined. */
static const struct {
	enum in_kernel what;
	const char *function;
} telling[] = {
	{IN_FAULT, "asm_exc_page_fault"},
	{IN_FAULT, "exc_page_fault"},
	{IN_FAULT, "do_user_addr_fault"},
	{IN_FAULT, "handle_mm_fault"},
	{IN_FAULT, "do_page_fault"},
	{IN_COPY, "do_wp_page"},
	{IN_COPY, "wp_page_copy"},
	{IN_COPY, "copy_user_highpage"},
	{IN_COPY, "copy_mc_user_highpage"},
	{IN_RECLAIM, "try_to_free_pages"},
	{IN_RECLAIM, "try_to_free_mem_cgroup_pages"},
	{IN_RECLAIM, "try_charge_memcg"},
	{IN_RECLAIM, "shrink_node"},
	{IN_RECLAIM, "shrink_lruvec"},
	{IN_RECLAIM, "shrink_folio_list"},
	{IN_RECLAIM, "balance_pgdat"},
	{IN_READ_BACK, "filemap_fault"},
	{IN_READ_BACK, "do_swap_page"},
	{IN_READ_BACK, "page_cache_ra_unbounded"},
	{IN_TIMER, "run_timer_softirq"},
	{IN_TIMER, "__run_timers"},
	{IN_TIMER, "hrtimer_interrupt"},
	{IN_TIMER, "__hrtimer_run_queues"},
	{IN_TIMER, "process_timeout"},
	{IN_IRQ, "handle_softirqs"},
	{IN_IRQ, "__do_softirq"},
	{IN_IRQ, "common_interrupt"},
	{IN_IRQ, "sysvec_call_function"},
	{IN_IRQ, "sysvec_call_function_single"},
	{IN_SEND, "tcp_sendmsg"},
	{IN_SEND, "tcp_sendmsg_locked"},
	{IN_SEND, "udp_sendmsg"},
	{IN_SEND, "udpv6_sendmsg"},
	{IN_SEND, "__ip_queue_xmit"},
	{IN_SEND, "__dev_queue_xmit"},
	{IN_SEND, "ip_send_skb"},
	{IN_SEND, "loopback_xmit"},
};

bool chain_in(const struct why *w, uint32_t chain, enum in_kernel what)
{
	struct chain c = call_chains_get(w->a.chains, chain);

	for (size_t i = 0; i < c.nr && c.frames[i].kernel; i++)
		for (size_t k = 0; k < sizeof(telling) / sizeof(telling[0]); k++)
			if (telling[k].what == what && c.frames[i].function &&
			    !strcmp(c.frames[i].function, telling[k].function))
				return true;
	return false;
}

const char *chain_syscall(const struct why *w, uint32_t chain)
{
	static const char *const prefixes[] = {"__x64_sys_", "__arm64_sys_", "__do_sys_",
					       "__se_sys_", "ksys_"};
	struct chain c = call_chains_get(w->a.chains, chain);

	for (size_t i = 0; i < c.nr && c.frames[i].kernel; i++)
		for (size_t k = 0; k < sizeof(prefixes) / sizeof(prefixes[0]); k++) {
			const char *f = c.frames[i].function;
			size_t n = strlen(prefixes[k]);

			if (f && !strncmp(f, prefixes[k], n) && f[n])
				return f + n;
		}
	return NULL;
}

/* A widely used library does not identify the program. */
bool why_is_common(const char *image)
{
	static const char *const common[] = {"libc.so", "libc-",  "ld-linux", "libpthread",
					     "ld-musl", "[vdso]", "libstdc++"};
	const char *base = image ? strrchr(image, '/') : NULL;

	base = base ? base + 1 : image;
	for (size_t i = 0; base && i < sizeof(common) / sizeof(common[0]); i++)
		if (!strncmp(base, common[i], strlen(common[i])))
			return true;
	return false;
}

const struct chain_frame *chain_own(const struct why *w, uint32_t chain)
{
	return chain_own_from(w, chain, 0);
}

const struct chain_frame *chain_own_from(const struct why *w, uint32_t chain, size_t first)
{
	struct chain c = call_chains_get(w->a.chains, chain);
	const struct chain_frame *named = NULL, *any = NULL;

	for (size_t i = first; i < c.nr; i++) {
		const struct chain_frame *f = &c.frames[i];

		if (f->inlined && i + 1 < c.nr)
			continue;
		if (!f->kernel && f->function && !why_is_common(f->image))
			return f;
		if (!named && f->function && !f->kernel)
			named = f;
		if (!any && (!f->kernel || i + 1 == c.nr))
			any = f;
	}
	return named ? named : any;
}

#define MAX_FUNCTIONS 64

struct hits {
	struct {
		struct chain_frame f;
		unsigned nr;
	} functions[MAX_FUNCTIONS];
	size_t nr;
	struct {
		const char *name;
		unsigned nr;
	} syscalls[MAX_FUNCTIONS];
	size_t nr_syscalls;
};

static bool same_frame(const struct chain_frame *a, const struct chain_frame *b)
{
	if (a->function || b->function)
		return a->function == b->function;
	return a->image == b->image && a->addr == b->addr;
}

static void add_hit(const struct why *w, struct hits *h, uint32_t chain)
{
	const struct chain_frame *f = chain_own(w, chain);
	const char *syscall = chain_syscall(w, chain);
	size_t i;

	for (i = 0; f && i < h->nr && !same_frame(&h->functions[i].f, f); i++)
		;
	if (f && i < MAX_FUNCTIONS) {
		h->functions[i].f = *f;
		h->functions[i].nr++;
		h->nr += i == h->nr;
	}
	for (i = 0; syscall && i < h->nr_syscalls && strcmp(h->syscalls[i].name, syscall) != 0; i++)
		;
	if (syscall && i < MAX_FUNCTIONS) {
		h->syscalls[i].name = syscall;
		h->syscalls[i].nr++;
		h->nr_syscalls += i == h->nr_syscalls;
	}
}

static size_t first_sample(const struct why *w, uint64_t ns)
{
	return array_bisect(i, schedule_nr_samples(w->a.sched),
			    schedule_sample(w->a.sched, i)->ns < ns);
}

void busy_of(const struct why *w, uint32_t thread, uint32_t pid, uint64_t from_ns, uint64_t to_ns,
	     struct busy *out)
{
	struct hits h = {.nr = 0};

	*out = (struct busy){0};
	for (size_t i = first_sample(w, from_ns); i < schedule_nr_samples(w->a.sched); i++) {
		const struct schedule_sample *s = schedule_sample(w->a.sched, i);

		if (s->ns > to_ns)
			break;
		if (pid ? schedule_thread(w->a.sched, s->thread)->pid != pid : s->thread != thread)
			continue;
		out->nr++;
		for (int k = 0; k < NR_IN_KERNEL; k++)
			out->in[k] += chain_in(w, s->chain, (enum in_kernel)k);
		add_hit(w, &h, s->chain);
	}
	for (size_t i = 0; i < h.nr; i++)
		if (h.functions[i].nr > out->hits) {
			out->hits = h.functions[i].nr;
			out->function = h.functions[i].f;
		}
	for (size_t i = 0; i < h.nr_syscalls; i++)
		if (h.syscalls[i].nr > out->syscall_hits) {
			out->syscall_hits = h.syscalls[i].nr;
			out->syscall = h.syscalls[i].name;
		}
}

/* ---- words ---- */

void why_function(const struct chain_frame *f, struct text *t)
{
	const char *base;

	if (f->function) {
		text_safe(t, f->function, strlen(f->function));
		/* Demangled names of C++ and Rust may already have parentheses. */
		if (!strchr(f->function, '('))
			text_str(t, "()");
		return;
	}
	if (f->image) {
		base = strrchr(f->image, '/');
		base = base && base[1] ? base + 1 : f->image;
		text_safe(t, base, strlen(base));
		text_str(t, "+");
	}
	text_str(t, "0x");
	text_hex(t, f->addr, 1);
}

void why_time(struct text *t, uint64_t ns)
{
	if (ns >= 10000000000ull)
		text_fmt(t, "%.0f s", (double)ns / 1e9);
	else if (ns >= 1000000000ull)
		text_fmt(t, "%.2f s", (double)ns / 1e9);
	else if (ns >= 10000000ull)
		text_fmt(t, "%.0f ms", (double)ns / 1e6);
	else if (ns >= 100000ull)
		text_fmt(t, "%.1f ms", (double)ns / 1e6);
	else
		text_fmt(t, "%.0f us", (double)ns / 1e3);
}

void why_who(const struct why *w, uint32_t thread, struct text *t)
{
	why_name(w, thread, t);
	if (thread != NO_THREAD)
		text_fmt(t, " (%u)", schedule_thread(w->a.sched, thread)->tid);
}

int why_real_time(int16_t prio)
{
	return prio >= 0 && prio < 100 ? 99 - prio : 0;
}

int16_t why_prio(const struct why *w, uint32_t thread, uint64_t ns)
{
	const struct schedule_thread *t = schedule_thread(w->a.sched, thread);
	int16_t prio = -1;

	for (size_t i = 0; i < t->nr; i++) {
		const struct span *s = schedule_span(w->a.sched, t->first + i);

		if (s->from_ns > ns && prio >= 0)
			break;
		if (s->prio >= 0)
			prio = s->prio;
	}
	return prio;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

uint64_t why_quantile(uint64_t *list, size_t nr, unsigned tenths)
{
	qsort(list, nr, sizeof(*list), by_value);
	return list[(nr - 1) * tenths / 10];
}
