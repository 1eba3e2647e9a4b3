/* SPDX-License-Identifier: MIT */
/*
 * Debug files from the servers that DEBUGINFOD_URLS names, through libdebuginfod where that is
 * installed. Without the variable nothing is ever asked for.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct debuginfod;

/* NULL: DEBUGINFOD_URLS is not set, or there is no libdebuginfod. */
struct debuginfod *debuginfod_open(void);
void debuginfod_close(struct debuginfod *d);

/* A descriptor of the debug file (`debug`) or of the program itself, or -errno. */
int debuginfod_find(struct debuginfod *d, const uint8_t *id, size_t bytes, bool debug);
