// SPDX-License-Identifier: MIT
/*
 * The options of `record`: one table for the command line (config_load.c), the configuration file
 * (config_file.c), --help and completion. Adding an option is one row here, one field in struct
 * config and one paragraph in ringback-record.1.
 */
#include "recorder/config/config.h"

#include "dump/base/array.h"
#include "dump/base/err.h"
#include "dump/base/str.h"
#include "recorder/config/config_row.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CPU_LIMIT   65536 /* more CPUs than any kernel supports */
#define PID_LIMIT   INT32_MAX
#define KIB	    1024ull
#define GIB	    (1024ull * 1024 * 1024)
#define NAMES_MAX   64
#define WORKERS_MAX 64

/* ---- setters of OPTION_OWN rows ---- */

static int int_cmp(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return (x > y) - (x < y);
}

/* Parses a number at the start of `*p` and advances it; false if there is none or it exceeds
 * `max`. */
static bool take_number(const char **p, long max, long *v)
{
	char *end;

	if (**p < '0' || **p > '9')
		return false;
	errno = 0;
	*v = strtol(*p, &end, 10);
	*p = end;
	return !errno && *v <= max;
}

static void sort_unique(int *v, size_t *nr)
{
	size_t kept = 0;

	qsort(v, *nr, sizeof(*v), int_cmp);
	for (size_t i = 0; i < *nr; i++)
		if (!kept || v[kept - 1] != v[i])
			v[kept++] = v[i];
	*nr = kept;
}

static int bad_cpus(const char *text, struct err *err)
{
	err_set(err, -EINVAL, "'%s' is not a list of CPUs", text);
	err_hint(err, "write numbers and ranges, such as 0-3,8");
	return -EINVAL;
}

/* -C 0-3,8 */
static int set_cpus(void *config, const char *text, struct err *err)
{
	struct config *c = config;
	int *v = calloc(CPU_LIMIT, sizeof(*v));
	size_t nr = 0;
	int rc = 0;

	if (!v)
		return config_no_memory(err);
	for (const char *p = text;; p++) {
		long from, to;

		if (!take_number(&p, CPU_LIMIT - 1, &from))
			break;
		to = from;
		if (*p == '-') {
			p++;
			if (!take_number(&p, CPU_LIMIT - 1, &to) || to < from)
				break;
		}
		if (nr + (size_t)(to - from + 1) > CPU_LIMIT)
			break;
		for (long cpu = from; cpu <= to; cpu++)
			v[nr++] = (int)cpu;
		if (!*p) {
			sort_unique(v, &nr);
			free(c->cpus);
			c->cpus = v;
			c->nr_cpus = nr;
			return 0;
		}
		if (*p != ',')
			break;
	}
	rc = bad_cpus(text, err);
	free(v);
	return rc;
}

/* Adds a comma-separated list of process or thread ids, without duplicates. */
static int add_ids(uint32_t **ids, size_t *nr, const char *text, const char *what, struct err *err)
{
	for (const char *p = text;; p++) {
		bool known = false;
		long id;

		if (!take_number(&p, PID_LIMIT, &id) || !id || (*p && *p != ',')) {
			err_set(err, -EINVAL, "'%s' is not a list of %s", text, what);
			err_hint(err, "write numbers separated by commas, such as 1234,1250; "
				      "pgrep NAME finds them");
			return -EINVAL;
		}
		for (size_t i = 0; i < *nr; i++)
			known |= (*ids)[i] == (uint32_t)id;
		if (!known) {
			if (!array_room(*ids, *nr))
				return config_no_memory(err);
			(*ids)[(*nr)++] = (uint32_t)id;
		}
		if (!*p)
			return 0;
	}
}

static int set_pids(void *config, const char *text, struct err *err)
{
	struct config *c = config;
	return add_ids(&c->pids, &c->nr_pids, text, "process ids", err);
}

static int set_tids(void *config, const char *text, struct err *err)
{
	struct config *c = config;
	return add_ids(&c->tids, &c->nr_tids, text, "thread ids", err);
}

static int set_events(void *config, const char *text, struct err *err)
{
	struct config *c = config;
	if (!*text) {
		err_set(err, -EINVAL, "no event is given");
		err_hint(err, "such as sched:sched_switch or cpu-clock/freq=99/");
		return -EINVAL;
	}
	return config_join(&c->events, text, err);
}

static int set_stack(void *config, const char *text, struct err *err)
{
	struct config *c = config;
	int rc = config_stack_parse(text ? text : "fp", &c->stack, &c->stack_bytes, err);

	if (!rc)
		c->stack_given = true;
	return rc;
}

/* --memory 2%, --memory 256M */
static int set_memory(void *config, const char *text, struct err *err)
{
	struct config *c = config;
	struct ring_size_memory m = {0};
	const char *p = text;
	long percent;
	int rc = 0;

	if (take_number(&p, 50, &percent) && percent && !strcmp(p, "%"))
		m.percent = (unsigned)percent;
	else if (strchr(text, '%'))
		rc = err_set(err, -EINVAL, "'%s' is not a share of the memory", text);
	else
		rc = str_size(text, &m.bytes, err);
	if (rc)
		err_hint(err, "write a size such as 256M, or 1%% to 50%%; 0: the preset's sizes");
	else
		c->memory = m;
	return rc;
}

/* --horizon 30s, --horizon 0 */
static int set_horizon(void *config, const char *text, struct err *err)
{
	struct config *c = config;
	int64_t ns;
	int rc = str_time(text, &ns, err);

	if (!rc && ns)
		rc = config_horizon_check(ns, err);
	if (!rc)
		c->horizon_ns = ns;
	return rc;
}

static int set_preset(void *config, const char *text, struct err *err)
{
	struct config *c = config;
	const char *names[NAMES_MAX] = {NULL}, *help;

	if (!preset_find(text, false)) {
		for (size_t i = 0; i + 1 < NAMES_MAX && preset_nth(i, &names[i], &help); i++)
			;
		err_set(err, -EINVAL, "there is no preset '%s'", text);
		config_hint_names(err, text, names, "ringback record --help lists the presets");
		return -EINVAL;
	}
	if (c->preset) {
		err_set(err, -EINVAL, "there is a preset already: %s", c->preset);
		err_hint(err, "give only one; -e and --channel add events to it");
		return -EINVAL;
	}
	c->preset = strdup(text);
	return c->preset ? 0 : config_no_memory(err);
}

static int set_name(void *config, const char *text, struct err *err)
{
	struct config *c = config;
	char *copy;

	if (!config_name_ok(text)) {
		err_set(err, -EINVAL, "'%s' can't be a recorder's name", text);
		err_hint(err, "use up to 31 letters, digits, - and _");
		return -EINVAL;
	}
	copy = strdup(text);
	if (!copy)
		return config_no_memory(err);
	free(c->name);
	c->name = copy;
	return 0;
}

/* A time, or "off". */
static int set_symbols(void *config, const char *text, struct err *err)
{
	struct config *c = config;
	int64_t ns = 0;
	int rc = strcmp(text, "off") ? str_time(text, &ns, err) : 0;

	if (!rc && ns < 0)
		rc = err_set(err, -EINVAL, "'%s' is negative", text);
	if (rc) {
		err_hint(err, "write a time, such as 10s, or off");
		return rc;
	}
	c->symbols_ns = ns;
	return 0;
}

/* ---- the table ---- */

#define AT(field) offsetof(struct config, field)

/* clang-format off: rows are easier to read as a table */
const struct option_row config_options[] = {
	{"all-cpus", 'a', NULL, OPTION_FLAG, AT(all_cpus), .in_file = true, .group = GROUP_TARGET,
	 .help = "record the whole system (default for root)"},
	{"cpu", 'C', "CPUS", OPTION_OWN, .set = set_cpus, .in_file = true, .group = GROUP_TARGET,
	 .help = "only these CPUs, such as 0-3,8; alone or with -p, -t or --cgroup"},
	{"pid", 'p', "PID,..", OPTION_OWN, .set = set_pids, .values = VALUES_PID, .repeat = true,
	 .group = GROUP_TARGET,
	 .help = "these processes, their threads and the processes that they start"},
	{"tid", 't', "TID,..", OPTION_OWN, .set = set_tids, .repeat = true, .group = GROUP_TARGET,
	 .help = "these threads and those that they start"},
	{"cgroup", 0, "PATH", OPTION_TEXT, AT(cgroup), .values = VALUES_CGROUP, .in_file = true,
	 .group = GROUP_TARGET,
	 .help = "the members of a control group, such as system.slice/nginx.service"},
	{"no-inherit", 0, NULL, OPTION_FLAG, AT(no_inherit), .in_file = true,
	 .help = "do not record threads and processes that the target starts"},
	{"event", 'e', "EVENT,..", OPTION_OWN, .set = set_events, .values = VALUES_EVENT,
	 .repeat = true, .in_file = true, .group = GROUP_WHAT,
	 .help = "record these: sched:sched_switch, sched:*, cpu-clock/freq=99/, cycles, "
		 "uprobe:PATH:SYMBOL, signal:signal_deliver[sig==11]"},
	{"call-graph", 'g', "[=fp|dwarf[:SIZE]]", OPTION_OWN, .set = set_stack, .in_file = true,
	 .help = "record call stacks: by frame pointers (-g alone), or as a copy of SIZE bytes "
		 "(8K) of the user stack, unwound when the dump is read"},
	{"mmap-size", 'm', "SIZE", OPTION_SIZE, AT(ring_bytes), .min = 4 * KIB, .max = 64 * GIB,
	 .in_file = true,
	 .help = "bytes of each ring, per CPU and bank, rounded up to a power of two of pages"},
	{"memory", 0, "SIZE|N%", OPTION_OWN, .set = set_memory, .def = "2%", .in_file = true,
	 .help = "memory for all rings, divided among those without a size of their own; N% is of "
		 "the machine's memory, at most 1G and 128M for each CPU"},
	{"horizon", 0, "TIME", OPTION_OWN, .set = set_horizon, .def = "0s", .in_file = true,
	 .help = "size the rings for this time: each is resized as its load changes, within "
		 "--memory; 0s: divide --memory once"},
	{"size", 0, "NAME=SIZE|TIME", OPTION_OWN, .set = config_add_size, .repeat = true,
	 .in_file = true,
	 .help = "bytes of each ring of channel NAME, or its time as in --horizon, such as "
		 "sched=64M or sched=30s"},
	{"channel", 0,
	 "NAME:EVENT,..[;size=SIZE|TIME][;stack=none|fp|dwarf:SIZE][;records=compact|perf]",
	 OPTION_OWN, .set = config_add_channel, .repeat = true, .in_file = true,
	 .group = GROUP_WHAT,
	 .help = "events with rings of their own, so that other events do not overwrite them"},
	{"preset", 0, "PRESET", OPTION_OWN, .set = set_preset, .choices = preset_nth,
	 .in_file = true, .group = GROUP_WHAT,
	 .help = "a set of channels, see below; -e and --channel add to it; `default` is used if "
		 "no "
		 "events are given"},
	{"banks", 0, "1|2", OPTION_UINT, AT(nr_banks), .def = "2", .min = 1, .max = 2,
	 .in_file = true,
	 .help = "2: recording continues while a dump is written; 1: half the memory, and a gap"},
	{"trigger", 'T', "RULE", OPTION_OWN, .set = config_add_rule, .values = VALUES_RULE,
	 .repeat = true, .in_file = true, .group = GROUP_RULES,
	 .help = "write a dump when the rule is met, such as signal:USR1;name=app (SIGUSR2 to the "
		 "recorder always writes one)"},
	{"post", 0, "TIME", OPTION_TIME, AT(post_ns), .def = "0s", .in_file = true,
	 .help = "continue recording for this time after a trigger before freezing the rings"},
	{"cooldown", 0, "TIME", OPTION_TIME, AT(cooldown_ns), .def = "0s", .in_file = true,
	 .help = "write no further dump for this time after one; hits are counted"},
	{"max-dumps", 0, "N", OPTION_COUNT, AT(max_dumps), .def = "0", .in_file = true,
	 .help = "keep N dumps, and of each rule the newest; 0: all"},
	{"max-disk", 0, "SIZE", OPTION_SIZE, AT(max_disk_bytes), .def = "0", .in_file = true,
	 .help = "keep dumps of SIZE in total, and of each rule the newest; 0: no limit"},
	{"on-dump", 0, "COMMAND", OPTION_TEXT, AT(on_dump), .in_file = true,
	 .help = "run this with sh -c after each dump, unprivileged and for at most 60 s; stdin is "
		 "the dump, RINGBACK_DUMP its path, RINGBACK_TRIGGER the rule"},
	{"on-dump-user", 0, "USER", OPTION_TEXT, AT(on_dump_user), .in_file = true,
	 .help = "run it as USER (default for root: nobody)"},
	{"tell-group", 0, "GROUP", OPTION_TEXT, AT(tell_group), .in_file = true,
	 .help = "programs run by members of this group may trigger dumps too (ringback.h)"},
	{"crash-hold", 0, NULL, OPTION_FLAG, AT(crash_hold), .in_file = true,
	 .help = "with the rule crash: record the stacks of all threads of the crashed process, "
		 "and "
		 "pass the core dump on; replaces kernel.core_pattern until the recorder ends "
		 "(root)"},
	{"dry-run", 0, NULL, OPTION_FLAG, AT(dry_run),
	 .help = "check everything, print what would be recorded and watched and its cost, and "
		 "exit"},
	{"dump-on-exit", 0, NULL, OPTION_FLAG, AT(dump_on_exit), .in_file = true,
	 .help = "write a dump when recording ends"},
	{"compress", 0, "fast|high", OPTION_CHOICE, AT(compress), .def = "fast", .in_file = true,
	 .help = "high: twice the CPU time, smaller dumps if user stacks are recorded (-g=dwarf)"},
	{"max-dump-cpus", 0, "N", OPTION_UINT, AT(max_dump_cpus), .min = 1, .max = WORKERS_MAX,
	 .in_file = true,
	 .help = "pack dumps on at most N CPUs (default: half of the CPUs, at most 4)"},
	{"symbols", 0, "TIME|off", OPTION_OWN, .set = set_symbols, .def = "10s", .in_file = true,
	 .help = "look up function names for at most TIME, after the dump is on disk"},
	{"hold-files", 0, "yes|no", OPTION_FLAG, AT(hold_files), .def = "yes", .in_file = true,
	 .help = "keep deleted and replaced program files open for --symbols while the rings refer "
		 "to them"},
	{"output", 'o', "DIR", OPTION_TEXT, AT(dir), .values = VALUES_DIRECTORY, .def = ".",
	 .in_file = true, .help = "directory for dumps; created if it does not exist"},
	{"spill", 0, "DIR", OPTION_TEXT, AT(spill), .values = VALUES_DIRECTORY, .in_file = true,
	 .help = "directory for dumps that the other one can't take, on another disk"},
	{"name", 'n', "NAME", OPTION_OWN, .set = set_name, .def = "default", .in_file = true,
	 .help = "this recorder's name for `ringback trigger` and `status`"},
	{"ledger-size", 0, "SIZE", OPTION_SIZE, AT(ledger_bytes), .def = "64M", .min = 1024 * KIB,
	 .max = 16 * GIB, .in_file = true, .help = "maximum memory for process history"},
	{"config", 0, "FILE", OPTION_TEXT, AT(config_path), .values = VALUES_FILE,
	 .help = "read this file instead of " CONFIG_DEFAULT_PATH "; /dev/null: none"},
	{"quiet", 'q', NULL, OPTION_FLAG, AT(quiet), .help = "print only errors and warnings"},
	{"verbose", 'v', NULL, OPTION_FLAG, AT(verbose),
	 .help = "also print what is recorded and watched, the outcome of each hit, and the time "
		 "of "
		 "each dump"},
	{.name = NULL},
};
/* clang-format on */

static void drop_targets(struct config *c)
{
	free(c->cpus);
	free(c->pids);
	free(c->tids);
	free(c->cgroup);
	c->all_cpus = false;
	c->cpus = NULL;
	c->pids = c->tids = NULL;
	c->cgroup = NULL;
	c->nr_cpus = c->nr_pids = c->nr_tids = 0;
}

static void drop_what(struct config *c)
{
	free(c->events);
	free(c->preset);
	config_channels_free(c->channels, c->nr_channels);
	for (size_t i = 0; i < c->nr_sizes; i++)
		free(c->sizes[i].channel);
	free(c->sizes);
	c->sizes = NULL;
	c->nr_sizes = 0;
	c->events = c->preset = NULL;
	c->channels = NULL;
	c->nr_channels = 0;
}

static void drop_rules(struct config *c)
{
	for (size_t i = 0; i < c->nr_rules; i++)
		free(c->rules[i]);
	free(c->rules);
	c->rules = NULL;
	c->nr_rules = 0;
}

void config_drop_group(struct config *c, enum row_group group)
{
	if (group == GROUP_TARGET)
		drop_targets(c);
	else if (group == GROUP_WHAT)
		drop_what(c);
	else if (group == GROUP_RULES)
		drop_rules(c);
}

void config_free(struct config *c)
{
	if (!c)
		return;
	config_drop_group(c, GROUP_TARGET);
	config_drop_group(c, GROUP_WHAT);
	config_drop_group(c, GROUP_RULES);
	free(c->name); /* an OPTION_OWN row */
	for (const struct option_row *r = config_options; r->name; r++)
		if (r->kind == OPTION_TEXT)
			free(*(char **)((char *)c + r->offset));
	*c = (struct config){0};
}
