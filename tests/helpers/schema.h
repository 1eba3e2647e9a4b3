/* SPDX-License-Identifier: MIT */
/*
 * Checks JSON output against the tables of dump/view/SCHEMA.md: every key printed is in the
 * document, and every key in the document was printed.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#define SCHEMA_MAX 256

struct schema {
	char keys[SCHEMA_MAX][96];
	size_t nr;
};

static inline bool schema_has(const struct schema *s, const char *key)
{
	for (size_t i = 0; i < s->nr; i++)
		if (!strcmp(s->keys[i], key))
			return true;
	return false;
}

static inline void schema_add(struct schema *s, const char *key)
{
	if (schema_has(s, key))
		return;
	assert_true(s->nr < SCHEMA_MAX && strlen(key) < sizeof(s->keys[0]));
	memcpy(s->keys[s->nr++], key, strlen(key) + 1);
}

/* Adds the keys of an object: "a", "a.b", "a[].b". An object's own key is added only when the
 * object is empty. */
static inline void schema_see(struct schema *s, json_t *j, const char *prefix)
{
	const char *key;
	json_t *v, *item;
	size_t i;

	json_object_foreach(j, key, v)
	{
		char name[96], inner[112];

		snprintf(name, sizeof(name), "%s%s", prefix, key);
		schema_add(s, name);
		snprintf(inner, sizeof(inner), "%s.", name);
		schema_see(s, v, inner);
		snprintf(inner, sizeof(inner), "%s[].", name);
		json_array_foreach(v, i, item) schema_see(s, item, inner);
	}
}

/* Frames have a table of their own: "chain[].ip" and "at.ip" appear there as "ip". */
static inline const char *schema_document_name(const char *key)
{
	if (!strncmp(key, "user_stack.chain[].", 19))
		return key + 19;
	if (!strncmp(key, "chain[].", 8))
		return key + 8;
	return !strncmp(key, "at.", 3) ? key + 3 : key;
}

/* The keys of the tables below `heading`: `| `key` | ...`. */
static inline void schema_read(struct schema *s, const char *heading)
{
	FILE *f = fopen("dump/view/SCHEMA.md", "r");
	bool here = false;
	char line[512];

	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (!strncmp(line, "## ", 3))
			here = !strncmp(line, heading, strlen(heading));
		if (here && !strncmp(line, "| `", 3)) {
			*strchrnul(line + 3, '`') = '\0';
			schema_add(s, line + 3);
		}
	}
	fclose(f);
	assert_true(s->nr > 0);
}

/* True for a key that only contains listed keys: "trigger" beside "trigger.name". */
static inline bool schema_is_container(const struct schema *doc, const char *key)
{
	size_t n = strlen(key);

	for (size_t i = 0; i < doc->nr; i++)
		if (!strncmp(doc->keys[i], key, n) && doc->keys[i][n] == '.')
			return true;
	return false;
}

/* Keys that begin with `free_prefix` are the tracepoints' own fields, which the document does not
 * list. */
static inline void schema_check(const struct schema *seen, const char *heading,
				const char *free_prefix)
{
	static struct schema doc, named;

	doc.nr = named.nr = 0;
	schema_read(&doc, heading);
	for (size_t i = 0; i < seen->nr; i++) {
		const char *key = schema_document_name(seen->keys[i]);

		if (!strncmp(key, free_prefix, strlen(free_prefix)) && free_prefix[0])
			continue;
		schema_add(&named, key);
		if (!schema_has(&doc, key) && !schema_is_container(&doc, key))
			fail_msg("'%s' is printed and not in SCHEMA.md", key);
	}
	for (size_t i = 0; i < doc.nr; i++)
		if (!schema_has(&named, doc.keys[i]))
			fail_msg("'%s' is in SCHEMA.md and was not printed", doc.keys[i]);
}
