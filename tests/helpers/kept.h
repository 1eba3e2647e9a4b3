/* SPDX-License-Identifier: MIT */
/* KEPT: a function that a probe can find: neither inlined nor cloned. clang makes no clones; gcc
 * needs the attribute. */
#pragma once

#ifdef __clang__
#define KEPT __attribute__((noinline))
#else
#define KEPT __attribute__((noinline, noclone))
#endif
