// SPDX-License-Identifier: MIT
/* The code of an ELF file and its names: symbols, and stubs of the procedure linkage table; see
 * elf.h. Called by symbol_table.c and symbol_file.c. */
#include "dump/base/elf_impl.h"

#include <stdlib.h>
#include <string.h>

#define MAX_RELOCATIONS (1u << 22)

/* ---- sections ---- */

static const char *section_name(struct elf *e, const GElf_Shdr *sh)
{
	size_t names;

	if (elf_getshdrstrndx(e->libelf, &names))
		return "";
	return elf_strptr(e->libelf, names, sh->sh_name) ?: "";
}

static Elf_Scn *find_section(struct elf *e, const char *name, GElf_Shdr *sh)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(e->libelf, scn)))
		if (gelf_getshdr(scn, sh) && !strcmp(section_name(e, sh), name))
			return scn;
	return NULL;
}

static bool section_bytes(Elf_Scn *scn, const GElf_Shdr *sh, struct bytes *out)
{
	Elf_Data *data;

	if (sh->sh_type == SHT_NOBITS || sh->sh_size > ELF_MAX_SECTION_BYTES)
		return false;
	data = elf_rawdata(scn, NULL);
	if (!data || !data->d_buf || !data->d_size)
		return false;
	*out = (struct bytes){data->d_buf, data->d_size};
	return true;
}

bool elf_section(struct elf *e, const char *name, struct bytes *out)
{
	GElf_Shdr sh;
	Elf_Scn *scn = find_section(e, name, &sh);

	return scn && section_bytes(scn, &sh, out);
}

uint64_t elf_sections_bytes(struct elf *e, const char *prefix)
{
	Elf_Scn *scn = NULL;
	uint64_t sum = 0;
	GElf_Shdr sh;

	while ((scn = elf_nextscn(e->libelf, scn)))
		if (gelf_getshdr(scn, &sh) && sh.sh_type != SHT_NOBITS &&
		    !strncmp(section_name(e, &sh), prefix, strlen(prefix)))
			sum += sh.sh_size < ELF_MAX_SECTION_BYTES ? sh.sh_size
								  : ELF_MAX_SECTION_BYTES;
	return sum;
}

/* ---- symbols ---- */

/* For a symbol without a type: whether it is in a section of code. */
static bool in_code(struct elf *e, const GElf_Sym *sym)
{
	GElf_Shdr sh;
	Elf_Scn *scn;

	if (sym->st_shndx == SHN_UNDEF || sym->st_shndx >= SHN_LORESERVE)
		return false;
	scn = elf_getscn(e->libelf, sym->st_shndx);
	return scn && gelf_getshdr(scn, &sh) && (sh.sh_flags & SHF_EXECINSTR);
}

static bool is_code(struct elf *e, const GElf_Sym *sym, const char *name, bool *function)
{
	int type = GELF_ST_TYPE(sym->st_info);

	*function = type == STT_FUNC || type == STT_GNU_IFUNC;
	if (*function)
		return sym->st_shndx != SHN_UNDEF;
	/* Assembler labels ($x, .L12) are not names. */
	return type == STT_NOTYPE && *name != '$' && strncmp(name, ".L", 2) && in_code(e, sym);
}

static int each_in_table(struct elf *e, Elf_Scn *scn, const GElf_Shdr *sh,
			 int (*each)(void *ctx, const struct elf_code *c), void *ctx)
{
	Elf_Data *data;
	int rc = 0;

	if (sh->sh_size > ELF_MAX_SECTION_BYTES || !sh->sh_entsize)
		return 0;
	data = elf_getdata(scn, NULL);
	if (!data || !data->d_buf)
		return 0;
	for (size_t i = 1; i < data->d_size / sh->sh_entsize && i <= INT32_MAX && !rc; i++) {
		struct elf_code c = {0};
		GElf_Sym sym;

		if (!gelf_getsym(data, (int)i, &sym))
			break;
		c.name = elf_strptr(e->libelf, sh->sh_link, sym.st_name);
		if (!c.name || !*c.name || !is_code(e, &sym, c.name, &c.function))
			continue;
		c.value = sym.st_value;
		c.bytes = sym.st_size;
		c.bind = GELF_ST_BIND(sym.st_info);
		rc = each(ctx, &c);
	}
	return rc;
}

int elf_each_code(struct elf *e, int (*each)(void *ctx, const struct elf_code *c), void *ctx)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	int rc = 0;

	while (!rc && (scn = elf_nextscn(e->libelf, scn)))
		if (gelf_getshdr(scn, &sh) &&
		    (sh.sh_type == SHT_SYMTAB || sh.sh_type == SHT_DYNSYM))
			rc = each_in_table(e, scn, &sh, each, ctx);
	return rc;
}

/* ---- stubs ---- */

/* A place that the dynamic linker fills in with a function's address. */
struct elf_code_slot {
	uint64_t value;
	const char *name;
};

struct slots {
	struct buf v; /* struct elf_code_slot[] */
	size_t nr_ordered;
	struct buf ordered; /* the names of .rela.plt in its order */
};

static const char *symbol_name(struct elf *e, size_t table, size_t index)
{
	Elf_Scn *scn = elf_getscn(e->libelf, table);
	Elf_Data *data;
	GElf_Shdr sh;
	GElf_Sym sym;

	if (!scn || !gelf_getshdr(scn, &sh) || sh.sh_type != SHT_DYNSYM ||
	    sh.sh_size > ELF_MAX_SECTION_BYTES || index > INT32_MAX)
		return NULL;
	data = elf_getdata(scn, NULL);
	if (!data || !gelf_getsym(data, (int)index, &sym))
		return NULL;
	return elf_strptr(e->libelf, sh.sh_link, sym.st_name);
}

static bool take_relocation(struct elf *e, const GElf_Shdr *sh, Elf_Data *data, size_t i,
			    struct slots *s)
{
	GElf_Rela a = {0};
	GElf_Rel r;
	struct elf_code_slot slot = {0};

	if (sh->sh_type == SHT_RELA) {
		if (!gelf_getrela(data, (int)i, &a))
			return false;
	} else if (gelf_getrel(data, (int)i, &r)) {
		a.r_offset = r.r_offset;
		a.r_info = r.r_info;
	} else {
		return false;
	}
	slot.value = a.r_offset;
	slot.name = symbol_name(e, sh->sh_link, GELF_R_SYM(a.r_info));
	if (strstr(section_name(e, sh), ".plt") &&
	    buf_put(&s->ordered, &slot.name, sizeof(slot.name)))
		return false;
	return !slot.name || !*slot.name || !buf_put(&s->v, &slot, sizeof(slot));
}

static int compare_slots(const void *a, const void *b)
{
	const struct elf_code_slot *x = a, *y = b;

	return x->value < y->value ? -1 : x->value > y->value;
}

static void read_slots(struct elf *e, struct slots *s)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	while ((scn = elf_nextscn(e->libelf, scn))) {
		Elf_Data *data;

		if (!gelf_getshdr(scn, &sh) || !sh.sh_entsize ||
		    (sh.sh_type != SHT_RELA && sh.sh_type != SHT_REL) ||
		    !(sh.sh_flags & SHF_ALLOC) || sh.sh_size > ELF_MAX_SECTION_BYTES)
			continue;
		data = elf_getdata(scn, NULL);
		for (size_t i = 0; data && i < data->d_size / sh.sh_entsize && i < MAX_RELOCATIONS;
		     i++)
			if (!take_relocation(e, &sh, data, i, s))
				break;
	}
	s->nr_ordered = s->ordered.len / sizeof(const char *);
	if (s->v.len)
		qsort(s->v.p, s->v.len / sizeof(struct elf_code_slot), sizeof(struct elf_code_slot),
		      compare_slots);
}

/* The slot that the x86-64 instruction `jmp *slot(%rip)` of a stub jumps through; 0: none. */
static uint64_t jumps_through(struct bytes code, uint64_t value)
{
	for (size_t i = 0; i + 6 <= code.len; i++) {
		int32_t way;

		if (code.p[i] != 0xff || code.p[i + 1] != 0x25)
			continue;
		memcpy(&way, code.p + i + 2, sizeof(way));
		return value + i + 6 + (uint64_t)(int64_t)way;
	}
	return 0;
}

/* For machines where only the order of stubs is known: a head as large as two stubs, then one stub
 * per relocation. */
static const char *by_order(const struct slots *s, size_t i)
{
	const char *name;

	if (i < 2 || i - 2 >= s->nr_ordered)
		return NULL;
	memcpy(&name, s->ordered.p + (i - 2) * sizeof(name), sizeof(name));
	return name;
}

static const char *stub_name(const struct slots *s, bool x86, struct bytes code, uint64_t value,
			     size_t i)
{
	struct elf_code_slot key = {.value = x86 ? jumps_through(code, value) : 0}, *found = NULL;

	if (!x86)
		return by_order(s, i);
	if (key.value && s->v.len)
		found = bsearch(&key, s->v.p, s->v.len / sizeof(key), sizeof(key), compare_slots);
	return found ? found->name : NULL;
}

static int each_in_plt(struct elf *e, const struct slots *s, const char *section,
		       int (*each)(void *ctx, const struct elf_code *c), void *ctx)
{
	struct bytes all, code;
	GElf_Ehdr eh;
	GElf_Shdr sh;
	Elf_Scn *scn = find_section(e, section, &sh);
	uint64_t value, step;
	int rc = 0;

	if (!scn || !gelf_getehdr(e->libelf, &eh) || !section_bytes(scn, &sh, &all))
		return 0;
	value = sh.sh_addr;
	step = sh.sh_entsize == 8 ? 8 : 16;
	for (size_t i = 0; !rc && bytes_take(&all, step, &code); i++, value += step) {
		struct elf_code c = {.value = value, .bytes = step, .function = true};

		c.name = stub_name(s, eh.e_machine == EM_X86_64, code, value, i);
		if (c.name && *c.name)
			rc = each(ctx, &c);
	}
	return rc;
}

int elf_each_stub(struct elf *e, int (*each)(void *ctx, const struct elf_code *c), void *ctx)
{
	static const char *const sections[] = {".plt", ".plt.sec", ".plt.got"};
	struct slots s = {0};
	int rc = 0;

	read_slots(e, &s);
	for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]) && !rc; i++)
		rc = each_in_plt(e, &s, sections[i], each, ctx);
	buf_free(&s.v);
	buf_free(&s.ordered);
	return rc;
}
