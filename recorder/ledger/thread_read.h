/* SPDX-License-Identifier: MIT */
/*
 * Reads what one thread does from /proc, for thread_snapshot.c: state, wait channel, system call,
 * scheduling, the file that it waits for. Neither stops the thread nor writes to it. What may not be
 * read is left unknown.
 */
#pragma once

#include "dump/format/format.h"

#include <stdbool.h>
#include <stdio.h>

/* A file descriptor's target, and what socket_ends.h knows of it. */
struct thread_file {
	char link[256]; /* of /proc/PID/fd/N */
	char protocol[8], local[112], remote[112];
};

struct memory_reader;

struct thread_seen {
	struct fmt_thread_state f;
	uint64_t cpus[FMT_THREAD_MAX_CPU_WORDS];
	char wchan[48];
	uint32_t inner_tid; /* its tid in its own pid namespace */
	uint32_t
		futex_names; /* the tid, in that namespace, of which the futex says that it holds the lock */
	bool denied;		  /* its system call could not be read */
	struct thread_file *file; /* of f.fd; NULL: none. Owned: thread_seen_free() */
};

enum thread_wait {
	THREAD_WAIT_OTHER,
	THREAD_WAIT_READ,  /* for the other end of a descriptor to write */
	THREAD_WAIT_WRITE, /* for it to read */
	THREAD_WAIT_FILE,  /* for something else of a descriptor */
	THREAD_WAIT_LOCK,  /* for a file lock */
	THREAD_WAIT_EPOLL, /* as READ, for descriptors of a set */
	THREAD_WAIT_POLL,  /* as READ, for descriptors that are named in the process's memory */
	THREAD_WAIT_FUTEX,
};

/* Files of /proc only. `proc_fd`: /proc. False: the thread is gone. */
bool thread_read(int proc_fd, uint32_t pid, uint32_t tid, struct thread_seen *out);
void thread_seen_free(struct thread_seen *t);

/* What it waits for, by its system call. */
enum thread_wait thread_wait_of(const struct thread_seen *t);

/*
 * Reads the futex or the poll set that the thread waits for from its process's memory. This waits
 * while another thread changes the process's mappings. Call it without a lock; `t` is a copy of
 * the thread that thread_read() filled in, without its file.
 */
void thread_read_memory(int proc_fd, struct memory_reader *r, struct thread_seen *t);

/* Sets t->f.fd and t->file; nothing if the descriptor is not open or may not be read. */
void thread_read_file(int proc_fd, struct thread_seen *t, int fd);

/* A file of /proc as text, cut at size - 1 bytes; its length, 0 on errors. */
size_t thread_proc_text(int proc_fd, char *text, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* The same to read by lines; NULL on errors. */
FILE *thread_proc_lines(int proc_fd, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
