/* LAYERS: dump base */
// SPDX-License-Identifier: MIT
/*
 * Simulates Intel PT on a machine without it.
 *
 * tool_pt step [OPTION]... -- PROGRAM [ARG]...
 *	Runs a program instruction by instruction and writes the trace that Intel PT would have
 *	written of its user side. At its end the program spins on its CPU for as long as the trace
 *	says; the trace has the times of this spin. Exits with 1 when the program lost its CPU
 *	meanwhile.
 *
 *	-o TRACE, -l LOG, -k CODE	files: the packets; the log (pt_log.h); the pages that
 *			ran, each behind its address
 *	-c CPU		runs it on that CPU
 *	-e		from the program's entry on, without the dynamic linker before it
 *	-n NR		at most so many instructions
 *	-r NR		repeats the program so many times in the trace
 *	-x COMMAND	the shell runs it while the program keeps its CPU
 *	-q		the log without the steps
 *	-p BYTES	between two PSBs
 *	-m PERIOD	of MTC packets, as mtc_period; 15: none
 *	-i NR		an interrupt after every so many instructions
 *	-b, -y		branches in short packets; CYC packets
 *
 * tool_pt graft [OPTION]... DUMP OUT TRACE LOG [TRACE LOG]...
 *	Puts such traces, one after the other, into a copy of a dump made at the same time (so its
 *	ledger knows the programs), as if a channel "pt" had recorded them. May be repeated for
 *	another CPU or thread.
 *
 *	--cpu CPU, --tid TID	the CPU or thread of the area
 *	-u			the trace ends when the trigger was hit
 *	-s BYTES		size of the area: older bytes are overwritten
 */
#include "tests/helpers/pt_graft.h"

#include <err.h>
#include <getopt.h>

/* ---- step ---- */

struct step {
	const char *trace, *log, *code, *command;
	char **argv;
	int cpu;
	bool entry, no_steps;
	size_t max, times;
	struct pt_options opt;
};

static struct pt_encode encode(const struct step *s, const struct pt_run *r, uint64_t tsc,
			       size_t times)
{
	struct pt_options opt = s->opt;
	struct pt_encode e;

	opt.tsc = tsc;
	e = pt_encode_begin(&opt);
	for (size_t i = 0; i < times; i++) {
		pt_encode_run(&e, r);
		e.nr_truth = s->no_steps ? 0 : e.nr_truth;
	}
	return e;
}

/* Moves this thread off `cpu`, if there is another CPU. */
static void leave(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (i != cpu)
			CPU_SET(i, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* Gives the program its CPU for the time of its trace. Other programs or the hypervisor may take
 * the CPU away, so it tries up to 200 times, each a little longer. */
static bool give_time(const struct step *s, struct pt_run *r, const struct pt_log *l,
		      uint64_t ticks, uint64_t *began)
{
	struct pt_moment now = pt_moment_now();
	uint64_t ns = (uint64_t)((__int128)ticks * (int64_t)(now.ns - l->before.ns) /
				 (int64_t)(now.tsc - l->before.tsc));

	leave(s->cpu);
	for (uint64_t i = 0; i < (s->command ? 1 : 200); i++)
		if (pt_spin(r, ticks, ns + ns / 8 + (1 + i / 4) * 1000000, s->command, began))
			return true;
	return false;
}

static FILE *open_out(const char *path)
{
	FILE *f = fopen(path, "we");

	if (!f)
		err(2, "%s", path);
	return f;
}

static void close_out(FILE *f, const char *path)
{
	if (ferror(f) | fclose(f))
		err(2, "%s", path);
}

static void write_out(const struct step *s, const struct pt_run *r, const struct pt_log *l,
		      const struct pt_encode *e)
{
	FILE *f;

	if (s->trace) {
		f = open_out(s->trace);
		fwrite(e->pkt.out.p, 1, e->pkt.out.len, f);
		close_out(f, s->trace);
	}
	if (s->log) {
		f = open_out(s->log);
		pt_log_write(f, l, e);
		close_out(f, s->log);
	}
	if (s->code) {
		f = open_out(s->code);
		fwrite(r->pages, sizeof(*r->pages), r->nr_pages, f);
		close_out(f, s->code);
	}
}

static int step(struct step *s)
{
	struct pt_log l = {.before = pt_moment_now(), .clock = pt_perf_clock(), .cpu = s->cpu};
	struct pt_run r;
	struct pt_encode e;
	uint64_t tsc;

	pt_go_to(s->cpu);
	r = pt_run_begin(s->argv, s->cpu, false);
	if (s->entry && WIFSTOPPED(r.status))
		pt_run_enter(&r);
	pt_run_steps(&r, s->max);
	if (r.nr < 2)
		errx(2, "%s: it can't be run", s->argv[0]);
	e = encode(s, &r, 0, 1);
	l.alone = give_time(s, &r, &l, e.tsc * s->times, &tsc);
	pt_encode_free(&e);
	l.after = pt_moment_now();
	pt_run_end(&r, false);
	e = encode(s, &r, tsc, s->times);
	snprintf(l.program, sizeof(l.program), "%s", s->argv[0]);
	l.pid = l.tid = (uint32_t)r.pid;
	l.bytes = e.pkt.out.len;
	l.instructions = r.nr;
	l.began = (struct pt_moment){tsc, pt_ns_of(l.before, l.after, tsc)};
	l.ended = (struct pt_moment){e.tsc, pt_ns_of(l.before, l.after, e.tsc)};
	write_out(s, &r, &l, &e);
	pt_encode_free(&e);
	pt_run_free(&r);
	return !l.alone;
}

static int step_main(int argc, char **argv)
{
	struct step s = {
		.cpu = -1,
		.max = SIZE_MAX,
		.times = 1,
		.opt = {.psb_bytes = 4096, .long_tnt = true, .ret_compress = true, .mtc = 3},
	};
	int c;

	while ((c = getopt(argc, argv, "+o:l:k:c:n:r:p:m:i:x:beqy")) != -1) {
		if (c == 'o')
			s.trace = optarg;
		else if (c == 'l')
			s.log = optarg;
		else if (c == 'k')
			s.code = optarg;
		else if (c == 'c')
			s.cpu = atoi(optarg);
		else if (c == 'e')
			s.entry = true;
		else if (c == 'q')
			s.no_steps = true;
		else if (c == 'n')
			s.max = strtoul(optarg, NULL, 0);
		else if (c == 'r')
			s.times = strtoul(optarg, NULL, 0);
		else if (c == 'p')
			s.opt.psb_bytes = strtoul(optarg, NULL, 0);
		else if (c == 'm')
			s.opt.mtc = (unsigned int)atoi(optarg) % 15;
		else if (c == 'i')
			s.opt.irq_every = strtoul(optarg, NULL, 0);
		else if (c == 'x')
			s.command = optarg;
		else if (c == 'b')
			s.opt.long_tnt = false;
		else if (c == 'y')
			s.opt.cyc = true;
		else
			return 2;
	}
	if (optind == argc)
		errx(2, "step: no program");
	s.argv = argv + optind;
	if (s.cpu < 0)
		s.cpu = sched_getcpu();
	return step(&s);
}

static int graft_main(int argc, char **argv)
{
	static const struct option options[] = {
		{"cpu", required_argument, NULL, 'c'},
		{"tid", required_argument, NULL, 't'},
		{0},
	};
	struct pt_graft g = {.cpu = -1, .tid = -1};
	int c;

	while ((c = getopt_long(argc, argv, "+us:", options, NULL)) != -1) {
		if (c == 'c')
			g.cpu = atoi(optarg);
		else if (c == 't')
			g.tid = atoi(optarg);
		else if (c == 's')
			g.area_bytes = strtoull(optarg, NULL, 0);
		else if (c == 'u')
			g.until_hit = true;
		else
			return 2;
	}
	if ((g.cpu < 0) == (g.tid < 0) || argc - optind < 4 || (argc - optind) % 2)
		errx(2, "graft: --cpu CPU | --tid TID DUMP OUT TRACE LOG [TRACE LOG]...");
	for (int i = optind + 2; i < argc && g.nr_logs < MAX_TRACES; i += 2)
		pt_graft_take(&g, argv[i], argv[i + 1]);
	if (!g.area_bytes)
		for (g.area_bytes = 65536; g.area_bytes < g.trace.len;)
			g.area_bytes *= 2;
	return pt_graft(&g, argv[optind], argv[optind + 1]);
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "step"))
		return step_main(argc - 1, argv + 1);
	if (argc > 1 && !strcmp(argv[1], "graft"))
		return graft_main(argc - 1, argv + 1);
	errx(2, "step or graft; see the top of tests/tools/tool_pt.c");
}
