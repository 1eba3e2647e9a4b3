// SPDX-License-Identifier: MIT
/* The state of a running recorder; see status.h. Called by daemon.c. */
#include "recorder/daemon/status.h"

#include "dump/base/str.h"
#include "trigger/kernel/clock.h"
#include "recorder/base/log.h"
#include "recorder/daemon/privileges.h"
#include "recorder/daemon/horizon.h"
#include "trigger/engine/repeats.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Time limit for finding horizons, since triggers wait for it. The remaining ones are then
 * estimated. */
#define HORIZONS_NS 300000ull

static json_t *aux_json(const struct session *s, size_t channel)
{
	struct recording_aux a;

	recording_channel_aux(s->recording, channel, &a);
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "area_bytes", (json_int_t)a.area_bytes,
			 "nr_areas", (json_int_t)a.nr_areas, "bytes", (json_int_t)a.bytes,
			 "new_bytes", (json_int_t)a.new_bytes, "blackout_ns",
			 (json_int_t)a.blackout_ns, "copy_ns", (json_int_t)a.copy_ns);
}

/* In the last dump; events of other sizes may have been written since. */
static void set_event_bytes(json_t *o, const struct session *s, const struct channel *c)
{
	for (size_t i = 0; i < s->nr_last_reach; i++)
		if (s->last_reach[i].channel == c->name && s->last_reach[i].nr_samples)
			json_object_set_new(
				o, "event_bytes",
				json_integer((json_int_t)(s->last_reach[i].bytes /
							  s->last_reach[i].nr_samples)));
}

/* Of a channel whose rings are sized for a time. */
static void set_rings(json_t *o, const struct session *s, const struct channel *c, uint64_t now)
{
	json_t *rings = json_array();
	uint64_t most = 0;
	size_t nr, nr_short = 0;
	struct banks *const *banks = recording_all_banks(s->recording, &nr);

	for (size_t i = 0; i < nr; i++) {
		const struct banks *b = banks[i];
		struct ring_load load;

		if (b->channel != c || b->offline || b->active->state != BANK_ACTIVE)
			continue;
		banks_load(b, now, &load);
		nr_short += b->short_since_ns != 0;
		most = load.size > most ? load.size : most;
		json_array_append_new(rings,
				      json_pack("{s:i, s:I, s:I, s:I, s:b}", "cpu", b->cpu,
						"ring_bytes", (json_int_t)load.size, "horizon_ns",
						(json_int_t)banks_reach(b, now), "bytes_per_second",
						(json_int_t)ring_time_rate(&load), "short",
						b->short_since_ns != 0));
	}
	json_object_set_new(o, "ring_bytes", json_integer((json_int_t)most));
	json_object_set_new(o, "horizon_asked_ns", json_integer(c->horizon_ns));
	json_object_set_new(o, "short_rings", json_integer((json_int_t)nr_short));
	json_object_set_new(o, "rings", rings);
}

static json_t *channel_json(const struct session *s, size_t i, uint64_t now)
{
	const struct channel *c = recording_channel(s->recording, i);
	json_t *events = json_array();
	uint64_t horizon, written;
	unsigned fill;
	size_t rings;
	json_t *o;

	for (size_t k = 0; k < c->events.nr; k++)
		json_array_append_new(events, json_string(c->events.v[k]->name));
	recording_channel_state(s->recording, i, now, now + HORIZONS_NS, &horizon, &fill, &written,
				&rings);
	o = json_pack("{s:s, s:o, s:I, s:I, s:I, s:I, s:i, s:I}", "name", c->name, "events", events,
		      "ring_bytes", (json_int_t)c->ring_bytes, "nr_rings", (json_int_t)rings,
		      "banks", (json_int_t)c->nr_banks, "horizon_ns", (json_int_t)horizon,
		      "fill_percent", (int)fill, "written_bytes", (json_int_t)written);
	if (o && c->compact)
		json_object_set_new(o, "compact", json_true());
	if (o && c->aux_bytes)
		json_object_set_new(o, "aux", aux_json(s, i));
	if (o && c->horizon_ns)
		set_rings(o, s, c, now);
	if (o)
		set_event_bytes(o, s, c);
	return o;
}

static json_t *channels_json(const struct session *s)
{
	json_t *a = json_array();
	uint64_t now = clock_ns();

	recording_oldest(s->recording, now); /* updates the notes from which horizons are found */
	for (size_t i = 0; i < recording_nr_channels(s->recording); i++)
		json_array_append_new(a, channel_json(s, i, now));
	return a;
}

static json_t *rules_json(const struct session *s)
{
	json_t *a = json_array();

	for (size_t i = 0; i < engine_nr_rules(s->engine); i++) {
		struct engine_rule_info r;
		char reach[256];

		engine_rule_info(s->engine, i, &r);
		if (!*r.why && !*r.trouble && horizon_says(s, i, reach, sizeof(reach)))
			r.why = reach;
		json_array_append_new(
			a, json_pack("{s:s, s:s, s:I, s:I, s:I, s:b, s:s}", "name", r.name, "text",
				     r.text, "hits", (json_int_t)r.nr_hits, "held",
				     (json_int_t)r.nr_held, "blocked_until_ns",
				     (json_int_t)r.blocked_until_ns, "armed", (int)r.armed,
				     "trouble", *r.why ? r.why : r.trouble));
	}
	return a;
}

static json_t *repeats_json(const struct session *s)
{
	const struct repeats *all = engine_repeats(s->engine);
	json_t *a = json_array();

	for (size_t i = 0; i < repeats_nr(all); i++) {
		const struct repeat *r = repeats_at(all, i);
		char comm[sizeof(r->comm) * 4], id[20];

		snprintf(id, sizeof(id), "%016" PRIx64, r->id);
		str_safe(comm, sizeof(comm), r->comm, strnlen(r->comm, sizeof(r->comm)));
		json_array_append_new(
			a, json_pack("{s:s, s:s, s:s, s:b, s:I, s:I, s:I, s:I}", "signature", id,
				     "rule", r->rule, "comm", comm, "stack", (int)!!r->stack_hash,
				     "seen", (json_int_t)r->nr_seen, "kept", (json_int_t)r->nr_kept,
				     "first_ns", (json_int_t)r->first_ns, "last_ns",
				     (json_int_t)r->last_ns));
	}
	return a;
}

static json_t *cost_json(const struct session *s)
{
	struct rusage u;
	uint64_t cpu_us, rss_pages = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	getrusage(RUSAGE_SELF, &u);
	cpu_us = (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000 +
		 (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
	if (f) {
		if (fscanf(f, "%*u %lu", &rss_pages) != 1)
			rss_pages = 0;
		fclose(f);
	}
	return json_pack("{s:I, s:I, s:I, s:I, s:I}", "cpu_ns", (json_int_t)(cpu_us * 1000),
			 "rss_bytes", (json_int_t)(rss_pages * (uint64_t)sysconf(_SC_PAGESIZE)),
			 "ring_bytes", (json_int_t)recording_ring_bytes(s->recording), "voluntary",
			 (json_int_t)u.ru_nvcsw, "involuntary", (json_int_t)u.ru_nivcsw);
}

static json_t *ledger_json(const struct session *s)
{
	struct ledger_largest most;
	struct ledger_stats l;
	char comm[sizeof(most.comm) * 4];
	json_t *o;

	ledger_stats(s->ledger, &l);
	o = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "bytes", (json_int_t)l.bytes,
		      "max_bytes", (json_int_t)l.max_bytes, "tasks", (json_int_t)l.nr_tasks,
		      "tombstones", (json_int_t)l.nr_tombstones, "maps", (json_int_t)l.nr_maps,
		      "evicted", (json_int_t)l.nr_evicted, "files", (json_int_t)l.nr_files,
		      "files_dropped", (json_int_t)l.nr_files_dropped);
	if (o && l.nr_evicted && ledger_largest(s->ledger, &most))
		json_object_set_new(o, "largest",
				    json_pack("{s:I, s:s, s:I, s:I}", "pid", (json_int_t)most.pid,
					      "comm",
					      str_safe(comm, sizeof(comm), most.comm,
						       strnlen(most.comm, sizeof(most.comm))),
					      "maps", (json_int_t)most.nr_maps, "threads",
					      (json_int_t)most.nr_threads));
	return o;
}

json_t *status_json(const struct session *s)
{
	static const char *const states[] = {
		[HIT_ARMED] = "armed",
		[HIT_POST] = "post",
		[HIT_WRITING] = "dumping",
		[HIT_NAMING] = "dumping",
	};
	struct engine_totals t;
	char dir[PATH_MAX], spill[PATH_MAX];
	uint64_t nr_deleted = store_nr_deleted(s->store);
	struct fmt_sideband_stats sb = {0};
	json_t *o;

	store_dir(s->store, dir);
	if (s->spill) {
		store_dir(s->spill, spill);
		nr_deleted += store_nr_deleted(s->spill);
	}
	engine_totals(s->engine, &t);
	sideband_stats(s->sideband, &sb);
	o = json_pack(
		"{s:b, s:s, s:s, s:I, s:s, s:I, s:s, s:b, s:s, s:o, s:{s:I, s:I, s:I, s:s, s:I, "
		"s:s*, s:s*}, s:o, "
		"s:o,"
		" s:{s:I, s:I, s:I}, s:{s:I, s:I, s:I, s:I}, s:o, s:o, s:o*}",
		"ok", 1, "name", s->config.name, "directory", dir, "pid", (json_int_t)getpid(),
		"version", RINGBACK_VERSION, "uptime_ns", (json_int_t)(clock_ns() - s->started_ns),
		"target", s->target.text, "target_ended", (int)s->target_ended, "state",
		states[engine_hits(s->engine)->state], "channels", channels_json(s), "dumps",
		"committed", (json_int_t)s->nr_dumps, "failed", (json_int_t)s->nr_refused,
		"deleted", (json_int_t)nr_deleted, "last", s->last_dump, "spilled",
		(json_int_t)s->nr_spilled, "spill_directory", s->spill ? spill : NULL,
		"spill_reason", s->nr_spilled ? s->spilled.what : NULL, "rules", rules_json(s),
		"repeats", repeats_json(s), "totals", "hits", (json_int_t)t.nr_hits, "merged",
		(json_int_t)t.nr_merged, "held", (json_int_t)t.nr_held, "sideband", "records",
		(json_int_t)sb.nr_records, "lost", (json_int_t)sb.nr_lost, "scans",
		(json_int_t)s->nr_scans, "wakeups", (json_int_t)s->nr_sideband_wakeups, "ledger",
		ledger_json(s), "cost", cost_json(s), "privileges", privileges_json(s));
	if (o && s->last_dump_real_ns)
		json_object_set_new(json_object_get(o, "dumps"), "last_real_ns",
				    json_integer((json_int_t)s->last_dump_real_ns));
	return o;
}

void status_line(const struct session *s)
{
	char text[400] = "", time[32];
	uint64_t now = clock_ns();
	size_t n = 0;

	recording_oldest(s->recording, now); /* updates the rings' positions */
	for (size_t i = 0; i < recording_nr_channels(s->recording) && n < sizeof(text) - 1; i++) {
		uint64_t reach = recording_channel_reach(s->recording, i, now);

		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s %s", i ? ", " : "",
				      recording_channel(s->recording, i)->name,
				      str_fmt_time(time, sizeof(time), (int64_t)reach));
	}
	log_status("recording: %s back; %lu dump%s%s", text, s->nr_dumps, str_plural(s->nr_dumps),
		   engine_hits(s->engine)->state >= HIT_WRITING ? ", writing one" : "");
}
