/* LAYERS: view dump base */
// SPDX-License-Identifier: MIT
/* What this test's own code says about its calls. */
#include "dump/view/symbols/call_sites.h"
#include "dump/base/elf.h"

#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#ifdef __clang__
#define ALONE __attribute__((noinline, optnone))
#else
#define ALONE __attribute__((noinline, noipa))
#endif

static volatile int sink;

/* Each returns where it returns to. */
ALONE static uintptr_t callee(void)
{
	sink++;
	return (uintptr_t)__builtin_return_address(0);
}

ALONE static uintptr_t other(void)
{
	sink--;
	return (uintptr_t)__builtin_return_address(0);
}

ALONE static uintptr_t caller(void)
{
	uintptr_t s = callee();

	sink++;
	return s;
}

ALONE static uintptr_t through(uintptr_t (*call)(void))
{
	uintptr_t s = call();

	sink++;
	return s;
}

struct self {
	struct elf *e;
	struct call_sites *c;
	uintptr_t base;
	struct elf_segment v[8];
	size_t nr;
};

static int first(struct dl_phdr_info *info, size_t size, void *ctx)
{
	*(uintptr_t *)ctx = info->dlpi_addr;
	return 1;
}

static void begin(struct self *s)
{
	*s = (struct self){0};
	assert_int_equal(elf_open("/proc/self/exe", &s->e, NULL), 0);
	s->nr = elf_code_segments(s->e, s->v, 8);
	s->c = call_sites_new(s->e);
	assert_non_null(s->c);
	dl_iterate_phdr(first, &s->base);
}

static void end(struct self *s)
{
	call_sites_free(s->c);
	elf_close(s->e);
}

static uint64_t place(const struct self *s, uintptr_t addr)
{
	for (size_t i = 0; i < s->nr; i++)
		if (addr - s->base - s->v[i].value < s->v[i].bytes)
			return addr - s->base - s->v[i].value + s->v[i].offset;
	fail_msg("no code at %#lx", (unsigned long)addr);
	return 0;
}

static enum call_sites_answer ask(const struct self *s, uint64_t ret, const void *function,
				  unsigned off)
{
	return call_sites_lead(s->c, ret, s->c, place(s, (uintptr_t)function + off));
}

static void tells_who_was_called(void **state)
{
	struct self s;
	uint64_t ret;

	begin(&s);
	ret = place(&s, caller());
	assert_int_equal(ask(&s, ret, (void *)callee, 0), CALLS_YES);
	assert_int_equal(ask(&s, ret, (void *)callee, 3), CALLS_YES);
	assert_int_equal(ask(&s, ret, (void *)other, 0), CALLS_NO);
	assert_int_equal(ask(&s, ret, (void *)caller, 1), CALLS_NO);
	/* Where no call ends. */
	assert_int_equal(ask(&s, ret - 1, (void *)callee, 0), CALLS_NO);
	assert_int_equal(ask(&s, place(&s, (uintptr_t)callee), (void *)callee, 0), CALLS_NO);
	assert_int_equal(ask(&s, 0, (void *)callee, 0), CALLS_NO);
	assert_int_equal(ask(&s, UINT64_MAX, (void *)callee, 0), CALLS_NO);
	assert_int_equal(call_sites_lead(s.c, ret, s.c, UINT64_MAX), CALLS_NO);
	end(&s);
}

static void a_pointer_tells_nothing(void **state)
{
	struct self s;

	begin(&s);
	assert_int_equal(ask(&s, place(&s, through(other)), (void *)other, 0), CALLS_MAYBE);
	assert_true(call_sites_by_pointer(s.c, place(&s, (uintptr_t)other)));
	assert_true(call_sites_by_pointer(s.c, place(&s, (uintptr_t)other) + 1));
	assert_false(call_sites_by_pointer(s.c, place(&s, through(other))));
	assert_true(call_sites_by_pointer(s.c, UINT64_MAX));
	end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tells_who_was_called),
		cmocka_unit_test(a_pointer_tells_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
