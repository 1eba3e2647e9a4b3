/* SPDX-License-Identifier: MIT */
/*
 * Debug files from the servers in DEBUGINFOD_URLS, through libdebuginfod if it is installed. Makes
 * no request when the variable is not set.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct debuginfod;

/* NULL: DEBUGINFOD_URLS is not set, or there is no libdebuginfod. */
struct debuginfod *debuginfod_open(void);
void debuginfod_close(struct debuginfod *d);

/* A descriptor of the debug file (`debug`) or of the binary itself, or -errno. */
int debuginfod_find(struct debuginfod *d, const uint8_t *id, size_t bytes, bool debug);
