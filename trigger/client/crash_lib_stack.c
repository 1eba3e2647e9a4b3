// SPDX-License-Identifier: MIT
/*
 * libringback-crash.so: a stack for handlers for each thread, since a stack that is full has no
 * room for them. Below each is a page that nobody can use. A thread that has one of its own keeps
 * it.
 *
 * Threads are met in pthread_create(); those that are made otherwise (thrd_create(), clone()) have
 * none unless they make one.
 */
#include "trigger/client/crash_lib.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/mman.h>

#define VISIBLE	    __attribute__((visibility("default")))
#define STACK_BYTES (128u << 10)

/* At the upper end of the memory of a thread's stack: what it is to begin with. */
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

/* The end of a thread; one that ends in a handler leaves the stack that it stands on. */
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
