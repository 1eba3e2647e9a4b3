// SPDX-License-Identifier: MIT
/* Resolves the place of a uprobe; see uprobe.h. */
#include "trigger/kernel/uprobe.h"

#include "dump/base/err.h"
#include "dump/base/elf.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int parse_number(const char *text, uint64_t *v, struct err *err)
{
	char *end;

	errno = 0;
	*v = strtoull(text, &end, 0);
	if (isdigit((unsigned char)*text) && !*end && !errno)
		return 0;
	err_set(err, -EINVAL, "'%s' is not an offset", text);
	err_hint(err, "write it as 0x1a or 26");
	return -EINVAL;
}

/* Splits "PATH:SYMBOL+OFF" in place. */
static int split(char *spec, char **symbol, uint64_t *off, struct err *err)
{
	char *colon = strchr(spec, ':'), *plus;

	*off = 0;
	if (!colon || colon == spec || !colon[1]) {
		err_set(err, -EINVAL, "'%s' names no file and function", spec);
		err_hint(err, "write uprobe:PATH:SYMBOL or uprobe:PATH:SYMBOL+OFFSET, such as "
			      "uprobe:/bin/bash:readline");
		return -EINVAL;
	}
	*colon = '\0';
	*symbol = colon + 1;
	plus = strrchr(*symbol, '+');
	if (!plus)
		return 0;
	*plus = '\0';
	return parse_number(plus + 1, off, err);
}

static int by_symbol(const char *path, const char *symbol, uint64_t off, uint64_t *offset,
		     struct err *err)
{
	struct elf *elf = NULL;
	uint64_t start, bytes;
	int rc;

	rc = elf_open(path, &elf, err);
	if (rc) {
		err_hint(err,
			 "a probe goes into a program or a shared library that you may read: "
			 "file -L %s tells what it is",
			 path);
		return rc;
	}
	rc = elf_function(elf, symbol, &start, &bytes, err);
	elf_close(elf);
	if (rc)
		return rc;
	if (bytes && off >= bytes) {
		err_set(err, -ERANGE, "+%#llx is behind the end of %s", (unsigned long long)off,
			symbol);
		err_hint(err, "the function has %llu bytes", (unsigned long long)bytes);
		return -ERANGE;
	}
	*offset = start + off;
	return 0;
}

static int locate(const char *path, const char *symbol, uint64_t off, bool on_return,
		  uint64_t *offset, struct err *err)
{
	if (on_return && off) {
		err_set(err, -EINVAL, "a uretprobe goes to a function's start, without '+%#llx'",
			(unsigned long long)off);
		err_hint(err, "write uretprobe:%s:%s, or uprobe:... for a place within", path,
			 symbol);
		return -EINVAL;
	}
	if (!isdigit((unsigned char)*symbol))
		return by_symbol(path, symbol, off, offset, err);
	if (off) {
		err_set(err, -EINVAL, "'%s' is a file offset already", symbol);
		err_hint(err, "add the two: %s:%#llx", path,
			 strtoull(symbol, NULL, 0) + (unsigned long long)off);
		return -EINVAL;
	}
	return parse_number(symbol, offset, err);
}

int uprobe_resolve(const char *spec, bool on_return, struct uprobe *out, struct err *err)
{
	struct uprobe u = {0};
	char *copy = strdup(spec), *symbol;
	uint64_t off;
	int rc;

	if (!copy)
		return err_set(err, -ENOMEM, "no memory for a uprobe");
	rc = split(copy, &symbol, &off, err);
	if (rc)
		goto out;
	u.path = realpath(copy, NULL);
	if (!u.path) {
		rc = -errno;
		err_sys(err, rc, "can't find the file '%s'", copy);
		if (copy[0] != '/')
			err_hint(err, "give the whole path, such as /usr/bin/%s", copy);
		else
			err_hint(err, "type -a %s, or ldd PROGRAM for a library, tells where it is",
				 basename(copy));
		goto out;
	}
	rc = locate(u.path, symbol, off, on_return, &u.offset, err);
	if (rc)
		goto out;
	if (asprintf(&u.target, off ? "%s:%s+%#llx" : "%s:%s", u.path, symbol,
		     (unsigned long long)off) < 0) {
		u.target = NULL;
		rc = err_set(err, -ENOMEM, "no memory for a uprobe");
		goto out;
	}
	*out = u;
	u = (struct uprobe){0};
out:
	uprobe_fini(&u);
	free(copy);
	return rc;
}

void uprobe_fini(struct uprobe *u)
{
	free(u->path);
	free(u->target);
}
