// SPDX-License-Identifier: MIT
/* Symbols, offsets and build-ids of ELF files through libelf; see elf.h. */
#include "dump/base/elf_impl.h"

#include "dump/base/closest.h"
#include "dump/base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int not_elf(struct err *err, const char *path, const char *why)
{
	return err_set(err, -ENOEXEC, "%s is not an ELF file that can be used: %s", path, why);
}

/* The path may come from a dump, and opening a device can have effects: checks the type first. */
static int open_regular(const char *path, struct err *err)
{
	const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
	int fd, rc, at = open(path, O_PATH | O_CLOEXEC);
	struct stat st;
	char self[32];

	if (at < 0) {
		rc = -errno;
		return err_sys(err, rc, "can't open %s", path);
	}
	if (fstat(at, &st) || !S_ISREG(st.st_mode)) {
		close(at);
		return not_elf(err, path, "it is not a regular file");
	}
	snprintf(self, sizeof(self), "/proc/self/fd/%d", at);
	fd = open(self, flags);
	/* Without /proc. */
	if (fd < 0 && errno == ENOENT)
		fd = open(path, flags);
	rc = -errno;
	close(at);
	return fd < 0 ? err_sys(err, rc, "can't open %s", path) : fd;
}

/* Checks what libelf opened; closes `e` on failure. */
static int begin(struct elf *e, const char *name, struct err *err)
{
	int rc;

	e->path = strdup(name);
	if (!e->path) {
		rc = err_set(err, -ENOMEM, "no memory to open %s", name);
	} else if (!e->libelf) {
		rc = not_elf(err, name, elf_errmsg(-1));
	} else if (elf_kind(e->libelf) != ELF_K_ELF) {
		rc = not_elf(err, name, "it has no ELF header");
	} else {
		return 0;
	}
	elf_close(e);
	return rc;
}

static int new_elf(const char *name, struct elf **out, struct err *err)
{
	struct elf *e;

	if (elf_version(EV_CURRENT) == EV_NONE)
		return err_set(err, -ENOEXEC, "libelf is older than its own headers");
	e = calloc(1, sizeof(*e));
	if (!e)
		return err_set(err, -ENOMEM, "no memory to open %s", name);
	e->fd = -1;
	*out = e;
	return 0;
}

int elf_open_fd(int fd, const char *name, struct elf **out, struct err *err)
{
	struct elf *e;
	int rc = new_elf(name, &e, err);

	if (rc) {
		close(fd);
		return rc;
	}
	e->fd = fd;
	e->libelf = elf_begin(fd, ELF_C_READ, NULL);
	rc = begin(e, name, err);
	if (!rc)
		*out = e;
	return rc;
}

int elf_open(const char *path, struct elf **out, struct err *err)
{
	int fd = open_regular(path, err);

	return fd < 0 ? fd : elf_open_fd(fd, path, out, err);
}

int elf_open_memory(struct buf *memory, const char *name, struct elf **out, struct err *err)
{
	struct elf *e;
	int rc = new_elf(name, &e, err);

	if (rc) {
		buf_free(memory);
		return rc;
	}
	e->memory = *memory;
	*memory = (struct buf){0};
	e->libelf = e->memory.len ? elf_memory((char *)e->memory.p, e->memory.len) : NULL;
	rc = begin(e, name, err);
	if (!rc)
		*out = e;
	return rc;
}

void elf_close(struct elf *e)
{
	if (!e)
		return;
	if (e->libelf)
		elf_end(e->libelf);
	if (e->fd >= 0)
		close(e->fd);
	buf_free(&e->memory);
	free(e->path);
	free(e);
}

static bool is_function(const GElf_Sym *sym)
{
	int type = GELF_ST_TYPE(sym->st_info);

	return type == STT_FUNC || type == STT_GNU_IFUNC;
}

static bool is_variable(const GElf_Sym *sym)
{
	return GELF_ST_TYPE(sym->st_info) == STT_OBJECT;
}

/* The versions of a dynamic symbol table; NULL when it has none. */
static Elf_Data *versions_of(struct elf *e, Elf_Scn *table)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	while ((scn = elf_nextscn(e->libelf, scn)))
		if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_GNU_versym &&
		    sh.sh_link == elf_ndxscn(table) && sh.sh_size <= ELF_MAX_SECTION_BYTES)
			return elf_getdata(scn, NULL);
	return NULL;
}

/* Old versions have a bit in .dynsym, and a name in .symtab: old@V1, current@@V2. */
static bool is_superseded(Elf_Data *versions, int i, const char *name)
{
	const char *at = strchr(name, '@');
	GElf_Versym v;

	if (at)
		return at[1] != '@';
	return versions && gelf_getversym(versions, i, &v) && (v & 0x8000);
}

static int each_in_table(struct elf *e, Elf_Scn *scn, const GElf_Shdr *sh,
			 bool (*wanted)(const GElf_Sym *sym),
			 int (*each)(void *ctx, const struct elf_symbol *s), void *ctx)
{
	Elf_Data *data, *versions = NULL;
	size_t nr;
	int rc = 0;

	if (!sh->sh_entsize || sh->sh_size > ELF_MAX_SECTION_BYTES)
		return 0;
	data = elf_getdata(scn, NULL);
	if (!data || !data->d_buf)
		return 0;
	if (sh->sh_type == SHT_DYNSYM)
		versions = versions_of(e, scn);
	nr = data->d_size / sh->sh_entsize;
	for (size_t i = 1; i < nr && i <= INT32_MAX && !rc; i++) {
		struct elf_symbol s = {0};
		GElf_Sym sym;

		if (!gelf_getsym(data, (int)i, &sym))
			break;
		if (!wanted(&sym))
			continue;
		s.name = elf_strptr(e->libelf, sh->sh_link, sym.st_name);
		if (!s.name || !*s.name)
			continue;
		s.value = sym.st_value;
		s.bytes = sym.st_size;
		s.bind = GELF_ST_BIND(sym.st_info);
		s.defined = sym.st_shndx != SHN_UNDEF;
		s.superseded = is_superseded(versions, (int)i, s.name);
		rc = each(ctx, &s);
	}
	return rc;
}

static int each_symbol(struct elf *e, bool (*wanted)(const GElf_Sym *sym),
		       int (*each)(void *ctx, const struct elf_symbol *s), void *ctx)
{
	static const uint32_t tables[] = {SHT_SYMTAB, SHT_DYNSYM};

	for (int t = 0; t < 2; t++) {
		Elf_Scn *scn = NULL;

		while ((scn = elf_nextscn(e->libelf, scn))) {
			GElf_Shdr sh;
			int rc;

			if (!gelf_getshdr(scn, &sh) || sh.sh_type != tables[t])
				continue;
			rc = each_in_table(e, scn, &sh, wanted, each, ctx);
			if (rc)
				return rc;
		}
	}
	return 0;
}

int elf_each_function(struct elf *e, int (*each)(void *ctx, const struct elf_symbol *s), void *ctx)
{
	return each_symbol(e, is_function, each, ctx);
}

/* Segment `i`, false when it is not there. */
static bool segment(struct elf *e, size_t i, GElf_Phdr *ph)
{
	size_t nr;

	if (elf_getphdrnum(e->libelf, &nr) || i >= nr || i >= ELF_MAX_SEGMENTS)
		return false;
	return gelf_getphdr(e->libelf, (int)i, ph) != NULL;
}

int elf_file_offset(struct elf *e, uint64_t value, uint64_t *offset, struct err *err)
{
	GElf_Ehdr eh;
	GElf_Phdr ph;

	if (!gelf_getehdr(e->libelf, &eh) || (eh.e_type != ET_EXEC && eh.e_type != ET_DYN))
		return not_elf(err, e->path, "it is neither a program nor a shared library");
	for (size_t i = 0; segment(e, i, &ph); i++) {
		if (ph.p_type != PT_LOAD || value < ph.p_vaddr || value - ph.p_vaddr >= ph.p_filesz)
			continue;
		/* No valid segment lies beyond 2^63. */
		if (!span_fits(ph.p_offset, ph.p_filesz, INT64_MAX))
			continue;
		*offset = value - ph.p_vaddr + ph.p_offset;
		return 0;
	}
	return err_set(err, -ENXIO, "address %#llx of %s is in none of its segments",
		       (unsigned long long)value, e->path);
}

static size_t segments(struct elf *e, bool code, struct elf_segment *v, size_t max)
{
	size_t nr = 0, n;
	GElf_Phdr ph;

	if (elf_getphdrnum(e->libelf, &n))
		return 0;
	for (size_t i = 0; i < n && i < ELF_MAX_SEGMENTS && nr < max; i++) {
		if (!gelf_getphdr(e->libelf, (int)i, &ph) || ph.p_type != PT_LOAD ||
		    code != !!(ph.p_flags & PF_X) || !ph.p_filesz ||
		    !span_fits(ph.p_offset, ph.p_filesz, INT64_MAX) ||
		    !span_fits(ph.p_vaddr, ph.p_filesz, UINT64_MAX))
			continue;
		v[nr++] = (struct elf_segment){ph.p_vaddr, ph.p_offset, ph.p_filesz};
	}
	return nr;
}

size_t elf_code_segments(struct elf *e, struct elf_segment *v, size_t max)
{
	return segments(e, true, v, max);
}

size_t elf_data_segments(struct elf *e, struct elf_segment *v, size_t max)
{
	return segments(e, false, v, max);
}

/* ---- finding one function ---- */

struct find {
	const char *name;
	struct elf_symbol found;
	int rank;	  /* of `found` */
	unsigned nr_same; /* other addresses of the same rank */
	bool imported;
};

enum { RANK_NONE, RANK_LOCAL, RANK_SUPERSEDED, RANK_WEAK, RANK_GLOBAL };

static int rank(const struct elf_symbol *s)
{
	if (s->bind == STB_LOCAL)
		return RANK_LOCAL;
	if (s->superseded)
		return RANK_SUPERSEDED;
	return s->bind == STB_WEAK ? RANK_WEAK : RANK_GLOBAL;
}

/* "memcpy@@GLIBC_2.14" in .symtab is memcpy. */
static bool is_named(const char *symbol, const char *name)
{
	size_t n = strlen(name);

	return !strncmp(symbol, name, n) && (symbol[n] == '\0' || symbol[n] == '@');
}

static int find_one(void *ctx, const struct elf_symbol *s)
{
	struct find *f = ctx;

	if (!is_named(s->name, f->name))
		return 0;
	if (!s->defined) {
		f->imported = true;
		return 0;
	}
	if (rank(s) > f->rank) {
		f->found = *s;
		f->rank = rank(s);
		f->nr_same = 0;
	} else if (rank(s) == f->rank && s->value != f->found.value) {
		f->nr_same++;
	}
	return 0;
}

struct near {
	struct closest closest;
	size_t nr;
};

static int add_near(void *ctx, const struct elf_symbol *s)
{
	struct near *n = ctx;

	if (!s->defined)
		return 0;
	n->nr++;
	closest_add(&n->closest, s->name, NULL);
	return 0;
}

static int not_found(struct elf *e, const struct find *f, struct err *err)
{
	struct near n = {.nr = 0};

	closest_init(&n.closest, f->name);
	elf_each_function(e, add_near, &n);
	if (f->imported) {
		err_set(err, -ENOENT, "%s calls %s but does not contain it", e->path, f->name);
		err_hint(err, "name the library that has it; ldd %s lists them", e->path);
		return -ENOENT;
	}
	if (!n.nr) {
		err_set(err, -ENOENT, "%s has no symbols, so %s can't be found in it", e->path,
			f->name);
		err_hint(err, "use a build that is not stripped, or give the file offset: 0x1234");
		return -ENOENT;
	}
	err_set(err, -ENOENT, "%s has no function '%s'", e->path, f->name);
	closest_hint(&n.closest, err, NULL);
	if (!n.closest.nr)
		err_hint(err, "nm -C %s (or nm -D) lists what is there", e->path);
	return -ENOENT;
}

int elf_function(struct elf *e, const char *name, uint64_t *offset, uint64_t *bytes,
		 struct err *err)
{
	struct find f = {.name = name};
	uint64_t off;
	int rc;

	elf_each_function(e, find_one, &f);
	if (!f.rank)
		return not_found(e, &f, err);
	if (f.rank == RANK_LOCAL && f.nr_same) {
		err_set(err, -ENOTUNIQ, "%s has %u local functions named %s", e->path,
			f.nr_same + 1, name);
		err_hint(err, "give the file offset of the one that is meant: 0x1234");
		return -ENOTUNIQ;
	}
	rc = elf_file_offset(e, f.found.value, &off, err);
	if (rc)
		return rc;
	*offset = off;
	*bytes = f.found.bytes;
	return 0;
}

int elf_variable(struct elf *e, const char *name, uint64_t *value, uint64_t *bytes, struct err *err)
{
	struct find f = {.name = name};
	struct near n = {.nr = 0};

	each_symbol(e, is_variable, find_one, &f);
	if (!f.rank) {
		closest_init(&n.closest, name);
		each_symbol(e, is_variable, add_near, &n);
		elf_each_function(e, add_near, &n);
		err_set(err, -ENOENT, "%s has no function and no variable '%s'", e->path, name);
		closest_hint(&n.closest, err, "nm -C lists what a file that is not stripped has");
		return -ENOENT;
	}
	if (f.rank == RANK_LOCAL && f.nr_same)
		return err_set(err, -ENOTUNIQ, "%s has %u variables named %s", e->path,
			       f.nr_same + 1, name);
	*value = f.found.value;
	*bytes = f.found.bytes;
	return 0;
}

/* ---- build-id ---- */

static size_t id_of_notes(Elf_Data *data, uint8_t id[ELF_BUILD_ID_MAX])
{
	size_t off = 0, next, name, desc;
	GElf_Nhdr nh;

	while (data && (next = gelf_getnote(data, off, &nh, &name, &desc)) > off) {
		if (nh.n_type == NT_GNU_BUILD_ID && nh.n_namesz == 4 && nh.n_descsz &&
		    !memcmp((char *)data->d_buf + name, "GNU", 4)) {
			size_t n = nh.n_descsz < ELF_BUILD_ID_MAX ? nh.n_descsz : ELF_BUILD_ID_MAX;

			memcpy(id, (char *)data->d_buf + desc, n);
			return n;
		}
		off = next;
	}
	return 0;
}

size_t elf_build_id(struct elf *e, uint8_t id[ELF_BUILD_ID_MAX])
{
	Elf_Scn *scn = NULL;
	GElf_Phdr ph;
	GElf_Shdr sh;
	size_t n;

	for (size_t i = 0; segment(e, i, &ph); i++) {
		if (ph.p_type != PT_NOTE || ph.p_filesz > ELF_MAX_SECTION_BYTES ||
		    ph.p_offset > INT64_MAX)
			continue;
		n = id_of_notes(elf_getdata_rawchunk(e->libelf, (int64_t)ph.p_offset, ph.p_filesz,
						     ph.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR),
				id);
		if (n)
			return n;
	}
	/* Object files and modules have sections only. */
	while ((scn = elf_nextscn(e->libelf, scn))) {
		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_NOTE ||
		    sh.sh_size > ELF_MAX_SECTION_BYTES)
			continue;
		n = id_of_notes(elf_getdata(scn, NULL), id);
		if (n)
			return n;
	}
	return 0;
}
