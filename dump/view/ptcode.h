/* SPDX-License-Identifier: MIT */
/*
 * The code of one process that is known beforehand, for ptflow.h.
 */
#pragma once

#include "dump/base/bytes.h"

struct err;
struct ptcode;
struct ptflow_source;

int ptcode_new(struct ptcode **out, struct err *err);
void ptcode_free(struct ptcode *c);
/* Copies `code`, which lies at `address`. Of pieces that overlap the last one counts. Few and large
 * ones are quicker than many. Not after ptcode_seal(). */
int ptcode_add(struct ptcode *c, uint64_t address, struct bytes code, struct err *err);
/* Nothing is added from here on, and threads may share it. */
int ptcode_seal(struct ptcode *c, struct err *err);

/* As ptflow asks for it; NULL or not sealed: false. Valid as long as it is. */
bool ptcode_source(const struct ptcode *c, struct ptflow_source *out);
