/* SPDX-License-Identifier: MIT */
/*
 * Prints tracepoint records by the formats stored in the dump: as the text of the kernel's print fmt
 * (as perf script prints it) and field by field. A record that is shorter than its fields, or of a
 * tracepoint without a usable format, is printed as hexadecimal bytes.
 */
#pragma once

#include "dump/base/tpfields.h"
#include "dump/file/meta.h"
#include "dump/view/base/json.h"

struct err;
struct fields;

/* An unusable format is not an error. `m` must outlive the result. Thread-safe. */
int fields_new(const struct meta *m, struct fields **out, struct err *err);
void fields_free(struct fields *f);

/* The tracepoint with this common_type; NULL when the dump has no usable format of it. */
const struct tpfields *fields_tracepoint(const struct fields *f, uint32_t type);
/* "sched:sched_switch"; NULL when the dump has no usable format of it. Not safe for a terminal. */
const char *fields_name(const struct fields *f, uint32_t type);

/* Appends "prev_comm=... prev_pid=..."; safe for a terminal. `raw` as in struct record_sample. */
void fields_text(struct fields *f, struct bytes raw, struct text *t);

/* Writes the object "fields" (without common_*), or "raw" with the bytes in hexadecimal. */
void fields_json(const struct fields *f, struct bytes raw, struct json *j);
