// SPDX-License-Identifier: MIT
/*
 * Intel PT in a perf.data; see export_perf_aux.h. The description has the fields of perf's
 * util/intel-pt.h, from the PMU's sysfs files. A trace is cut at PSB packets: decoders start there,
 * and a time follows. Packets are those of the Intel SDM, volume 3, "Intel Processor Trace".
 */
#include "dump/view/export/export_perf_aux.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the description ---- */

static const char *file(const struct perf_aux *a, const char *path)
{
	const char *text = meta_pmu_file(a->event, path);

	return text ? text : "";
}

/* The bits of the event's config that a term stands for: "config:10", "config:14-17". */
static uint64_t term_bits(const struct perf_aux *a, const char *path)
{
	unsigned int from, to;
	int nr = sscanf(file(a, path), "config:%u-%u", &from, &to);

	if (nr < 2)
		to = from;
	if (nr < 1 || from > to || to > 63)
		return 0;
	return UINT64_MAX >> (63 - (to - from)) << from;
}

static uint64_t number(const struct perf_aux *a, const char *path)
{
	return strtoull(file(a, path), NULL, 10);
}

void perf_pt_info(const struct perf_aux *a, struct text *t)
{
	unsigned int tsc = 0, crystal = 0;
	bool per_cpu = false;

	/* Both numbers of CPUID 0x15, as the kernel shows them. */
	if (sscanf(file(a, "tsc_art_ratio"), "%u:%u", &tsc, &crystal) != 2)
		tsc = crystal = 0;
	for (size_t i = 0; i < a->nr; i++)
		per_cpu = per_cpu || a->v[i].d->cpu >= 0;
	perf_u64(t, a->event->attr.type);
	perf_u64(t, a->clock.shift);
	perf_u64(t, a->clock.mult);
	perf_u64(t, a->clock.zero);
	perf_u64(t, a->clock.mult > 0); /* cap_user_time_zero */
	perf_u64(t, term_bits(a, "format/tsc"));
	perf_u64(t, term_bits(a, "format/noretcomp"));
	perf_u64(t, per_cpu ? a->switches : PERF_SWITCH_NONE);
	perf_u64(t, 1); /* snapshot mode */
	perf_u64(t, per_cpu);
	perf_u64(t, term_bits(a, "format/mtc"));
	perf_u64(t, term_bits(a, "format/mtc_period"));
	perf_u64(t, tsc);
	perf_u64(t, crystal);
	perf_u64(t, term_bits(a, "format/cyc"));
	perf_u64(t, number(a, "max_nonturbo_ratio"));
	perf_u64(t, 0); /* bytes of a filter's text */
	perf_u64(t, number(a, "caps/event_trace"));
}

/* ---- cutting ---- */

static const uint8_t psb[] = {0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82,
			      0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82};

#define PACKET_TSC 0x19
#define TSC_BYTES  7
#define TSC_BITS   56

/* The length of a packet between a PSB and its PSBEND; 0: another packet. */
static size_t packet_bytes(struct bytes b)
{
	static const uint8_t ip_bytes[8] = {0, 2, 4, 6, 6, 0, 8, 0};
	static const struct {
		uint8_t opcode, bytes;
	} long_ones[] = {{0x73, 7}, {0x03, 4}, {0xc8, 7}, {0x43, 8}}; /* TMA, CBR, VMCS, PIP */
	size_t n = 1;

	if (!b.p[0]) /* PAD */
		return 1;
	if (b.p[0] == PACKET_TSC)
		return 1 + TSC_BYTES;
	if (b.p[0] == 0x99 || b.p[0] == 0x59) /* MODE, MTC */
		return 2;
	if ((b.p[0] & 0x1f) == 0x1d) /* FUP */
		return 1 + ip_bytes[b.p[0] >> 5];
	if ((b.p[0] & 7) == 7) /* CYC that goes on */
		while (n < b.len && b.p[n] & 1)
			n++;
	if ((b.p[0] & 3) == 3)
		return (b.p[0] & 7) == 7 ? n + 1 : 1;
	for (size_t i = 0; b.p[0] == 2 && b.len > 1 && i < 4; i++)
		if (long_ones[i].opcode == b.p[1])
			return long_ones[i].bytes;
	return 0;
}

/* The time of the PSB before `b`. Its TSC packet lacks the highest byte. */
static bool psb_time(const struct perf_area *area, struct bytes b, uint64_t *ns)
{
	uint64_t tsc = 0, newest = area->d->f.stop_cycles;
	struct bytes packet;

	while (b.len && bytes_take(&b, packet_bytes(b), &packet) && packet.len) {
		if (packet.p[0] != PACKET_TSC)
			continue;
		memcpy(&tsc, packet.p + 1, TSC_BYTES);
		tsc |= newest >> TSC_BITS << TSC_BITS;
		if (tsc > newest && tsc >> TSC_BITS)
			tsc -= 1ull << TSC_BITS;
		return aux_time(&area->d->f, tsc, ns);
	}
	return false;
}

struct bytes perf_pt_cut(struct perf_area *area, struct bytes b, uint64_t from_ns, uint64_t to_ns)
{
	const uint8_t *at, *from = b.p, *to;
	struct bytes rest = b;
	uint64_t ns;

	if (!b.len)
		return b;
	to = b.p + b.len;
	while (rest.len && (at = memmem(rest.p, rest.len, psb, sizeof(psb)))) {
		bytes_take(&rest, (size_t)(at - rest.p) + sizeof(psb), &(struct bytes){0});
		if (!psb_time(area, rest, &ns))
			continue;
		if (ns > to_ns) {
			to = at;
			break;
		}
		if (ns <= from_ns || area->first_ns == UINT64_MAX) {
			area->first_ns = ns;
			from = ns <= from_ns ? at : from;
		}
	}
	return (struct bytes){from, (size_t)(to - from)};
}
