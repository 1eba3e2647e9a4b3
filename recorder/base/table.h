/* SPDX-License-Identifier: MIT */
/*
 * A small table for people: rows of cells, columns as wide as their widest cell, two spaces
 * between. Used by commands that print to stdout.
 */
#pragma once

#include <stdio.h>

struct table;

/* `columns`: one character a column, 'l' left, 'r' right; borrowed. Out of memory is told by
 * table_print() alone: NULL is a table that failed. */
struct table *table_new(const char *columns);
void table_free(struct table *t);
/* The next cell, row by row; text from elsewhere is made safe for a terminal. */
void table_cell(struct table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Prints all rows, each after `indent` spaces. 0 or -ENOMEM. */
int table_print(const struct table *t, int indent, FILE *out);
