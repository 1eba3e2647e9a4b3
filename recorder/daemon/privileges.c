// SPDX-License-Identifier: MIT
/* The capabilities of a recorder and why it keeps them; see privileges.h. Called by session.c and
 * status.c. */
#include "recorder/daemon/privileges.h"

#include "recorder/base/sandbox.h"
#include "recorder/daemon/session.h"
#include "trigger/kernel/settings.h"

#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* In close_range(2), since Linux 5.11. */
#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC 4u
#endif

/* ---- what needs them ---- */

static bool names(const struct session *s)
{
	return s->config.symbols_ns;
}

static bool another_user(const struct session *s)
{
	return s->config.symbols_ns || s->config.on_dump;
}

static bool bpf(const struct session *s)
{
	return s->sleeps || s->wants_compact || engine_takes(s->engine, CAP_BPF);
}

static bool pressure(const struct session *s)
{
	return engine_takes(s->engine, CAP_SYS_RESOURCE);
}

static bool is_closed(const char *dir)
{
	struct stat st;

	return !stat(dir, &st) && (st.st_uid || (st.st_mode & S_IRWXU) != S_IRWXU);
}

/* Its parent counts too: a directory that was removed is made again. */
static bool is_closed_store(const struct store *store)
{
	char dir[PATH_MAX], *end;

	store_dir(store, dir);
	if (is_closed(dir))
		return true;
	end = strrchr(dir, '/');
	end[end == dir] = '\0';
	return is_closed(dir);
}

static bool others_directory(const struct session *s)
{
	return is_closed_store(s->store) || (s->spill && is_closed_store(s->spill));
}

/* ---- all ---- */

static const struct {
	unsigned cap;
	bool (*needed)(const struct session *s); /* NULL: by each recorder */
	const char *why;
} table[] = {
	{CAP_PERFMON, NULL, "opens events, also for CPUs and rules that come later"},
	{CAP_BPF, bpf, "rules, sleep-stacks and compact records, which BPF programs make"},
	{CAP_IPC_LOCK, NULL, "memory for rings beyond the limit of locked memory"},
	{CAP_SYS_NICE, NULL, "real-time priority to freeze the rings in time"},
	{CAP_SYS_PTRACE, NULL, "reads /proc of all users' processes"},
	{CAP_DAC_READ_SEARCH, NULL, "reads files and /proc of all users"},
	{CAP_SYS_ADMIN, NULL, "looks up sockets in the network namespace that they are in"},
	{CAP_SYS_RESOURCE, pressure, "rules for pressure with windows of any length"},
	{CAP_DAC_OVERRIDE, others_directory, "writes into a directory of another user"},
	{CAP_SETUID, another_user, "the search for names and the command of on-dump run as nobody"},
	{CAP_SETGID, another_user, "the search for names and the command of on-dump run as nobody"},
	{CAP_KILL, another_user, "ends the search for names and the command of on-dump"},
	{CAP_CHECKPOINT_RESTORE, names, "names from files that were deleted"},
	{CAP_SYSLOG, names, "names of the kernel"},
	{CAP_SYS_RAWIO, names, "code of the kernel, to follow traces"},
};

#define NR_ROWS (sizeof(table) / sizeof(*table))

void privileges_drop(struct session *s)
{
	uint64_t needed = 0;

	/* What the recorder itself inherited is nothing for what it starts from now on. */
	syscall(SYS_close_range, STDERR_FILENO + 1, ~0u, CLOSE_RANGE_CLOEXEC);
	if (geteuid() || sandbox_is_off())
		return;
	for (size_t i = 0; i < NR_ROWS; i++)
		if (!table[i].needed || table[i].needed(s))
			needed |= 1ull << table[i].cap;
	s->kept = sandbox_keep_capabilities(needed);
	s->env.dropped = ~needed;
}

void privileges_filter(const struct session *s)
{
	if (s->env.dropped)
		sandbox_enter_for_recorder(bpf(s));
}

json_t *privileges_json(const struct session *s)
{
	json_t *a = s->env.dropped ? json_array() : NULL;

	for (size_t i = 0; i < NR_ROWS && a; i++)
		if (s->kept & 1ull << table[i].cap)
			json_array_append_new(a, json_pack("{s:s, s:s}", "capability",
							   setting_capability(table[i].cap), "why",
							   table[i].why));
	return a;
}
