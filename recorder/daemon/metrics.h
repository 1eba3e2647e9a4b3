/* SPDX-License-Identifier: MIT */
/* Answers to "status" (ctl.h) in the text format of Prometheus, for `ringback status --metrics` and
 * the metrics socket. */
#pragma once

#include <jansson.h>
#include <stdio.h>

/* The samples of several recorders have the label "recorder". Unknown values are left out. */
void metrics_print(json_t *const *recorders, size_t nr, FILE *out);
