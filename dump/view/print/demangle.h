/* SPDX-License-Identifier: MIT */
/*
 * Demangles names of C++ and Rust functions, without parameters. The only user of libiberty. Names
 * come from dumps and are not trusted: a name that would take long or become long stays mangled.
 */
#pragma once

#include <stddef.h>

/* The result in `out` (terminated, cut at n - 1), or `name` when it is not mangled. */
const char *demangle(const char *name, char *out, size_t n);
