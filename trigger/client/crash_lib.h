/* SPDX-License-Identifier: MIT */
/*
 * libringback-crash.so: a program that has it linked or preloaded tells the recorder of its crash
 * before anything else does, then goes on as it would have without: its own handler runs, or the
 * signal's default action takes effect. What the parts of the library have of each other.
 *
 * What handlers call is async-signal-safe: no memory is taken, no lock, and each wait has an end.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- crash_lib_hook.c: the program's own actions ---- */

/* Takes the signals over, with `handler` for all. Once, at start. */
void crash_hook_start(void (*handler)(int, siginfo_t *, void *));
/* Gives the signal back to the program; its action, which the kernel has again from now on. */
void crash_hook_return(int sig, struct sigaction *out);
/* The C library's, not ours. */
int crash_hook_sigaction(int sig, const struct sigaction *act, struct sigaction *old);

/* ---- crash_lib_stack.c: stacks ---- */

#define CRASH_GUARD_BYTES (64u << 10) /* a whole page, however large they are */

/* A stack of `bytes` that begins CRASH_GUARD_BYTES above what is returned: nobody can use those.
 * NULL: no room. */
uint8_t *crash_stack_map(size_t bytes);

/* Gives the calling thread one for handlers, and each that is made later. Once, at start. */
void crash_stack_start(void);

/* ---- crash_lib_tell.c: the recorder ---- */

/* Where it is to be found; what may become impossible later is done now. True: there is one. */
bool crash_tell_start(void);
/* Tells it of a crash. True: it listens, and crash_tell_wait() and _frames() make sense. */
bool crash_tell(int sig, const siginfo_t *info, const void *ucontext);
/* Until it has frozen its rings, at most till `until_ns`. True: it has. */
bool crash_tell_wait(uint64_t until_ns);
struct crash_frames;
void crash_tell_frames(const struct crash_frames *f);
void crash_tell_end(void);
uint64_t crash_now_ns(void);

/* ---- crash_lib_unwind.c: libunwind, where it can't hurt ---- */

/* Loads it, and makes ready what it needs. Once, at start. */
void crash_unwind_start(void);
/* Begins to find the callers of where the signal came; -1: can't. */
int crash_unwind_begin(const void *ucontext);
/* What was found until then at the latest; NULL: nothing. */
const struct crash_frames *crash_unwind_end(uint64_t until_ns);
