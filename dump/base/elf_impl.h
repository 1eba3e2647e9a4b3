/* SPDX-License-Identifier: MIT */
/* An open ELF file; private to elf*.c and to dwarf.c, which passes it to libdw. */
#pragma once

#include "dump/base/bytes.h"
#include "dump/base/elf.h"

#include <gelf.h>

/* libelf allocates the size that a header states, and a sparse file can state any. */
#define ELF_MAX_SECTION_BYTES (1ull << 30)
#define ELF_MAX_SEGMENTS      4096

struct elf {
	int fd; /* -1: in memory */
	Elf *libelf;
	char *path;
	struct buf memory; /* the file's bytes where fd is -1 */
};
