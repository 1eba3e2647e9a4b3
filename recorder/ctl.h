/* SPDX-License-Identifier: MIT */
/*
 * The control socket, both ends. One JSON object a line in each direction:
 *
 *	{"cmd":"trigger","reason":"..."}   →  {"ok":true,"path":"/...rbd","merged":false}
 *	{"cmd":"status"}                   →  {"ok":true, ...}
 *	                                      {"ok":false,"error":"...","hint":"..."}
 *
 * /run/ringback/NAME.sock for root, $XDG_RUNTIME_DIR/ringback/NAME.sock for others; directory 0700,
 * socket 0600, peers checked with SO_PEERCRED (the recorder's own user and root). A lock beside it
 * (NAME.lock, flock) says whether a recorder of that name runs; leftovers of a killed one are replaced.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct ctl;
struct ctl_client; /* a peer that waits for an answer; at most 32 at a time */

/* Where NAME's socket is. -ENAMETOOLONG, -EINVAL for a name with other than letters, digits, - _ . */
int ctl_path(const char *name, char *path, size_t n, struct err *err);

/* ---- the recorder's end ---- */

/* -EADDRINUSE when a recorder of that name runs. */
int ctl_listen(const char *name, struct ctl **out, struct err *err);
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

/* Sends `request` (taken over) to NAME's recorder and waits for the answer. -ENOENT with the running
 * names in the hint when none of that name runs; timeout_ms < 0: for ever. */
int ctl_call(const char *name, json_t *request, int timeout_ms, json_t **reply, struct err *err);
