/* SPDX-License-Identifier: MIT */
/* What an open ELF file is; private to elf*.c, and to dwarf.c, which reads on through libdw. */
#pragma once

#include "dump/base/bytes.h"
#include "dump/base/elf.h"

#include <gelf.h>

/* No honest file has larger tables; libelf would allocate what a sparse one claims. */
#define ELF_MAX_SECTION_BYTES (1ull << 30)
#define ELF_MAX_SEGMENTS      4096

struct elf {
	int fd; /* -1: in memory */
	Elf *libelf;
	char *path;
	struct buf memory; /* what the file is in, when that is memory */
};
