/* SPDX-License-Identifier: MIT */
/* Unwind rules (cfi.h) of many images, by the place of the code in its image. All rules went
 * through cfi_clean(). They come from a dump (symbols.h) or from files (elf_rules.h). */
#pragma once

#include "dump/view/cfi/cfi.h"

struct unwind_rules;

/* Limit for all rules together. */
#define RULES_MAX_BYTES (128ull << 20)

struct unwind_rule {
	struct cfi_rule r; /* start and bytes are places in the image */
	uint32_t group;	   /* the image */
	uint32_t id;	   /* from 0, in the order of adding */
};

/* NULL: out of memory. */
struct unwind_rules *unwind_rules_new(void);
void unwind_rules_free(struct unwind_rules *r);

/* Adds a copy and sets *out to it, or to the rule that already covers its first place. -EBADMSG:
 * not a valid rule, -E2BIG: too many rules, -ENOMEM. */
int unwind_rules_add(struct unwind_rules *r, uint32_t group, const struct cfi_rule *in,
		     const struct unwind_rule **out);
/* As unwind_rules_add(), but without the lookup; call unwind_rules_sort() before
 * unwind_rules_find(). */
int unwind_rules_put(struct unwind_rules *r, uint32_t group, const struct cfi_rule *in);
/* `groups` (may be NULL): the new number of each group. Keeps the first of several rules for one
 * place. */
void unwind_rules_sort(struct unwind_rules *r, const uint32_t *groups);

/* The rule for a place; NULL: none. Valid until unwind_rules_free(). */
const struct unwind_rule *unwind_rules_find(const struct unwind_rules *r, uint32_t group,
					    uint64_t place);
size_t unwind_rules_nr(const struct unwind_rules *r);
/* By id; NULL: none. */
const struct unwind_rule *unwind_rules_nth(const struct unwind_rules *r, size_t id);
/* The i-th rule in the order of image and place; NULL: the end. */
const struct unwind_rule *unwind_rules_in_order(const struct unwind_rules *r, size_t i);
