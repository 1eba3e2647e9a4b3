/* SPDX-License-Identifier: MIT */
/*
 * Programs that compile or interpret code at run time (Java, Node.js, .NET, Python): how many of a
 * process's stacks lack names, and which flags make the runtime provide them. A runtime is
 * recognised by the files that a process maps. Used by report, why and symbols; the flags are
 * described in ringback-runtimes(7).
 */
#pragma once

#include "dump/view/unwind/call_chains.h"
#include "dump/view/model/process_history.h"
#include "dump/view/base/text.h"

struct meta;
struct runtimes;

/* `p` must outlive the result. 0, -ENOMEM. */
int runtimes_new(const struct process_history *p, struct runtimes **out, struct err *err);
void runtimes_free(struct runtimes *r);

/* A stack of this process; of those without a runtime, and of the kernel's alone, none counts. */
void runtimes_add(struct runtimes *r, uint32_t pid, struct chain c);
/* Adds those of a dump's samples of what ran. 0, -ENOMEM. */
int runtimes_read(struct runtimes *r, struct reader *reader, const struct meta *m, struct err *err);

/* When no more are added: the i-th process of which most stacks lack names, the most first; 0:
 * there are no more. */
uint32_t runtimes_nth(struct runtimes *r, size_t i);
/* "java (1234): 87 % of its stacks lack the names of Java methods; run it with ..."; false: its
 * stacks lack none, or few. */
bool runtimes_say(const struct runtimes *r, uint32_t pid, struct text *t);
