// SPDX-License-Identifier: MIT
/*
 * libringback-crash.so: a signal stack for each thread, since a handler can't run on a stack that
 * has overflowed. An inaccessible guard area lies below each. A thread with its own signal stack
 * keeps that.
 *
 * pthread_create() is wrapped. Threads created otherwise (thrd_create(), clone()) get no signal
 * stack.
 */
#include "trigger/client/crash_lib.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/mman.h>

#define VISIBLE	    __attribute__((visibility("default")))
#define STACK_BYTES (128u << 10)

/* The thread's start function and argument, stored at the upper end of its signal stack. */
struct begin {
	void *(*run)(void *);
	void *arg;
};

typedef int create_fn(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

static create_fn *next_create;
static pthread_key_t key;
static bool has_key;

static void unmap_stack(uint8_t *p, size_t bytes)
{
	munmap(p, CRASH_GUARD_BYTES + bytes);
}

uint8_t *crash_stack_map(size_t bytes)
{
	uint8_t *p = mmap(NULL, CRASH_GUARD_BYTES + bytes, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	if (!mprotect(p + CRASH_GUARD_BYTES, bytes, PROT_READ | PROT_WRITE))
		return p;
	unmap_stack(p, bytes);
	return NULL;
}

static struct begin *begin_of(uint8_t *p)
{
	return (struct begin *)(p + CRASH_GUARD_BYTES + STACK_BYTES) - 1;
}

static void use_stack(uint8_t *p)
{
	stack_t ours = {.ss_sp = p + CRASH_GUARD_BYTES,
			.ss_size = STACK_BYTES - sizeof(struct begin)};
	stack_t old;

	if (!sigaltstack(NULL, &old) && old.ss_flags & SS_DISABLE)
		sigaltstack(&ours, NULL);
}

/* Called at thread exit. If the thread ends inside a handler, the stack is in use and is leaked. */
static void leave_stack(void *arg)
{
	uint8_t *p = arg;
	stack_t off = {.ss_flags = SS_DISABLE}, now;

	if (sigaltstack(NULL, &now))
		return;
	if (now.ss_sp == p + CRASH_GUARD_BYTES && !(now.ss_flags & SS_DISABLE) &&
	    sigaltstack(&off, NULL))
		return;
	unmap_stack(p, STACK_BYTES);
}

static void *run(void *arg)
{
	struct begin b = *begin_of(arg);

	use_stack(arg);
	if (pthread_setspecific(key, arg))
		leave_stack(arg);
	return b.run(b.arg);
}

VISIBLE int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attr,
			   void *(*start)(void *), void *restrict arg)
{
	uint8_t *p;
	int rc;

	if (!next_create)
		next_create = (create_fn *)dlsym(RTLD_NEXT, "pthread_create");
	if (!next_create)
		return EAGAIN;
	p = has_key ? crash_stack_map(STACK_BYTES) : NULL;
	if (!p)
		return next_create(thread, attr, start, arg);
	*begin_of(p) = (struct begin){start, arg};
	rc = next_create(thread, attr, run, p);
	if (rc)
		unmap_stack(p, STACK_BYTES);
	return rc;
}

void crash_stack_start(void)
{
	stack_t old;
	uint8_t *p;

	has_key = !pthread_key_create(&key, leave_stack);
	if (sigaltstack(NULL, &old) || !(old.ss_flags & SS_DISABLE))
		return;
	p = crash_stack_map(STACK_BYTES);
	if (p)
		use_stack(p);
}
