/* SPDX-License-Identifier: MIT */
/*
 * libringback-crash.so, linked or preloaded: a program reports its crash to the recorder first,
 * then continues as without the library: its own handler runs, or the signal's default action. This
 * header is the interface between the library's parts.
 *
 * Functions called by handlers are async-signal-safe: they allocate nothing, take no lock, and
 * every wait has a timeout.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- crash_lib_hook.c: the program's own actions ---- */

/* Installs `handler` for all fault signals. Call once, at start. */
void crash_hook_start(void (*handler)(int, siginfo_t *, void *));
/* Restores the program's action for the signal, for good, and copies it to `out`. */
void crash_hook_return(int sig, struct sigaction *out);
/* The C library's sigaction(), not our wrapper. */
int crash_hook_sigaction(int sig, const struct sigaction *act, struct sigaction *old);

/* ---- crash_lib_stack.c: stacks ---- */

#define CRASH_GUARD_BYTES (64u << 10) /* a whole page on any architecture */

/* Maps a stack of `bytes` behind an inaccessible guard area of CRASH_GUARD_BYTES, and returns the
 * start of the guard. NULL: no memory. */
uint8_t *crash_stack_map(size_t bytes);

/* Gives the calling thread and all later threads a signal stack. Call once, at start. */
void crash_stack_start(void);

/* ---- crash_lib_tell.c: the recorder ---- */

/* Finds the recorder's socket, and connects now if that may be impossible later. True: a recorder
 * exists. */
bool crash_tell_start(void);
/* Reports a crash. True: sent; then call crash_tell_wait() and crash_tell_frames(). */
bool crash_tell(int sig, const siginfo_t *info, const void *ucontext);
/* Waits until the recorder has frozen its rings, at most until `until_ns`. True: frozen. */
bool crash_tell_wait(uint64_t until_ns);
struct crash_frames;
void crash_tell_frames(const struct crash_frames *f);
void crash_tell_end(void);
uint64_t crash_now_ns(void);

/* ---- crash_lib_unwind.c: libunwind in a separate process ---- */

/* Loads libunwind and prepares its stack. Call once, at start. */
void crash_unwind_start(void);
/* Starts to unwind from the place of the signal; -1: impossible. */
int crash_unwind_begin(const void *ucontext);
/* The frames found by `until_ns`; NULL: none. */
const struct crash_frames *crash_unwind_end(uint64_t until_ns);
