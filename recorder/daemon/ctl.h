/* SPDX-License-Identifier: MIT */
/*
 * The control socket, both ends. One JSON object a line in each direction:
 *
 *	{"cmd":"trigger","reason":"..."}   →  {"ok":true,"path":"/...rbd","merged":false}
 *	{"cmd":"status"}                   →  {"ok":true, ...}, see below
 *	                                      {"ok":false,"error":"...","hint":"..."}
 *
 * /run/ringback/NAME.sock for root, $XDG_RUNTIME_DIR/ringback/NAME.sock for others, without that
 * /tmp/ringback-UID/NAME.sock; $RINGBACK_RUNTIME_DIR names another directory. Directory 0700, of
 * one's own user, no symbolic link; socket 0600, peers checked with SO_PEERCRED (the recorder's own
 * user and root). A lock beside it (NAME.lock, flock) says whether a recorder of that name runs;
 * leftovers of a killed one are replaced.
 *
 * One request a connection, at most CTL_LINE_MAX bytes; who takes more than CTL_TIMEOUT_MS to send
 * it, or to read the answer, is dropped.
 *
 * The answer to "status"; keys are never renamed, unknown ones are to be ignored. Times are ns,
 * sizes bytes; what is not known is left out. ring_bytes of a channel is per CPU and bank;
 * horizon_ns is that of its ring with the least history, blocked_until_ns on CLOCK_MONOTONIC or 0;
 * target_ended: no process or thread to be recorded is left.
 *
 *	{"ok":true,"name":"default","directory":"/var/lib/ringback","pid":812,
 *	 "version":"0.1.0","uptime_ns":..,"target":"all CPUs",
 *	 "target_ended":true|false,"state":"armed"|"post"|"dumping",
 *	 "channels":[{"name":"sched","events":["sched:sched_switch",..],"ring_bytes":..,"nr_rings":..,
 *	              "banks":2,"horizon_ns":..,"fill_percent":..,"written_bytes":..,
 *	              "aux":{"area_bytes":..,"nr_areas":..,"bytes":..,"new_bytes":..,"blackout_ns":..,
 *	              "copy_ns":..} (but for the first two, of the last dump)},..],
 *	 "dumps":{"committed":..,"failed":..,"deleted":..,"last":"/..rbd"},
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
struct ctl_client; /* a peer that waits for an answer; at most 32 at a time */

#define CTL_LINE_MAX   65536
#define CTL_TIMEOUT_MS 5000

/* ---- the recorder's end ---- */

/* -EADDRINUSE when a recorder of that name runs. Changes the umask for a moment: call it before
 * there are threads. */
int ctl_listen(const char *name, struct ctl **out, struct err *err);
/* Tells those who still wait for an answer, removes socket and lock. NULL allowed. */
void ctl_close(struct ctl *c);
int ctl_fd(const struct ctl *c); /* readable when ctl_next() has something; an epoll descriptor */

/* 1: *client sent *request (owned by the caller); 0: nothing more. Bad peers and bad requests are
 * answered inside. */
int ctl_next(struct ctl *c, struct ctl_client **client, json_t **request);
void ctl_client_cred(const struct ctl_client *client, uint32_t *pid, uint32_t *uid);
/* Answers and forgets the client; takes over `reply`. */
void ctl_reply(struct ctl *c, struct ctl_client *client, json_t *reply);
void ctl_reply_err(struct ctl *c, struct ctl_client *client, const struct err *err);

/* ---- the other end ---- */

/*
 * Sends `request` (taken over) to NAME's recorder and waits for the answer; timeout_ms < 0: for
 * ever. *reply: an answer with "ok":true. -EREMOTEIO for one with "ok":false, whose error and hint
 * are in `err`; -ENOENT with the running names in the hint when none of that name runs; -ETIMEDOUT.
 */
int ctl_call(const char *name, json_t *request, int timeout_ms, json_t **reply, struct err *err);

/* Names of this user's running recorders, sorted; how many it stored. */
size_t ctl_running(char names[][CTL_NAME_BYTES], size_t max);
