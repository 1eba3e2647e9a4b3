// SPDX-License-Identifier: MIT
/* Facts about machine and recorder for the dump; see host_info.h. Called by dumper.c. */
#include "recorder/writer/host_info.h"

#include "recorder/capture/target.h"

#include "dump/base/err.h"
#include "dump/format/format.h"
#include "dump/file/writer.h"
#include "trigger/kernel/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#define MAX_CAPS 48

struct host_info {
	struct fmt_host facts;
	const char *instance;
	char hostname[256];
	char uname[512];
	char cpu_model[256];
	char cpu_id[128];
	char boot_id[64];
	uint8_t session[16];
	char before[256]; /* the previous dump; "": none */
	char os[256];
	char cmdline[4096];
	size_t cmdline_bytes;
	char caps[MAX_CAPS][96];
	size_t nr_caps;
};

static size_t read_file(const char *path, char *out, size_t n)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? 0 : read(fd, out, n - 1);

	if (fd >= 0)
		close(fd);
	if (got < 0)
		got = 0;
	out[got] = '\0';
	return (size_t)got;
}

/* The value of the first line "KEY<anything>SEP VALUE" of a file, without quotes. */
static void find_value(const char *path, const char *key, char sep, char *out, size_t n)
{
	FILE *f = fopen(path, "re");
	char line[512];

	out[0] = '\0';
	while (f && fgets(line, sizeof(line), f)) {
		char *v = strchr(line, sep);
		size_t len;

		if (!v || strncmp(line, key, strlen(key)))
			continue;
		v += 1 + strspn(v + 1, " \t\"");
		len = strcspn(v, "\"\n");
		snprintf(out, n, "%.*s", (int)len, v);
		break;
	}
	if (f)
		fclose(f);
}

/* The CPU model, for decoders of its hardware traces. */
static void read_cpu_id(char *out, size_t n)
{
	static const char *const keys[] = {"vendor_id", "cpu family", "model\t", "stepping"};
	char v[4][24];

	for (size_t i = 0; i < 4; i++)
		find_value("/proc/cpuinfo", keys[i], ':', v[i], sizeof(v[i]));
	if (v[0][0]) {
		snprintf(out, n, "%s,%s,%s,%s", v[0], v[1], v[2], v[3]);
		return;
	}
	read_file("/sys/devices/system/cpu/cpu0/regs/identification/midr_el1", out, n);
	out[strcspn(out, "\n")] = '\0';
}

static void read_texts(struct host_info *h)
{
	struct utsname u;

	gethostname(h->hostname, sizeof(h->hostname) - 1);
	if (!uname(&u))
		snprintf(h->uname, sizeof(h->uname), "%s %s %s %s", u.sysname, u.release, u.version,
			 u.machine);
	find_value("/proc/cpuinfo", "model name", ':', h->cpu_model, sizeof(h->cpu_model));
	read_cpu_id(h->cpu_id, sizeof(h->cpu_id));
	find_value("/etc/os-release", "PRETTY_NAME", '=', h->os, sizeof(h->os));
	read_file("/proc/sys/kernel/random/boot_id", h->boot_id, sizeof(h->boot_id));
	h->boot_id[strcspn(h->boot_id, "\n")] = '\0';
	h->cmdline_bytes = read_file("/proc/self/cmdline", h->cmdline, sizeof(h->cmdline));
}

int host_info_new(const struct caps *caps, const struct target *t, const char *instance,
		  struct host_info **out, struct err *err)
{
	struct host_info *h = calloc(1, sizeof(*h));
	struct sysinfo si;

	if (!h)
		return err_set(err, -ENOMEM, "out of memory");
	h->instance = instance;
	h->facts = (struct fmt_host){
		.nr_cpus_online = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN),
		.nr_cpus_possible = (uint32_t)sysconf(_SC_NPROCESSORS_CONF),
		.page_bytes = (uint32_t)sysconf(_SC_PAGESIZE),
		.clockid = CLOCK_MONOTONIC,
		.mem_total_bytes = sysinfo(&si) ? 0 : (uint64_t)si.totalram * si.mem_unit,
		.recorder_pid = (uint32_t)getpid(),
		.recorder_uid = geteuid(),
		.flags = (caps->initial_pidns ? FMT_HOST_INITIAL_PIDNS : 0) |
			 (t->system ? 0 : FMT_HOST_TARGET),
	};
	if (getrandom(h->session, sizeof(h->session), 0) != sizeof(h->session)) {
		free(h);
		return err_sys(err, -errno, "cannot get a random id for the recorder");
	}
	read_texts(h);
	h->nr_caps = caps_lines(caps, h->caps, MAX_CAPS);
	*out = h;
	return 0;
}

void host_info_free(struct host_info *h)
{
	free(h);
}

void host_info_dumped(struct host_info *h, const char *path)
{
	const char *slash = strrchr(path, '/');

	snprintf(h->before, sizeof(h->before), "%s", slash ? slash + 1 : path);
}

/* The offset from CLOCK_MONOTONIC to clock `id`: the tightest of several readings. */
static int64_t offset_of(clockid_t id)
{
	uint64_t best = UINT64_MAX;
	int64_t offset = 0;

	for (int i = 0; i < 5; i++) {
		uint64_t a = clock_ns(), v = clock_of(id), b = clock_ns();

		if (b - a < best) {
			best = b - a;
			offset = (int64_t)(v - (a + (b - a) / 2));
		}
	}
	return offset;
}

static void put_text(struct writer *w, uint16_t kind, const char *text, size_t n)
{
	if (n)
		writer_item(w, kind, NULL, 0, text, n, NULL);
}

void host_info_write(struct host_info *h, struct writer *w)
{
	const struct {
		uint16_t kind;
		const char *text;
		size_t n;
	} texts[] = {
		{FMT_HOST_HOSTNAME, h->hostname, strlen(h->hostname)},
		{FMT_HOST_UNAME, h->uname, strlen(h->uname)},
		{FMT_HOST_CPU_MODEL, h->cpu_model, strlen(h->cpu_model)},
		{FMT_HOST_CPU_ID, h->cpu_id, strlen(h->cpu_id)},
		{FMT_HOST_BOOT_ID, h->boot_id, strlen(h->boot_id)},
		{FMT_HOST_OS, h->os, strlen(h->os)},
		{FMT_HOST_RECORDER, "ringback " RINGBACK_VERSION,
		 strlen("ringback " RINGBACK_VERSION)},
		{FMT_HOST_CMDLINE, h->cmdline, h->cmdline_bytes},
		{FMT_HOST_INSTANCE, h->instance, strlen(h->instance)},
		{FMT_HOST_SESSION, (const char *)h->session, sizeof(h->session)},
		{FMT_HOST_BEFORE, h->before, strlen(h->before)},
	};

	writer_section(w, FMT_HOST);
	h->facts.nr_cpus_online = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
	h->facts.real_minus_clock = offset_of(CLOCK_REALTIME);
	h->facts.boot_minus_clock = offset_of(CLOCK_BOOTTIME);
	writer_item(w, FMT_HOST_FACTS, &h->facts, sizeof(h->facts), NULL, 0, NULL);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		put_text(w, texts[i].kind, texts[i].text, texts[i].n);
	for (size_t i = 0; i < h->nr_caps; i++)
		put_text(w, FMT_HOST_CAPABILITY, h->caps[i], strlen(h->caps[i]));
}
