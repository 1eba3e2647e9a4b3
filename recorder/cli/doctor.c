// SPDX-License-Identifier: MIT
/* Machine facts and verdict; see doctor.h. */
#include "recorder/cli/doctor.h"

#include "dump/base/str.h"
#include "trigger/kernel/settings.h"

#include <inttypes.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

struct doctor_line *doctor_add(struct doctor *d, const char *group, const char *name,
			       enum doctor_state state, bool wanted, const char *fmt, ...)
{
	/* If the table is full, the last line is overwritten; t_doctor.c checks its size. */
	size_t max = sizeof(d->lines) / sizeof(d->lines[0]);
	struct doctor_line *l = &d->lines[d->nr < max ? d->nr : max - 1];
	char text[sizeof(l->text)];
	va_list ap;

	if (d->nr < max)
		d->nr++;
	*l = (struct doctor_line){.group = group, .name = name, .state = state, .wanted = wanted};
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	str_safe(l->text, sizeof(l->text), text, strlen(text));
	return l;
}

static void set_command(char *out, size_t n, const char *fmt, va_list ap)
{
	char text[400];

	vsnprintf(text, sizeof(text), fmt, ap);
	str_safe(out, n, text, strlen(text));
}

void doctor_allow(struct doctor_line *l, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	set_command(l->allow, sizeof(l->allow), fmt, ap);
	va_end(ap);
}

void doctor_keep(struct doctor_line *l, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	set_command(l->keep, sizeof(l->keep), fmt, ap);
	va_end(ap);
}

void doctor_allow_sysctl(struct doctor_line *l, const char *name, int64_t value)
{
	doctor_allow(l, "sudo sysctl %s=%" PRId64, name, value);
	doctor_keep(l, "echo '%s = %" PRId64 "' | sudo tee -a /etc/sysctl.d/ringback.conf", name,
		    value);
}

void doctor_allow_setcap(struct doctor_line *l)
{
	char program[300];

	doctor_allow(
		l, "sudo setcap cap_perfmon,cap_ipc_lock,cap_sys_ptrace,cap_dac_read_search=ep %s",
		setting_program(program, sizeof(program)));
}

/* "model name : ...", x86 only. */
static void read_cpu_model(struct doctor *d)
{
	FILE *f = fopen("/proc/cpuinfo", "re");
	char line[256], *colon;

	snprintf(d->cpu_model, sizeof(d->cpu_model), "unknown");
	if (!f)
		return;
	while (fgets(line, sizeof(line), f)) {
		colon = strchr(line, ':');
		if (strncmp(line, "model name", 10) || !colon || colon[1] != ' ')
			continue;
		str_safe(d->cpu_model, sizeof(d->cpu_model), colon + 2, strcspn(colon + 2, "\n"));
		break;
	}
	fclose(f);
}

static void read_machine(struct doctor *d)
{
	struct utsname u = {0};
	struct sysinfo s = {0};
	struct passwd *pw = getpwuid(geteuid());
	long possible = sysconf(_SC_NPROCESSORS_CONF);

	uname(&u);
	str_safe(d->release, sizeof(d->release), u.release, strlen(u.release));
	str_safe(d->machine, sizeof(d->machine), u.machine, strlen(u.machine));
	if (pw)
		str_safe(d->user, sizeof(d->user), pw->pw_name, strlen(pw->pw_name));
	else
		snprintf(d->user, sizeof(d->user), "uid %u", (unsigned)geteuid());
	d->cpus_online = setting_cpus_online();
	d->cpus_possible = possible > 0 ? (unsigned)possible : d->cpus_online;
	if (!sysinfo(&s))
		d->mem_bytes = (uint64_t)s.totalram * s.mem_unit;
	read_cpu_model(d);
	if (!setting_line("/sys/devices/system/clocksource/clocksource0/current_clocksource",
			  d->clocksource, sizeof(d->clocksource)))
		snprintf(d->clocksource, sizeof(d->clocksource), "unknown");
}

static void conclude(struct doctor *d)
{
	unsigned allowed = 0;

	for (size_t i = 0; i < d->nr; i++) {
		const struct doctor_line *l = &d->lines[i];

		if (!l->wanted || l->state == DOCTOR_OK || l->state == DOCTOR_FACT)
			continue;
		d->nr_limited++;
		allowed += l->allow[0] != '\0';
	}
	if (!d->nr_limited)
		snprintf(d->verdict, sizeof(d->verdict),
			 "no limits: everything that ringback needs is allowed");
	else
		snprintf(d->verdict, sizeof(d->verdict), "%u limit%s found; %s", d->nr_limited,
			 str_plural(d->nr_limited),
			 allowed == 0	? "a newer kernel or other hardware allows more"
			 : d->caps.root ? "the commands above allow more"
					: "run as root, or use the commands above to allow more");
}

void doctor_examine(struct doctor *d)
{
	*d = (struct doctor){0};
	caps_probe(&d->caps);
	read_machine(d);
	doctor_reach(d);
	doctor_limits(d);
	doctor_content(d);
	conclude(d);
}
