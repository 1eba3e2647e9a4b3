/* SPDX-License-Identifier: MIT */
/*
 * From the instructions that a program ran (pt_step.h) to the trace that Intel PT would have
 * written of them, user side only, and to the calls and returns that a decoder has to find in it:
 * the ground truth. A table of its own classifies branches by their bytes, so that it shares no
 * mistake with the decoder. Packet generation follows the Intel SDM, volume 3, "Intel Processor
 * Trace": conditional branches are TNT bits, indirect ones TIPs, a return to its call site is a TNT
 * bit (RET compression), and the kernel's part lies between TIP.PGD and TIP.PGE.
 */
#pragma once

#include "tests/helpers/pt_packets.h"
#include "tests/helpers/pt_step.h"

enum pt_truth_kind { PT_T_CALL, PT_T_RETURN, PT_T_OFF, PT_T_ON, PT_T_LOST };

struct pt_truth {
	uint64_t tsc, from, to; /* OFF, LOST: no `to`; ON: no `from` */
	size_t offset;		/* bytes written before it */
	enum pt_truth_kind kind;
};

struct pt_options {
	size_t psb_bytes;     /* one PSB about every so many bytes */
	bool long_tnt;	      /* else short TNT packets */
	bool ret_compress;    /* RET compression */
	bool cyc;	      /* CYC packets */
	unsigned int mtc;     /* 0: no MTC packets; else one every 2^mtc ticks of the crystal */
	size_t irq_every;     /* 0, or: an interrupt after every so many instructions */
	size_t lose_at, lose; /* an overflow after lose_at instructions loses so many */
	uint64_t tsc;	      /* at the start */
};

/* Clocks of the simulated processor, as the guest's intel_pt has them in sysfs: one tick of the
 * crystal is 120 of the TSC. */
#define PT_CRYSTAL_EAX 2
#define PT_CRYSTAL_EBX 240
#define PT_NOMINAL     30 /* the ratio at which a cycle is a tick of the TSC */
#define PT_STEP_TICKS  3  /* duration of an instruction */

enum pt_insn_kind {
	PT_I_OTHER,
	PT_I_COND,
	PT_I_JUMP,
	PT_I_JUMP_IND,
	PT_I_CALL,
	PT_I_CALL_IND,
	PT_I_RET,
	PT_I_FAR, /* syscall: leaves the user side */
};

/* `n`: length of the instruction, set for COND and the calls. */
static inline enum pt_insn_kind pt_insn_kind_of(const uint8_t *c, size_t len, size_t *n)
{
	static const uint8_t prefix[] = {0x66, 0x67, 0xf2, 0xf3, 0x2e, 0x3e,
					 0x64, 0x65, 0x36, 0x26, 0xf0};
	size_t i = 0;
	uint8_t modrm;

	while (i < len && memchr(prefix, c[i], sizeof(prefix)))
		i++;
	if (i < len && (c[i] & 0xf0) == 0x40)
		i++;
	if (i + 7 > len)
		return PT_I_OTHER;
	*n = i + 2;
	if ((c[i] & 0xf0) == 0x70 || (c[i] >= 0xe0 && c[i] <= 0xe3))
		return PT_I_COND;
	if (c[i] == 0x0f) {
		*n = i + 6;
		return (c[i + 1] & 0xf0) == 0x80 ? PT_I_COND
		       : c[i + 1] == 0x05	 ? PT_I_FAR
						 : PT_I_OTHER;
	}
	*n = i + 5;
	if (c[i] == 0xe8)
		return PT_I_CALL;
	if (c[i] == 0xe9 || c[i] == 0xeb)
		return PT_I_JUMP;
	if (c[i] == 0xc3 || c[i] == 0xc2)
		return PT_I_RET;
	if (c[i] != 0xff)
		return PT_I_OTHER;
	modrm = c[i + 1];
	*n = i + 2;
	if (modrm >> 6 != 3) { /* memory: SIB byte, displacement */
		*n += (modrm & 7) == 4;
		*n += modrm >> 6 == 1 ? 1
		      : modrm >> 6 == 2 || (modrm & 7) == 5 ||
				      ((modrm & 7) == 4 && (c[i + 2] & 7) == 5)
			      ? 4
			      : 0;
	}
	return (modrm >> 3 & 7) == 2   ? PT_I_CALL_IND
	       : (modrm >> 3 & 7) == 4 ? PT_I_JUMP_IND
				       : PT_I_OTHER;
}

#define PT_RETS 64 /* depth of the processor's return stack for RET compression */

struct pt_encode {
	struct pt_packets pkt;
	struct pt_truth *truth;
	size_t nr_truth, cap_truth;
	struct pt_options opt;
	uint64_t tsc, cyc_at, mtc_at; /* now, at the last CYC, at the last MTC */
	size_t psb_at;
	uint64_t rets[PT_RETS];
	unsigned int ret_top, nr_rets;
};

static inline void pt_truth_put(struct pt_encode *e, enum pt_truth_kind kind, uint64_t from,
				uint64_t to)
{
	if (e->nr_truth == e->cap_truth) {
		e->cap_truth = e->cap_truth ? e->cap_truth * 2 : 1024;
		e->truth = realloc(e->truth, e->cap_truth * sizeof(*e->truth));
		assert(e->truth);
	}
	e->truth[e->nr_truth++] = (struct pt_truth){e->tsc, from, to, e->pkt.out.len, kind};
}

/* A CYC packet precedes the packet it times. */
static inline void pt_time(struct pt_encode *e)
{
	if (e->opt.cyc && e->tsc != e->cyc_at)
		pt_cyc(&e->pkt, e->tsc - e->cyc_at);
	e->cyc_at = e->tsc;
}

static inline void pt_flush(struct pt_encode *e)
{
	if (e->pkt.nr_tnt)
		pt_time(e);
	pt_tnt_flush(&e->pkt);
}

static inline void pt_branch(struct pt_encode *e, bool taken)
{
	pt_tnt(&e->pkt, taken);
	if (pt_tnt_full(&e->pkt))
		pt_flush(e);
}

static inline void pt_target(struct pt_encode *e, enum pt_packets_ip op, uint64_t ip)
{
	pt_flush(e);
	pt_time(e);
	pt_ip(&e->pkt, op, ip);
}

static inline uint64_t pt_ctc(const struct pt_encode *e)
{
	return e->tsc * PT_CRYSTAL_EAX / PT_CRYSTAL_EBX;
}

static inline void pt_sync_time(struct pt_encode *e)
{
	pt_tsc(&e->pkt, e->tsc);
	if (e->opt.mtc) {
		pt_tma(&e->pkt, (uint16_t)pt_ctc(e),
		       (uint16_t)(e->tsc % (PT_CRYSTAL_EBX / PT_CRYSTAL_EAX)));
		e->mtc_at = pt_ctc(e) >> e->opt.mtc;
	}
	e->cyc_at = e->tsc;
}

/* `ip`: the next instruction; 0 when nothing is traced. */
static inline void pt_sync(struct pt_encode *e, uint64_t ip)
{
	pt_flush(e);
	pt_psb(&e->pkt);
	pt_sync_time(e);
	pt_cbr(&e->pkt, PT_NOMINAL);
	pt_mode(&e->pkt);
	if (ip)
		pt_ip(&e->pkt, PT_IP_FUP, ip);
	pt_psbend(&e->pkt);
	e->nr_rets = 0;
	e->psb_at = e->pkt.out.len;
}

static inline void pt_off(struct pt_encode *e, uint64_t from)
{
	pt_flush(e);
	pt_time(e);
	pt_ip_none(&e->pkt, PT_IP_PGD);
	pt_truth_put(e, PT_T_OFF, from, 0);
}

static inline void pt_on(struct pt_encode *e, uint64_t to)
{
	pt_time(e);
	pt_ip(&e->pkt, PT_IP_PGE, to);
	pt_truth_put(e, PT_T_ON, 0, to);
	e->nr_rets = 0;
}

/* MTC packets up to now, each at its own time, as if the processor had never slept. Pending
 * branches may be written after them. */
static inline void pt_mtc_due(struct pt_encode *e)
{
	uint64_t now = pt_ctc(e) >> e->opt.mtc, tsc = e->tsc;

	if (!e->opt.mtc)
		return;
	while (e->mtc_at < now) {
		e->mtc_at++;
		e->tsc = (e->mtc_at << e->opt.mtc) * (PT_CRYSTAL_EBX / PT_CRYSTAL_EAX);
		pt_time(e);
		pt_mtc(&e->pkt, (uint8_t)e->mtc_at);
	}
	e->tsc = tsc;
}

/* An interrupt at `ip`: into the kernel and back. */
static inline void pt_irq(struct pt_encode *e, uint64_t ip)
{
	pt_target(e, PT_IP_FUP, ip);
	pt_off(e, ip);
	e->tsc += 5000;
	pt_mtc_due(e);
	pt_on(e, ip);
}

static inline void pt_call(struct pt_encode *e, uint64_t from, uint64_t to, uint64_t back)
{
	pt_truth_put(e, PT_T_CALL, from, to);
	if (!e->opt.ret_compress || to == back)
		return;
	e->rets[e->ret_top++ % PT_RETS] = back;
	e->nr_rets += e->nr_rets < PT_RETS;
}

static inline void pt_ret(struct pt_encode *e, uint64_t from, uint64_t to)
{
	bool same = e->nr_rets && e->rets[--e->ret_top % PT_RETS] == to;

	if (same)
		e->nr_rets--, pt_branch(e, true);
	else
		e->nr_rets = 0, pt_target(e, PT_IP_TIP, to);
	pt_truth_put(e, PT_T_RETURN, from, to);
}

/* The instruction at `ip` ran; `next` runs after it. */
static inline void pt_step(struct pt_encode *e, const struct pt_run *r, uint64_t ip, uint64_t next)
{
	uint8_t code[16] = {0};
	size_t n = 0;

	pt_run_code(r, ip, code, sizeof(code));
	switch (pt_insn_kind_of(code, sizeof(code), &n)) {
	case PT_I_COND:
		pt_branch(e, next != ip + n);
		break;
	case PT_I_CALL_IND:
		pt_target(e, PT_IP_TIP, next);
		pt_call(e, ip, next, ip + n);
		break;
	case PT_I_CALL:
		pt_call(e, ip, next, ip + n);
		break;
	case PT_I_JUMP_IND:
		pt_target(e, PT_IP_TIP, next);
		break;
	case PT_I_RET:
		pt_ret(e, ip, next);
		break;
	case PT_I_FAR:
		pt_off(e, ip);
		e->tsc += 900;
		pt_mtc_due(e);
		pt_on(e, next);
		break;
	default:
		break;
	}
}

/* Nothing is traced yet. The trace is in e.pkt.out, the truth in e.truth. */
static inline struct pt_encode pt_encode_begin(const struct pt_options *opt)
{
	struct pt_encode e = {.opt = *opt, .tsc = opt->tsc, .cyc_at = opt->tsc};

	e.pkt.max_tnt = opt->long_tnt ? 47 : 6;
	pt_sync(&e, 0);
	return e;
}

/* An overflow loses instructions. Returns the index of the last one lost. */
static inline size_t pt_lose(struct pt_encode *e, const struct pt_run *r, size_t i)
{
	pt_flush(e);
	pt_truth_put(e, PT_T_LOST, 0, 0);
	i = i + e->opt.lose < r->nr - 2 ? i + e->opt.lose : r->nr - 2;
	e->tsc += e->opt.lose * PT_STEP_TICKS;
	pt_ovf(&e->pkt);
	pt_sync_time(e);
	pt_ip(&e->pkt, PT_IP_FUP, r->ips[i + 1]);
	e->nr_rets = 0;
	return i;
}

/* The program's part; a second call appends the run again. */
static inline void pt_encode_run(struct pt_encode *e, const struct pt_run *r)
{
	const struct pt_options *opt = &e->opt;
	size_t i = 0;

	pt_on(e, r->ips[0]);
	for (; i + 1 < r->nr; i++) {
		e->tsc += PT_STEP_TICKS;
		if (opt->lose && i == opt->lose_at) {
			i = pt_lose(e, r, i);
			continue;
		}
		pt_mtc_due(e);
		pt_step(e, r, r->ips[i], r->ips[i + 1]);
		if (opt->irq_every && i % opt->irq_every == opt->irq_every - 1)
			pt_irq(e, r->ips[i + 1]);
		if (e->pkt.out.len - e->psb_at > opt->psb_bytes)
			pt_sync(e, r->ips[i + 1]);
	}
	if (!r->ended)
		pt_target(e, PT_IP_FUP, r->ips[i]);
	pt_off(e, r->ips[i]);
	e->tsc += 900;
}

static inline struct pt_encode pt_encode(const struct pt_run *r, const struct pt_options *opt)
{
	struct pt_encode e = pt_encode_begin(opt);

	pt_encode_run(&e, r);
	return e;
}

static inline void pt_encode_free(struct pt_encode *e)
{
	buf_free(&e->pkt.out);
	free(e->truth);
}
