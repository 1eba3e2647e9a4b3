/* SPDX-License-Identifier: MIT */
/*
 * Runs a program instruction by instruction (ptrace) and keeps each instruction's address, in
 * order, and the pages of code that it ran: what a processor with Intel PT would have traced of its
 * user side.
 */
#pragma once

#include "dump/base/bytes.h"

#include <assert.h>
#include <elf.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
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
	bool ended; /* the last instruction is the program's exit; else `max` was reached */
	pid_t pid;
	int mem, status; /* /proc/PID/mem; status of waitpid(2) */
};

/* Pins the calling thread to `cpu`. */
static inline void pt_go_to(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

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

/* An instruction has up to 15 bytes, so it may reach into the next page. */
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

/* Copies at most `n` bytes from `ip`; returns their number. */
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

/* Starts `argv` at fixed addresses and on that CPU (-1: any). It stops at its first instruction, or
 * has ended if it can't be run. `quiet` drops its output. */
static inline struct pt_run pt_run_begin(char *const argv[], int cpu, bool quiet)
{
	struct pt_run r = {.pid = fork()};
	char path[64];

	assert(r.pid >= 0);
	if (!r.pid) {
		int null = open("/dev/null", O_RDWR);

		if (quiet)
			dup2(null, 0), dup2(null, 1), dup2(null, 2);
		if (cpu >= 0)
			pt_go_to(cpu);
		personality(ADDR_NO_RANDOMIZE);
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		execvp(argv[0], argv);
		_exit(127);
	}
	assert(waitpid(r.pid, &r.status, 0) == r.pid);
	snprintf(path, sizeof(path), "/proc/%d/mem", r.pid);
	r.mem = open(path, O_RDWR | O_CLOEXEC);
	assert(r.mem >= 0 || !WIFSTOPPED(r.status));
	return r;
}

static inline uint64_t pt_run_ip(const struct pt_run *r)
{
	return (uint64_t)ptrace(PTRACE_PEEKUSER, r->pid, offsetof(struct user, regs.rip), 0);
}

/* Runs without stepping to the program's entry, past the dynamic linker. */
static inline void pt_run_enter(struct pt_run *r)
{
	static const uint8_t trap = 0xcc;
	uint64_t auxv[64] = {0}, entry = 0;
	char path[64];
	uint8_t was;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/auxv", r->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert(fd >= 0 && read(fd, auxv, sizeof(auxv) - 16) > 0);
	close(fd);
	for (size_t i = 0; auxv[i] != AT_NULL; i += 2)
		if (auxv[i] == AT_ENTRY)
			entry = auxv[i + 1];
	assert(pread(r->mem, &was, 1, (off_t)entry) == 1);
	assert(pwrite(r->mem, &trap, 1, (off_t)entry) == 1);
	ptrace(PTRACE_CONT, r->pid, 0, 0);
	assert(waitpid(r->pid, &r->status, 0) == r->pid && WIFSTOPPED(r->status));
	assert(pt_run_ip(r) == entry + 1);
	assert(pwrite(r->mem, &was, 1, (off_t)entry) == 1);
	ptrace(PTRACE_POKEUSER, r->pid, offsetof(struct user, regs.rip), entry);
}

/* True when the next instruction is the program's last, exit_group(2). */
static inline bool pt_run_leaves(const struct pt_run *r)
{
	uint8_t code[2];

	if (pt_run_code(r, r->ips[r->nr - 1], code, 2) != 2 || code[0] != 0x0f || code[1] != 0x05)
		return false;
	return ptrace(PTRACE_PEEKUSER, r->pid, offsetof(struct user, regs.rax), 0) ==
	       SYS_exit_group;
}

/* Steps until there are `max` instructions or the last one is next. That one is kept but does not
 * run. */
static inline void pt_run_steps(struct pt_run *r, size_t max)
{
	while (WIFSTOPPED(r->status) && WSTOPSIG(r->status) == SIGTRAP && r->nr < max) {
		pt_step_keep(r, r->mem,
			     (uint64_t)ptrace(PTRACE_PEEKUSER, r->pid,
					      offsetof(struct user, regs.rip), 0));
		r->ended = pt_run_leaves(r);
		if (r->ended)
			break;
		ptrace(PTRACE_SINGLESTEP, r->pid, 0, 0);
		assert(waitpid(r->pid, &r->status, 0) == r->pid);
	}
}

/* Detaches; the program runs on to its end, or is killed. */
static inline void pt_run_end(struct pt_run *r, bool killed)
{
	if (WIFSTOPPED(r->status)) {
		if (killed)
			kill(r->pid, SIGKILL);
		else
			ptrace(PTRACE_DETACH, r->pid, 0, 0);
		waitpid(r->pid, &r->status, 0);
	}
	close(r->mem);
}

/* Runs `argv` for at most `max` instructions, with its output dropped. Program and calling thread
 * share one CPU, which halves the time per step. */
static inline struct pt_run pt_run(char *const argv[], size_t max)
{
	int cpu = sched_getcpu();
	struct pt_run r;
	cpu_set_t before;

	sched_getaffinity(0, sizeof(before), &before);
	pt_go_to(cpu);
	r = pt_run_begin(argv, cpu, true);
	pt_run_steps(&r, max);
	pt_run_end(&r, true);
	sched_setaffinity(0, sizeof(before), &before);
	return r;
}

static inline void pt_run_free(struct pt_run *r)
{
	free(r->ips);
	free(r->pages);
	*r = (struct pt_run){0};
}
