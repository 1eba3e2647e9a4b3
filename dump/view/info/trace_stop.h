/* SPDX-License-Identifier: MIT */
/* In words: a time in which a hardware trace stood although it should have run. For info, report and
 * why. */
#pragma once

#include "dump/file/meta.h"

/* "CPU 1 from -8 s to -20 ms", or of several stops "CPU 1 23 times for 2.1 s from -8 s to -20 ms";
 * times are relative to the trigger. Returns `out`. */
char *trace_stop_when(const struct meta *m, const struct fmt_trace_stop *s, char *out, size_t n);
/* "its driver lost data", as part of a sentence. */
const char *trace_stop_why(const struct fmt_trace_stop *s);
/* One word. */
const char *trace_stop_reason(const struct fmt_trace_stop *s);
