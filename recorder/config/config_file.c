// SPDX-License-Identifier: MIT
/*
 * The configuration file; the only user of inih. Called by config_load().
 *
 *	[record]         keys are the long options' names; a flag says yes or no
 *	[channel NAME]   events=, size=, stack=, records=                   a --channel
 *	[trigger NAME]   rule=, post=, cooldown=, max=, min-fill=, for=     a -T
 *
 * At the end of the file the keys of a channel or trigger are joined to the text of the
 * command-line option, so that both use one parser. Root does not read a file that other users can
 * write.
 */
#include "recorder/config/config_row.h"

#include "dump/base/array.h"
#include "dump/base/bytes.h"
#include "dump/base/closest.h"
#include "dump/base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINE_BYTES (64 * 1024)
#define BOM	   "\xef\xbb\xbf" /* some editors write it at the start of a file */
#define NR_KEYS	   6

/* The keys of a section other than [record]; keys[0] is required. */
struct section_kind {
	const char *word; /* "channel" of [channel NAME] */
	const char *keys[NR_KEYS + 1];
	const char *example; /* a line with keys[0] */
	bool repeat_first;   /* keys[0] may be repeated: values are joined with commas */
	int (*add)(void *config, const char *text, struct err *err);
};

static const struct section_kind section_kinds[] = {
	{"channel",
	 {"events", "size", "stack", "records"},
	 "events = sched:sched_switch",
	 true,
	 config_add_channel},
	{"trigger",
	 {"rule", "post", "cooldown", "max", "min-fill", "for"},
	 "rule = signal:USR1",
	 false,
	 config_add_rule},
};

#define NR_SECTION_KINDS (sizeof(section_kinds) / sizeof(section_kinds[0]))

/* A [channel NAME] or [trigger NAME] being read. */
struct config_section {
	const struct section_kind *kind;
	char *name;
	int line;      /* of its header */
	int text_line; /* of the first keys[0]; errors in the section's text name this line */
	char *values[NR_KEYS];
};

struct config_reading {
	struct config *c;
	const char *path;
	FILE *file;
	int line;
	bool too_long;
	uint64_t seen; /* rows already set in [record], by index in config_options */
	struct config_section *sections;
	size_t nr_sections;
	struct err *err;
	int rc;
};

/* Prefixes the error with "PATH:LINE: ". Returns 0, which stops inih. */
static int fail(struct config_reading *r, int line, int rc)
{
	err_prefix(r->err, "%s:%d", r->path, line);
	r->rc = rc;
	return 0;
}

/* ---- [record] ---- */

static int unknown_record_key(struct config_reading *r, const char *key)
{
	struct closest near;

	if (option_find(config_options, key)) {
		err_set(r->err, -EINVAL, "%s can't be set in a file", key);
		err_hint(r->err, "give it on the command line: --%s", key);
		return fail(r, r->line, -EINVAL);
	}
	closest_init(&near, key);
	for (const struct option_row *row = config_options; row->name; row++)
		if (row->in_file)
			closest_add(&near, row->name, NULL);
	err_set(r->err, -EINVAL, "[record] has no key '%s'", key);
	closest_hint(&near, r->err, "the keys are the long options of ringback record --help");
	return fail(r, r->line, -EINVAL);
}

static int record_key(struct config_reading *r, const char *key, const char *value)
{
	const struct option_row *row = option_find(config_options, key);
	uint64_t bit;
	int rc;

	if (!row || !row->in_file)
		return unknown_record_key(r, key);
	bit = 1ull << (row - config_options);
	if ((r->seen & bit) && !row->repeat) {
		err_set(r->err, -EINVAL, "%s is given twice", key);
		return fail(r, r->line, -EINVAL);
	}
	r->seen |= bit;
	rc = option_set(row, r->c, value, r->err);
	if (rc) {
		err_prefix(r->err, "%s", key);
		return fail(r, r->line, rc);
	}
	return 1;
}

/* ---- [channel NAME], [trigger NAME] ---- */

/* For "channel net" returns its kind, with *name at "net"; NULL for any other section. */
static const struct section_kind *kind_of(const char *section, const char **name)
{
	for (size_t i = 0; i < NR_SECTION_KINDS; i++) {
		size_t n = strlen(section_kinds[i].word);

		if (strncmp(section, section_kinds[i].word, n) || (section[n] && section[n] != ' '))
			continue;
		*name = section + n + strspn(section + n, " ");
		return &section_kinds[i];
	}
	return NULL;
}

static const char all_sections[] = "sections are [record], [channel NAME] and [trigger NAME]";

static int unknown_section(struct config_reading *r, const char *section)
{
	static const char *const words[] = {"record", "channel", "trigger", NULL};
	char word[64];

	snprintf(word, sizeof(word), "%.*s", (int)strcspn(section, " "), section);
	err_set(r->err, -EINVAL, "there is no section [%s]", section);
	config_hint_names(r->err, word, words, all_sections);
	return fail(r, r->line, -EINVAL);
}

static int key_outside(struct config_reading *r)
{
	err_set(r->err, -EINVAL, "a key comes before the first section");
	err_hint(r->err, "%s", all_sections);
	return fail(r, r->line, -EINVAL);
}

static struct config_section *section_get(struct config_reading *r, const struct section_kind *kind,
					  const char *name)
{
	struct config_section *s;

	for (size_t i = 0; i < r->nr_sections; i++)
		if (r->sections[i].kind == kind && !strcmp(r->sections[i].name, name))
			return &r->sections[i];
	if (!array_room(r->sections, r->nr_sections))
		return NULL;
	s = &r->sections[r->nr_sections];
	*s = (struct config_section){.kind = kind, .name = strdup(name), .line = r->line};
	if (!s->name)
		return NULL;
	r->nr_sections++;
	return s;
}

static int section_key(struct config_reading *r, const struct section_kind *kind, const char *name,
		       const char *key, const char *value)
{
	struct config_section *s;
	size_t k = 0;

	while (kind->keys[k] && strcmp(kind->keys[k], key))
		k++;
	if (!kind->keys[k]) {
		err_set(r->err, -EINVAL, "[%s NAME] has no key '%s'", kind->word, key);
		config_hint_names(r->err, key, kind->keys,
				  "ringback.1 lists the keys, under FILES");
		return fail(r, r->line, -EINVAL);
	}
	s = section_get(r, kind, name);
	if (!s)
		return fail(r, r->line, config_no_memory(r->err));
	if (s->values[k] && !(k == 0 && kind->repeat_first)) {
		err_set(r->err, -EINVAL, "%s is given twice for %s '%s'", key, kind->word, name);
		return fail(r, r->line, -EINVAL);
	}
	if (config_join(&s->values[k], value, r->err))
		return fail(r, r->line, -ENOMEM);
	if (k == 0 && !s->text_line)
		s->text_line = r->line;
	return 1;
}

/* Handles a line "[...]". inih reports a section only with its first key, and it may have none.
 * False on an error. */
static bool section_header(struct config_reading *r, const char *line)
{
	size_t n = strcspn(line, "]");
	const struct section_kind *kind;
	char section[128];
	const char *name;

	if (line[n] != ']')
		return true; /* inih reports that */
	snprintf(section, sizeof(section), "%.*s", (int)n, line);
	if (!strcmp(section, "record"))
		return true;
	kind = kind_of(section, &name);
	if (!kind)
		return unknown_section(r, section);
	if (!config_name_ok(name)) {
		err_set(r->err, -EINVAL, "'%s' can't be a %s's name", name, kind->word);
		err_hint(r->err, "write [%s NAME] with up to 31 letters, digits, - and _",
			 kind->word);
		return fail(r, r->line, -EINVAL);
	}
	return section_get(r, kind, name) || fail(r, r->line, config_no_memory(r->err));
}

/* "NAME:EVENTS;size=8M" or "RULE;name=NAME;post=1s". */
static int section_text(const struct config_section *s, struct buf *b)
{
	bool channel = s->kind->add == config_add_channel;
	const char *first[] = {channel ? s->name : s->values[0],
			       channel ? ":" : ";name=", channel ? s->values[0] : s->name};
	int rc = 0;

	for (size_t i = 0; !rc && i < 3; i++)
		rc = buf_put(b, first[i], strlen(first[i]));
	for (size_t k = 1; !rc && k < NR_KEYS; k++) {
		if (!s->values[k])
			continue;
		rc = buf_put(b, ";", 1);
		rc = rc ? rc : buf_put(b, s->kind->keys[k], strlen(s->kind->keys[k]));
		rc = rc ? rc : buf_put(b, "=", 1);
		rc = rc ? rc : buf_put(b, s->values[k], strlen(s->values[k]));
	}
	return rc ? rc : buf_put(b, "", 1);
}

static int section_finish(struct config_reading *r, const struct config_section *s)
{
	struct buf text = {0};
	int rc;

	if (!s->values[0]) {
		rc = err_set(r->err, -EINVAL, "%s '%s' has no %s=", s->kind->word, s->name,
			     s->kind->keys[0]);
		err_hint(r->err, "add a line below it, such as: %s", s->kind->example);
	} else if (section_text(s, &text)) {
		rc = config_no_memory(r->err);
	} else {
		rc = s->kind->add(r->c, (const char *)text.p, r->err);
	}
	if (rc)
		fail(r, s->text_line ? s->text_line : s->line, rc);
	buf_free(&text);
	return rc;
}

static void sections_free(struct config_reading *r)
{
	for (size_t i = 0; i < r->nr_sections; i++) {
		for (size_t k = 0; k < NR_KEYS; k++)
			free(r->sections[i].values[k]);
		free(r->sections[i].name);
	}
	free(r->sections);
}

/* ---- the file ---- */

/* Called by inih for each key. 1: continue, 0: stop. */
static int on_key(void *ctx, const char *section, const char *key, const char *value)
{
	struct config_reading *r = ctx;
	const struct section_kind *kind;
	const char *name;

	if (r->rc)
		return 0;
	if (!strcmp(section, "record"))
		return record_key(r, key, value);
	kind = kind_of(section, &name);
	return kind ? section_key(r, kind, name, key, value) : key_outside(r);
}

/* Called by inih for each line: counts lines and finds sections without keys. */
static char *on_line(char *line, int n, void *ctx)
{
	struct config_reading *r = ctx;
	size_t len, at;

	if (r->rc || r->too_long || !fgets(line, n, r->file))
		return NULL;
	r->line++;
	len = strlen(line);
	r->too_long = len && line[len - 1] != '\n' && !feof(r->file);
	if (r->too_long)
		return NULL;
	at = r->line == 1 && !strncmp(line, BOM, strlen(BOM)) ? strlen(BOM) : 0;
	at += strspn(line + at, " \t");
	return line[at] != '[' || section_header(r, line + at + 1) ? line : NULL;
}

/* Disables inline comments, since they would cut "rule=signal:USR1 ;post=1s", and continuation
 * lines, since an indented key is a key. These are global variables of the library. */
static void library_settings(void)
{
	ini_use_stack = false;
	ini_max_line = LINE_BYTES;
	ini_initial_alloc = LINE_BYTES;
	ini_allow_inline_comments = false;
	ini_allow_multiline = false;
	ini_stop_on_first_error = true;
}

static int parse(struct config_reading *r)
{
	int bad;

	library_settings();
	bad = ini_parse_stream(on_line, r, on_key, r);
	if (r->rc)
		return r->rc;
	if (r->too_long || ferror(r->file)) {
		err_set(r->err, -EINVAL, r->too_long ? "the line is too long" : "can't be read");
		fail(r, r->line, -EINVAL);
	} else if (bad > 0) {
		err_set(r->err, -EINVAL, "the line is neither [SECTION] nor KEY=VALUE");
		fail(r, bad, -EINVAL);
	} else if (bad < 0) {
		r->rc = config_no_memory(r->err);
	}
	for (size_t i = 0; !r->rc && i < r->nr_sections; i++)
		section_finish(r, &r->sections[i]);
	return r->rc;
}

/* Fails when other users can change root's file. */
static int check_owner(int fd, const char *path, struct err *err)
{
	struct stat st;

	if (fstat(fd, &st))
		return err_sys(err, -errno, "%s", path);
	if (!S_ISREG(st.st_mode))
		return err_set(err, -EINVAL, "%s is not a file", path);
	if (geteuid() != 0 || (st.st_uid == 0 && !(st.st_mode & (S_IWGRP | S_IWOTH))))
		return 0;
	err_set(err, -EPERM, "%s is writable by users other than root (owner %u, mode %04o)", path,
		(unsigned)st.st_uid, (unsigned)st.st_mode & 07777);
	err_hint(err, "chown root '%s' && chmod go-w '%s'", path, path);
	return -EPERM;
}

/* The open file in *file; NULL if the default file is missing or unreadable. */
static int open_file(const char *path, bool is_default, FILE **file, struct err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	int rc;

	if (fd < 0) {
		if (is_default && (errno == ENOENT || errno == ENOTDIR || errno == EACCES))
			return 0;
		return err_sys(err, -errno, "configuration %s", path);
	}
	rc = check_owner(fd, path, err);
	if (!rc) {
		*file = fdopen(fd, "r");
		if (*file)
			return 0;
		rc = config_no_memory(err);
	}
	close(fd);
	return rc;
}

int config_file_read(struct config *c, const char *path, struct err *err)
{
	struct config_reading r = {.c = c, .path = path ? path : CONFIG_DEFAULT_PATH, .err = err};
	int rc;

	if (!strcmp(r.path, "/dev/null"))
		return 0;
	rc = open_file(r.path, !path, &r.file, err);
	if (rc || !r.file)
		return rc;
	rc = parse(&r);
	if (!rc)
		rc = option_set(option_find(config_options, "config"), c, r.path, err);
	sections_free(&r);
	fclose(r.file);
	return rc;
}
