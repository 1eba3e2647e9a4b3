// SPDX-License-Identifier: MIT
/* The recorder's state in the text format of Prometheus; see metrics.h. Adding a metric is one row
 * here; tests/program/setup/it_metrics.sh has promtool check the names. */
#include "recorder/daemon/metrics.h"

#include <string.h>

#define NS 1e9

/* Rows with the same name stand together. */
struct metric {
	const char *section; /* of the answer; NULL: its top. An array: a sample for each element */
	const char *key;     /* of an integer; of a boolean or a text: 1 if it is true, not empty */
	const char *name;    /* without "ringback_"; a counter ends in "_total" */
	const char *help;
	double divisor;	   /* 0: none */
	const char *label; /* a further one; NULL: none */
};

static const struct metric metrics[] = {
	{NULL, "uptime_ns", "uptime_seconds", .help = "Time since recording began.", .divisor = NS},
	{NULL, "target_ended", "target_ended", .help = "1 if no recorded process is left."},
	{"channels", "horizon_ns", "channel_horizon_seconds",
	 .help = "How far back all rings of a channel reach.", .divisor = NS},
	{"channels", "horizon_asked_ns", "channel_horizon_asked_seconds",
	 .help = "How far back its rings are sized to reach.", .divisor = NS},
	{"channels", "short_rings", "channel_short_rings",
	 .help = "Its rings that memory does not allow the size for that."},
	{"channels", "fill_percent", "channel_fill_ratio",
	 .help = "Part of a channel's rings that is filled.", .divisor = 100},
	{"channels", "written_bytes", "channel_written_bytes_total",
	 .help = "Bytes that the kernel wrote to a channel's rings."},
	{"channels", "event_bytes", "channel_event_bytes",
	 .help = "Mean size of a channel's events in the last dump."},
	{"dumps", "committed", "dumps_total", .help = "Dumps written."},
	{"dumps", "failed", "dumps_failed_total", .help = "Dumps that failed or were refused."},
	{"dumps", "deleted", "dumps_deleted_total",
	 .help = "Dumps deleted to stay within the limits."},
	{"dumps", "last_real_ns", "last_dump_timestamp_seconds",
	 .help = "When the last dump was complete.", .divisor = NS},
	{"rules", "hits", "rule_hits_total", .help = "Hits of a rule."},
	{"rules", "held", "rule_held_total",
	 .help = "Hits of a rule that were held, as in a cooldown."},
	{"rules", "trouble", "rule_trouble", .help = "1 if status has a warning about the rule."},
	{"totals", "hits", "hits_total", .help = "Hits of all rules."},
	{"totals", "merged", "hits_merged_total",
	 .help = "Hits merged with a dump that was being written."},
	{"totals", "held", "hits_held_total", .help = "Hits of all rules that were held."},
	{"sideband", "records", "sideband_records_total",
	 .help = "Records about processes and mappings."},
	{"sideband", "lost", "sideband_lost_total",
	 .help = "Of these, records that the kernel dropped."},
	{"sideband", "wakeups", "sideband_wakeups_total",
	 .help = "Wake-ups of the recorder by them."},
	{"sideband", "scans", "proc_scans_total",
	 .help = "Scans of /proc: at the start and after losses."},
	{"ledger", "bytes", "history_bytes", .help = "Memory of the process history."},
	{"ledger", "max_bytes", "history_max_bytes", .help = "Its limit."},
	{"ledger", "evicted", "history_evicted_total",
	 .help = "Exited tasks forgotten at that limit."},
	{"cost", "cpu_ns", "cpu_seconds_total", .help = "CPU time of the recorder.", .divisor = NS},
	{"cost", "rss_bytes", "resident_memory_bytes", .help = "Resident memory of the recorder."},
	{"cost", "ring_bytes", "ring_memory_bytes", .help = "Memory of all rings."},
	{"cost", "voluntary", "context_switches_total", .help = "Context switches of the recorder.",
	 .label = "kind=\"voluntary\""},
	{"cost", "involuntary", "context_switches_total",
	 .help = "Context switches of the recorder.", .label = "kind=\"involuntary\""},
};

static void print_head(const char *name, const char *help, FILE *out)
{
	fprintf(out, "# HELP ringback_%s %s\n# TYPE ringback_%s %s\n", name, help, name,
		strstr(name, "_total") ? "counter" : "gauge");
}

/* NAME="VALUE", escaped. */
static void print_label(const char *name, const json_t *value, FILE *out)
{
	const char *text = json_string_value(value);

	fprintf(out, "%s=\"", name);
	for (; text && *text; text++) {
		if (*text == '\n')
			fputs("\\n", out);
		else if (*text == '"' || *text == '\\')
			fprintf(out, "\\%c", *text);
		else
			fputc(*text, out);
	}
	fputc('"', out);
}

static json_int_t number(const json_t *v)
{
	if (json_is_string(v))
		return *json_string_value(v) != '\0';
	return json_is_integer(v) ? json_integer_value(v) : json_is_true(v);
}

/* `label`: the name of the element's label; NULL: `of` is no element of an array. */
static void print_sample(const struct metric *m, const json_t *recorder, const json_t *of,
			 const char *label, FILE *out)
{
	const json_t *v = json_object_get(of, m->key);

	if (!v)
		return;
	fprintf(out, "ringback_%s{", m->name);
	print_label("recorder", json_object_get(recorder, "name"), out);
	if (label) {
		fputc(',', out);
		print_label(label, json_object_get(of, "name"), out);
	}
	if (m->label)
		fprintf(out, ",%s", m->label);
	if (m->divisor > 0)
		fprintf(out, "} %.*f\n", m->divisor > 100 ? 9 : 2, (double)number(v) / m->divisor);
	else
		fprintf(out, "} %lld\n", number(v));
}

static void print_samples(const struct metric *m, const json_t *recorder, FILE *out)
{
	const json_t *of = m->section ? json_object_get(recorder, m->section) : recorder, *one;
	size_t i;

	if (!json_is_array(of))
		print_sample(m, recorder, of, NULL, out);
	json_array_foreach(of, i, one)
		print_sample(m, recorder, one, *m->section == 'c' ? "channel" : "rule", out);
}

static void print_build(json_t *const *recorders, size_t nr, FILE *out)
{
	print_head("build_info", "Version of a running recorder; always 1.", out);
	for (size_t i = 0; i < nr; i++) {
		fputs("ringback_build_info{", out);
		print_label("recorder", json_object_get(recorders[i], "name"), out);
		fputc(',', out);
		print_label("version", json_object_get(recorders[i], "version"), out);
		fputs("} 1\n", out);
	}
}

void metrics_print(json_t *const *recorders, size_t nr, FILE *out)
{
	print_build(recorders, nr, out);
	for (size_t m = 0; m < sizeof(metrics) / sizeof(*metrics); m++) {
		if (!m || strcmp(metrics[m].name, metrics[m - 1].name))
			print_head(metrics[m].name, metrics[m].help, out);
		for (size_t i = 0; i < nr; i++)
			print_samples(&metrics[m], recorders[i], out);
	}
}
