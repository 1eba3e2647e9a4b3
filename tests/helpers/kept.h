/* SPDX-License-Identifier: MIT */
/* A function that is called as it is written, so that a probe finds it: clang makes no clones, gcc
 * is told to make none. */
#pragma once

#ifdef __clang__
#define KEPT __attribute__((noinline))
#else
#define KEPT __attribute__((noinline, noclone))
#endif
