// SPDX-License-Identifier: MIT
/*
 * Fields of a tracepoint; see event_field.h. A line of its format is
 *
 *	\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;
 */
#include "trigger/events/event_field.h"

#include "dump/base/err.h"
#include "trigger/kernel/tracefs.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* The name is the last word of the declaration, without brackets. */
static bool parse(const char *line, struct event_field *out)
{
	const char *decl = line + strlen("\tfield:"), *end = strchr(decl, ';'), *from;
	unsigned offset, bytes;

	if (!end || sscanf(end, ";\toffset:%u;\tsize:%u;", &offset, &bytes) != 2)
		return false;
	from = memchr(decl, '[', (size_t)(end - decl));
	/* In "__data_loc char[] filename" the brackets precede the name. */
	if (from && !memchr(from, ' ', (size_t)(end - from)))
		end = from;
	for (from = end; from > decl && from[-1] != ' ' && from[-1] != '*'; from--)
		;
	snprintf(out->name, sizeof(out->name), "%.*s", (int)(end - from), from);
	out->offset = offset;
	out->bytes = bytes;
	return true;
}

int event_field_list(const char *event, struct event_field *out, unsigned max, unsigned *nr,
		     struct err *err)
{
	struct buf text = {0};
	char path[200];
	int rc;

	snprintf(path, sizeof(path), "events/%s/format", event);
	rc = tracefs_read(path, &text, err);
	if (rc)
		return rc;
	*nr = 0;
	for (const char *p = (char *)text.p; p && *nr < max; p = strchr(p, '\n')) {
		p += *p == '\n';
		if (!strncmp(p, "\tfield:", 7) && parse(p, &out[*nr]) &&
		    strncmp(out[*nr].name, "common_", 7))
			++*nr;
	}
	buf_free(&text);
	return 0;
}

int event_field_find(const char *event, const char *name, struct event_field *out, struct err *err)
{
	struct event_field v[64];
	unsigned nr = 0;
	int rc = event_field_list(event, v, 64, &nr, err);

	if (rc)
		return rc;
	for (unsigned i = 0; i < nr; i++) {
		if (strcmp(v[i].name, name))
			continue;
		*out = v[i];
		return 0;
	}
	err_set(err, -ENOENT, "the tracepoint %s of this kernel has no field '%s'", event, name);
	err_hint(err,
		 "that is a kernel this rule does not know: cat "
		 "/sys/kernel/tracing/events/%s/format",
		 event);
	return -ENOENT;
}
