/* SPDX-License-Identifier: MIT */
/*
 * Gives a stepped program the CPU time that its trace claims. A stepped program is slow, so after
 * its last step it spins on its CPU for as long as its trace says. The kernel's records of that
 * time (which thread ran where) then fit the times in the trace.
 */
#pragma once

#include "tests/helpers/pt_step.h"

#include <linux/perf_event.h>
#include <sys/mman.h>
#include <time.h>
#include <x86intrin.h>

/* One moment by the cycle counter and by CLOCK_MONOTONIC. */
struct pt_moment {
	uint64_t tsc, ns;
};

static inline uint64_t pt_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Takes several pairs and keeps the closest. */
static inline struct pt_moment pt_moment_now(void)
{
	struct pt_moment best = {0};
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < 20; i++) {
		uint64_t a = __rdtsc(), ns = pt_ns(), b = __rdtsc();

		if (b - a < least) {
			least = b - a;
			best = (struct pt_moment){a + (b - a) / 2, ns};
		}
	}
	return best;
}

/* TSC to CLOCK_MONOTONIC, by two moments. */
static inline uint64_t pt_ns_of(struct pt_moment a, struct pt_moment b, uint64_t tsc)
{
	return a.ns + (uint64_t)((__int128)((int64_t)(tsc - a.tsc)) * (int64_t)(b.ns - a.ns) /
				 (int64_t)(b.tsc - a.tsc));
}

/* TSC to the kernel's perf clock; mult 0: unknown. */
struct pt_perf_clock {
	uint64_t zero;
	uint32_t mult;
	uint16_t shift;
};

static inline struct pt_perf_clock pt_perf_clock(void)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.exclude_kernel = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0UL);
	struct perf_event_mmap_page *page;
	struct pt_perf_clock c = {0};

	if (fd < 0)
		return c;
	page = mmap(NULL, PT_PAGE, PROT_READ, MAP_SHARED, fd, 0);
	if (page != MAP_FAILED && page->cap_user_time_zero)
		c = (struct pt_perf_clock){page->time_zero, page->time_mult, page->time_shift};
	if (page != MAP_FAILED)
		munmap(page, PT_PAGE);
	close(fd);
	return c;
}

/* Number of times the thread was preempted. */
static inline uint64_t pt_preempted(pid_t pid)
{
	char path[64], line[256];
	unsigned long long n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "re");
	assert(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "nonvoluntary_ctxt_switches: %llu", &n) == 1)
			break;
	fclose(f);
	return n;
}

/*
 * The stopped program spins for at least `ticks` of the cycle counter, about `ns`, and until
 * `command` (may be NULL) has ended; *began is the start. True when it kept its CPU all that time.
 * The calling thread should run on another CPU.
 */
static inline bool pt_spin(struct pt_run *r, uint64_t ticks, uint64_t ns, const char *command,
			   uint64_t *began)
{
	/* rdtsc; shl $32, %rdx; or %rdx, %rax; jmp . */
	static const uint8_t code[] = {0x0f, 0x31, 0x48, 0xc1, 0xe2, 0x20,
				       0x48, 0x09, 0xd0, 0xeb, 0xfe};
	struct timespec wait = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
	uint64_t before = pt_preempted(r->pid), at = r->ips[0], ended;
	struct user_regs_struct regs, mine;
	uint8_t was[sizeof(code)];
	bool alone;

	ptrace(PTRACE_GETREGS, r->pid, 0, &regs);
	assert(pread(r->mem, was, sizeof(was), (off_t)at) == sizeof(was));
	assert(pwrite(r->mem, code, sizeof(code), (off_t)at) == sizeof(code));
	mine = regs;
	mine.rip = at;
	mine.orig_rax = ~0ull;
	ptrace(PTRACE_SETREGS, r->pid, 0, &mine);
	ptrace(PTRACE_CONT, r->pid, 0, 0);
	nanosleep(&wait, NULL);
	if (command && system(command))
		fprintf(stderr, "%s: failed\n", command);
	ended = __rdtsc();
	kill(r->pid, SIGSTOP);
	assert(waitpid(r->pid, &r->status, 0) == r->pid && WIFSTOPPED(r->status));
	ptrace(PTRACE_GETREGS, r->pid, 0, &mine);
	*began = mine.rax;
	alone = mine.rip == at + sizeof(code) - 2 && ended > *began && ended - *began >= ticks &&
		pt_preempted(r->pid) == before;
	assert(pwrite(r->mem, was, sizeof(was), (off_t)at) == sizeof(was));
	ptrace(PTRACE_SETREGS, r->pid, 0, &regs);
	return alone;
}
