// SPDX-License-Identifier: MIT
/*
 * Remote unwinding through libunwind; see unwind.h.
 *
 *	sample ── registers ──▶ libunwind ──▶ ip of the caller, and so on
 *	       ── stack ──────▶    │  ▲
 *	                   ip      ▼  │ rule as .eh_frame, at an address of its own
 *	              history_where() ─┴─ source
 *
 * libunwind keeps what a rule came to for an ip, per address space; there is one for each of the
 * processes seen last. It is dropped when a mapping that was asked about has changed.
 */
#include "dump/view/unwind/unwind.h"

#include "dump/base/err.h"
#include "dump/view/model/timeline.h"
#include "dump/view/unwind/unwind_memo.h"

#include <errno.h>
#include <libunwind-x86_64.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* Exported for those that find tables themselves, as perf does, but in no header. */
int unw_search_table(unw_addr_space_t as, unw_word_t ip, unw_dyn_info_t *di, unw_proc_info_t *pi,
		     int need_unwind_info, void *arg) __asm__("_Ux86_64_dwarf_search_unwind_table");

/* Words read for one sample, of the stack and of rules; a real one takes some thousands. */
#define MAX_READS (1u << 17)
#define NR_SPACES 32
/* That it keeps the rules of, where a process has many samples: 128 are forgotten faster. */
#define CACHE_ADDRESSES 2048
#define MANY_SAMPLES	256
#define MAX_WORDS	8192 /* of the stack: what is remembered of a sample */
#define NR_MARKS	16
#define MAX_POPPED	256 /* bytes */
/* Behind the copied bytes there may be more of the stack, this far. */
#define MAX_STACK_BYTES (1ull << 30)

/* ---- registers ---- */

enum { REG_BP = 6, REG_SP = 7, REG_IP = 16, NR_REGS = 17 };

/* By libunwind's numbers, which are DWARF's: bits of sample_regs_user (asm/perf_regs.h of x86). */
static const uint8_t perf_regs[NR_REGS] = {
	0,			    /* rax */
	3,			    /* rdx */
	2,			    /* rcx */
	1,			    /* rbx */
	4,			    /* rsi */
	5,			    /* rdi */
	6,			    /* rbp */
	7,			    /* rsp */
	16,			    /* r8 */
	17, 18, 19, 20, 21, 22, 23, /* r15 */
	8,			    /* rip */
};

/* Those that a function gives back as they were: rbx, rbp, r12 to r15. */
static const uint8_t saved_regs[] = {3, REG_BP, 12, 13, 14, 15};

/* Code that is not like other code: CFI_*. */
struct mark {
	uint64_t from, to;
	uint32_t flags;
};

struct space {
	unw_addr_space_t as;	  /* NULL: free */
	uint32_t key;		  /* of the process */
	uint64_t used;		  /* the sample that used it last */
	uint64_t era;		  /* another one whenever what it knows was dropped */
	uint64_t nr;		  /* samples since then */
	struct history_span span; /* what it knows holds that long */
	struct mark marks[NR_MARKS];
	unsigned nr_marks;
	bool wide; /* it has room for CACHE_ADDRESSES */
};

struct unwind {
	const struct process_history *history;
	struct unwind_source src;
	struct space spaces[NR_SPACES];
	unw_caching_policy_t caching;
	uint64_t nr_samples, nr_eras;
	struct unwind_memo *memo;

	/* The sample: */
	const struct timeline_record *rec;
	struct space *space;
	uint64_t regs[NR_REGS];
	uint64_t sp; /* where `stack` lies */
	struct bytes stack;
	unsigned reads;
	bool cut;		/* something behind the stack's end was asked for */
	bool no_rule, unmapped; /* of the last that find() was asked for */
	bool elsewhere;		/* the frame is on another stack than the copied one */
	bool last_frame;	/* the frame pointers led here, and end */
	const char *image;
	unw_cursor_t cursor;
	struct unwind_frame frames[UNWIND_MAX_FRAMES];
	size_t nr;
	/* For the memo: the same frames, and what was read of the stack for them. */
	struct unwind_memo_frame details[UNWIND_MAX_FRAMES];
	struct unwind_memo_read words[MAX_WORDS];
	size_t nr_words;
	bool stepping;
};

/* ---- what libunwind asks ---- */

static void note_read(struct unwind *u, uint64_t addr, uint64_t v)
{
	if (u->stepping && u->nr_words < MAX_WORDS)
		u->words[u->nr_words++] = (struct unwind_memo_read){addr, v};
}

static bool read_stack(struct unwind *u, uint64_t addr, uint64_t *v)
{
	uint64_t off = addr - u->sp;

	if (span_fits(off, sizeof(*v), u->stack.len)) {
		memcpy(v, u->stack.p + off, sizeof(*v));
		note_read(u, addr, *v);
		return true;
	}
	if (u->elsewhere || (addr >= u->sp && off < MAX_STACK_BYTES))
		u->cut = true;
	return false;
}

/*
 * Below the stack pointer nothing was copied. Rules still say so of a register whose function has
 * just popped it, at its end: then it has its old value already, and had it when sampled.
 */
static bool read_popped(struct unwind *u, uint64_t addr, uint64_t *v)
{
	unw_save_loc_t loc;

	if (addr >= u->sp || u->sp - addr > MAX_POPPED)
		return false;
	for (size_t i = 0; i < sizeof(saved_regs); i++) {
		if (unw_get_save_loc(&u->cursor, saved_regs[i], &loc) ||
		    loc.type != UNW_SLT_MEMORY || loc.u.addr != addr)
			continue;
		*v = u->regs[saved_regs[i]];
		note_read(u, addr, *v);
		return true;
	}
	return false;
}

static bool read_rule(const struct unwind_rules *rules, uint64_t addr, uint64_t *v)
{
	uint64_t off = (addr - RULES_BASE) % RULES_STEP;
	const struct unwind_rule *r = unwind_rules_nth(rules, (addr - RULES_BASE) / RULES_STEP);

	if (!r || !span_fits(off, sizeof(*v), r->shown.len))
		return false;
	memcpy(v, r->shown.p + off, sizeof(*v));
	return true;
}

static int access_mem(unw_addr_space_t as, unw_word_t addr, unw_word_t *v, int write, void *arg)
{
	struct unwind *u = arg;

	if (write || ++u->reads > MAX_READS)
		return -UNW_EINVAL;
	if (addr >= RULES_BASE)
		return read_rule(u->src.rules, addr, v) ? 0 : -UNW_EINVAL;
	return read_stack(u, addr, v) || read_popped(u, addr, v) ? 0 : -UNW_EINVAL;
}

static int access_reg(unw_addr_space_t as, unw_regnum_t reg, unw_word_t *v, int write, void *arg)
{
	struct unwind *u = arg;

	if (write || reg < 0 || reg >= NR_REGS)
		return -UNW_EBADREG;
	*v = u->regs[reg];
	note_read(u, (uint64_t)reg, *v);
	return 0;
}

static bool is_mapped(void *arg, uint64_t addr, struct history_map *map)
{
	struct unwind *u = arg;
	struct history_span span;
	bool found = history_where(u->history, u->rec->tid, u->rec->time_ns, addr, map, &span);

	if (span.from_ns > u->space->span.from_ns)
		u->space->span.from_ns = span.from_ns;
	if (span.to_ns < u->space->span.to_ns)
		u->space->span.to_ns = span.to_ns;
	return found;
}

static const struct unwind_rule *conclude(struct unwind *u, const struct history_map *map,
					  uint64_t place)
{
	struct unwind_top top = {.where = is_mapped, .arg = u};
	unw_word_t sp, bp;

	if (!u->src.conclude || unw_get_reg(&u->cursor, REG_SP, &sp) ||
	    !span_fits(sp - u->sp, 8, u->stack.len))
		return NULL;
	top.bp = unw_get_reg(&u->cursor, REG_BP, &bp) ? UINT64_MAX : bp - sp;
	top.stack.p = u->stack.p + (sp - u->sp);
	top.stack.len = u->stack.len - (sp - u->sp);
	return u->src.conclude(u->src.ctx, map, place, &top);
}

static void mark(struct space *s, uint64_t from, uint64_t bytes, uint32_t flags)
{
	for (unsigned i = 0; i < s->nr_marks; i++)
		if (s->marks[i].from == from)
			return;
	if (s->nr_marks < NR_MARKS)
		s->marks[s->nr_marks++] = (struct mark){from, from + bytes, flags};
}

/* What is to be read lies where the rule is. The one entry of the table says: at 0 of the segment
 * begins what is described there. */
static int show_rule(unw_addr_space_t as, const struct unwind_rule *r, uint64_t off,
		     unw_proc_info_t *pi, int need, void *arg)
{
	unw_dyn_info_t di = {.format = UNW_INFO_FORMAT_REMOTE_TABLE};
	uint64_t at = RULES_BASE + r->id * RULES_STEP;

	di.u.rti.table_data = at;
	di.u.rti.table_len = 1;
	di.u.rti.segbase = di.start_ip = at + r->entry;
	di.end_ip = di.start_ip + r->r.bytes;
	return unw_search_table(as, di.start_ip + off, &di, pi, need, arg);
}

/* Any error but ENOINFO keeps libunwind from guessing. */
static int find_proc_info(unw_addr_space_t as, unw_word_t ip, unw_proc_info_t *pi, int need,
			  void *arg)
{
	struct unwind *u = arg;
	struct history_map map;
	const struct unwind_rule *r;
	uint64_t place, start;
	bool behind;
	int rc;

	u->unmapped = !is_mapped(u, ip, &map);
	if (u->unmapped)
		return -UNW_EINVAL;
	place = ip - map.f.start + map.f.pgoff;
	r = u->src.find(u->src.ctx, &map, place);
	/* In a system call that does not return, the address may be behind its function. */
	behind = !r && u->nr == 1 && place;
	if (behind)
		r = u->src.find(u->src.ctx, &map, place - 1);
	if (!r) {
		r = conclude(u, &map, place);
		behind = false;
	}
	u->no_rule = !r;
	u->image = map.path;
	if (!r)
		return -UNW_EINVAL;
	start = ip - (place - r->r.start);
	if (r->r.flags)
		mark(u->space, start, r->r.bytes + behind, r->r.flags);
	rc = show_rule(as, r, ip - start - behind, pi, need, arg);
	if (rc == -UNW_ENOINFO)
		return -UNW_EINVAL;
	pi->start_ip = start;
	pi->end_ip = start + r->r.bytes + behind;
	return rc;
}

static void put_unwind_info(unw_addr_space_t as, unw_proc_info_t *pi, void *arg)
{
}

static int no_dyn_info(unw_addr_space_t as, unw_word_t *addr, void *arg)
{
	return -UNW_ENOINFO;
}

static int access_fpreg(unw_addr_space_t as, unw_regnum_t reg, unw_fpreg_t *v, int write, void *arg)
{
	return -UNW_EBADREG;
}

static int no_resume(unw_addr_space_t as, unw_cursor_t *c, void *arg)
{
	return -UNW_EINVAL;
}

static int no_name(unw_addr_space_t as, unw_word_t addr, char *name, size_t n, unw_word_t *off,
		   void *arg)
{
	return -UNW_ENOINFO;
}

static unw_accessors_t accessors = {
	.find_proc_info = find_proc_info,
	.put_unwind_info = put_unwind_info,
	.get_dyn_info_list_addr = no_dyn_info,
	.access_mem = access_mem,
	.access_reg = access_reg,
	.access_fpreg = access_fpreg,
	.resume = no_resume,
	.get_proc_name = no_name,
};

/* ---- whether there has to be a lock ---- */

/*
 * libunwind locks by masking all signals: two system calls a frame, most of the time that it takes.
 * What is one thread's alone needs no lock, but no policy says so; one that is not known, other
 * than GLOBAL, works without in libunwind 1.6, unless it was built with caches of threads. So it is
 * tried: a step works, with one in an address space without this code, and signals are as before.
 */
#define CACHE_UNLOCKED ((unw_caching_policy_t)3)

struct probe {
	struct unwind_rules *rules;
	const struct unwind_rule *rule; /* NULL: it is not known in this address space */
};

static int probe_find(unw_addr_space_t as, unw_word_t ip, unw_proc_info_t *pi, int need, void *arg)
{
	const struct probe *p = arg;

	return p->rule ? show_rule(as, p->rule, 0, pi, need, arg) : -UNW_EINVAL;
}

static int probe_mem(unw_addr_space_t as, unw_word_t addr, unw_word_t *v, int write, void *arg)
{
	const struct probe *p = arg;

	*v = 0x3000;
	return addr < RULES_BASE || read_rule(p->rules, addr, v) ? 0 : -UNW_EINVAL;
}

static int probe_reg(unw_addr_space_t as, unw_regnum_t reg_nr, unw_word_t *v, int write, void *arg)
{
	*v = 0x1000u * (unsigned)(reg_nr + 1);
	return 0;
}

static bool same_signals(const sigset_t *x, const sigset_t *y)
{
	for (int i = 1; i < NSIG; i++)
		if (sigismember(x, i) != sigismember(y, i))
			return false;
	return true;
}

/* An address space that signals were left masked by is locked for ever: it is left alone. */
static int probe_step(struct probe *p)
{
	unw_accessors_t a = accessors;
	sigset_t before, after;
	unw_addr_space_t as;
	unw_cursor_t c;
	int rc;

	a.find_proc_info = probe_find;
	a.access_mem = probe_mem;
	a.access_reg = probe_reg;
	as = unw_create_addr_space(&a, 0);
	if (!as)
		return 0;
	unw_set_caching_policy(as, CACHE_UNLOCKED);
	pthread_sigmask(SIG_SETMASK, NULL, &before);
	rc = unw_init_remote(&c, as, p);
	if (!rc)
		rc = unw_step(&c);
	pthread_sigmask(SIG_SETMASK, NULL, &after);
	if (!same_signals(&before, &after)) {
		pthread_sigmask(SIG_SETMASK, &before, NULL);
		return 0;
	}
	unw_destroy_addr_space(as);
	return rc;
}

static unw_caching_policy_t best_caching(void)
{
	static const uint8_t program[] = {0x0c, 7, 8, 0x90, 1};
	const struct cfi_rule r = {.start = 1,
				   .bytes = 0x1000,
				   .code_align = 1,
				   .data_align = -8,
				   .return_register = REG_IP,
				   .initial = {program, sizeof(program)}};
	struct probe known = {.rules = unwind_rules_new()}, unknown = known;
	bool works;

	works = known.rules && !unwind_rules_add(known.rules, 0, &r, &known.rule) &&
		probe_step(&known) > 0 && probe_step(&unknown) < 0;
	unwind_rules_free(known.rules);
	return works ? CACHE_UNLOCKED : UNW_CACHE_GLOBAL;
}

/* ---- address spaces ---- */

int unwind_new(const struct process_history *p, const struct unwind_source *src,
	       struct unwind **out, struct err *err)
{
	struct unwind *u = calloc(1, sizeof(*u));

	if (u)
		u->memo = unwind_memo_new();
	if (!u || !u->memo) {
		free(u);
		return err_set(err, -ENOMEM, "out of memory to unwind stacks");
	}
	u->history = p;
	u->src = *src;
	u->caching = best_caching();
	*out = u;
	return 0;
}

void unwind_free(struct unwind *u)
{
	if (!u)
		return;
	for (unsigned i = 0; i < NR_SPACES; i++)
		if (u->spaces[i].as)
			unw_destroy_addr_space(u->spaces[i].as);
	unwind_memo_free(u->memo);
	free(u);
}

static void forget(struct unwind *u, struct space *s)
{
	s->era = ++u->nr_eras;
	s->span = (struct history_span){0, UINT64_MAX};
	s->nr_marks = 0;
	s->nr = 0;
	unw_flush_cache(s->as, 0, 0);
}

/* The process that the sample is about; 0: unknown. */
static uint32_t process_of(const struct unwind *u)
{
	uint64_t ns = u->rec->time_ns;
	const struct fmt_task *t = history_task(u->history, u->rec->tid, ns);

	if (t && t->pid != t->tid)
		t = history_task(u->history, t->pid, ns);
	return t ? t->key : 0;
}

/* Its address space, or the one that was not used for longest. False: out of memory. */
static bool enter_space(struct unwind *u)
{
	uint32_t key = process_of(u);
	struct space *s = &u->spaces[0];
	uint64_t ns = u->rec->time_ns;

	for (unsigned i = 0; i < NR_SPACES; i++) {
		if (u->spaces[i].as && u->spaces[i].key == key) {
			s = &u->spaces[i];
			break;
		}
		if (u->spaces[i].used < s->used)
			s = &u->spaces[i];
	}
	if (!s->as) {
		s->as = unw_create_addr_space(&accessors, 0);
		if (!s->as)
			return false;
		unw_set_caching_policy(s->as, u->caching);
		s->key = key;
		forget(u, s);
	} else if (s->key != key || ns < s->span.from_ns || ns > s->span.to_ns) {
		s->key = key;
		forget(u, s);
	}
	if (++s->nr == MANY_SAMPLES && !s->wide)
		s->wide = !unw_set_cache_size(s->as, CACHE_ADDRESSES, 0);
	s->used = ++u->nr_samples;
	u->space = s;
	return true;
}

/* ---- a sample ---- */

static bool take_regs(struct unwind *u)
{
	const struct record_sample *s = &u->rec->s;
	uint64_t mask = u->rec->channel->layout.regs_user;

	if (s->regs_abi != PERF_SAMPLE_REGS_ABI_64 || !s->regs)
		return false;
	for (unsigned i = 0; i < NR_REGS; i++) {
		uint64_t bit = 1ull << perf_regs[i];

		u->regs[i] = 0;
		if (mask & bit)
			memcpy(&u->regs[i],
			       s->regs + 8 * (unsigned)__builtin_popcountll(mask & (bit - 1)), 8);
	}
	return mask & 1ull << perf_regs[REG_SP] && mask & 1ull << perf_regs[REG_IP];
}

/* CFI_* of the code at `addr`. */
static uint32_t marks_of(const struct space *s, uint64_t addr)
{
	for (unsigned i = 0; i < s->nr_marks; i++)
		if (s->marks[i].from <= addr && addr < s->marks[i].to)
			return s->marks[i].flags;
	return 0;
}

static uint64_t reg(struct unwind *u, unw_regnum_t r)
{
	unw_word_t v = 0;

	unw_get_reg(&u->cursor, r, &v);
	return v;
}

/* The cursor stands in a frame that is not libunwind's finding: as if the sample had been taken
 * there, in the call. */
static void restart(struct unwind *u, uint64_t ip, uint64_t sp, uint64_t bp)
{
	for (int i = 0; i < NR_REGS; i++)
		u->regs[i] = reg(u, i);
	u->regs[REG_IP] = ip - 1;
	u->regs[REG_SP] = sp;
	u->regs[REG_BP] = bp;
	unw_init_remote(&u->cursor, u->space->as, u);
}

/* The caller by the frame pointer; and where a sample was taken, which may be the function's
 * first instruction, by the top of the stack. */
static bool guess(struct unwind *u, bool sampled, uint64_t *ip)
{
	uint64_t bp = reg(u, REG_BP), sp = reg(u, REG_SP), next;
	struct history_map map;

	if (bp >= sp && !(bp & 7) && read_stack(u, bp, &next) && read_stack(u, bp + 8, ip) &&
	    (!next || next > bp) && is_mapped(u, *ip - 1, &map)) {
		restart(u, *ip, bp + 16, next);
		u->last_frame = !next;
		return true;
	}
	if (sampled && read_stack(u, sp, ip) && is_mapped(u, *ip - 1, &map)) {
		restart(u, *ip, sp + 8, bp);
		return true;
	}
	return false;
}

/* Why the last step failed, or whether there is another way. */
static bool go_on(struct unwind *u, uint64_t *ip, enum unwind_end *end)
{
	bool sampled = u->nr == 1;

	if (u->no_rule || (u->unmapped && sampled)) {
		u->cut = false;
		if (guess(u, sampled, ip))
			return true;
		if (u->last_frame) {
			*end = UNWIND_COMPLETE;
			return false;
		}
		*end = u->cut ? UNWIND_CUT : u->unmapped ? UNWIND_BAD : UNWIND_NO_RULE;
		return false;
	}
	if (u->unmapped && u->nr > 1)
		u->nr--;
	*end = u->unmapped || !u->cut ? UNWIND_BAD : u->elsewhere ? UNWIND_ELSEWHERE : UNWIND_CUT;
	return false;
}

static void add_frame(struct unwind *u, uint64_t ip, uint64_t sp, bool exact)
{
	struct unwind_memo_frame *d = &u->details[u->nr];
	unw_save_loc_t loc;

	*d = (struct unwind_memo_frame){.ip = ip,
					.sp = sp,
					.bp = reg(u, REG_BP),
					.first_read = (uint32_t)u->nr_words,
					.exact = exact};
	if (!unw_get_save_loc(&u->cursor, REG_BP, &loc))
		d->bp_at = loc.type == UNW_SLT_MEMORY ? loc.u.addr
			   : loc.type == UNW_SLT_REG  ? (uint64_t)loc.u.regnum
						      : 0;
	u->frames[u->nr++] = (struct unwind_frame){ip, exact};
}

/* Whether the rest is as in the thread's last sample; it is added. Of interrupted code other
 * registers may matter, too. */
static bool recall(struct unwind *u)
{
	struct unwind_memo_chain c = {u->details, u->words, u->nr, u->nr_words};

	if (u->details[u->nr - 1].exact ||
	    !unwind_memo_recall(u->memo, u->rec->tid, u->space->era, u->sp, u->stack, &c,
				UNWIND_MAX_FRAMES, MAX_WORDS))
		return false;
	for (; u->nr < c.nr; u->nr++)
		u->frames[u->nr] =
			(struct unwind_frame){u->details[u->nr].ip, u->details[u->nr].exact};
	u->nr_words = c.nr_reads;
	return true;
}

static void keep(struct unwind *u)
{
	const struct unwind_memo_chain c = {u->details, u->words, u->nr, u->nr_words};

	if (u->nr_words < MAX_WORDS)
		unwind_memo_keep(u->memo, u->rec->tid, u->space->era, &c);
}

static enum unwind_end walk(struct unwind *u)
{
	uint64_t ip = u->regs[REG_IP], sp = u->regs[REG_SP], next;
	bool exact = true, signal;
	enum unwind_end end;
	uint32_t marks;
	int rc;

	while (u->nr < UNWIND_MAX_FRAMES) {
		add_frame(u, ip, sp, exact);
		if (recall(u))
			return UNWIND_COMPLETE;
		u->no_rule = u->unmapped = u->cut = false;
		u->stepping = true;
		rc = unw_step(&u->cursor);
		marks = marks_of(u->space, exact ? ip : ip - 1);
		if (marks & CFI_SWITCH && (!exact || rc < 0))
			return UNWIND_ELSEWHERE;
		signal = marks & CFI_SIGNAL;
		if (rc < 0) {
			signal = false;
			if (!go_on(u, &ip, &end))
				return end;
		} else {
			ip = reg(u, REG_IP);
			u->last_frame = false;
		}
		u->stepping = false;
		/* A handler returns to its first byte, for the kernel has put that there. */
		if (signal)
			u->frames[u->nr - 1].exact = u->details[u->nr - 1].exact = true;
		if (!rc || !ip)
			return UNWIND_COMPLETE;
		/* A handler may have a stack of its own; else the stack grows one way. */
		next = reg(u, REG_SP);
		if (!signal && next <= sp)
			return UNWIND_BAD;
		sp = next;
		exact = signal;
		/* What was interrupted may be on a stack that was not copied. */
		u->elsewhere = signal && !span_fits(sp - u->sp, 8, u->stack.len);
	}
	return UNWIND_DEEP;
}

bool unwind_has(const struct timeline_record *rec)
{
	const uint64_t both = PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;

	return (rec->s.have & both) == both;
}

void unwind_sample(struct unwind *u, const struct timeline_record *rec, struct unwind_chain *out)
{
	enum unwind_end end = UNWIND_NO_REGS;

	u->rec = rec;
	u->nr = 0;
	u->reads = 0;
	u->nr_words = 0;
	u->stepping = false;
	u->last_frame = u->elsewhere = false;
	u->image = NULL;
	u->stack = rec->s.stack;
	if (take_regs(u) && enter_space(u)) {
		u->sp = u->regs[REG_SP];
		end = unw_init_remote(&u->cursor, u->space->as, u) ? UNWIND_BAD : walk(u);
		if (end == UNWIND_COMPLETE)
			keep(u);
	}
	*out = (struct unwind_chain){
		.frames = u->frames,
		.nr = u->nr,
		.end = end,
		.image = end == UNWIND_NO_RULE ? u->image : NULL,
		.stack_bytes = rec->s.stack.len,
	};
}
