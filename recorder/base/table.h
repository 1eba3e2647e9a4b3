/* SPDX-License-Identifier: MIT */
/* A small table on stdout: each column is as wide as its widest cell, with two spaces between
 * columns. */
#pragma once

#include <stdio.h>

struct table;

/* `columns`: one character per column, 'l' left, 'r' right; borrowed. Only table_print() reports
 * -ENOMEM: a NULL table is valid and has failed. */
struct table *table_new(const char *columns);
void table_free(struct table *t);
/* Sets the next cell, row by row; control characters are escaped for the terminal. */
void table_cell(struct table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Prints all rows, each after `indent` spaces. 0 or -ENOMEM. */
int table_print(const struct table *t, int indent, FILE *out);
