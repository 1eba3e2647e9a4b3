/* SPDX-License-Identifier: MIT */
/*
 * Names of C++ and Rust functions as people write them, without parameters. The only user of
 * libiberty. Names come from dumps and are not trusted: what would take long or become long stays
 * as it is.
 */
#pragma once

#include <stddef.h>

/* The result in `out` (terminated, cut at n - 1), or `name` when it is not mangled. */
const char *demangle(const char *name, char *out, size_t n);
