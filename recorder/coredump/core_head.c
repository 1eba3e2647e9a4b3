// SPDX-License-Identifier: MIT
/*
 * Parses the headers and notes of a core; see core_head.h. The layout is that of elf_core_dump()
 * (fs/binfmt_elf.c): the first program header is that of the notes, and the notes precede all
 * memory.
 */
#include "recorder/coredump/core_head.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/procfs.h>

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#endif

/* Finds the notes by the ELF header and the first program header. 0: more bytes are needed. */
static int find_notes(struct bytes have, uint64_t *at, uint64_t *len, size_t *need)
{
	Elf64_Ehdr e;
	Elf64_Phdr p;

	*need = sizeof(e);
	if (have.len < sizeof(e))
		return 0;
	memcpy(&e, have.p, sizeof(e));
	if (memcmp(e.e_ident, ELFMAG, SELFMAG) != 0 || e.e_ident[EI_CLASS] != ELFCLASS64 ||
	    e.e_type != ET_CORE || e.e_machine != MACHINE || e.e_phentsize != sizeof(p) ||
	    !e.e_phnum || e.e_phoff > 4096)
		return -ENOEXEC;
	*need = e.e_phoff + sizeof(p);
	if (have.len < *need)
		return 0;
	memcpy(&p, have.p + e.e_phoff, sizeof(p));
	if (p.p_type != PT_NOTE || p.p_offset < *need ||
	    !span_fits(p.p_offset, p.p_filesz, SIZE_MAX / 2))
		return -ENOEXEC;
	*at = p.p_offset;
	*len = p.p_filesz;
	*need = p.p_offset + p.p_filesz;
	return 1;
}

int core_head_need(struct bytes have, size_t *need)
{
	uint64_t at, len;
	int rc = find_notes(have, &at, &len, need);

	return rc <= 0 ? rc : have.len >= *need;
}

/* ---- notes ---- */

static int add_thread(struct core_head *h, struct buf *list, struct bytes desc)
{
	struct elf_prstatus s;
	struct core_thread t;

	if (desc.len < sizeof(s))
		return 0;
	memcpy(&s, desc.p, sizeof(s));
	if (!list->len)
		h->sig = s.pr_cursig;
	t.own_tid = s.pr_pid;
	t.regs = (struct bytes){desc.p + offsetof(struct elf_prstatus, pr_reg), sizeof(s.pr_reg)};
	return buf_put(list, &t, sizeof(t));
}

static void take_signal(struct core_head *h, struct bytes desc)
{
	siginfo_t si = {0};

	if (desc.len < sizeof(si))
		return;
	memcpy(&si, desc.p, sizeof(si));
	h->sig = si.si_signo;
	h->code = si.si_code;
	/* Only signals that the hardware or the kernel raised for a fault have an address. */
	h->has_address = si.si_code > 0 && si.si_code != SI_KERNEL &&
			 (si.si_signo == SIGSEGV || si.si_signo == SIGBUS);
	h->address = h->has_address ? (uint64_t)(uintptr_t)si.si_addr : 0;
}

/* Takes one whole note; false at the end. Names and contents are padded to words. */
static bool next_note(struct bytes *b, uint32_t *type, struct bytes *desc)
{
	struct bytes name, skip;
	Elf64_Nhdr n;

	if (!bytes_get(b, &n, sizeof(n)) || !bytes_take(b, align_up(n.n_namesz, 4), &name) ||
	    !bytes_take(b, n.n_descsz, desc))
		return false;
	*type = n.n_type;
	if (n.n_namesz != 5 || memcmp(name.p, "CORE", 5) != 0)
		*type = 0;
	skip.len = align_up(n.n_descsz, 4) - n.n_descsz;
	return bytes_take(b, skip.len, &skip) || true;
}

int core_head_read(struct bytes have, struct core_head *out)
{
	struct core_head h = {0};
	struct buf list = {0};
	struct bytes notes, desc;
	uint64_t at, len;
	uint32_t type;
	size_t need;
	int rc = find_notes(have, &at, &len, &need);

	if (rc <= 0 || at > have.len)
		return rc < 0 ? rc : -ENOEXEC;
	notes = (struct bytes){have.p + at, have.len - at < len ? have.len - at : len};
	for (rc = 0; !rc && next_note(&notes, &type, &desc);) {
		if (type == NT_PRSTATUS)
			rc = add_thread(&h, &list, desc);
		else if (type == NT_SIGINFO)
			take_signal(&h, desc);
	}
	if (rc) {
		buf_free(&list);
		return rc;
	}
	h.threads = (struct core_thread *)list.p;
	h.nr_threads = list.len / sizeof(struct core_thread);
	*out = h;
	return 0;
}

void core_head_free(struct core_head *h)
{
	free(h->threads);
}
