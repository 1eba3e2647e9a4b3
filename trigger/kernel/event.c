// SPDX-License-Identifier: MIT
/* Opens events and manages lists of them; see event.h. The only caller of perf_event_open(2).
 * event_parse.c parses the text, event_strerror.c explains failures. */
#include "trigger/kernel/event.h"

#include "dump/base/err.h"
#include "trigger/kernel/settings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

int event_open(const struct perf_event_attr *attr, int pid, int cpu, int group_fd,
	       unsigned long flags)
{
	/* The kernel writes its own size to attr when that is smaller. */
	struct perf_event_attr a = *attr;
	long fd;

	if (!a.size)
		a.size = sizeof(a);
	fd = syscall(SYS_perf_event_open, &a, pid, cpu, group_fd, flags | PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : (int)fd;
}

void event_set_aux_action(struct perf_event_attr *attr, enum event_aux_action action)
{
	uint32_t bits = action;

	memcpy((char *)attr + offsetof(struct perf_event_attr, aux_sample_size) + 4, &bits,
	       sizeof(bits));
}

void event_raise_nofile(void)
{
	struct rlimit r;
	uint64_t most = setting_max_fds();

	if (getrlimit(RLIMIT_NOFILE, &r) || r.rlim_cur >= most)
		return;
	r.rlim_cur = most;
	if (r.rlim_max < most)
		r.rlim_max = most;
	if (!setrlimit(RLIMIT_NOFILE, &r) || getrlimit(RLIMIT_NOFILE, &r))
		return;
	r.rlim_cur = r.rlim_max;
	setrlimit(RLIMIT_NOFILE, &r);
}

void event_free(struct event *e)
{
	if (!e)
		return;
	free(e->name);
	free(e->filter);
	free(e->target);
	free(e->uprobe_path);
	free(e);
}

/* ---- lists ---- */

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static bool is_same(const struct event *a, const struct event *b)
{
	struct perf_event_attr x, y;

	if (a->kind != b->kind || a->attr.config != b->attr.config)
		return false;
	x = a->attr;
	y = b->attr;
	/* Pointers differ; `target`, which begins with the path, is compared below. */
	if (a->kind == EVENT_UPROBE)
		x.uprobe_path = y.uprobe_path = 0;
	return !memcmp(&x, &y, sizeof(x)) && same_text(a->filter, b->filter) &&
	       same_text(a->target, b->target);
}

static bool has(const struct event_list *l, const struct event *e)
{
	for (size_t i = 0; i < l->nr; i++)
		if (is_same(l->v[i], e))
			return true;
	return false;
}

static int reserve(struct event_list *l, size_t nr, struct err *err)
{
	struct event **v = reallocarray(l->v, l->nr + nr, sizeof(*v));

	if (!v)
		return err_set(err, -ENOMEM, "no memory for %zu events", l->nr + nr);
	l->v = v;
	return 0;
}

int event_list_add(struct event_list *l, struct event *e, struct err *err)
{
	int rc = 0;

	if (has(l, e) || (rc = reserve(l, 1, err)))
		event_free(e);
	else
		l->v[l->nr++] = e;
	return rc;
}

int event_list_join(struct event_list *to, struct event_list *from, struct err *err)
{
	int rc = from->nr ? reserve(to, from->nr, err) : 0;

	if (rc)
		return rc;
	for (size_t i = 0; i < from->nr; i++) {
		if (has(to, from->v[i]))
			event_free(from->v[i]);
		else
			to->v[to->nr++] = from->v[i];
	}
	from->nr = 0;
	event_list_free(from);
	return 0;
}

void event_list_free(struct event_list *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->nr; i++)
		event_free(l->v[i]);
	free(l->v);
	*l = (struct event_list){0};
}
