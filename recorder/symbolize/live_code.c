// SPDX-License-Identifier: MIT
/* Code read from memory; see live_code.h. Called by collect_live.c in the child process. */
#include "recorder/symbolize/live_code.h"

#include "dump/base/bytes.h"
#include "recorder/ledger/proc_file.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAGE	     4096u
#define MAX_SEGMENTS 1024
/* /proc gives start times in clock ticks of at most this length. */
#define TICK_NS 10000000u

struct live_code {
	int kcore_fd;
	Elf64_Phdr *segments; /* of kcore */
	size_t nr_segments;
	int mem_fd; /* of the process of the last request */
	pid_t pid;
	int proc_fd;
	struct proc_file *files; /* NULL: no process can be checked */
	uint64_t until_ns;
};

/* /proc/kcore is the kernel as a core file: its program headers map addresses to file offsets. */
static void open_kcore(struct live_code *l)
{
	Elf64_Ehdr e;
	size_t bytes;

	l->kcore_fd = open("/proc/kcore", O_RDONLY | O_CLOEXEC);
	if (l->kcore_fd < 0 || pread(l->kcore_fd, &e, sizeof(e), 0) != sizeof(e) ||
	    memcmp(e.e_ident, ELFMAG, SELFMAG) != 0 || e.e_phentsize != sizeof(Elf64_Phdr) ||
	    e.e_phnum > MAX_SEGMENTS)
		return;
	bytes = e.e_phnum * sizeof(Elf64_Phdr);
	l->segments = malloc(bytes + 1);
	if (l->segments &&
	    pread(l->kcore_fd, l->segments, bytes, (off_t)e.e_phoff) == (ssize_t)bytes)
		l->nr_segments = e.e_phnum;
}

struct live_code *live_code_new(uint64_t until_ns)
{
	struct live_code *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->mem_fd = -1;
	l->until_ns = until_ns;
	l->proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (l->proc_fd >= 0 && proc_file_new(l->proc_fd, &l->files))
		l->files = NULL;
	open_kcore(l);
	return l;
}

void live_code_free(struct live_code *l)
{
	if (!l)
		return;
	if (l->kcore_fd >= 0)
		close(l->kcore_fd);
	if (l->mem_fd >= 0)
		close(l->mem_fd);
	proc_file_free(l->files);
	if (l->proc_fd >= 0)
		close(l->proc_fd);
	free(l->segments);
	free(l);
}

static bool read_kernel(const struct live_code *l, uint64_t address, void *dst, size_t n)
{
	for (size_t i = 0; i < l->nr_segments; i++) {
		const Elf64_Phdr *s = &l->segments[i];

		if (s->p_type == PT_LOAD && address >= s->p_vaddr &&
		    span_fits(address - s->p_vaddr, n, s->p_memsz))
			return pread(l->kcore_fd, dst, n,
				     (off_t)(s->p_offset + (address - s->p_vaddr))) == (ssize_t)n;
	}
	return false;
}

/* Checks the start time after the memory was opened, so that a reused PID is detected. */
static bool is_it(const struct live_code *l, pid_t pid)
{
	struct proc_file_stat st;

	return l->files && proc_file_stat(l->files, (uint32_t)pid, 0, &st) && !st.gone &&
	       (st.start_ns <= l->until_ns || st.start_ns - l->until_ns <= TICK_NS);
}

static void open_process(struct live_code *l, pid_t pid)
{
	char path[64];

	if (l->pid == pid)
		return;
	if (l->mem_fd >= 0)
		close(l->mem_fd);
	l->pid = pid;
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	l->mem_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (l->mem_fd < 0 || is_it(l, pid))
		return;
	close(l->mem_fd);
	l->mem_fd = -1;
}

size_t live_code_read(struct live_code *l, pid_t pid, uint64_t address, void *dst, size_t n)
{
	uint8_t *to = dst;
	bool any = false;

	if (pid)
		open_process(l, pid);
	for (size_t at = 0, part; at < n; at += part) {
		bool there;

		part = PAGE - (address + at) % PAGE;
		part = part < n - at ? part : n - at;
		there = pid ? l->mem_fd >= 0 && pread(l->mem_fd, to + at, part,
						      (off_t)(address + at)) == (ssize_t)part
			    : read_kernel(l, address + at, to + at, part);
		if (!there)
			memset(to + at, 0, part);
		any |= there;
	}
	return any ? n : 0;
}
