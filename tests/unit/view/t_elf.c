/* LAYERS: view dump base */
// SPDX-License-Identifier: MIT
/*
 * Symbols, offsets and build-ids: of this very program, of a small file made by hand in every
 * shape, and of the same file cut and damaged.
 */
#include "dump/base/err.h"
#include "dump/base/elf.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define LOAD_ADDR 0x400000u
#define LOAD_OFF  0x1000u
#define LOAD_SIZE 0x1000u

/* A whole ELF file: one loaded segment, a build-id note, .symtab, .dynsym with versions, .strtab.
 */
struct image {
	Elf64_Ehdr eh;
	Elf64_Phdr ph[2];
	Elf64_Shdr sh[5];
	struct {
		Elf64_Nhdr nh;
		char name[4];
		uint8_t id[20];
	} note;
	Elf64_Sym symtab[8];
	Elf64_Sym dynsym[4];
	uint16_t versym[4];
	char strtab[160];
};

static uint32_t add_name(struct image *m, const char *name)
{
	size_t at = 1;

	while (m->strtab[at])
		at += strlen(m->strtab + at) + 1;
	assert_true(at + strlen(name) + 2 < sizeof(m->strtab));
	strcpy(m->strtab + at, name);
	return (uint32_t)at;
}

static Elf64_Sym symbol(struct image *m, const char *name, int bind, uint64_t value, uint16_t shndx)
{
	return (Elf64_Sym){.st_name = add_name(m, name),
			   .st_info = ELF64_ST_INFO(bind, STT_FUNC),
			   .st_value = value,
			   .st_size = 0x20,
			   .st_shndx = shndx};
}

static void add_symbols(struct image *m)
{
	const uint16_t text = 1;

	m->symtab[1] = symbol(m, "start_here", STB_GLOBAL, LOAD_ADDR + 0x10, text);
	m->symtab[2] = symbol(m, "twice", STB_LOCAL, LOAD_ADDR + 0x40, text);
	m->symtab[3] = symbol(m, "twice", STB_LOCAL, LOAD_ADDR + 0x80, text);
	m->symtab[4] = symbol(m, "either", STB_WEAK, LOAD_ADDR + 0xc0, text);
	m->symtab[5] = symbol(m, "either", STB_GLOBAL, LOAD_ADDR + 0x100, text);
	m->symtab[6] = symbol(m, "astray", STB_GLOBAL, 0x10, text);
	m->symtab[7] = symbol(m, "bss_like", STB_GLOBAL, LOAD_ADDR + LOAD_SIZE + 8, text);
	m->dynsym[1] = symbol(m, "imported", STB_GLOBAL, 0, SHN_UNDEF);
	m->dynsym[2] = symbol(m, "versioned", STB_GLOBAL, LOAD_ADDR + 0x200, text);
	m->dynsym[3] = symbol(m, "versioned", STB_GLOBAL, LOAD_ADDR + 0x240, text);
	m->versym[2] = 0x8002; /* an old version, hidden */
	m->versym[3] = 3;
}

static void make_image(struct image *m, uint16_t type)
{
	*m = (struct image){
		.eh = {.e_type = type,
		       .e_machine = EM_X86_64,
		       .e_version = EV_CURRENT,
		       .e_phoff = offsetof(struct image, ph),
		       .e_shoff = offsetof(struct image, sh),
		       .e_ehsize = sizeof(Elf64_Ehdr),
		       .e_phentsize = sizeof(Elf64_Phdr),
		       .e_phnum = 2,
		       .e_shentsize = sizeof(Elf64_Shdr),
		       .e_shnum = 5},
		.ph = {{.p_type = PT_LOAD,
			.p_flags = PF_R | PF_X,
			.p_offset = LOAD_OFF,
			.p_vaddr = LOAD_ADDR,
			.p_filesz = LOAD_SIZE,
			.p_memsz = 2 * LOAD_SIZE},
		       {.p_type = PT_NOTE,
			.p_offset = offsetof(struct image, note),
			.p_filesz = sizeof(m->note),
			.p_align = 4}},
		.sh = {{0},
		       {.sh_type = SHT_SYMTAB,
			.sh_offset = offsetof(struct image, symtab),
			.sh_size = sizeof(m->symtab),
			.sh_link = 2,
			.sh_entsize = sizeof(Elf64_Sym),
			.sh_addralign = 8},
		       {.sh_type = SHT_STRTAB,
			.sh_offset = offsetof(struct image, strtab),
			.sh_size = sizeof(m->strtab),
			.sh_addralign = 1},
		       {.sh_type = SHT_DYNSYM,
			.sh_offset = offsetof(struct image, dynsym),
			.sh_size = sizeof(m->dynsym),
			.sh_link = 2,
			.sh_entsize = sizeof(Elf64_Sym),
			.sh_addralign = 8},
		       {.sh_type = SHT_GNU_versym,
			.sh_offset = offsetof(struct image, versym),
			.sh_size = sizeof(m->versym),
			.sh_link = 3,
			.sh_entsize = 2,
			.sh_addralign = 2}},
		.note = {.nh = {.n_namesz = 4, .n_descsz = 20, .n_type = NT_GNU_BUILD_ID},
			 .name = "GNU"},
	};
	memcpy(m->eh.e_ident, ELFMAG, SELFMAG);
	m->eh.e_ident[EI_CLASS] = ELFCLASS64;
	m->eh.e_ident[EI_DATA] = ELFDATA2LSB;
	m->eh.e_ident[EI_VERSION] = EV_CURRENT;
	for (int i = 0; i < 20; i++)
		m->note.id[i] = (uint8_t)(0xa0 + i);
	add_symbols(m);
}

static char path[] = "/tmp/t_elf.XXXXXX";

static void store(const void *p, size_t n)
{
	int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, p, n), n);
	close(fd);
}

static struct elf *open_image(const struct image *m)
{
	struct err err = ERR_INIT;
	struct elf *e = NULL;

	store(m, sizeof(*m));
	if (elf_open(path, &e, &err))
		fail_msg("%s", err.what);
	return e;
}

static int set_up(void **state)
{
	int fd = mkstemp(path);

	if (fd >= 0)
		close(fd);
	return fd < 0;
}

static int tear_down(void **state)
{
	return unlink(path);
}

static void check_function(struct elf *e, const char *name, uint64_t offset)
{
	struct err err = ERR_INIT;
	uint64_t off = 0, bytes = 0;

	if (elf_function(e, name, &off, &bytes, &err))
		fail_msg("%s: %s", name, err.what);
	assert_int_equal(off, offset);
	assert_int_equal(bytes, 0x20);
}

static void offsets_follow_the_program_headers(void **state)
{
	static const uint16_t types[] = {ET_EXEC, ET_DYN};
	struct image m;

	for (int i = 0; i < 2; i++) {
		struct elf *e;

		make_image(&m, types[i]);
		e = open_image(&m);
		check_function(e, "start_here", LOAD_OFF + 0x10);
		elf_close(e);
	}
}

static void global_is_preferred_and_the_current_version(void **state)
{
	struct image m;
	struct elf *e;

	make_image(&m, ET_DYN);
	e = open_image(&m);
	check_function(e, "either", LOAD_OFF + 0x100);
	check_function(e, "versioned", LOAD_OFF + 0x240);
	elf_close(e);
}

static void refuse(struct elf *e, const char *name, int code, const char *what, const char *hint)
{
	struct err err = ERR_INIT;
	uint64_t off = 77, bytes = 78;

	assert_int_equal(elf_function(e, name, &off, &bytes, &err), code);
	if (!strstr(err.what, what) || !strstr(err.hint, hint))
		fail_msg("%s: '%s', hint '%s'", name, err.what, err.hint);
	assert_int_equal(off, 77);
	assert_int_equal(bytes, 78);
}

static void what_can_not_be_probed_is_told(void **state)
{
	struct image m;
	struct elf *e;

	make_image(&m, ET_DYN);
	e = open_image(&m);
	refuse(e, "twice", -ENOTUNIQ, "2 local functions named twice", "file offset");
	refuse(e, "imported", -ENOENT, "calls imported but does not contain it", "ldd");
	refuse(e, "start_hree", -ENOENT, "no function 'start_hree'", "did you mean start_here?");
	refuse(e, "zzzzzzzz", -ENOENT, "no function 'zzzzzzzz'", "nm -C");
	refuse(e, "astray", -ENXIO, "0x10", "");
	refuse(e, "bss_like", -ENXIO, "none of its segments", "");
	elf_close(e);

	make_image(&m, ET_REL);
	e = open_image(&m);
	refuse(e, "start_here", -ENOEXEC, "neither a program nor a shared library", "");
	elf_close(e);

	make_image(&m, ET_DYN);
	m.eh.e_shnum = 0;
	m.eh.e_shoff = 0;
	e = open_image(&m);
	refuse(e, "start_here", -ENOENT, "has no symbols", "not stripped");
	elf_close(e);
}

static void the_build_id_is_read_from_segments_or_sections(void **state)
{
	uint8_t id[ELF_BUILD_ID_MAX];
	struct image m;
	struct elf *e;

	make_image(&m, ET_DYN);
	e = open_image(&m);
	assert_int_equal(elf_build_id(e, id), 20);
	assert_memory_equal(id, m.note.id, 20);
	elf_close(e);

	/* an object file or module: no program headers */
	m.eh.e_phnum = 0;
	m.sh[4] = (Elf64_Shdr){.sh_type = SHT_NOTE,
			       .sh_offset = offsetof(struct image, note),
			       .sh_size = sizeof(m.note),
			       .sh_addralign = 4};
	memset(id, 0, sizeof(id));
	e = open_image(&m);
	assert_int_equal(elf_build_id(e, id), 20);
	assert_memory_equal(id, m.note.id, 20);
	elf_close(e);

	m.note.nh.n_type = 99;
	e = open_image(&m);
	assert_int_equal(elf_build_id(e, id), 0);
	elf_close(e);
}

static void only_regular_elf_files_are_opened(void **state)
{
	struct err err = ERR_INIT;
	struct inotify_event seen;
	struct elf *e = NULL;
	int watch;

	assert_int_equal(elf_open("/dev/null", &e, &err), -ENOEXEC);
	assert_int_equal(elf_open("/proc", &e, &err), -ENOEXEC);
	assert_int_equal(elf_open("/no/such/file", &e, &err), -ENOENT);
	store("#!/bin/sh\n", 10);
	assert_int_equal(elf_open(path, &e, &err), -ENOEXEC);
	store("", 0);
	assert_int_equal(elf_open(path, &e, &err), -ENOEXEC);
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0); /* must not wait for a writer */
	watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	assert_true(inotify_add_watch(watch, path, IN_OPEN) > 0);
	assert_int_equal(elf_open(path, &e, &err), -ENOEXEC);
	assert_int_equal(read(watch, &seen, sizeof(seen)), -1); /* nor be opened at all */
	close(watch);
	unlink(path);
	assert_null(e);
	close(open(path, O_CREAT | O_WRONLY, 0600));
}

/* Asks everything there is to ask. */
static void exercise(void)
{
	uint8_t id[ELF_BUILD_ID_MAX];
	uint64_t off, bytes;
	struct err err = ERR_INIT;
	struct elf *e;

	if (elf_open(path, &e, &err))
		return;
	elf_function(e, "start_here", &off, &bytes, &err);
	elf_function(e, "not there", &off, &bytes, &err);
	elf_build_id(e, id);
	elf_close(e);
}

static void cut_files_are_survived(void **state)
{
	struct image m;

	make_image(&m, ET_DYN);
	for (size_t n = 0; n < sizeof(m); n++) {
		store(&m, n);
		exercise();
	}
}

static void a_file_cut_while_open_is_survived(void **state)
{
	uint8_t id[ELF_BUILD_ID_MAX];
	uint64_t off, bytes;
	struct image m;
	struct elf *e;

	make_image(&m, ET_DYN);
	e = open_image(&m);
	assert_int_equal(truncate(path, 70), 0);
	assert_true(elf_function(e, "start_here", &off, &bytes, NULL) < 0);
	assert_int_equal(elf_build_id(e, id), 0);
	elf_close(e);
}

static void damaged_files_are_survived(void **state)
{
	uint64_t seed = 0x9e3779b97f4a7c15ull;
	struct image m;

	for (int round = 0; round < 3000; round++) {
		make_image(&m, ET_DYN);
		for (int i = 0; i < 3; i++) {
			seed = seed * 6364136223846793005ull + 1442695040888963407ull;
			((uint8_t *)&m)[(seed >> 33) % sizeof(m)] ^= (uint8_t)(seed >> 25) | 1;
		}
		store(&m, sizeof(m));
		exercise();
	}
}

static void lies_about_sizes_are_survived(void **state)
{
	static const uint64_t lies[] = {1,	   7,	       0x7fffffff, UINT32_MAX,
					INT64_MAX, UINT64_MAX, 1ull << 40, UINT64_MAX - 0x20};
	struct image m;

	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		for (int field = 0; field < 8; field++) {
			make_image(&m, ET_DYN);
			uint64_t *const fields[] = {
				&m.sh[1].sh_size,  &m.sh[1].sh_offset, &m.sh[1].sh_entsize,
				&m.ph[0].p_offset, &m.ph[0].p_filesz,  &m.ph[1].p_filesz,
				&m.ph[1].p_offset, &m.eh.e_shoff,
			};

			*fields[field] = lies[i];
			store(&m, sizeof(m));
			exercise();
		}
	}
}

/* Found again below, in this very program. */
__attribute__((noinline, used)) int t_elf_marker(int n);
int t_elf_marker(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n * 3 + 1;
}

static void the_bytes_at_the_offset_are_the_functions(void **state)
{
	struct err err = ERR_INIT;
	uint64_t off, bytes;
	uint8_t code[16];
	struct elf *e;
	int fd;

	if (elf_open("/proc/self/exe", &e, &err))
		fail_msg("%s", err.what);
	assert_int_equal(elf_function(e, "t_elf_marker", &off, &bytes, &err), 0);
	elf_close(e);
	assert_true(bytes > 0);
	if (bytes > sizeof(code))
		bytes = sizeof(code);
	fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(pread(fd, code, bytes, (off_t)off), bytes);
	close(fd);
	assert_memory_equal(code, (const void *)(uintptr_t)t_elf_marker, bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(offsets_follow_the_program_headers),
		cmocka_unit_test(global_is_preferred_and_the_current_version),
		cmocka_unit_test(what_can_not_be_probed_is_told),
		cmocka_unit_test(the_build_id_is_read_from_segments_or_sections),
		cmocka_unit_test(only_regular_elf_files_are_opened),
		cmocka_unit_test(cut_files_are_survived),
		cmocka_unit_test(a_file_cut_while_open_is_survived),
		cmocka_unit_test(damaged_files_are_survived),
		cmocka_unit_test(lies_about_sizes_are_survived),
		cmocka_unit_test(the_bytes_at_the_offset_are_the_functions),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
