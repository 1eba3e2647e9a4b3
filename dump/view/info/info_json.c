// SPDX-License-Identifier: MIT
/* info as one JSON object; see SCHEMA.md, which a test compares with this code. */
#include "dump/view/info/info_impl.h"

#include "dump/base/str.h"
#include "dump/view/model/cgroup.h"

#include <inttypes.h>
#include <string.h>

struct u64_member {
	const char *key;
	size_t offset;
};

#define DUMP(member)                                                                               \
	{                                                                                          \
#member, offsetof(struct fmt_dump_stats, member)                                   \
	}
#define SIDEBAND(member)                                                                           \
	{                                                                                          \
#member, offsetof(struct fmt_sideband_stats, member)                               \
	}

static const struct u64_member dump_members[] = {
	DUMP(enable_ns),  DUMP(pause_ns), DUMP(disable_ns), DUMP(barrier_ns), DUMP(signal_ns),
	DUMP(walk_ns),	  DUMP(write_ns), DUMP(nr_rings),   DUMP(ring_bytes), DUMP(nr_dumps),
	DUMP(nr_refused), DUMP(nr_hits),  DUMP(nr_held),    DUMP(cpu_ns),     DUMP(rss_bytes),
};

static const struct u64_member sideband_members[] = {
	SIDEBAND(nr_records),	SIDEBAND(nr_lost),  SIDEBAND(nr_scans),	     SIDEBAND(nr_wakeups),
	SIDEBAND(ledger_bytes), SIDEBAND(nr_tasks), SIDEBAND(nr_tombstones), SIDEBAND(nr_evicted),
};

static void put_members(struct json *j, const char *key, const void *of, const struct u64_member *m,
			size_t nr)
{
	uint64_t v;

	json_open(j, key, '{');
	for (size_t i = 0; i < nr; i++) {
		memcpy(&v, (const char *)of + m[i].offset, sizeof(v));
		json_u64(j, m[i].key, v);
	}
	json_close(j, '}');
}

static void put_rel(const struct info *in, struct json *j, const char *key, uint64_t ns)
{
	json_i64(j, key, (int64_t)(ns - in->a.m->trigger.hit_ns));
}

static void put_utc(struct json *j, const char *key, uint64_t real_ns)
{
	char utc[40];

	json_cstr(j, key, str_fmt_utc(utc, sizeof(utc), real_ns));
}

static void put_file(const struct info *in, struct json *j)
{
	const struct fmt_header *h = reader_header(in->a.r);

	json_cstr(j, "file", in->opt->path);
	json_u64(j, "file_bytes", reader_file_bytes(in->a.r));
	json_u64(j, "version", h->version);
	json_bytes(j, "id", (struct bytes){h->id, sizeof(h->id)});
	put_utc(j, "created", h->created_real_ns);
	json_bool(j, "committed", reader_committed(in->a.r));
	json_bool(j, "salvaged", in->a.m->salvaged);
	json_bool(j, "cut", *in->a.m->cut);
}

static void put_symbols(const struct info *in, struct json *j)
{
	const struct fmt_symbol_stats *s = &in->a.m->symbols;

	if (!in->a.m->has_symbol_stats) {
		json_cstr(j, "symbols", NULL);
		return;
	}
	json_open(j, "symbols", '{');
	json_cstr(j, "end", info_symbols_end(in->a.m).word);
	json_u64(j, "ns", s->ns);
	json_u64(j, "bytes", s->payload_bytes);
	json_close(j, '}');
}

static void put_losses(const struct info *in, struct json *j)
{
	json_open(j, "losses", '[');
	for (size_t i = 0; i < in->nr_findings; i++)
		json_cstr(j, NULL, in->findings[i]);
	json_close(j, ']');
	if (!in->shortest) {
		json_cstr(j, "window", NULL);
		return;
	}
	json_open(j, "window", '{');
	put_rel(in, j, "from", in->common.from_ns);
	put_rel(in, j, "to", in->common.to_ns);
	json_u64(j, "shortest_ring", in->shortest->ring);
	json_close(j, '}');
}

static void put_merged(const struct info *in, struct json *j)
{
	json_open(j, "merged", '[');
	for (size_t i = 0; i < in->a.m->nr_merged; i++) {
		const struct meta_merged *m = &in->a.m->merged[i];

		json_open(j, NULL, '{');
		json_cstr(j, "name", m->name);
		json_u64(j, "hits", m->f.nr_hits);
		put_rel(in, j, "first", m->f.first_ns);
		put_rel(in, j, "last", m->f.last_ns);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void put_trigger(const struct info *in, struct json *j)
{
	const struct meta *m = in->a.m;
	const struct fmt_trigger *f = &m->trigger;

	json_open(j, "trigger", '{');
	json_cstr(j, "name", m->trigger_name);
	json_cstr(j, "rule", m->trigger_rule);
	json_cstr(j, "reason", m->trigger_reason);
	json_open(j, "saw", '[');
	for (size_t i = 0; i < m->nr_saw; i++)
		json_cstr(j, NULL, m->saw[i]);
	json_close(j, ']');
	json_ns(j, "time", f->hit_ns);
	put_utc(j, "utc", f->real_ns);
	put_rel(in, j, "freeze", f->freeze_ns);
	json_u64(j, "post_ns", f->post_ns);
	json_u64(j, "pid", f->pid);
	json_u64(j, "tid", f->tid);
	json_u64(j, "uid", f->uid);
	json_cstr(j, "comm", *m->trigger_comm ? m->trigger_comm : NULL);
	cgroup_json(j, m, in->cause.group);
	if (m->trigger_began_ns)
		put_rel(in, j, "began", m->trigger_began_ns);
	else
		json_cstr(j, "began", NULL);
	json_cstr(j, "signal",
		  *cause_text(&in->cause.signal) ? cause_text(&in->cause.signal) : NULL);
	json_cstr(j, "stack", *cause_text(&in->cause.stack) ? cause_text(&in->cause.stack) : NULL);
	json_u64(j, "nr", f->nr);
	json_u64(j, "seen", m->repeats.nr_seen);
	json_u64(j, "kept", m->repeats.nr_kept);
	put_merged(in, j);
	json_close(j, '}');
}

/* An offset between two clocks: a string of digits, as for times. */
static void put_offset(struct json *j, const char *key, int64_t ns)
{
	char digits[24];

	snprintf(digits, sizeof(digits), "%" PRId64, ns);
	json_cstr(j, key, digits);
}

static void put_host(const struct info *in, struct json *j)
{
	const struct meta *m = in->a.m;

	json_open(j, "host", '{');
	json_cstr(j, "hostname", m->hostname);
	json_cstr(j, "uname", m->uname);
	json_cstr(j, "os", m->os);
	json_cstr(j, "cpu_model", m->cpu_model);
	json_cstr(j, "boot_id", m->boot_id);
	json_u64(j, "cpus_online", m->host.nr_cpus_online);
	json_u64(j, "cpus_possible", m->host.nr_cpus_possible);
	json_u64(j, "mem_total_bytes", m->host.mem_total_bytes);
	json_u64(j, "page_bytes", m->host.page_bytes);
	json_u64(j, "clockid", m->host.clockid);
	put_offset(j, "real_minus_clock", m->host.real_minus_clock);
	put_offset(j, "boot_minus_clock", m->host.boot_minus_clock);
	json_cstr(j, "recorder", m->recorder);
	json_cstr(j, "instance", m->instance);
	json_u64(j, "recorder_pid", m->host.recorder_pid);
	json_u64(j, "recorder_uid", m->host.recorder_uid);
	json_open(j, "capabilities", '[');
	for (size_t i = 0; i < m->nr_caps; i++)
		json_cstr(j, NULL, m->caps[i]);
	json_close(j, ']');
	json_close(j, '}');
}

static void put_events(const struct info *in, struct json *j, uint32_t channel)
{
	json_open(j, "events", '[');
	for (size_t i = 0; i < in->a.m->nr_events; i++) {
		const struct meta_event *e = &in->a.m->events[i];

		if (e->f.id == UINT32_MAX || e->f.channel != channel)
			continue;
		json_open(j, NULL, '{');
		json_cstr(j, "name", e->name);
		json_cstr(j, "filter", e->filter);
		json_cstr(j, "target", e->target);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void put_channels(const struct info *in, struct json *j)
{
	json_open(j, "channels", '[');
	for (size_t i = 0; i < in->a.m->nr_channels; i++) {
		const struct meta_channel *c = &in->a.m->channels[i];

		if (c->f.id == UINT32_MAX)
			continue;
		json_open(j, NULL, '{');
		json_u64(j, "id", c->f.id);
		json_cstr(j, "name", c->name);
		json_u64(j, "banks", c->f.nr_banks);
		json_u64(j, "ring_bytes", c->f.ring_bytes);
		json_u64(j, "horizon_asked_ns", c->horizon_ns);
		json_hex(j, "sample_type", c->f.sample_type);
		put_events(in, j, c->f.id);
		json_close(j, '}');
	}
	json_close(j, ']');
}

void info_flags_json(struct json *j, uint32_t set, const struct info_flag *flags, size_t nr)
{
	json_open(j, "flags", '[');
	for (size_t i = 0; i < nr; i++)
		if (set & flags[i].flag)
			json_cstr(j, NULL, flags[i].name);
	json_close(j, ']');
}

static const struct info_flag window_flags[] = {
	{FMT_WINDOW_FIRST, "first"},	   {FMT_WINDOW_OFFLINE, "offline"},
	{FMT_WINDOW_ONE_BANK, "one_bank"}, {FMT_WINDOW_BROKEN, "broken"},
	{FMT_WINDOW_RUNNING, "running"},   {FMT_WINDOW_SHORT, "short"},
};

static void put_ring(const struct info *in, struct json *j, const struct fmt_window *w)
{
	struct info_span s = info_ring_span(w);

	json_open(j, NULL, '{');
	json_u64(j, "ring", w->ring);
	json_u64(j, "channel", w->channel);
	json_i64(j, "cpu", w->cpu);
	json_i64(j, "tid", w->tid);
	put_rel(in, j, "from", s.from_ns);
	put_rel(in, j, "to", s.to_ns);
	json_u64(j, "horizon_ns", w->last_ns - w->first_ns);
	json_u64(j, "records", w->nr_records);
	json_u64(j, "samples", w->samples);
	json_u64(j, "ring_bytes", w->ring_bytes);
	json_u64(j, "bytes", w->bytes);
	json_u64(j, "overwritten_bytes", w->overwritten_bytes);
	json_u64(j, "lost", w->lost);
	json_u64(j, "lost_spare", w->lost_spare);
	json_u64(j, "throttled", w->throttled);
	json_i64(j, "gap_ns", w->gap_ns);
	info_flags_json(j, w->flags, window_flags, sizeof(window_flags) / sizeof(window_flags[0]));
	json_close(j, '}');
}

static void put_ledger(const struct info *in, struct json *j)
{
	json_open(j, "ledger", '{');
	json_u64(j, "processes", in->nr.nr_processes);
	json_u64(j, "threads", in->nr.nr_tasks);
	json_u64(j, "names", in->nr.nr_comms);
	json_u64(j, "mappings", in->nr.nr_maps);
	json_close(j, '}');
}

void info_json(struct info *in)
{
	struct json j = {.t = &in->text};

	json_open(&j, NULL, '{');
	json_u64(&j, "schema_version", 1);
	put_file(in, &j);
	put_losses(in, &j);
	put_symbols(in, &j);
	put_trigger(in, &j);
	put_host(in, &j);
	info_cgroups_json(in, &j);
	info_threads_json(in, &j);
	put_channels(in, &j);
	json_open(&j, "rings", '[');
	for (size_t i = 0; i < in->nr_rings; i++)
		put_ring(in, &j, in->rings[i]);
	json_close(&j, ']');
	info_aux_json(in, &j);
	put_ledger(in, &j);
	put_members(&j, "stats", &in->a.m->stats, dump_members,
		    sizeof(dump_members) / sizeof(dump_members[0]));
	put_members(&j, "sideband", &in->a.m->sideband, sideband_members,
		    sizeof(sideband_members) / sizeof(sideband_members[0]));
	json_u64(&j, "broken", in->a.m->nr_broken + in->nr.nr_broken);
	json_close(&j, '}');
	text_char(&in->text, '\n');
}
