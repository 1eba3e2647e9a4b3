// SPDX-License-Identifier: MIT
/* Locates the call frame information of an ELF file, and reads code bytes; see elf.h. Called by
 * elf_rules.c. */
#include "dump/view/cfi/cfi.h"
#include "dump/base/elf_impl.h"

#include <dwarf.h>
#include <string.h>
#include <unistd.h>

/* Browsers have 15 MiB. */
#define MAX_FRAME_BYTES (128u << 20)

static Elf_Scn *find_section(struct elf *e, const char *name, GElf_Shdr *sh)
{
	Elf_Scn *scn = NULL;
	const char *own;
	size_t names;

	if (elf_getshdrstrndx(e->libelf, &names))
		return NULL;
	while ((scn = elf_nextscn(e->libelf, scn))) {
		if (!gelf_getshdr(scn, sh) || sh->sh_type == SHT_NOBITS)
			continue;
		own = elf_strptr(e->libelf, names, sh->sh_name);
		if (own && !strcmp(own, name))
			return scn;
	}
	return NULL;
}

static bool take_section(struct elf *e, const char *name, struct bytes *out, uint64_t *addr)
{
	GElf_Shdr sh;
	GElf_Chdr ch;
	Elf_Scn *scn = find_section(e, name, &sh);
	Elf_Data *data;

	if (!scn || sh.sh_size > MAX_FRAME_BYTES)
		return false;
	if (sh.sh_flags & SHF_COMPRESSED &&
	    (!gelf_getchdr(scn, &ch) || ch.ch_size > MAX_FRAME_BYTES ||
	     elf_compress(scn, 0, 0) < 0))
		return false;
	data = elf_rawdata(scn, NULL);
	if (sh.sh_flags & SHF_COMPRESSED)
		data = elf_getdata(scn, NULL);
	if (!data || !data->d_buf || !data->d_size)
		return false;
	*out = (struct bytes){data->d_buf, data->d_size};
	*addr = sh.sh_addr;
	return true;
}

static bool segment_of(struct elf *e, uint32_t type, uint64_t value, GElf_Phdr *ph)
{
	size_t nr;

	if (elf_getphdrnum(e->libelf, &nr))
		return false;
	for (size_t i = 0; i < nr && i < ELF_MAX_SEGMENTS; i++)
		if (gelf_getphdr(e->libelf, (int)i, ph) && ph->p_type == type &&
		    span_fits(ph->p_offset, ph->p_filesz, INT64_MAX) &&
		    (type != PT_LOAD ||
		     (value >= ph->p_vaddr && value - ph->p_vaddr < ph->p_filesz)))
			return true;
	return false;
}

static bool chunk(struct elf *e, uint64_t offset, uint64_t n, struct bytes *out)
{
	Elf_Data *data = n && n <= MAX_FRAME_BYTES
				 ? elf_getdata_rawchunk(e->libelf, (int64_t)offset, n, ELF_T_BYTE)
				 : NULL;

	if (!data || !data->d_buf)
		return false;
	*out = (struct bytes){data->d_buf, data->d_size};
	return true;
}

/* Without sections, the search table gives the start of the entries; a terminator ends them. */
static bool by_segments(struct elf *e, struct cfi_sections *out)
{
	struct bytes head;
	GElf_Phdr table, ph;
	int32_t way;
	uint64_t at, into;

	if (!segment_of(e, PT_GNU_EH_FRAME, 0, &table) || table.p_filesz < 8 ||
	    !chunk(e, table.p_offset, 8, &head) || head.p[0] != 1 ||
	    head.p[1] != (DW_EH_PE_pcrel | DW_EH_PE_sdata4))
		return false;
	memcpy(&way, head.p + 4, sizeof(way));
	at = table.p_vaddr + 4 + (uint64_t)(int64_t)way;
	if (!segment_of(e, PT_LOAD, at, &ph))
		return false;
	into = at - ph.p_vaddr;
	out->eh_frame_addr = at;
	return chunk(e, ph.p_offset + into, ph.p_filesz - into, &out->eh_frame);
}

bool elf_frames(struct elf *e, struct cfi_sections *out)
{
	struct cfi_sections s = {0};
	uint64_t ignored;

	if (!take_section(e, ".eh_frame", &s.eh_frame, &s.eh_frame_addr))
		by_segments(e, &s);
	take_section(e, ".debug_frame", &s.debug_frame, &ignored);
	*out = s;
	return s.eh_frame.len || s.debug_frame.len;
}

size_t elf_read(struct elf *e, uint64_t offset, void *dst, size_t n)
{
	ssize_t got;

	if (e->fd >= 0) {
		got = offset <= INT64_MAX ? pread(e->fd, dst, n, (off_t)offset) : -1;
		return got > 0 ? (size_t)got : 0;
	}
	if (offset >= e->memory.len)
		return 0;
	if (n > e->memory.len - offset)
		n = e->memory.len - offset;
	memcpy(dst, e->memory.p + offset, n);
	return n;
}
