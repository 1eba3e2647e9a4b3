// SPDX-License-Identifier: MIT
/* Settings of kernel and process; see settings.h. */
#include "trigger/kernel/settings.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Fixed by the kernel (include/linux/proc_ns.h, PROC_USER_INIT_INO). */
#define INITIAL_USERNS 0xEFFFFFFDu
/* Upper limit of RLIMIT_NOFILE: programs that ringback starts inherit it, and some close every
 * descriptor below it one by one. */
#define MAX_FDS (1u << 20)

bool setting_line(const char *path, char *out, size_t n)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got;

	if (fd < 0)
		return false;
	got = read(fd, out, n - 1);
	close(fd);
	if (got < 0)
		return false;
	out[got] = '\0';
	out[strcspn(out, "\n")] = '\0';
	return true;
}

bool setting_number(const char *name, int64_t *v)
{
	char path[128], text[64], *end;
	long long got;

	snprintf(path, sizeof(path), "/proc/sys/%s", name);
	if (!setting_line(path, text, sizeof(text)))
		return false;
	got = strtoll(text, &end, 10);
	if (end == text)
		return false;
	*v = got;
	return true;
}

uint64_t setting_ns(const char *name)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/self/ns/%s", name);
	return stat(path, &st) ? 0 : st.st_ino;
}

bool setting_capable(unsigned cap)
{
	struct __user_cap_header_struct h = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct d[2] = {{0}, {0}};
	uint64_t ns = setting_ns("user");

	if (ns && ns != INITIAL_USERNS)
		return false;
	if (syscall(SYS_capget, &h, d))
		return false;
	return d[cap / 32].effective & (1u << (cap % 32));
}

const char *setting_capability(unsigned cap)
{
	static const char *const names[] = {
		[CAP_DAC_OVERRIDE] = "CAP_DAC_OVERRIDE",
		[CAP_DAC_READ_SEARCH] = "CAP_DAC_READ_SEARCH",
		[CAP_KILL] = "CAP_KILL",
		[CAP_SETGID] = "CAP_SETGID",
		[CAP_SETUID] = "CAP_SETUID",
		[CAP_IPC_LOCK] = "CAP_IPC_LOCK",
		[CAP_SYS_RAWIO] = "CAP_SYS_RAWIO",
		[CAP_SYS_PTRACE] = "CAP_SYS_PTRACE",
		[CAP_SYS_ADMIN] = "CAP_SYS_ADMIN",
		[CAP_SYS_NICE] = "CAP_SYS_NICE",
		[CAP_SYS_RESOURCE] = "CAP_SYS_RESOURCE",
		[CAP_SYSLOG] = "CAP_SYSLOG",
		[CAP_PERFMON] = "CAP_PERFMON",
		[CAP_BPF] = "CAP_BPF",
		[CAP_CHECKPOINT_RESTORE] = "CAP_CHECKPOINT_RESTORE",
	};

	assert(cap < sizeof(names) / sizeof(*names) && names[cap]);
	return names[cap];
}

static uint64_t count_by_asking(void)
{
	struct rlimit r = {0};
	uint64_t nr = 0;

	getrlimit(RLIMIT_NOFILE, &r);
	for (rlim_t fd = 0; fd < r.rlim_cur && fd < MAX_FDS; fd++)
		nr += fcntl((int)fd, F_GETFD) >= 0;
	return nr;
}

uint64_t setting_open_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	uint64_t nr = 0;

	if (!d)
		return count_by_asking();
	while (readdir(d))
		nr++;
	closedir(d);
	return nr >= 3 ? nr - 3 : 0; /* ".", "..", and the directory itself */
}

uint64_t setting_max_fds(void)
{
	struct rlimit r = {0};
	uint64_t most;
	int64_t nr_open;

	getrlimit(RLIMIT_NOFILE, &r);
	most = r.rlim_max;
	if (setting_capable(CAP_SYS_RESOURCE) && setting_number("fs/nr_open", &nr_open) &&
	    (uint64_t)nr_open > most)
		most = (uint64_t)nr_open;
	if (most > MAX_FDS)
		most = MAX_FDS;
	return most > r.rlim_cur ? most : r.rlim_cur;
}

unsigned setting_cpus_online(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	return n > 0 ? (unsigned)n : 1;
}

bool setting_cpu_online(int cpu)
{
	char path[64], text[8];

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d", cpu);
	if (access(path, F_OK) && errno == ENOENT)
		return false;
	/* A CPU that can't go offline has no "online" file. */
	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online", cpu);
	return !setting_line(path, text, sizeof(text)) || strcmp(text, "0");
}

char *setting_program(char *out, size_t n)
{
	ssize_t len = readlink("/proc/self/exe", out, n - 1);

	if (len < 0)
		snprintf(out, n, "ringback");
	else
		out[len] = '\0';
	return out;
}
