// SPDX-License-Identifier: MIT
/* Source "rss:PID>SIZE": the resident memory of a process, read every second near the threshold and
 * less often far from it. The rule ends with the process. */
#include "trigger/sources/polled.h"

#include "dump/base/err.h"
#include "trigger/engine/rule_check.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

static double memory(void)
{
	return (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
}

/* Sets *bytes to 0 for a process without memory. 0 or -errno. */
static int read_rss(const struct source *s, double *bytes)
{
	unsigned long size, resident;
	char text[128];
	int rc = polled_read(s, text, sizeof(text));

	if (rc)
		return rc;
	if (sscanf(text, "%lu %lu", &size, &resident) != 2)
		return -EPROTO;
	*bytes = size ? (double)resident * (double)sysconf(_SC_PAGESIZE) : 0;
	return 0;
}

static int check(const struct rule *r, double *threshold, struct err *err)
{
	char size[32];
	int rc = rule_check_value(r, "the pid of a process", "><", "rss:812>2G", err);

	if (!rc)
		rc = rule_check_size(r, memory(), threshold, err);
	if (rc)
		return rc;
	value_fmt_size(size, sizeof(size), memory());
	if (r->op == RULE_OP_ABOVE && *threshold >= memory())
		return rule_err(r->text, r->threshold_at, err,
				"this machine has %s of memory, so the rule can't be met", size);
	if (r->op == RULE_OP_BELOW && *threshold <= 0)
		return rule_err(r->text, r->threshold_at, err,
				"nothing is below %s, so the rule can't be met", r->threshold);
	return 0;
}

static int rss_look(struct source *s, uint64_t now_ns, double *value, uint64_t *began_ns,
		    struct err *err)
{
	int rc = read_rss(s, value);

	if (rc == -ESRCH || process_ended(&s->process))
		return process_gone(&s->process, err);
	return rc ? err_sys(err, rc, "can't read /proc/%d/statm", s->process.pid) : 1;
}

static void rss_text(const struct source *s, double value, char *out, size_t n)
{
	value_fmt_size(out, n, value);
}

static const struct polled_ops ops = {sizeof(struct source), rss_look, rss_text, NULL};

static int open_files(struct source *s, const struct rule *r, const struct source_env *env,
		      struct err *err)
{
	double bytes;
	int rc = process_open(r, env, &s->process, err);

	if (rc)
		return rc;
	s->fd = process_file(&s->process, "statm");
	if (s->fd < 0)
		return err_sys(err, s->fd, "can't open /proc/%d/statm", s->process.pid);
	rc = read_rss(s, &bytes);
	if (rc)
		return err_sys(err, rc, "can't read /proc/%d/statm", s->process.pid);
	if (!bytes)
		return rule_err(r->text, r->arg_at, err,
				"process %d (%s) is a kernel thread and has no memory of its "
				"own",
				s->process.pid, s->process.comm);
	return 0;
}

static int rss_open(const struct rule *r, const struct source_env *env, struct source **out,
		    struct err *err)
{
	struct source *s;
	double threshold = 0;
	int rc = check(r, &threshold, err);

	if (rc)
		return rc;
	rc = polled_new(&ops, r, &s, err);
	if (rc)
		return rc;
	s->fastest = memory() / 10;
	threshold_init(&s->level, r, threshold, memory());
	return polled_start(s, open_files(s, r, env, err), out, err);
}

static void rss_plan(const struct source *s, struct source_plan *out)
{
	snprintf(out->watches, sizeof(out->watches), "the resident memory of process %d (%s)",
		 s->process.pid, s->process.comm);
	polled_costs(s, out);
}

const struct source_ops source_rss = {
	.name = "rss",
	.syntax = "rss:PID>SIZE",
	.help = "a process has more (or less) memory in use than this",
	.example = "rss:812>2G",
	.open = rss_open,
	.plan = rss_plan,
	POLLED_OPS,
};
