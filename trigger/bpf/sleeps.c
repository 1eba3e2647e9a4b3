// SPDX-License-Identifier: MIT
/* Loads the programs of sleep-stacks (sleeps.bpf.c) and connects them to rings; see sleeps.h. */
#include "trigger/bpf/sleeps.h"

#include "dump/base/err.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include <trigger/bpf/sleeps.skel.h>

struct sleeps {
	struct sleeps_bpf *skel;
	int *fds[2]; /* by bank and CPU; -1: none */
	int nr_cpus;
};

static int refuse(struct sleeps *s, int rc, struct err *err)
{
	sleeps_close(s);
	err_sys(err, rc, "can't load the BPF programs of sleep-stacks");
	err_hint(err, "they need CAP_BPF and CAP_PERFMON, /sys/kernel/btf/vmlinux and Linux 6.4");
	return -EOPNOTSUPP;
}

static bool kernel_is_old(void)
{
	struct utsname u;
	unsigned major, minor;

	return uname(&u) || sscanf(u.release, "%u.%u", &major, &minor) != 2 || major < 6 ||
	       (major == 6 && minor < 4);
}

int sleeps_open(struct sleeps **out, struct err *err)
{
	struct sleeps *s = calloc(1, sizeof(*s));
	int nr_cpus = libbpf_num_possible_cpus(), rc;

	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	if (kernel_is_old())
		return refuse(s, -ENOSYS, err);
	libbpf_set_print(NULL);
	s->skel = sleeps_bpf__open();
	if (!s->skel || nr_cpus < 0)
		return refuse(s, s->skel ? nr_cpus : -errno, err);
	rc = bpf_map__set_max_entries(s->skel->maps.bank_a, (uint32_t)nr_cpus);
	rc = rc ? rc : bpf_map__set_max_entries(s->skel->maps.bank_b, (uint32_t)nr_cpus);
	rc = rc ? rc : sleeps_bpf__load(s->skel);
	if (rc)
		return refuse(s, rc, err);
	s->nr_cpus = nr_cpus;
	for (int bank = 0; bank < 2; bank++) {
		s->fds[bank] = malloc((size_t)nr_cpus * sizeof(int));
		if (!s->fds[bank])
			return refuse(s, -ENOMEM, err);
		memset(s->fds[bank], -1, (size_t)nr_cpus * sizeof(int));
	}
	*out = s;
	return 0;
}

static int map_of(const struct sleeps *s, unsigned bank)
{
	return bpf_map__fd(bank ? s->skel->maps.bank_b : s->skel->maps.bank_a);
}

int sleeps_add(struct sleeps *s, int cpu, unsigned bank, int fd)
{
	if (cpu < 0 || cpu >= s->nr_cpus)
		return -ERANGE;
	if (bpf_map_update_elem(map_of(s, bank), &cpu, &fd, BPF_ANY))
		return -errno;
	s->fds[bank][cpu] = fd;
	return 0;
}

void sleeps_drop(struct sleeps *s, int cpu, unsigned bank, int fd)
{
	if (cpu < 0 || cpu >= s->nr_cpus || s->fds[bank][cpu] != fd)
		return;
	bpf_map_delete_elem(map_of(s, bank), &cpu);
	s->fds[bank][cpu] = -1;
}

int sleeps_start(struct sleeps *s, struct err *err)
{
	int rc = sleeps_bpf__attach(s->skel);

	return rc ? err_sys(err, rc, "can't attach the BPF programs of sleep-stacks") : 0;
}

void sleeps_renew(struct sleeps *s)
{
	s->skel->bss->turn++;
}

/* The maps of events first: the kernel empties such a map when the last descriptor is closed through
 * which it was filled, although programs use it still (perf_event_fd_array_release()). */
void sleeps_fds(const struct sleeps *s, int fds[SLEEPS_FDS])
{
	fds[0] = map_of(s, 0);
	fds[1] = map_of(s, 1);
	fds[2] = bpf_link__fd(s->skel->links.sleeps_leave);
	fds[3] = bpf_link__fd(s->skel->links.sleeps_end);
}

void sleeps_silence(const int fds[SLEEPS_FDS])
{
	int nr_cpus = libbpf_num_possible_cpus();

	for (int i = 0; i < 2; i++)
		for (int cpu = 0; cpu < nr_cpus; cpu++)
			bpf_map_delete_elem(fds[i], &cpu);
}

void sleeps_close(struct sleeps *s)
{
	if (!s)
		return;
	sleeps_bpf__destroy(s->skel);
	free(s->fds[0]);
	free(s->fds[1]);
	free(s);
}
