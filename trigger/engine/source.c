// SPDX-License-Identifier: MIT
/* The table of trigger sources in this build, and helpers shared by sources. The engine looks rules
 * up here; --help prints the table. To add a source, add src_*.c and a row. */
#include "trigger/engine/source.h"

#include "dump/base/err.h"
#include "trigger/engine/evidence.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

/* One row per line. */
/* clang-format off */
const struct source_ops *const source_table[] = {
	&source_cpu,
	&source_crash,
	&source_event,
	&source_every,
	&source_exit,
	&source_file,
	&source_latency,
	&source_load,
	&source_mem,
	&source_offcpu,
	&source_oom,
	&source_program,
	&source_psi,
	&source_rate,
	&source_rss,
	&source_runqueue,
	&source_signal,
	&source_stall,
	&source_syscall,
	&source_uprobe,
	&source_uretprobe,
	&source_watch,
	NULL,
};
/* clang-format on */

const struct source_ops *source_find(const char *name)
{
	for (size_t i = 0; source_table[i]; i++)
		if (!strcmp(source_table[i]->name, name))
			return source_table[i];
	return NULL;
}

void sighting_add(struct sighting *s, const char *fmt, ...)
{
	va_list ap;

	if (s->nr_saw >= sizeof(s->saw) / sizeof(s->saw[0]))
		return;
	va_start(ap, fmt);
	vsnprintf(s->saw[s->nr_saw], sizeof(s->saw[0]), fmt, ap);
	va_end(ap);
	s->nr_saw++;
}

void source_comm(uint32_t tid, char comm[16])
{
	char path[32];
	ssize_t n = 0;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/comm", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, comm, 16);
		close(fd);
	}
	/* Removes the newline. */
	comm[n > 0 ? n - 1 : 0] = '\0';
}

uint32_t source_uid(uint32_t tid)
{
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%u/comm", tid);
	return stat(path, &st) ? 0 : st.st_uid;
}

void sighting_name(struct sighting *s)
{
	if (!s->comm[0] && s->tid)
		source_comm(s->tid, s->comm);
}

int source_wait(int *epoll_fd, int fd, const char *what, struct err *err)
{
	struct epoll_event ev = {.events = EPOLLIN};

	if (*epoll_fd < 0 && (*epoll_fd = epoll_create1(EPOLL_CLOEXEC)) < 0)
		return err_sys(err, -errno, "epoll_create1 for a trigger");
	return epoll_ctl(*epoll_fd, EPOLL_CTL_ADD, fd, &ev)
		       ? err_sys(err, -errno, "can't wait for %s", what)
		       : 0;
}

struct sighting sighting_share(const struct sighting *s)
{
	evidence_get(s->evidence);
	return *s;
}

void sighting_fini(struct sighting *s)
{
	evidence_put(s->evidence);
	s->evidence = NULL;
}
