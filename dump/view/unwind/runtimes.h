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

/* Adds a stack of this process. Ignored: processes without a runtime, and stacks with only kernel
 * frames. */
void runtimes_add(struct runtimes *r, uint32_t pid, struct chain c);
/* Adds the stacks of a dump's samples of running code. 0, -ENOMEM. */
int runtimes_read(struct runtimes *r, struct reader *reader, const struct meta *m, struct err *err);

/* After the last stack was added: the i-th process with mostly nameless stacks, the one with most
 * stacks first; 0: the end. */
uint32_t runtimes_nth(struct runtimes *r, size_t i);
/* "java (1234): 87 % of its stacks lack the names of Java methods; run it with ..."; false: no or
 * few stacks lack names. */
bool runtimes_say(const struct runtimes *r, uint32_t pid, struct text *t);
/* The name of the one lock that a thread of the process needs to run the language's code, "GIL";
 * NULL: the process has no such runtime, or it has no such lock. */
const char *runtimes_lock(const struct runtimes *r, uint32_t pid);
