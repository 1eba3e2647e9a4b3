/* SPDX-License-Identifier: MIT */
/*
 * Runs a program instruction by instruction (ptrace) and keeps where it was: each instruction's
 * address, in order, and the pages of code that it ran. What a processor with Intel PT would have
 * seen of its user side.
 */
#pragma once

#include "dump/base/bytes.h"

#include <assert.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define PT_PAGE 4096u

struct pt_page {
	uint64_t address;
	uint8_t code[PT_PAGE];
};

struct pt_run {
	uint64_t *ips;
	size_t nr, cap;
	struct pt_page *pages; /* sorted by address */
	size_t nr_pages, hint;
	bool ended; /* the program ended by itself; else after `max` instructions */
};

/* The index of the first page at or after `address`. */
static inline size_t pt_page_at(const struct pt_run *r, uint64_t address)
{
	size_t lo = 0, hi = r->nr_pages;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (r->pages[mid].address < address)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static inline void pt_page_add(struct pt_run *r, int mem, uint64_t address)
{
	size_t i = pt_page_at(r, address);
	struct pt_page page = {.address = address};

	if (i < r->nr_pages && r->pages[i].address == address)
		return;
	if (pread(mem, page.code, PT_PAGE, (off_t)address) != PT_PAGE)
		return;
	r->pages = realloc(r->pages, (r->nr_pages + 1) * sizeof(page));
	assert(r->pages);
	memmove(r->pages + i + 1, r->pages + i, (r->nr_pages - i) * sizeof(page));
	r->pages[i] = page;
	r->nr_pages++;
}

/* The longest instruction has 15 bytes, and so it may reach into the next page. */
static inline void pt_step_keep(struct pt_run *r, int mem, uint64_t ip)
{
	uint64_t page = ip & ~(uint64_t)(PT_PAGE - 1);

	if (r->nr == r->cap) {
		r->cap = r->cap ? r->cap * 2 : 4096;
		r->ips = realloc(r->ips, r->cap * sizeof(*r->ips));
		assert(r->ips);
	}
	if (r->nr && r->ips[r->nr - 1] == ip)
		return; /* another round of a string instruction */
	r->ips[r->nr++] = ip;
	if (r->hint != page)
		pt_page_add(r, mem, page);
	if (ip - page > PT_PAGE - 15)
		pt_page_add(r, mem, page + PT_PAGE);
	r->hint = page;
}

/* Bytes at `ip`, at most `n`; their number. */
static inline size_t pt_run_code(const struct pt_run *r, uint64_t ip, uint8_t *to, size_t n)
{
	size_t got = 0;

	while (got < n) {
		uint64_t at = ip + got, page = at & ~(uint64_t)(PT_PAGE - 1);
		size_t i = pt_page_at(r, page), len = PT_PAGE - (size_t)(at - page);

		if (i == r->nr_pages || r->pages[i].address != page)
			break;
		len = len < n - got ? len : n - got;
		memcpy(to + got, r->pages[i].code + (at - page), len);
		got += len;
	}
	return got;
}

/* Runs `argv` with its output dropped and at fixed addresses. */
static inline struct pt_run pt_run(char *const argv[], size_t max)
{
	struct pt_run r = {0};
	pid_t pid = fork();
	char path[64];
	int mem, status;

	assert(pid >= 0);
	if (!pid) {
		int null = open("/dev/null", O_RDWR);

		dup2(null, 0), dup2(null, 1), dup2(null, 2);
		personality(ADDR_NO_RANDOMIZE);
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		execvp(argv[0], argv);
		_exit(127);
	}
	assert(waitpid(pid, &status, 0) == pid && WIFSTOPPED(status));
	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	mem = open(path, O_RDONLY | O_CLOEXEC);
	assert(mem >= 0);
	while (WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP && r.nr < max) {
		pt_step_keep(
			&r, mem,
			(uint64_t)ptrace(PTRACE_PEEKUSER, pid, offsetof(struct user, regs.rip), 0));
		ptrace(PTRACE_SINGLESTEP, pid, 0, 0);
		assert(waitpid(pid, &status, 0) == pid);
	}
	r.ended = WIFEXITED(status) && !WEXITSTATUS(status);
	if (WIFSTOPPED(status)) {
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
	}
	close(mem);
	return r;
}

static inline void pt_run_free(struct pt_run *r)
{
	free(r->ips);
	free(r->pages);
	*r = (struct pt_run){0};
}
