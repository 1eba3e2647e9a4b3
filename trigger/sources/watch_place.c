// SPDX-License-Identifier: MIT
/* Parses and locates the place of a hardware breakpoint, for src_watch.c; see watch_place.h. */
#include "trigger/sources/watch_place.h"

#include "dump/base/err.h"
#include "dump/base/str.h"
#include "trigger/engine/rule.h"

#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define MAX_SEGMENTS 16

/* ---- the argument ---- */

struct spec {
	char *text; /* owned; the strings below point into it */
	char *file, *symbol, *mode;
	uint64_t off;
};

static bool is_mode(const char *s)
{
	static const char *const plain[] = {"x", "r", "w", "rw"};
	size_t n = strlen(s);
	char head[4];

	if (n > 1 && n < sizeof(head) && strchr("1248", s[n - 1]) && s[n - 2] == 'w')
		n--;
	if (!n || n >= sizeof(head))
		return false;
	snprintf(head, sizeof(head), "%.*s", (int)n, s);
	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
		if (!strcmp(head, plain[i]))
			return true;
	return false;
}

static int malformed(const struct rule *r, struct err *err)
{
	return rule_err(r->text, r->arg_at, err,
			"expected a file, ':' and a function or variable, such as "
			"watch:/usr/sbin/nginx:ngx_quit, or a process and an address, "
			"watch:812:0x7ffd1040:w4");
}

static int split(const struct rule *r, struct spec *s, struct err *err)
{
	char *last, *plus;

	s->text = strdup(r->arg);
	if (!s->text)
		return err_set(err, -ENOMEM, "out of memory for a trigger");
	s->file = s->text;
	s->mode = s->text + strlen(s->text);
	last = strrchr(s->text, ':');
	if (last && last != strchr(s->text, ':') && last[1] && is_mode(last + 1)) {
		*last = '\0';
		s->mode = last + 1;
	}
	s->symbol = strchr(s->text, ':');
	if (!s->symbol || s->symbol == s->text || !s->symbol[1])
		return malformed(r, err);
	*s->symbol++ = '\0';
	plus = strrchr(s->symbol, '+');
	if (!plus)
		return 0;
	*plus = '\0';
	errno = 0;
	s->off = strtoull(plus + 1, &last, 0);
	return errno || *last || !plus[1] ? malformed(r, err) : 0;
}

static bool all_digits(const char *s)
{
	return *s && !s[strspn(s, "0123456789")];
}

/* ---- the file ---- */

/* Functions come first; a variable with the name of a function is rare. */
static int find_symbol(struct watch_place *p, struct elf *e, const struct spec *s,
		       const struct elf_segment *seg, size_t nr, struct err *err)
{
	uint64_t offset = 0, bytes;

	if (elf_function(e, s->symbol, &offset, &bytes, NULL)) {
		p->code = false;
		return elf_variable(e, s->symbol, &p->value, &p->whole_bytes, err);
	}
	p->code = true;
	for (size_t i = 0; i < nr; i++)
		if (offset >= seg[i].offset && offset - seg[i].offset < seg[i].bytes) {
			p->value = offset - seg[i].offset + seg[i].value;
			return 0;
		}
	return err_set(err, -ENXIO, "%s of %s is in no code that is loaded", s->symbol, p->path);
}

static int open_file(struct watch_place *p, const struct spec *s, struct err *err)
{
	struct elf_segment seg[MAX_SEGMENTS];
	struct elf *e;
	struct stat st;
	size_t nr;
	int rc = elf_open(p->path, &e, err);

	if (rc) {
		err_hint(err,
			 "it has to be a program or a shared library that you may read: "
			 "file -L %s tells what it is",
			 p->path);
		return rc;
	}
	nr = elf_code_segments(e, seg, MAX_SEGMENTS);
	rc = nr ? find_symbol(p, e, s, seg, nr, err)
		: err_set(err, -ENOEXEC, "%s has no code", p->path);
	elf_close(e);
	if (rc)
		return rc;
	p->code_segment = seg[0];
	if (!stat(p->path, &st)) {
		p->dev = st.st_dev;
		p->ino = st.st_ino;
	}
	return 0;
}

static int find_file(const struct rule *r, struct watch_place *p, const struct spec *s,
		     struct err *err)
{
	char exe[48];

	snprintf(exe, sizeof(exe), "/proc/%d/exe", (int)p->pid);
	p->given = strdup(p->pid ? exe : s->file);
	p->path = p->given ? realpath(p->given, NULL) : NULL;
	if (p->path)
		return 0;
	if (p->pid) {
		rule_err(r->text, r->arg_at, err, "there is no process %d with a program",
			 (int)p->pid);
		return -ESRCH;
	}
	err_sys(err, -errno, "can't find the file '%s'", s->file);
	err_hint(err, "give the whole path: type -a %s, or ldd PROGRAM for a library, tells it",
		 basename(s->file));
	return -ENOENT;
}

static int by_address(const struct rule *r, struct watch_place *p, const struct spec *s,
		      struct err *err)
{
	char *end;

	errno = 0;
	p->value = strtoull(s->symbol, &end, 0);
	if (errno || *end)
		return rule_err(r->text, r->arg_at, err, "'%s' is no address", s->symbol);
	if (!p->pid)
		return rule_err(r->text, r->arg_at, err,
				"an address is of one process: watch:PID:%s", s->symbol);
	return 0;
}

/* ---- mode ---- */

static uint8_t natural_bytes(uint64_t addr, uint64_t whole)
{
	uint8_t n = 8;

	while (n > 1 && (addr % n || (whole && whole < n)))
		n /= 2;
	return n;
}

static int set_mode(const struct rule *r, struct watch_place *p, const char *mode, struct err *err)
{
	size_t n = strlen(mode);

	if (!strcmp(mode, "r"))
		return rule_err(r->text, r->arg_at, err,
				"the hardware can't watch reading alone: write rw");
	if (!strcmp(mode, "x"))
		p->code = true;
	else if (n)
		p->code = false;
	p->reading = *mode == 'r';
	p->bytes = p->code ? sizeof(long) : natural_bytes(p->value, p->whole_bytes);
	if (n && strchr("1248", mode[n - 1]))
		p->bytes = (uint8_t)(mode[n - 1] - '0');
	if (!p->code && p->value % p->bytes)
		return rule_err(r->text, r->arg_at, err,
				"%u bytes can be watched only at a multiple of %u, which %#llx is "
				"none",
				p->bytes, p->bytes, (unsigned long long)p->value);
	return 0;
}

static int parse(const struct rule *r, struct watch_place *p, struct spec *s, struct err *err)
{
	int rc = split(r, s, err);

	if (rc)
		return rc;
	if (all_digits(s->file)) {
		uint64_t pid;

		if (str_u64(s->file, &pid, NULL) || !pid || pid > INT32_MAX)
			return rule_err(r->text, r->arg_at, err, "'%s' is no process id", s->file);
		p->pid = (pid_t)pid;
	}
	if (s->symbol[0] >= '0' && s->symbol[0] <= '9') {
		rc = by_address(r, p, s, err);
	} else {
		rc = find_file(r, p, s, err);
		if (!rc)
			rc = open_file(p, s, err);
	}
	if (rc)
		return rc;
	p->value += s->off;
	if (p->whole_bytes)
		p->whole_bytes = s->off < p->whole_bytes ? p->whole_bytes - s->off : 1;
	if (asprintf(&p->what, s->off ? "%s:%s+%#llx" : "%s:%s", p->path ? p->path : s->file,
		     s->symbol, (unsigned long long)s->off) < 0) {
		p->what = NULL;
		return err_set(err, -ENOMEM, "out of memory for a trigger");
	}
	return set_mode(r, p, s->mode, err);
}

int watch_place_parse(const struct rule *r, struct watch_place *out, struct err *err)
{
	struct watch_place p = {0};
	struct spec s = {0};
	int rc = parse(r, &p, &s, err);

	free(s.text);
	if (rc)
		watch_place_fini(&p);
	else
		*out = p;
	return rc;
}

void watch_place_fini(struct watch_place *p)
{
	free(p->path);
	free(p->given);
	free(p->what);
	*p = (struct watch_place){0};
}

/* ---- in a process ---- */

struct mapping {
	unsigned long start, end, offset, ino;
	unsigned major, minor;
	char perms[5];
	int path_at;
};

static bool is_of(const struct watch_place *p, const struct mapping *m, const char *path)
{
	return !strcmp(path, p->path) ||
	       (m->ino == p->ino && makedev(m->major, m->minor) == p->dev);
}

bool watch_place_in(const struct watch_place *p, pid_t pid, uint64_t *addr)
{
	const struct elf_segment *seg = &p->code_segment;
	char path[32], *line = NULL;
	bool found = false;
	size_t cap = 0;
	FILE *f;

	if (!p->path) {
		*addr = p->value;
		return true;
	}
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	f = fopen(path, "re");
	while (f && !found && getline(&line, &cap, f) > 0) {
		struct mapping m = {0};

		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "%lx-%lx %4s %lx %x:%x %lu %n", &m.start, &m.end, m.perms,
			   &m.offset, &m.major, &m.minor, &m.ino, &m.path_at) < 7 ||
		    !m.path_at || m.perms[2] != 'x' || !is_of(p, &m, line + m.path_at))
			continue;
		/* The mapping starts at a page boundary, the segment may start later. */
		if (seg->offset < m.offset || seg->offset - m.offset >= m.end - m.start)
			continue;
		*addr = m.start + (seg->offset - m.offset) - seg->value + p->value;
		found = true;
	}
	free(line);
	if (f)
		fclose(f);
	return found;
}

void watch_place_attr(const struct watch_place *p, uint64_t addr, struct perf_event_attr *attr)
{
	attr->type = PERF_TYPE_BREAKPOINT;
	attr->bp_type = p->code ? HW_BREAKPOINT_X : p->reading ? HW_BREAKPOINT_RW : HW_BREAKPOINT_W;
	attr->bp_addr = addr;
	attr->bp_len = p->bytes;
	attr->sample_period = 1;
}
