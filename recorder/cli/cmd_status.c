// SPDX-License-Identifier: MIT
/*
 * `ringback status`: state and cost of running recorders as text, as metrics or, with --json, their
 * unchanged answers. ctl.h documents the keys; missing values are not printed.
 */
#include "recorder/cli/cmd.h"

#include "dump/base/err.h"
#include "dump/base/str.h"
#include "trigger/kernel/clock.h"
#include "recorder/daemon/ctl.h"
#include "recorder/daemon/metrics.h"
#include "recorder/base/ctl_dir.h"
#include "recorder/base/log.h"
#include "recorder/base/output_file.h"
#include "recorder/base/table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#define ANSWER_MS     10000
#define MAX_RECORDERS 256

/* ---- the answer's values as text ---- */

static const json_t *get(const json_t *object, const char *key)
{
	return json_object_get(object, key);
}

static uint64_t number(const json_t *object, const char *key)
{
	json_int_t v = json_integer_value(get(object, key));

	return v > 0 ? (uint64_t)v : 0;
}

static const char *text(const json_t *object, const char *key)
{
	const char *v = json_string_value(get(object, key));

	return v ? v : "";
}

/* One formatted value, so that one printf can use several. */
struct value_text {
	char text[48];
};

static const char *size_of(const json_t *object, const char *key, struct value_text *w)
{
	return str_fmt_size(w->text, sizeof(w->text), number(object, key));
}

static const char *count_of(const json_t *object, const char *key, struct value_text *w)
{
	return str_fmt_count(w->text, sizeof(w->text), number(object, key));
}

static const char *time_text(uint64_t ns, struct value_text *w)
{
	if (ns >= 1000000000 && ns < 120000000000)
		snprintf(w->text, sizeof(w->text), "%.1f s", (double)ns / 1e9);
	else if (ns >= 1000000 && ns < 1000000000)
		snprintf(w->text, sizeof(w->text), "%.1f ms", (double)ns / 1e6);
	else
		str_fmt_time(w->text, sizeof(w->text), (int64_t)ns);
	return w->text;
}

static void header(struct table *t, const char *const *words)
{
	while (*words)
		table_cell(t, "%s", *words++);
}

/* ---- sections ---- */

static void print_head(const json_t *r)
{
	char name[128], target[512];
	struct value_text up;

	str_safe(name, sizeof(name), text(r, "name"), strlen(text(r, "name")));
	str_safe(target, sizeof(target), text(r, "target"), strlen(text(r, "target")));
	printf("recorder '%s': %s, pid %" PRIu64 ", up %s, version %s\n", name, text(r, "state"),
	       number(r, "pid"), time_text(number(r, "uptime_ns"), &up), text(r, "version"));
	printf("target: %s%s\n", target,
	       json_is_true(get(r, "target_ended")) ? "; all its processes have ended" : "");
}

/* "a, b, c", or the first few and how many more. */
static void events_text(const json_t *channel, char *out, size_t n)
{
	const json_t *events = get(channel, "events");
	size_t nr = json_array_size(events), used = 0, i;

	out[0] = '\0';
	for (i = 0; i < nr; i++) {
		const char *event = json_string_value(json_array_get(events, i));
		size_t len = event ? strlen(event) : 0;

		if (i && used + len + 2 > 60)
			break;
		used += (size_t)snprintf(out + used, n - used, "%s%.*s", i ? ", " : "", 60,
					 event ? event : "?");
	}
	if (i < nr)
		snprintf(out + used, n - used, " and %zu more", nr - i);
}

static void print_channels(const json_t *r)
{
	const json_t *channels = get(r, "channels"), *c;
	struct table *t;
	size_t i;

	if (!json_array_size(channels))
		return;
	t = table_new("lrrrrrrl");
	header(t, (const char *const[]){"channel", "horizon", "fill", "ring", "rings", "banks",
					"written", "events", NULL});
	json_array_foreach(channels, i, c)
	{
		struct value_text horizon, ring, written;
		char events[160];

		events_text(c, events, sizeof(events));
		table_cell(t, "%s", text(c, "name"));
		table_cell(t, "%s", time_text(number(c, "horizon_ns"), &horizon));
		table_cell(t, "%" PRIu64 " %%", number(c, "fill_percent"));
		table_cell(t, "%s", size_of(c, "ring_bytes", &ring));
		table_cell(t, "%" PRIu64, number(c, "nr_rings"));
		table_cell(t, "%" PRIu64, number(c, "banks"));
		table_cell(t, "%s", size_of(c, "written_bytes", &written));
		table_cell(t, "%s", events);
	}
	putchar('\n');
	table_print(t, 0, stdout);
	table_free(t);
}

static void print_compact(const json_t *r)
{
	const json_t *channel;
	size_t i;

	json_array_foreach(get(r, "channels"), i, channel)
	{
		if (json_is_true(get(channel, "compact")))
			printf("compact:    %s: records of 8 bytes, written by BPF programs\n",
			       text(channel, "name"));
	}
}

#define MAX_RINGS 8 /* printed for each channel */

/* Rings that are sized for a time. */
static void print_sized(const json_t *r)
{
	const json_t *channel, *ring;
	size_t i, k;

	json_array_foreach(get(r, "channels"), i, channel)
	{
		const json_t *rings = get(channel, "rings");
		struct value_text asked, held, size, rate;

		if (!rings)
			continue;
		printf("horizon:    %s: %s asked%s\n", text(channel, "name"),
		       time_text(number(channel, "horizon_asked_ns"), &asked),
		       number(channel, "short_rings") ? "; memory does not allow it (--memory)"
						      : "");
		json_array_foreach(rings, k, ring)
		{
			if (k == MAX_RINGS) {
				printf("            and %zu more CPUs (--json)\n",
				       json_array_size(rings) - k);
				break;
			}
			printf("            CPU %" PRIu64 ": %s in a ring of %s, %s a second%s\n",
			       number(ring, "cpu"), time_text(number(ring, "horizon_ns"), &held),
			       size_of(ring, "ring_bytes", &size),
			       size_of(ring, "bytes_per_second", &rate),
			       json_is_true(get(ring, "short")) ? ", too small" : "");
		}
	}
}

/* The size of AUX areas, and facts about them in the last dump. */
static void print_areas(const json_t *r)
{
	const json_t *channel;
	size_t i;

	json_array_foreach(get(r, "channels"), i, channel)
	{
		const json_t *aux = get(channel, "aux");
		struct value_text size, all, fresh, blackout, copy;

		if (!aux)
			continue;
		printf("AUX:        %s: %" PRIu64 " area%s of %s", text(channel, "name"),
		       number(aux, "nr_areas"), str_plural(number(aux, "nr_areas")),
		       size_of(aux, "area_bytes", &size));
		if (number(aux, "blackout_ns"))
			printf("; last dump: %s, %s new; stopped for up to %s, copied in %s",
			       size_of(aux, "bytes", &all), size_of(aux, "new_bytes", &fresh),
			       time_text(number(aux, "blackout_ns"), &blackout),
			       time_text(number(aux, "copy_ns"), &copy));
		putchar('\n');
	}
}

static void print_rules(const json_t *r)
{
	const json_t *rules = get(r, "rules"), *rule;
	uint64_t now = clock_ns();
	struct table *t;
	size_t i;

	if (!json_array_size(rules))
		return;
	t = table_new("lrrll");
	header(t, (const char *const[]){"trigger", "hits", "held", "next", "rule", NULL});
	json_array_foreach(rules, i, rule)
	{
		uint64_t until = number(rule, "blocked_until_ns");
		struct value_text hits, held, left;

		table_cell(t, "%s", text(rule, "name"));
		table_cell(t, "%s", count_of(rule, "hits", &hits));
		table_cell(t, "%s", count_of(rule, "held", &held));
		if (until > now)
			table_cell(t, "in %s", time_text(until - now, &left));
		else
			table_cell(t, "any time");
		table_cell(t, "%s", text(rule, "text"));
	}
	putchar('\n');
	table_print(t, 0, stdout);
	table_free(t);
}

/* Warnings of rules, and signatures with several hits. */
static void print_repeats(const json_t *r)
{
	const json_t *repeats = get(r, "repeats"), *rules = get(r, "rules"), *one;
	char comm[80];
	size_t i;

	json_array_foreach(rules, i, one) if (*text(one, "trouble"))
		printf("warning:    %s: %s\n", text(one, "name"), text(one, "trouble"));
	json_array_foreach(repeats, i, one)
	{
		struct value_text seen, kept;

		if (number(one, "seen") < 2)
			continue;
		str_safe(comm, sizeof(comm), text(one, "comm"), strlen(text(one, "comm")));
		printf("repeated:   %s%s%s: %s hits, %s in dumps\n", text(one, "rule"),
		       *comm ? " in " : "", comm, count_of(one, "seen", &seen),
		       count_of(one, "kept", &kept));
	}
}

static void print_dumps(const json_t *r)
{
	const json_t *d = get(r, "dumps"), *t = get(r, "totals");
	struct value_text a, b, c;
	char last[4200], why[1024];

	printf("\ndumps:      %s written, %s failed or refused, %s deleted to stay within limits\n",
	       count_of(d, "committed", &a), count_of(d, "failed", &b), count_of(d, "deleted", &c));
	if (*text(d, "last")) {
		str_safe(last, sizeof(last), text(d, "last"), strlen(text(d, "last")));
		printf("last dump:  %s\n", last);
	}
	if (number(d, "spilled")) {
		str_safe(last, sizeof(last), text(d, "spill_directory"),
			 strlen(text(d, "spill_directory")));
		str_safe(why, sizeof(why), text(d, "spill_reason"),
			 strlen(text(d, "spill_reason")));
		printf("spilled:    %s dump%s to %s: %s\n", count_of(d, "spilled", &a),
		       str_plural(number(d, "spilled")), last, why);
	}
	printf("triggers:   %s hit%s, %s merged with a dump being written, %s held\n",
	       count_of(t, "hits", &a), str_plural(number(t, "hits")), count_of(t, "merged", &b),
	       count_of(t, "held", &c));
}

/* The process to look at when there are evictions. */
static void print_largest(const json_t *p)
{
	struct value_text maps, threads;
	char comm[80];

	str_safe(comm, sizeof(comm), text(p, "comm"), strlen(text(p, "comm")));
	printf("            %s (%" PRIu64 ") has most: %s mapping%s, %s thread%s\n", comm,
	       number(p, "pid"), count_of(p, "maps", &maps), str_plural(number(p, "maps")),
	       count_of(p, "threads", &threads), str_plural(number(p, "threads")));
}

static void print_processes(const json_t *r)
{
	const json_t *s = get(r, "sideband"), *l = get(r, "ledger");
	struct value_text a, b, c, d, e, f;

	printf("processes:  %s task%s, %s exited, %s mapping%s; %s of %s memory, %s evicted\n",
	       count_of(l, "tasks", &a), str_plural(number(l, "tasks")),
	       count_of(l, "tombstones", &b), count_of(l, "maps", &c),
	       str_plural(number(l, "maps")), size_of(l, "bytes", &d), size_of(l, "max_bytes", &e),
	       count_of(l, "evicted", &f));
	if (get(l, "largest"))
		print_largest(get(l, "largest"));
	if (number(l, "files") || number(l, "files_dropped"))
		printf("            %s program file%s kept open, %s closed early\n",
		       count_of(l, "files", &a), str_plural(number(l, "files")),
		       count_of(l, "files_dropped", &b));
	printf("sideband:   %s record%s, %s lost, %s scan%s of /proc, %s wake-up%s\n",
	       count_of(s, "records", &a), str_plural(number(s, "records")),
	       count_of(s, "lost", &b), count_of(s, "scans", &c), str_plural(number(s, "scans")),
	       count_of(s, "wakeups", &d), str_plural(number(s, "wakeups")));
}

static void print_cost(const json_t *r)
{
	const json_t *c = get(r, "cost");
	uint64_t cpu = number(c, "cpu_ns"), up = number(r, "uptime_ns");
	struct value_text cpu_text, rss, rings, vol, invol;

	printf("cost:       %s CPU (%.3f %% of one), %s resident, %s of rings\n",
	       time_text(cpu, &cpu_text), up ? 100.0 * (double)cpu / (double)up : 0.0,
	       size_of(c, "rss_bytes", &rss), size_of(c, "ring_bytes", &rings));
	printf("            %s voluntary and %s involuntary context switches\n",
	       count_of(c, "voluntary", &vol), count_of(c, "involuntary", &invol));
}

/* As many as fit on a line of 100 columns. */
static void print_privileges(const json_t *r)
{
	const json_t *all = get(r, "privileges"), *one;
	int column = 0;
	size_t i;

	json_array_foreach(all, i, one)
	{
		const char *name = text(one, "capability");

		if (!i || column + (int)strlen(name) > 98)
			column = printf("%s%-11s", i ? ",\n" : "", i ? "" : "privileges:");
		else
			column += printf(",");
		column += printf(" %s", name);
	}
	if (json_array_size(all))
		putchar('\n');
}

static void print_status(const json_t *r)
{
	print_head(r);
	print_channels(r);
	print_rules(r);
	if (get(r, "dumps"))
		print_dumps(r);
	print_compact(r);
	print_sized(r);
	print_areas(r);
	print_repeats(r);
	if (get(r, "ledger"))
		print_processes(r);
	if (get(r, "cost"))
		print_cost(r);
	print_privileges(r);
}

/* ---- the command ---- */

struct status_args {
	const char *name;
	const char *out_path; /* NULL: stdout */
	bool as_json, as_metrics;
};

/* The recorders' answers. */
struct answers {
	json_t *v[MAX_RECORDERS];
	size_t nr;
};

static int ask(struct answers *a, const char *name)
{
	struct err err = ERR_INIT;

	if (ctl_call(name, json_pack("{s:s}", "cmd", "status"), ANSWER_MS, &a->v[a->nr], &err)) {
		log_err(&err);
		return EXIT_FAILED;
	}
	a->nr++;
	return EXIT_FINE;
}

static int ask_all(struct answers *a)
{
	char names[MAX_RECORDERS][CTL_NAME_BYTES];
	size_t nr = ctl_running(names, MAX_RECORDERS);
	int code = EXIT_FINE;

	/* No recorder runs: the error for the default one has a hint. */
	if (!nr)
		return ask(a, "default");
	for (size_t i = 0; i < nr; i++)
		if (ask(a, names[i]))
			code = EXIT_FAILED;
	return code;
}

static void print_all(const struct answers *a, bool as_json)
{
	for (size_t i = 0; i < a->nr; i++) {
		if (as_json) {
			json_dumpf(a->v[i], stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
			putchar('\n');
			continue;
		}
		if (i)
			putchar('\n');
		print_status(a->v[i]);
	}
}

/* The file is written also if no recorder answers: old values would hide that. Mode 0644, since
 * another user's exporter reads it. */
static int write_metrics(const struct answers *a, const char *path)
{
	struct output_file *o;
	struct err err = ERR_INIT;
	struct stat st;
	int fd, rc = output_file_open(path, true, &o, &err);

	if (!rc) {
		fd = fileno(output_file_stream(o));
		if (!fstat(fd, &st) && S_ISREG(st.st_mode) && fchmod(fd, 0644))
			rc = err_sys(&err, -errno, "can't set the mode of %s", path);
		metrics_print(a->v, a->nr, output_file_stream(o));
		rc = rc ? rc : output_file_commit(o, &err);
		output_file_close(o);
	}
	if (rc)
		log_err(&err);
	return rc ? EXIT_FAILED : EXIT_FINE;
}

static const struct option_row options[] = {
	{"name", 'n', "NAME", OPTION_WORD, offsetof(struct status_args, name),
	 .values = VALUES_RECORDER, .help = "of this recorder only (default: all of yours)"},
	{"json", 0, NULL, OPTION_FLAG, offsetof(struct status_args, as_json),
	 .help = "the recorder's own answer, one JSON object each"},
	{"metrics", 0, NULL, OPTION_FLAG, offsetof(struct status_args, as_metrics),
	 .help = "as metrics in the text format of Prometheus"},
	{"output", 'o', "FILE", OPTION_WORD, offsetof(struct status_args, out_path),
	 .values = VALUES_FILE,
	 .help = "write the metrics to FILE (mode 0644), which is replaced when they are complete"},
	{.name = NULL},
};

static int run(int argc, char **argv)
{
	struct status_args q = {0};
	struct answers a = {.nr = 0};
	struct err err = ERR_INIT;
	char **operands;
	int code = cmd_parse(&cmd_status, &q, argc, argv, &operands);

	if (code)
		return code;
	if (q.as_json && q.as_metrics)
		return cmd_misuse(&cmd_status, "only one of --json and --metrics can be given");
	if (q.out_path && !q.as_metrics)
		return cmd_misuse(&cmd_status, "-o requires --metrics");
	if (q.name && ctl_name_check(q.name, &err)) {
		log_err(&err);
		return EXIT_USAGE;
	}
	code = q.name ? ask(&a, q.name) : ask_all(&a);
	if (q.out_path)
		code = write_metrics(&a, q.out_path) ? EXIT_FAILED : code;
	else if (q.as_metrics)
		metrics_print(a.v, a.nr, stdout);
	else
		print_all(&a, q.as_json);
	while (a.nr)
		json_decref(a.v[--a.nr]);
	return code;
}

const struct command cmd_status = {
	.name = "status",
	.operands = "",
	.help = "horizon per channel, dumps, losses and cost of running recorders",
	.run = run,
	.options = options,
};
