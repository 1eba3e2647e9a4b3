/* SPDX-License-Identifier: MIT */
/*
 * Entries with fields for systemd's journal by its native protocol
 * (https://systemd.io/JOURNAL_NATIVE_PROTOCOL), without its library. Never blocks. Called by log.c,
 * under its lock.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define JOURNAL_SOCKET "/run/systemd/journal/socket"

struct journal_field {
	const char *name, *value;
};

/* Whether stderr is a stream of the journal: $JOURNAL_STREAM names its device and inode, see
 * systemd.exec(5). */
bool journal_has_stderr(void);

/* `path`: the journal's socket. 0 or -errno: the socket was full, or the journal does not run. */
int journal_send(const char *path, const struct journal_field *fields, size_t nr);
