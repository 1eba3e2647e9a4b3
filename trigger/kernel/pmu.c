// SPDX-License-Identifier: MIT
/* PMUs in sysfs; see pmu.h. */
#include "trigger/kernel/pmu.h"

#include "dump/base/bytes.h"
#include "dump/base/closest.h"
#include "dump/base/err.h"
#include "trigger/kernel/event.h"
#include "trigger/kernel/settings.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define DEVICES "/sys/bus/event_source/devices"

/* Rejects names that leave the directory. */
static bool plain(const char *name)
{
	return *name && *name != '.' && !strchr(name, '/') && strlen(name) < 128;
}

static bool read_file(const char *pmu, const char *file, char *out, size_t n)
{
	char path[400];

	if (!plain(pmu))
		return false;
	snprintf(path, sizeof(path), DEVICES "/%s/%s", pmu, file);
	return setting_line(path, out, n);
}

bool pmu_type(const char *pmu, __u32 *type)
{
	char text[32], *end;
	unsigned long v;

	if (!read_file(pmu, "type", text, sizeof(text)))
		return false;
	v = strtoul(text, &end, 10);
	if (end == text)
		return false;
	*type = (__u32)v;
	return true;
}

/* ---- terms ---- */

static int number(const char *term, const char *text, __u64 *v, struct err *err)
{
	char *end;

	errno = 0;
	*v = strtoull(text, &end, 0);
	if (end != text && !*end && *text != '-' && !errno)
		return 0;
	err_set(err, -EINVAL, "'%s' is not a number, in term '%s'", text, term);
	err_hint(err, "write it as 60 or 0x3c");
	return -EINVAL;
}

static int too_large(const char *term, __u64 v, unsigned bits, struct err *err)
{
	err_set(err, -ERANGE, "%#llx is too large for term '%s', which has %u bits",
		(unsigned long long)v, term, bits);
	err_hint(err, "the largest is %#llx", bits ? ~0ull >> (64 - bits) : 0);
	return -ERANGE;
}

static __u64 *config_word(struct perf_event_attr *attr, const char *name, size_t n)
{
	if (n == 6 && !strncmp(name, "config", n))
		return &attr->config;
	if (n == 7 && !strncmp(name, "config1", n))
		return (__u64 *)&attr->config1;
	if (n == 7 && !strncmp(name, "config2", n))
		return (__u64 *)&attr->config2;
	return NULL;
}

/* Stores `v` in the bits of a format such as "config1:0-7,32-35" or "config:21", lowest first.
 * Rejects a value with more bits than the field. */
static int set_bits(struct perf_event_attr *attr, const char *term, const char *format, __u64 v,
		    struct err *err)
{
	const char *colon = strchr(format, ':'), *p;
	__u64 *word = colon ? config_word(attr, format, (size_t)(colon - format)) : NULL;
	unsigned used = 0;

	if (!word)
		return err_set(err, -EINVAL, "the format of term '%s', '%s', is not understood",
			       term, format);
	for (p = colon + 1;; p++) {
		char *end;
		unsigned long lo = strtoul(p, &end, 10), hi = lo;

		if (end == p)
			break;
		if (*end == '-') {
			p = end + 1;
			hi = strtoul(p, &end, 10);
		}
		if (end == p || lo > hi || hi > 63)
			break;
		for (; lo <= hi; lo++, used++) {
			*word &= ~(1ull << lo);
			*word |= (used < 64 ? v >> used & 1 : 0) << lo;
		}
		p = end;
		if (*p == '\0') {
			return used < 64 && v >> used ? too_large(term, v, used, err) : 0;
		}
		if (*p != ',')
			break;
	}
	return err_set(err, -EINVAL, "the format of term '%s', '%s', is not understood", term,
		       format);
}

static int set_field(const char *pmu, const char *term, const char *value,
		     struct perf_event_attr *attr, struct err *err)
{
	char file[160], format[128];
	__u64 v = 1, *word = config_word(attr, term, strlen(term));
	int rc;

	if (value) {
		rc = number(term, value, &v, err);
		if (rc)
			return rc;
	}
	if (word) {
		*word = v;
		return 0;
	}
	snprintf(file, sizeof(file), "format/%s", term);
	if (!plain(term) || !read_file(pmu, file, format, sizeof(format)))
		return -ENOENT;
	return set_bits(attr, term, format, v, err);
}

/* Expands an alias to its terms: "event=0x3c,umask=0x00". */
static int set_alias(const char *pmu, const char *alias, char *terms, struct perf_event_attr *attr,
		     struct err *err)
{
	char *save = NULL;

	for (char *t = strtok_r(terms, ",", &save); t; t = strtok_r(NULL, ",", &save)) {
		char *eq = strchr(t, '=');
		int rc;

		if (eq)
			*eq++ = '\0';
		rc = set_field(pmu, t, eq, attr, err);
		if (rc == -ENOENT)
			return err_set(err, -EINVAL,
				       "event '%s' of PMU %s uses the term '%s', which it does "
				       "not have",
				       alias, pmu, t);
		if (rc)
			return rc;
	}
	return 0;
}

/* ---- listing ---- */

static int visible(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

static bool suffixed(const char *name, const char *suffix)
{
	size_t n = strlen(name), m = strlen(suffix);

	return n > m && !strcmp(name + n - m, suffix);
}

/* Skips NAME.unit and NAME.scale in events/, which are no events. */
static bool is_term(const char *name)
{
	return !suffixed(name, ".unit") && !suffixed(name, ".scale") &&
	       !suffixed(name, ".per-pkg") && !suffixed(name, ".snapshot");
}

/* Appends the entries of DEVICES/PMU/DIR to `list`, and offers them to `c`. */
static void list_terms(const char *pmu, const char *dir, struct closest *c, char *list, size_t n)
{
	char path[400];
	struct dirent **v;
	int nr;

	snprintf(path, sizeof(path), DEVICES "/%s/%s", pmu, dir);
	nr = scandir(path, &v, visible, alphasort);
	if (nr < 0)
		return;
	for (int i = 0; i < nr; i++) {
		size_t len = strlen(list);

		if (is_term(v[i]->d_name)) {
			closest_add(c, v[i]->d_name, NULL);
			snprintf(list + len, n - len, "%s%s", len ? ", " : "", v[i]->d_name);
		}
		free(v[i]);
	}
	free(v);
}

static int no_term(const char *pmu, const char *term, struct err *err)
{
	char list[400] = "", otherwise[500];
	struct closest c;

	closest_init(&c, term);
	list_terms(pmu, "events", &c, list, sizeof(list));
	list_terms(pmu, "format", &c, list, sizeof(list));
	snprintf(otherwise, sizeof(otherwise),
		 "it knows: %s%sconfig, config1, config2, freq, period", list, *list ? ", " : "");
	err_set(err, -EINVAL, "PMU %s has no term or event '%s'", pmu, term);
	closest_hint(&c, err, otherwise);
	return -EINVAL;
}

int pmu_term(const char *pmu, const char *term, const char *value, struct perf_event_attr *attr,
	     struct err *err)
{
	char file[160], alias[512];
	int rc;

	rc = set_field(pmu, term, value, attr, err);
	if (rc != -ENOENT)
		return rc;
	snprintf(file, sizeof(file), "events/%s", term);
	if (!value && plain(term) && is_term(term) && read_file(pmu, file, alias, sizeof(alias)))
		return set_alias(pmu, term, alias, attr, err);
	return no_term(pmu, term, err);
}

void pmu_each(void (*each)(void *ctx, const char *pmu, __u32 type), void *ctx)
{
	struct dirent **v;
	int nr = scandir(DEVICES, &v, visible, alphasort);

	if (nr < 0)
		return;
	for (int i = 0; i < nr; i++) {
		__u32 type;

		if (pmu_type(v[i]->d_name, &type))
			each(ctx, v[i]->d_name, type);
		free(v[i]);
	}
	free(v);
}

static void offer(void *ctx, const char *pmu, __u32 type)
{
	closest_add(ctx, pmu, NULL);
}

void pmu_closest(struct closest *c)
{
	pmu_each(offer, c);
}

/* ---- AUX ---- */

/* Tries to map an AUX area, since no file in sysfs shows support. The kernel returns EOPNOTSUPP for
 * a PMU without AUX, and EPERM over the mlock limit; any other error comes from a driver that wants
 * another area (rb_alloc_aux() in kernel/events/ring_buffer.c). */
static bool try_aux(int fd)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct perf_event_mmap_page *ring;
	void *aux;
	bool has;

	ring = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (ring == MAP_FAILED)
		return false;
	ring->aux_offset = 2 * page;
	ring->aux_size = page;
	aux = mmap(NULL, page, PROT_READ, MAP_SHARED, fd, (off_t)(2 * page));
	has = aux != MAP_FAILED || (errno != EOPNOTSUPP && errno != EPERM);
	if (aux != MAP_FAILED)
		munmap(aux, page);
	munmap(ring, 2 * page);
	return has;
}

bool pmu_has_aux(const char *pmu)
{
	/* Exclusive traces: a trial could disturb another user, so known names are not tried. */
	static const char *const known[] = {"intel_pt", "intel_bts", "cs_etm", "arm_spe_", NULL};
	struct perf_event_attr attr = {.size = sizeof(attr), .disabled = 1, .sample_period = 1};
	char mask[64];
	bool has;
	int fd, cpu = 0;

	for (int i = 0; known[i]; i++)
		if (!strncmp(pmu, known[i], strlen(known[i])))
			return true;
	if (!pmu_type(pmu, &attr.type) || attr.type < PERF_TYPE_MAX)
		return false;
	if (read_file(pmu, "cpumask", mask, sizeof(mask)))
		cpu = atoi(mask);
	fd = event_open(&attr, -1, cpu, -1, 0);
	if (fd < 0 && fd != -EBUSY)
		fd = event_open(&attr, 0, -1, -1, 0);
	/* EBUSY occurs only for exclusive PMUs, which have AUX (exclusive_event_init()). */
	if (fd < 0)
		return fd == -EBUSY;
	has = try_aux(fd);
	close(fd);
	return has;
}

/* ---- sysfs files ---- */

bool pmu_cpus(const char *pmu, char *out, size_t n)
{
	return read_file(pmu, "cpumask", out, n);
}

bool pmu_serves_cpu(const char *pmu, int cpu)
{
	char mask[512], *p = mask;

	if (!pmu_cpus(pmu, mask, sizeof(mask)))
		return true;
	for (;; p++) {
		char *end;
		long from = strtol(p, &end, 10), to = from;

		if (end == p)
			return false;
		if (*end == '-')
			to = strtol(end + 1, &end, 10);
		if (cpu >= from && cpu <= to)
			return true;
		if (*end != ',')
			return false;
		p = end;
	}
}

/* Longer files, links and binary files are skipped. */
#define FILE_BYTES 1024

static int put_file(int dir, const char *path, struct buf *out)
{
	char text[FILE_BYTES];
	int fd = openat(dir, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));

	if (fd >= 0)
		close(fd);
	if (n < 0 || n == sizeof(text) || memchr(text, '\0', (size_t)n))
		return 0;
	while (n && text[n - 1] == '\n')
		n--;
	text[n++] = '\0';
	return buf_put(out, path, strlen(path) + 1) || buf_put(out, text, (size_t)n) ? -ENOMEM : 0;
}

static int put_files(int dir, const char *sub, struct buf *out)
{
	struct dirent **v;
	int nr = scandirat(dir, *sub ? sub : ".", &v, visible, alphasort), rc = 0;

	for (int i = 0; i < nr; i++) {
		char path[600];

		snprintf(path, sizeof(path), "%s%s%s", sub, *sub ? "/" : "", v[i]->d_name);
		/* uevent is for udev, not a property of the PMU. */
		if (!rc && v[i]->d_type == DT_REG && strcmp(path, "uevent"))
			rc = put_file(dir, path, out);
		free(v[i]);
	}
	if (nr >= 0)
		free(v);
	return rc;
}

static int is_cpu(const struct dirent *e)
{
	return !strncmp(e->d_name, "cpu", 3) && e->d_name[3] >= '0' && e->d_name[3] <= '9';
}

/* CoreSight describes the tracer of each CPU behind a link; decoders need its id registers. */
static int put_cpus(int dir, struct buf *out)
{
	static const char *const subs[] = {"trcidr", "mgmt"};
	struct dirent **v;
	int nr = scandirat(dir, ".", &v, is_cpu, versionsort), rc = 0;

	for (int i = 0; i < nr; i++) {
		for (size_t k = 0; k < sizeof(subs) / sizeof(subs[0]) && !rc; k++) {
			char sub[270];

			snprintf(sub, sizeof(sub), "%.250s/%s", v[i]->d_name, subs[k]);
			rc = put_files(dir, sub, out);
		}
		free(v[i]);
	}
	if (nr >= 0)
		free(v);
	return rc;
}

int pmu_files(const char *pmu, struct buf *out)
{
	static const char *const subs[] = {"", "caps", "format"};
	char path[400];
	int dir, rc = 0;

	if (!plain(pmu))
		return 0;
	snprintf(path, sizeof(path), DEVICES "/%s", pmu);
	dir = open(path, O_RDONLY | O_CLOEXEC | O_DIRECTORY);
	for (size_t i = 0; i < sizeof(subs) / sizeof(subs[0]) && dir >= 0 && !rc; i++)
		rc = put_files(dir, subs[i], out);
	if (dir >= 0 && !rc)
		rc = put_cpus(dir, out);
	if (dir >= 0)
		close(dir);
	return rc;
}
