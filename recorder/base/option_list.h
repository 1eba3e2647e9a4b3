/* SPDX-License-Identifier: MIT */
/* Comma-separated values of options: names, numbers. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct err;

/* Appends the parts of `arg`, which is cut into pieces and stays argv's. *list is the caller's to
 * free. 0, -ENOMEM. */
int lists_texts(char *arg, const char *const **list, size_t *nr, struct err *err);
/* The same with numbers: also -EINVAL, -ERANGE. */
int lists_numbers(char *arg, const uint32_t **list, size_t *nr, struct err *err);
