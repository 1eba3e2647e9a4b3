/* SPDX-License-Identifier: MIT */
/*
 * Writes Intel PT packets into a buffer. The formats are those of the Intel 64 and IA-32
 * Architectures Software Developer's Manual, volume 3, chapter "Intel Processor Trace", section
 * "Trace packets and data types". It knows packets only; pt_encode.h decides which packet comes
 * when.
 */
#pragma once

#include "dump/base/bytes.h"

#include <assert.h>

struct pt_packets {
	struct buf out;
	uint64_t last_ip;	      /* base of address compression; PSB sets it to 0 */
	uint64_t tnt;		      /* pending branches, the newest in bit 0 */
	unsigned int nr_tnt, max_tnt; /* max_tnt: 6 (short packets) or 47 (long ones) */
};

enum pt_packets_ip {
	PT_IP_PGD = 0x01,
	PT_IP_TIP = 0x0d,
	PT_IP_PGE = 0x11,
	PT_IP_FUP = 0x1d,
};

static inline void pt_put(struct pt_packets *p, const void *src, size_t n)
{
	int rc = buf_put(&p->out, src, n);

	assert(!rc);
}

static inline void pt_put_ext(struct pt_packets *p, uint8_t opcode)
{
	uint8_t b[] = {0x02, opcode};

	pt_put(p, b, sizeof(b));
}

/* `n` bytes of `v`, lowest first. */
static inline void pt_put_le(struct pt_packets *p, uint64_t v, size_t n)
{
	pt_put(p, &v, n);
}

/* Short: one byte. Long: opcode and 6 bytes. In both, a stop bit above the branches, oldest
 * highest. */
static inline void pt_tnt_flush(struct pt_packets *p)
{
	uint64_t payload = 1ull << p->nr_tnt | p->tnt;

	if (!p->nr_tnt)
		return;
	if (p->nr_tnt <= 6) {
		pt_put_le(p, payload << 1, 1);
	} else {
		pt_put_ext(p, 0xa3);
		pt_put_le(p, payload, 6);
	}
	p->tnt = p->nr_tnt = 0;
}

static inline bool pt_tnt_full(const struct pt_packets *p)
{
	return p->nr_tnt == p->max_tnt;
}

static inline void pt_tnt(struct pt_packets *p, bool taken)
{
	p->tnt = p->tnt << 1 | taken;
	p->nr_tnt++;
}

/* The shortest form that restores the address (IPBytes 1, 2, 4, 3, 6). */
static inline void pt_ip(struct pt_packets *p, enum pt_packets_ip op, uint64_t ip)
{
	uint64_t diff = ip ^ p->last_ip;
	uint8_t form = 6, n = 8;

	if (!(diff >> 16))
		form = 1, n = 2;
	else if (!(diff >> 32))
		form = 2, n = 4;
	else if (!(diff >> 48))
		form = 4, n = 6;
	else if ((int64_t)(ip << 16) >> 16 == (int64_t)ip)
		form = 3, n = 6;
	pt_put_le(p, (uint64_t)(form << 5 | op), 1);
	pt_put_le(p, ip, n);
	p->last_ip = ip;
}

/* IPBytes 0: no address. */
static inline void pt_ip_none(struct pt_packets *p, enum pt_packets_ip op)
{
	pt_put_le(p, op, 1);
}

static inline void pt_psb(struct pt_packets *p)
{
	for (int i = 0; i < 8; i++)
		pt_put_ext(p, 0x82);
	p->last_ip = 0;
}

static inline void pt_psbend(struct pt_packets *p)
{
	pt_put_ext(p, 0x23);
}

static inline void pt_ovf(struct pt_packets *p)
{
	pt_put_ext(p, 0xf3);
}

/* 64-bit code, no transaction. */
static inline void pt_mode(struct pt_packets *p)
{
	pt_put_le(p, 0x2099, 2);
	pt_put_le(p, 0x0199, 2);
}

static inline void pt_tsc(struct pt_packets *p, uint64_t tsc)
{
	pt_put_le(p, 0x19, 1);
	pt_put_le(p, tsc, 7);
}

static inline void pt_tma(struct pt_packets *p, uint16_t ctc, uint16_t fast)
{
	pt_put_ext(p, 0x73);
	pt_put_le(p, ctc, 3);
	pt_put_le(p, fast & 0x1ff, 2);
}

static inline void pt_cbr(struct pt_packets *p, uint8_t ratio)
{
	pt_put_ext(p, 0x03);
	pt_put_le(p, ratio, 2);
}

static inline void pt_mtc(struct pt_packets *p, uint8_t ctc)
{
	pt_put_le(p, (uint64_t)ctc << 8 | 0x59, 2);
}

/* 5 bits in the first byte, 7 in each further one; a bit in each says whether another follows. */
static inline void pt_cyc(struct pt_packets *p, uint64_t cycles)
{
	uint64_t rest = cycles >> 5;

	pt_put_le(p, (cycles & 0x1f) << 3 | (rest ? 4 : 0) | 3, 1);
	for (; rest; rest >>= 7)
		pt_put_le(p, (rest & 0x7f) << 1 | !!(rest >> 7), 1);
}
