/* SPDX-License-Identifier: MIT */
/*
 * What a sleeping thread waits for, from the functions in its stack: kernel functions where the
 * kernel decides, functions of the program and its libraries where only they can tell, as for
 * futexes. Names of kernels 5.10 to 6.18.
 */
#pragma once

#include "dump/view/unwind/call_chains.h"

struct why;
struct wait_classes;

enum wait_class {
	WAIT_UNKNOWN, /* no stack, or none of the known functions */
	WAIT_OWN_SLEEP,
	WAIT_POLL,
	WAIT_ACCEPT,
	WAIT_CONNECT,
	WAIT_SOCKET,
	WAIT_SEND,
	WAIT_PIPE,
	WAIT_PIPE_FULL,
	WAIT_TERMINAL,
	WAIT_CHILD,
	WAIT_VFORK,
	WAIT_SIGNAL,
	WAIT_QUEUE, /* SysV or POSIX message queue or semaphore */
	WAIT_FUTEX, /* a lock or a condition */
	WAIT_CONDITION,
	WAIT_LOCK,
	WAIT_INTERPRETER,
	WAIT_ADDRESS_SPACE,
	WAIT_FUSE,
	WAIT_FILE_LOCK,
	WAIT_DIRECTORY,
	WAIT_FSYNC,
	WAIT_DISK,
	WAIT_RECLAIM,
	WAIT_FREEZER,
	WAIT_DEBUGGER,
	WAIT_STOP,
	WAIT_KERNEL_LOCK,
	NR_WAIT_CLASSES
};

struct wait_words {
	const char *kind;  /* for JSON; NULL: what the other thread did decides */
	const char *what;  /* "waited 3 ms {what}" */
	const char *whose; /* the same before the name of the thread that ended it */
	bool idle;	   /* threads without work are here, too */
};

/* `nr_chains`: the largest number of a chain. NULL: out of memory. */
struct wait_classes *wait_classes_new(size_t nr_chains);
void wait_classes_free(struct wait_classes *k);
enum wait_class wait_class_of_stack(struct wait_classes *k, struct chain c);
/* The same for a chain of the dump; the result is kept. */
enum wait_class wait_class_of(const struct why *w, uint32_t chain);
const struct wait_words *wait_words(enum wait_class c);
