/* SPDX-License-Identifier: MIT */
/* Asserts on the answers of a ledger. NULL: the ledger must not know. */
#pragma once

#include "recorder/ledger/ledger.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static inline void assert_comm(struct ledger *l, uint32_t tid, uint64_t ns, const char *want)
{
	char comm[16];

	if (!want) {
		assert_false(ledger_comm(l, tid, ns, comm));
		return;
	}
	assert_true(ledger_comm(l, tid, ns, comm));
	assert_string_equal(comm, want);
}

static inline void assert_path(struct ledger *l, uint32_t tid, uint64_t ns, uint64_t addr,
			       const char *want)
{
	char path[64];

	if (!want) {
		assert_false(ledger_path(l, tid, ns, addr, path, sizeof(path)));
		return;
	}
	assert_true(ledger_path(l, tid, ns, addr, path, sizeof(path)));
	assert_string_equal(path, want);
}

static inline struct ledger_stats stats_of(struct ledger *l)
{
	struct ledger_stats s;

	ledger_stats(l, &s);
	return s;
}
