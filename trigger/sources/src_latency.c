// SPDX-License-Identifier: MIT
/*
 * Source "latency:PATH:SYMBOL>TIME": a call of a function takes longer than TIME, from its first
 * instruction to its return. Probes at both ends; a BPF program compares (latency.bpf.c).
 *
 * Nested calls: each thread has at most BPF_LATENCY_FRAMES open calls, ordered by the stack pointer
 * at their start, the outermost first. The stack pointer also reveals a call that was left without
 * a return (longjmp, an exception, exec): a later call that starts at or above it, or returns above
 * it, ends it.
 *
 *	frame[0].place > frame[1].place > ...       the stack grows down
 *
 * If calls are nested deeper, the newest call takes the last frame: the outermost three and the
 * newest are timed. A slow call marks the calls around it, so that they do not report the same
 * delay.
 */
#include "trigger/engine/source.h"

#include "dump/base/err.h"
#include "trigger/engine/rule_check.h"
#include "trigger/bpf/bpf_latency.h"
#include "trigger/kernel/settings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STACK_BYTES 16384

struct source {
	struct bpf_latency *watch;
	char *function; /* PATH:SYMBOL as written */
};

static int attach(struct source *s, const struct rule *r, bool on_return,
		  const struct source_env *env, struct err *err)
{
	char *text;
	int rc;

	if (asprintf(&text, "%s:%s", on_return ? "uretprobe" : "uprobe", r->arg) < 0)
		return err_set(err, -ENOMEM, "out of memory for a trigger");
	rc = bpf_latency_attach(s->watch, on_return ? "latency_return" : "latency_start", text, env,
				err);
	free(text);
	return rc;
}

static void latency_close(struct source *s)
{
	if (!s)
		return;
	bpf_latency_close(s->watch);
	free(s->function);
	free(s);
}

static int latency_open(const struct rule *r, const struct source_env *env, struct source **out,
			struct err *err)
{
	const struct bpf_latency_options o = {.rule = r,
					      .nr_frames = BPF_LATENCY_FRAMES,
					      .stack_bytes = STACK_BYTES,
					      .params.own_exec = true};
	struct source *s;
	int rc = rule_check_arg(r, "a function as PATH:SYMBOL",
				"latency:/usr/bin/redis-server:call>10ms", err);

	if (rc)
		return rc;
	s = calloc(1, sizeof(*s));
	if (!s || !(s->function = strdup(r->arg))) {
		free(s);
		return err_set(err, -ENOMEM, "out of memory for a trigger");
	}
	rc = bpf_latency_open(&o, env, &s->watch, err);
	/* The return probe first, so that every noted call has its return seen. */
	if (!rc)
		rc = attach(s, r, true, env, err);
	if (!rc)
		rc = bpf_latency_attach_ends(s->watch, err);
	if (!rc)
		rc = attach(s, r, false, env, err);
	if (rc)
		latency_close(s);
	else
		*out = s;
	return rc;
}

static int latency_fd(const struct source *s, uint32_t *events)
{
	return bpf_latency_fd(s->watch);
}

static int latency_ready(struct source *s, struct sighting *what, struct err *err)
{
	struct bpf_latency_record rec;
	int rc = bpf_latency_ready(s->watch, &rec, what, err);

	if (rc != 1)
		return rc;
	sighting_add(what, "function=%s", s->function);
	if (!rec.ended_ns)
		return 1;
	sighting_add(what, "returned=%#llx", (unsigned long long)rec.extra[0]);
	/*
	 * The page offset of the return address, which address space randomisation does not change.
	 */
	what->stack_hash = (rec.extra[1] & 0xfff) + 1;
	return 1;
}

static uint64_t latency_skip(struct source *s)
{
	return bpf_latency_skip(s->watch);
}

static int latency_cpu(struct source *s, int cpu, bool online, struct err *err)
{
	return bpf_latency_cpu(s->watch, cpu, online, err);
}

static void latency_plan(const struct source *s, struct source_plan *out)
{
	snprintf(out->watches, sizeof(out->watches),
		 "start and return of %s in all processes, timed by a BPF program", s->function);
	snprintf(out->costs, sizeof(out->costs),
		 "two probes each call (about 3 us on most machines), no wake-up until a call is "
		 "slow");
	bpf_latency_costs(s->watch, out->costs, sizeof(out->costs));
}

static bool latency_trouble(const struct source *s, char *out, size_t n)
{
	return bpf_latency_trouble(s->watch, out, n);
}

const struct source_ops source_latency = {
	.name = "latency",
	.syntax = "latency:PATH:SYMBOL>TIME",
	.help = "a call of a function takes longer",
	.example = "latency:/usr/lib/x86_64-linux-gnu/libc.so.6:getaddrinfo>100ms",
	.in_file = true,
	.capability = CAP_BPF,
	.open = latency_open,
	.fd = latency_fd,
	.ready = latency_ready,
	.skip = latency_skip,
	.cpu = latency_cpu,
	.plan = latency_plan,
	.trouble = latency_trouble,
	.close = latency_close,
};
