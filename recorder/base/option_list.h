/* SPDX-License-Identifier: MIT */
/* Comma-separated values of options: names, numbers. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct err;

/* Appends the parts of `arg`, which is cut into pieces and stays argv's. *list is the caller's to
 * free. 0, -ENOMEM. */
int option_list_texts(char *arg, const char *const **list, size_t *nr, struct err *err);
/* The same with numbers: also -EINVAL, -ERANGE. */
int option_list_numbers(char *arg, const uint32_t **list, size_t *nr, struct err *err);
