// SPDX-License-Identifier: MIT
/*
 * Tracepoint records as text and JSON; see fields.h. Parses the fields of all formats when the dump
 * is opened, a print fmt when it is first needed.
 */
#include "dump/view/print/fields.h"

#include "dump/base/err.h"
#include "dump/view/print/print_format.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TYPE (1u << 16) /* common_type has 16 bits */

struct tracepoint_print {
	struct tpfields tp;
	struct bytes format;
	char *full_name;
	struct program *prog; /* NULL with `tried`: print the fields one by one */
	atomic_bool tried;    /* prog is final */
};

struct fields {
	pthread_mutex_t compiling;
	struct tracepoint_print *slots;
	size_t nr;
	uint32_t *by_type; /* index into slots plus 1 */
};

static int slot_open(struct tracepoint_print *s, const struct meta_tracepoint *m)
{
	size_t n;
	int rc = tpfields_open(m->format, &s->tp);

	if (rc)
		return rc;
	s->format = m->format;
	n = strlen(m->system) + strlen(s->tp.name) + 2;
	s->full_name = malloc(n);
	if (!s->full_name) {
		tpfields_close(&s->tp);
		return -ENOMEM;
	}
	memcpy(s->full_name, m->system, strlen(m->system));
	s->full_name[strlen(m->system)] = ':';
	memcpy(s->full_name + strlen(m->system) + 1, s->tp.name, strlen(s->tp.name) + 1);
	return 0;
}

static int load(struct fields *f, const struct meta *m)
{
	for (size_t i = 0; i < m->nr_tracepoints; i++) {
		const struct meta_tracepoint *tp = &m->tracepoints[i];
		int rc;

		if (tp->id >= MAX_TYPE || f->by_type[tp->id])
			continue;
		rc = slot_open(&f->slots[f->nr], tp);
		if (rc == -ENOMEM)
			return rc;
		if (!rc)
			f->by_type[tp->id] = (uint32_t)++f->nr;
	}
	return 0;
}

int fields_new(const struct meta *m, struct fields **out, struct err *err)
{
	struct fields *f = calloc(1, sizeof(*f));
	int rc = -ENOMEM;

	if (f) {
		pthread_mutex_init(&f->compiling, NULL);
		f->slots = calloc(m->nr_tracepoints + 1, sizeof(*f->slots));
		f->by_type = calloc(MAX_TYPE, sizeof(*f->by_type));
		if (f->slots && f->by_type)
			rc = load(f, m);
	}
	if (rc) {
		fields_free(f);
		return err_set(err, rc, "out of memory for the tracepoint formats");
	}
	*out = f;
	return 0;
}

void fields_free(struct fields *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->nr; i++) {
		program_free(f->slots[i].prog);
		tpfields_close(&f->slots[i].tp);
		free(f->slots[i].full_name);
	}
	free(f->slots);
	free(f->by_type);
	pthread_mutex_destroy(&f->compiling);
	free(f);
}

static struct tracepoint_print *slot_of(const struct fields *f, uint32_t type)
{
	return type < MAX_TYPE && f->by_type[type] ? &f->slots[f->by_type[type] - 1] : NULL;
}

static struct tracepoint_print *slot_of_record(const struct fields *f, struct bytes raw)
{
	uint16_t type;

	return bytes_u16(&raw, &type) ? slot_of(f, type) : NULL;
}

const struct tpfields *fields_tracepoint(const struct fields *f, uint32_t type)
{
	const struct tracepoint_print *s = slot_of(f, type);

	return s ? &s->tp : NULL;
}

const char *fields_name(const struct fields *f, uint32_t type)
{
	const struct tracepoint_print *s = slot_of(f, type);

	return s ? s->full_name : NULL;
}

/* ---- text ---- */

static const struct program *program_of(struct fields *f, struct tracepoint_print *s)
{
	if (s->tried)
		return s->prog;
	pthread_mutex_lock(&f->compiling);
	if (!s->tried) {
		program_new(s->format, &s->tp, &s->prog); /* else NULL stays */
		s->tried = true;
	}
	pthread_mutex_unlock(&f->compiling);
	return s->prog;
}

static void value_text(const struct field *fd, struct bytes raw, struct text *t)
{
	struct bytes b;

	if (fd->flags & FIELD_STRING) {
		if (field_string(fd, raw, &b))
			text_safe(t, (const char *)b.p, b.len);
	} else if (fd->flags & FIELD_ARRAY || fd->size > 8) {
		if (field_bytes(fd, raw, &b))
			text_hexdump(t, b, '\0');
	} else if (fd->flags & FIELD_POINTER) {
		text_put(t, "0x", 2);
		text_hex(t, field_number(fd, raw), 1);
	} else if (fd->flags & FIELD_SIGNED) {
		text_i64(t, (int64_t)field_number(fd, raw));
	} else {
		text_u64(t, field_number(fd, raw));
	}
}

static void plain_text(const struct tpfields *tp, struct bytes raw, struct text *t)
{
	bool more = false;

	for (size_t i = 0; i < tp->nr_fields; i++) {
		if (tp->fields[i].flags & FIELD_COMMON)
			continue;
		if (more)
			text_char(t, ' ');
		more = true;
		text_str(t, tp->fields[i].name);
		text_char(t, '=');
		value_text(&tp->fields[i], raw, t);
	}
}

void fields_text(struct fields *f, struct bytes raw, struct text *t)
{
	struct tracepoint_print *s = slot_of_record(f, raw);
	const struct program *prog;

	if (!s || !tpfields_fits(&s->tp, raw)) {
		text_str(t, "raw ");
		text_hexdump(t, raw, '\0');
		return;
	}
	prog = program_of(f, s);
	if (prog)
		program_run(prog, raw, t);
	else
		plain_text(&s->tp, raw, t);
}

/* ---- JSON ---- */

static void number_json(struct json *j, const char *key, uint64_t v, uint32_t flags)
{
	if (flags & FIELD_POINTER)
		json_hex(j, key, v);
	else if (flags & FIELD_SIGNED)
		json_i64(j, key, (int64_t)v);
	else
		json_u64(j, key, v);
}

static void array_json(const struct field *fd, struct bytes raw, struct json *j)
{
	bool is_signed = fd->flags & FIELD_SIGNED;
	struct bytes b;

	json_open(j, fd->name, '[');
	if (field_bytes(fd, raw, &b))
		for (size_t i = 0; i + fd->elem_bytes <= b.len; i += fd->elem_bytes)
			number_json(j, NULL, field_value(b.p + i, fd->elem_bytes, is_signed),
				    fd->flags);
	json_close(j, ']');
}

static void field_json(const struct field *fd, struct bytes raw, struct json *j)
{
	struct bytes b;

	if (fd->flags & FIELD_STRING) {
		if (field_string(fd, raw, &b))
			json_str(j, fd->name, (const char *)b.p, b.len);
	} else if (fd->flags & FIELD_ARRAY) {
		array_json(fd, raw, j);
	} else if (fd->size == 1 || fd->size == 2 || fd->size == 4 || fd->size == 8) {
		number_json(j, fd->name, field_number(fd, raw), fd->flags);
	} else if (field_bytes(fd, raw, &b)) {
		json_bytes(j, fd->name, b);
	}
}

void fields_json(const struct fields *f, struct bytes raw, struct json *j)
{
	const struct tracepoint_print *s = slot_of_record(f, raw);

	if (!s || !tpfields_fits(&s->tp, raw)) {
		json_bytes(j, "raw", raw);
		return;
	}
	json_open(j, "fields", '{');
	for (size_t i = 0; i < s->tp.nr_fields; i++)
		if (!(s->tp.fields[i].flags & FIELD_COMMON))
			field_json(&s->tp.fields[i], raw, j);
	json_close(j, '}');
}
