/* SPDX-License-Identifier: MIT */
/*
 * The control socket, both ends. One JSON object per line in each direction:
 *
 *	{"cmd":"trigger","reason":"..."}   →  {"ok":true,"path":"/...rbd","merged":false}
 *	                                      and "incomplete":"what is missing and why"
 *	{"cmd":"status"}                   →  {"ok":true, ...}, see below
 *	                                      {"ok":false,"error":"...","hint":"..."}
 *
 * /run/ringback/NAME.sock for root; $XDG_RUNTIME_DIR/ringback/NAME.sock for others, or
 * /tmp/ringback-UID/NAME.sock without it; $RINGBACK_RUNTIME_DIR sets another directory. The
 * directory has mode 0700, belongs to the user and is no symbolic link. The socket has mode 0600;
 * only the recorder's own user and root are served: who connects (SO_PEERCRED) and who sends
 * (SCM_CREDENTIALS), since a connection may outlive its process's privileges. The lock NAME.lock
 * (flock) shows whether a recorder of that name runs; files left by a killed one are replaced.
 *
 * NAME.metrics beside it, with the same access, answers HTTP: GET /metrics (metrics.h). It takes no
 * other request, so it can be given to a proxy.
 *
 * One request per connection, at most CTL_LINE_MAX bytes. A client that takes more than
 * CTL_TIMEOUT_MS to send it, or to read the answer, is disconnected.
 *
 * The answer to "status". Keys are never renamed; readers must ignore unknown ones. Times are in
 * ns, sizes in bytes; unknown values are left out. ring_bytes of a channel is per CPU and bank;
 * horizon_ns is the minimum over its rings; blocked_until_ns is on CLOCK_MONOTONIC or 0;
 * target_ended: no process or thread to record is left.
 *
 *	{"ok":true,"name":"default","directory":"/var/lib/ringback","pid":812,
 *	 "version":"0.1.0","uptime_ns":..,"target":"all CPUs",
 *	 "target_ended":true|false,"state":"armed"|"post"|"dumping",
 *	 "channels":[{"name":"sched","events":["sched:sched_switch",..],"ring_bytes":..,"nr_rings":..,
 *	              "banks":2,"horizon_ns":..,"fill_percent":..,"written_bytes":..,
 *	              "event_bytes":.. (mean, in the last dump),
 *	              and if its rings are sized for a time: "horizon_asked_ns":..,"short_rings":..,
 *	              "rings":[{"cpu":0,"ring_bytes":..,"horizon_ns":..,"bytes_per_second":..,
 *	              "short":true|false (memory does not allow it the size)},..], and ring_bytes is
 *	              the largest ring's,
 *	              "aux":{"area_bytes":..,"nr_areas":..,"bytes":..,"new_bytes":..,"blackout_ns":..,
 *	              "copy_ns":..} (all but the first two: of the last dump)},..],
 *	 "dumps":{"committed":..,"failed":..,"deleted":..,"last":"/..rbd",
 *	          "last_real_ns":..,
 *	          "spilled":..,"spill_directory":"..","spill_reason":".." (of the last)},
 *	 "rules":[{"name":..,"text":..,"hits":..,"held":..,"blocked_until_ns":..,"armed":..},..],
 *	 "totals":{"hits":..,"merged":..,"held":..},
 *	 "sideband":{"records":..,"lost":..,"scans":..,"wakeups":..},
 *	 "ledger":{"bytes":..,"max_bytes":..,"tasks":..,"tombstones":..,"maps":..,"evicted":..},
 *	 "cost":{"cpu_ns":..,"rss_bytes":..,"ring_bytes":..,"voluntary":..,"involuntary":..}}
 */
#pragma once

#include "recorder/base/ctl_dir.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct ctl;
struct ctl_client; /* a client that waits for an answer; at most 32 at a time */

#define CTL_LINE_MAX   65536
#define CTL_TIMEOUT_MS 5000

/* ---- the recorder's end ---- */

/* -EADDRINUSE when a recorder of that name runs. Changes the umask temporarily, so it must be
 * called before other threads exist. */
int ctl_listen(const char *name, struct ctl **out, struct err *err);
/* Sends an error to waiting clients, removes socket and lock. NULL allowed. */
void ctl_close(struct ctl *c);
int ctl_fd(const struct ctl *c); /* an epoll descriptor, readable when ctl_next() has work */

/* 1: *client sent *request (owned by the caller; NULL: GET /metrics); 0: no more requests. Invalid
 * clients and requests are answered internally. */
int ctl_next(struct ctl *c, struct ctl_client **client, json_t **request);
void ctl_client_cred(const struct ctl_client *client, uint32_t *pid, uint32_t *uid);
/* Sends the answer and releases the client; takes over `reply`. */
void ctl_reply(struct ctl *c, struct ctl_client *client, json_t *reply);
void ctl_reply_err(struct ctl *c, struct ctl_client *client, const struct err *err);
/* To GET /metrics; NULL: out of memory. Releases the client. */
void ctl_reply_metrics(struct ctl *c, struct ctl_client *client, const char *text);

/* ---- the client's end ---- */

/*
 * Sends `request` (taken over) to the recorder NAME and waits for the answer; timeout_ms < 0:
 * without limit. *reply: an answer with "ok":true. -EREMOTEIO for one with "ok":false, with its
 * error and hint in `err`; -ENOENT when no recorder of that name runs, with the running names in
 * the hint; -ETIMEDOUT.
 */
int ctl_call(const char *name, json_t *request, int timeout_ms, json_t **reply, struct err *err);

/* Names of this user's running recorders, sorted. Returns the number stored. */
size_t ctl_running(char names[][CTL_NAME_BYTES], size_t max);
