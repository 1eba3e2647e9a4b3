// SPDX-License-Identifier: MIT
/* libdebuginfod, loaded on demand; see debuginfod.h. Called by cmd_symbols.c. */
#include "recorder/symbolize/debuginfod.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>

struct debuginfod {
	void *library, *client;
	void (*end)(void *client);
	int (*find_debug)(void *client, const unsigned char *id, int bytes, char **path);
	int (*find_program)(void *client, const unsigned char *id, int bytes, char **path);
};

/* Loads a function of the library. POSIX allows casting the result of dlsym(). */
static void load(struct debuginfod *d, const char *name, void *to)
{
	*(void **)to = dlsym(d->library, name);
}

struct debuginfod *debuginfod_open(void)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	struct debuginfod *d = urls && *urls ? calloc(1, sizeof(*d)) : NULL;
	void *(*begin)(void) = NULL;

	if (!d)
		return NULL;
	d->library = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
	if (d->library) {
		load(d, "debuginfod_begin", &begin);
		load(d, "debuginfod_end", &d->end);
		load(d, "debuginfod_find_debuginfo", &d->find_debug);
		load(d, "debuginfod_find_executable", &d->find_program);
	}
	if (begin && d->end && d->find_debug && d->find_program)
		d->client = begin();
	if (d->client)
		return d;
	debuginfod_close(d);
	return NULL;
}

void debuginfod_close(struct debuginfod *d)
{
	if (!d)
		return;
	if (d->client)
		d->end(d->client);
	if (d->library)
		dlclose(d->library);
	free(d);
}

int debuginfod_find(struct debuginfod *d, const uint8_t *id, size_t bytes, bool debug)
{
	if (!d || !bytes)
		return -ENOENT;
	return (debug ? d->find_debug : d->find_program)(d->client, id, (int)bytes, NULL);
}
