/* SPDX-License-Identifier: MIT */
/*
 * Unwind rules (cfi.h) of many images, by the place of code in its image. All went through
 * cfi_clean(). Filled from a dump (symbols.h) or from files (elf_rules.h).
 */
#pragma once

#include "dump/view/cfi/cfi.h"

struct unwind_rules;

/* As large as rules may become together. */
#define RULES_MAX_BYTES (128ull << 20)

struct unwind_rule {
	struct cfi_rule r; /* start and bytes are places of the image */
	uint32_t group;	   /* the image */
	uint32_t id;	   /* from 0, in the order in which they were added */
};

/* NULL: out of memory. */
struct unwind_rules *unwind_rules_new(void);
void unwind_rules_free(struct unwind_rules *r);

/*
 * Adds a copy; *out is it, or what is there already for its first place. -EBADMSG when it is no
 * rule, -E2BIG when there are too many, -ENOMEM.
 */
int unwind_rules_add(struct unwind_rules *r, uint32_t group, const struct cfi_rule *in,
		     const struct unwind_rule **out);
/* The same without looking whether it is there: unwind_rules_sort() has to come before unwind_rules_find(). */
int unwind_rules_put(struct unwind_rules *r, uint32_t group, const struct cfi_rule *in);
/* `groups` (may be NULL): the new number of each group. Of several for one place the first is kept.
 */
void unwind_rules_sort(struct unwind_rules *r, const uint32_t *groups);

/* The rule for a place; NULL: there is none. Lives until unwind_rules_free(). */
const struct unwind_rule *unwind_rules_find(const struct unwind_rules *r, uint32_t group,
					    uint64_t place);
size_t unwind_rules_nr(const struct unwind_rules *r);
/* By id; NULL: there is none. */
const struct unwind_rule *unwind_rules_nth(const struct unwind_rules *r, size_t id);
/* In the order of image and place; NULL: there are no more. */
const struct unwind_rule *unwind_rules_in_order(const struct unwind_rules *r, size_t i);
