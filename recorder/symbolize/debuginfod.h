/* SPDX-License-Identifier: MIT */
/*
 * Debug files from the servers in DEBUGINFOD_URLS, through libdebuginfod if it is installed. Makes
 * no request when the variable is not set.
 *
 *	the process that reads the dump ── build-id ─▶ another process ── network ─▶ servers
 *	         (no network)           ◀─ descriptor ─
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ends[0] is for debuginfod_find(), ends[1] for debuginfod_serve(). Both -1: DEBUGINFOD_URLS is not
 * set, or no socket. */
void debuginfod_connect(int ends[2]);
/* Answers until the other end is closed. */
void debuginfod_serve(int fd);
/* A descriptor of the debug file (`debug`) or of the binary itself, or -errno. `fd` -1: -ENOENT. */
int debuginfod_find(int fd, const uint8_t *id, size_t bytes, bool debug);
