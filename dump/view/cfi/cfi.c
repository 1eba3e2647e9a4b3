// SPDX-License-Identifier: MIT
/* Finds the entry for an address in .eh_frame and .debug_frame; see cfi.h. */
#include "dump/view/cfi/cfi.h"

#include "dump/view/base/leb128.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PE_FORMAT 0x0f /* mask for DW_EH_PE_* */
#define PE_HOW	  0xf0

/* An FDE: its code range and its offset. */
struct cfi_fde {
	uint64_t start, bytes;
	size_t off;
};

struct cfi_section {
	struct bytes data;
	uint64_t addr;
	bool debug;   /* .debug_frame: CIE offsets are relative to the section's start */
	struct buf v; /* struct cfi_fde[], sorted by start */
	size_t nr;
};

struct cfi {
	struct cfi_section eh, debug;
};

/* The parts of a CIE that its FDEs need. */
struct cfi_cie {
	uint64_t code_align;
	int64_t data_align;
	uint64_t return_register;
	struct bytes initial;
	uint8_t encoding;
	bool sized; /* FDEs have augmentation data */
	bool signal;
};

/* ---- one entry ---- */

/* An entry's bytes after its length, which has 32 or 64 bits. *off is advanced past the entry. */
struct cfi_entry {
	struct bytes body;
	size_t at; /* offset of the body in the section */
	bool wide;
};

static bool unit_at(const struct cfi_section *s, size_t *off, struct cfi_entry *u)
{
	struct bytes b = {s->data.p + *off, s->data.len - *off};
	uint32_t n32;
	uint64_t n;

	if (!bytes_u32(&b, &n32))
		return false;
	n = n32;
	u->wide = n32 == UINT32_MAX;
	if (u->wide && !bytes_u64(&b, &n))
		return false;
	u->at = s->data.len - b.len;
	if (n > b.len || !bytes_take(&b, (size_t)n, &u->body))
		return false;
	*off = u->at + (size_t)n;
	return true;
}

/* The id of an entry; for an FDE, it locates the CIE. */
static bool take_id(struct cfi_entry *u, uint64_t *id)
{
	uint32_t v;

	if (u->wide)
		return bytes_u64(&u->body, id);
	if (!bytes_u32(&u->body, &v))
		return false;
	*id = v;
	return true;
}

static bool is_cie(const struct cfi_section *s, const struct cfi_entry *u, uint64_t id)
{
	if (!s->debug)
		return id == 0;
	return id == (u->wide ? UINT64_MAX : UINT32_MAX);
}

static bool take_format(struct bytes *b, uint8_t format, uint64_t *v)
{
	uint16_t v16;
	uint32_t v32;
	int64_t s64;

	switch (format) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		return bytes_u64(b, v);
	case DW_EH_PE_uleb128:
		return leb128_u64(b, v);
	case DW_EH_PE_sleb128:
		if (!leb128_i64(b, &s64))
			return false;
		*v = (uint64_t)s64;
		return true;
	case DW_EH_PE_udata2:
	case DW_EH_PE_sdata2:
		if (!bytes_u16(b, &v16))
			return false;
		*v = format == DW_EH_PE_sdata2 ? (uint64_t)(int16_t)v16 : v16;
		return true;
	case DW_EH_PE_udata4:
	case DW_EH_PE_sdata4:
		if (!bytes_u32(b, &v32))
			return false;
		*v = format == DW_EH_PE_sdata4 ? (uint64_t)(int32_t)v32 : v32;
		return true;
	default:
		return false;
	}
}

/* Takes a pointer from the front of `b`, which is a part of the section. */
static bool take_pointer(const struct cfi_section *s, struct bytes *b, uint8_t encoding,
			 uint64_t *v)
{
	uint64_t at = s->addr + (uint64_t)(b->p - s->data.p);

	if (encoding == DW_EH_PE_omit || !take_format(b, encoding & PE_FORMAT, v))
		return false;
	if ((encoding & PE_HOW) == DW_EH_PE_pcrel)
		*v += at;
	return (encoding & PE_HOW) == DW_EH_PE_pcrel || !(encoding & PE_HOW);
}

/* ---- CIE ---- */

/* Takes the augmentation data, in the order of the letters. Unknown letters need a known total
 * size. */
static bool take_augmentation(const struct cfi_section *s, struct bytes *b, const char *letters,
			      struct cfi_cie *c)
{
	uint64_t n, ignored;
	struct bytes data;
	uint8_t encoding;

	c->sized = *letters == 'z';
	if (!*letters)
		return true;
	if (!c->sized || !leb128_u64(b, &n) || n > b->len || !bytes_take(b, (size_t)n, &data))
		return false;
	for (letters++; *letters; letters++) {
		switch (*letters) {
		case 'S':
			c->signal = true;
			break;
		case 'L':
			if (!bytes_get(&data, &encoding, 1))
				return false;
			break;
		case 'R':
			if (!bytes_get(&data, &c->encoding, 1))
				return false;
			break;
		case 'P':
			/* The handler's address is not needed, only skipped. */
			if (!bytes_get(&data, &encoding, 1) ||
			    !take_format(&data, encoding & PE_FORMAT, &ignored))
				return false;
			break;
		default:
			return true;
		}
	}
	return true;
}

static bool cie_at(const struct cfi_section *s, size_t off, struct cfi_cie *c)
{
	const uint8_t *end;
	uint8_t version, sizes[2], narrow;
	struct cfi_entry u;
	struct bytes b, letters;
	uint64_t id;

	*c = (struct cfi_cie){.encoding = DW_EH_PE_absptr};
	if (off >= s->data.len || !unit_at(s, &off, &u) || !take_id(&u, &id) || !is_cie(s, &u, id))
		return false;
	b = u.body;
	if (!bytes_get(&b, &version, 1) || (version != 1 && version != 3 && version != 4))
		return false;
	end = memchr(b.p, 0, b.len);
	if (!end || !bytes_take(&b, (size_t)(end - b.p) + 1, &letters))
		return false;
	/* Only addresses of 8 bytes, no segments. */
	if (version == 4 && (!bytes_get(&b, sizes, 2) || sizes[0] != 8 || sizes[1]))
		return false;
	if (!leb128_u64(&b, &c->code_align) || !leb128_i64(&b, &c->data_align))
		return false;
	if (version == 1) {
		if (!bytes_get(&b, &narrow, 1))
			return false;
		c->return_register = narrow;
	} else if (!leb128_u64(&b, &c->return_register)) {
		return false;
	}
	if (!take_augmentation(s, &b, (const char *)letters.p, c))
		return false;
	c->initial = b;
	return true;
}

/* ---- FDE ---- */

/* The offset of the CIE of an FDE with its id at `at`. */
static bool cie_of(const struct cfi_section *s, uint64_t id, size_t at, size_t *off)
{
	if (s->debug) {
		*off = (size_t)id;
		return id < s->data.len;
	}
	*off = at - (size_t)id;
	return id <= at;
}

static bool code_of(const struct cfi_section *s, const struct cfi_cie *c, struct bytes *b,
		    uint64_t *start, uint64_t *bytes)
{
	return take_pointer(s, b, c->encoding, start) &&
	       take_format(b, c->encoding & PE_FORMAT, bytes) && *bytes &&
	       *bytes <= CFI_MAX_CODE_BYTES && *bytes <= UINT64_MAX - *start;
}

/* The entry at `off`, unchanged from the section. */
static bool rule_at(const struct cfi_section *s, size_t off, struct cfi_rule *r)
{
	uint64_t id, n;
	size_t at;
	struct cfi_entry u;
	struct cfi_cie c;

	if (!unit_at(s, &off, &u) || !take_id(&u, &id) || !cie_of(s, id, u.at, &at) ||
	    !cie_at(s, at, &c) || !code_of(s, &c, &u.body, &r->start, &r->bytes))
		return false;
	if (c.sized) {
		if (!leb128_u64(&u.body, &n) || n > u.body.len)
			return false;
		u.body.p += n;
		u.body.len -= (size_t)n;
	}
	if (c.code_align > UINT32_MAX || c.data_align > INT32_MAX || c.data_align < INT32_MIN ||
	    c.return_register >= CFI_NR_REGISTERS)
		return false;
	r->code_align = (uint32_t)c.code_align;
	r->data_align = (int32_t)c.data_align;
	r->return_register = (uint32_t)c.return_register;
	r->flags = c.signal ? CFI_SIGNAL : 0;
	r->initial = c.initial;
	r->program = u.body;
	return true;
}

/* ---- the index ---- */

static int compare_entries(const void *a, const void *b)
{
	const struct cfi_fde *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->off < y->off ? -1 : x->off > y->off;
}

static void sort(struct cfi_section *s)
{
	struct cfi_fde *v = (struct cfi_fde *)s->v.p;

	s->nr = s->v.len / sizeof(*v);
	for (size_t i = 1; i < s->nr; i++) {
		if (compare_entries(&v[i - 1], &v[i]) > 0) {
			qsort(v, s->nr, sizeof(*v), compare_entries);
			return;
		}
	}
}

/* Indexes the section in one pass; stops at a damaged entry. */
static int index_section(struct cfi_section *s)
{
	size_t off = 0, cie_off = SIZE_MAX, at;
	struct cfi_cie c = {0};
	bool usable = false;
	int rc;

	while (off < s->data.len) {
		struct cfi_fde e = {.off = off};
		struct cfi_entry u;
		uint64_t id;

		if (!unit_at(s, &off, &u))
			break;
		/* A length of 0 ends a part; linkers may append another part. */
		if (!u.body.len || !take_id(&u, &id) || is_cie(s, &u, id) ||
		    !cie_of(s, id, u.at, &at))
			continue;
		if (at != cie_off) {
			usable = cie_at(s, at, &c);
			cie_off = at;
		}
		/* Code that the linker discarded has start 0. */
		if (!usable || !code_of(s, &c, &u.body, &e.start, &e.bytes) || !e.start)
			continue;
		rc = buf_put(&s->v, &e, sizeof(e));
		if (rc)
			return rc;
	}
	sort(s);
	return 0;
}

int cfi_new(const struct cfi_sections *s, struct cfi **out)
{
	struct cfi *c = calloc(1, sizeof(*c));
	int rc = -ENOMEM;

	if (!c)
		return rc;
	c->eh = (struct cfi_section){.data = s->eh_frame, .addr = s->eh_frame_addr};
	c->debug = (struct cfi_section){.data = s->debug_frame, .debug = true};
	rc = index_section(&c->eh);
	if (!rc)
		rc = index_section(&c->debug);
	if (rc)
		cfi_free(c);
	else
		*out = c;
	return rc;
}

void cfi_free(struct cfi *c)
{
	if (!c)
		return;
	buf_free(&c->eh.v);
	buf_free(&c->debug.v);
	free(c);
}

static bool find_in(const struct cfi_section *s, uint64_t addr, struct cfi_rule *out)
{
	const struct cfi_fde *v = (const struct cfi_fde *)s->v.p;
	size_t from = 0, to = s->nr;
	struct cfi_rule r = {0};

	while (from < to) {
		size_t mid = from + (to - from) / 2;

		if (v[mid].start <= addr)
			from = mid + 1;
		else
			to = mid;
	}
	if (!from || addr - v[from - 1].start >= v[from - 1].bytes ||
	    !rule_at(s, v[from - 1].off, &r))
		return false;
	*out = r;
	return true;
}

bool cfi_find(const struct cfi *c, uint64_t addr, struct cfi_rule *out)
{
	return find_in(&c->eh, addr, out) || find_in(&c->debug, addr, out);
}
