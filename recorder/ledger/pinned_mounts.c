// SPDX-License-Identifier: MIT
/* Mounts with files that may be held open; see pinned_mounts.h. Used by pinned.c. */
#include "recorder/ledger/pinned_mounts.h"

#include "dump/base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Mount points that are mounted from boot to shutdown. */
static const char *const points[] = {
	"/",	"/usr",	 "/usr/local", "/opt", "/var",	     "/var/lib", "/var/tmp",   "/home",
	"/srv", "/root", "/tmp",       "/nix", "/nix/store", "/gnu",	 "/gnu/store",
};
static const char *const types[] = {
	"ext2", "ext3",	 "ext4",    "xfs", "btrfs",    "f2fs",	"bcachefs",
	"zfs",	"tmpfs", "overlay", "jfs", "squashfs", "erofs",
};

#define NR_POINTS (sizeof(points) / sizeof(points[0]))
#define NR_TYPES  (sizeof(types) / sizeof(types[0]))

struct pinned_mounts {
	struct pinned_mount v[NR_POINTS]; /* v[i] at points[i]; fd -1: absent or not suitable */
	size_t nr;
};

static bool is_one_of(const char *text, const char *const *v, size_t nr, size_t *which)
{
	for (size_t i = 0; i < nr; i++) {
		if (strcmp(text, v[i]))
			continue;
		*which = i;
		return true;
	}
	return false;
}

static bool says_yes(const char *name)
{
	FILE *f = fopen(name, "re");
	int c = f ? fgetc(f) : '0';

	if (f)
		fclose(f);
	return c == '1';
}

/* Whether the disk is removable; for a partition, its whole disk is checked. */
static bool removable(uint32_t maj, uint32_t min)
{
	char name[64];

	snprintf(name, sizeof(name), "/sys/dev/block/%u:%u/removable", maj, min);
	if (says_yes(name))
		return true;
	snprintf(name, sizeof(name), "/sys/dev/block/%u:%u/../removable", maj, min);
	return says_yes(name);
}

/* Takes one line of mountinfo. A later mount at the same point hides the earlier one. */
static void take(struct pinned_mounts *k, char *line)
{
	const char *dash = strstr(line, " - ");
	char point[64], type[32];
	struct pinned_mount m = {.fd = -1};
	size_t i, t;

	if (!dash || sscanf(line, "%*u %*u %u:%u %*s %63s", &m.maj, &m.min, point) != 3 ||
	    sscanf(dash, " - %31s", type) != 1 || !is_one_of(point, points, NR_POINTS, &i))
		return;
	m.point = points[i];
	if (k->v[i].fd >= 0)
		close(k->v[i].fd);
	if (is_one_of(type, types, NR_TYPES, &t) && (!i || !removable(m.maj, m.min)))
		m.fd = open(m.point, O_PATH | O_DIRECTORY | O_CLOEXEC);
	k->v[i] = m;
}

int pinned_mounts_new(FILE *mountinfo, struct pinned_mounts **out, struct err *err)
{
	struct pinned_mounts *k = calloc(1, sizeof(*k));
	char *line = NULL;
	size_t cap = 0;

	if (!k)
		return err_set(err, -ENOMEM, "no memory for the list of mounts");
	for (size_t i = 0; i < NR_POINTS; i++)
		k->v[i].fd = -1;
	while (getline(&line, &cap, mountinfo) > 0)
		take(k, line);
	free(line);
	for (size_t i = 0; i < NR_POINTS; i++)
		k->nr += k->v[i].fd >= 0;
	*out = k;
	return 0;
}

void pinned_mounts_free(struct pinned_mounts *k)
{
	if (!k)
		return;
	for (size_t i = 0; i < NR_POINTS; i++)
		if (k->v[i].fd >= 0)
			close(k->v[i].fd);
	free(k);
}

const struct pinned_mount *pinned_mounts_of(const struct pinned_mounts *k, const char *path,
					    const char **rest)
{
	const struct pinned_mount *best = NULL;
	size_t longest = 0;

	if (path[0] != '/' || path[1] == '/')
		return NULL;
	for (size_t i = 0; i < NR_POINTS; i++) {
		size_t n = i ? strlen(points[i]) : 0;

		if (k->v[i].fd < 0 || n < longest || strncmp(path, points[i], n) || path[n] != '/')
			continue;
		best = &k->v[i];
		longest = n;
		*rest = path + n + 1;
	}
	return best;
}

size_t pinned_mounts_nr(const struct pinned_mounts *k)
{
	return k->nr;
}
