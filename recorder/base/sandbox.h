/* SPDX-License-Identifier: MIT */
/*
 * Confines this process for good, before it parses what others wrote: a parser with a bug may be made
 * to run any code. From then on it can read the files named before, and use descriptors that are open;
 * there is no network, no new process, no signal, no changed or new file, no capability.
 *
 *	sandbox_new() ─▶ sandbox_read() for each file ─▶ sandbox_enter()
 *
 * Three means of the kernel, each used as far as the kernel has it: seccomp for system calls, Landlock
 * (Linux 5.13) for which files may be opened, and dropped capabilities. Where the kernel has none, the
 * process goes on: `ringback doctor` tells.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct sandbox;

/* For --no-sandbox: sandbox_enter() then does nothing. */
void sandbox_off(void);
bool sandbox_is_off(void);

/* Nothing can be opened yet. NULL: out of memory; then sandbox_enter() opens nothing either. */
struct sandbox *sandbox_new(void);
/* Lets the file, or all that is below the directory, be read. One that does not exist is left out. */
void sandbox_read(struct sandbox *s, const char *path);
/* Frees `s`. No thread may have been started. */
void sandbox_enter(struct sandbox *s);

/*
 * For the process that looks up names for a recorder: it goes on opening files of all processes, which
 * Landlock would deny, for reading. Root becomes nobody, with the capabilities that this takes.
 */
void sandbox_enter_for_names(void);

/*
 * For a recorder, which opens, starts and reads a lot: a process without threads keeps these capabilities
 * (1 << CAP_*) of those that it has, and what it starts gets no more. Returns them.
 */
uint64_t sandbox_keep_capabilities(uint64_t kept);
/* All threads lose the system calls that no recorder makes; what it starts does, too. bpf: but bpf(2). */
void sandbox_enter_for_recorder(bool bpf);

/* What the kernel has. */
bool sandbox_has_seccomp(void);
int sandbox_landlock_version(void); /* 0: none */
