// SPDX-License-Identifier: MIT
/*
 * A trader has a CPU of its own and answers a tick each 5 ms; encoders use up the other CPUs. Then a
 * daemon that saves power takes the trader's CPU offline. The kernel drops the affinity of threads
 * that have no other CPU, and the trader goes on beside the encoders: with less CPU time than its
 * ticks take, it is later with each of them. The CPU comes back online a second later. As services
 * do, all of them have a session of their own, and so their share of a CPU where the kernel groups
 * by sessions (sched_autogroup); they are more important than what else runs (nice -10).
 */
#include "../incident.h"

#include <signal.h>
#include <sys/resource.h>

#define NORMAL_MS   1000
#define SAVING_MS   1200
#define TICK_MS	    5
#define LIMIT_MS    250
#define PER_CPU	    12 /* encoders */
#define NR_ENCODERS 256

static char online[100];
static pid_t encoders[NR_ENCODERS], powersaved;
static int nr_encoders;

static bool write_online(const char *value)
{
	int fd = open(online, O_WRONLY);
	bool ok = fd >= 0 && write(fd, value, 1) == 1;

	if (fd >= 0)
		close(fd);
	return ok;
}

static pid_t start_process(const char *name, int cpu, void (*run)(void))
{
	pid_t pid = fork();

	if (pid)
		return pid;
	signal(SIGTERM, SIG_DFL);
	setsid();
	name_me(name);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	stay_on(cpu);
	run();
	_exit(0);
}

static __attribute__((noinline)) void encode(void)
{
	for (;;)
		work_ms(100);
}

static __attribute__((noinline)) void take_offline(void)
{
	sleep_ms(NORMAL_MS);
	write_online("0");
	sleep_ms(SAVING_MS);
	write_online("1");
}

static __attribute__((noinline)) void answer_tick(void)
{
	work_ms(1.5);
}

static void end(int status)
{
	kill(powersaved, SIGKILL);
	waitpid(powersaved, NULL, 0);
	write_online("1");
	for (int i = 0; i < nr_encoders; i++)
		kill(encoders[i], SIGKILL);
	while (wait(NULL) > 0)
		continue;
	_exit(status);
}

static void on_sigterm(int sig)
{
	end(128 + sig);
}

int main(void)
{
	double began, due, late = 0;
	cpu_set_t allowed;
	int last, first = -1;

	CPU_ZERO(&allowed);
	sched_getaffinity(0, sizeof(allowed), &allowed);
	last = last_cpu();
	snprintf(online, sizeof(online), "/sys/devices/system/cpu/cpu%d/online", last);
	if (CPU_COUNT(&allowed) < 2 || !write_online("1")) {
		fprintf(stderr, "CPU %d cannot be taken offline here\n", last);
		return 77;
	}
	signal(SIGTERM, on_sigterm);
	setpriority(PRIO_PROCESS, 0, -10);
	for (int cpu = 0; cpu < last; cpu++) {
		if (!CPU_ISSET(cpu, &allowed))
			continue;
		first = first < 0 ? cpu : first;
		for (int i = 0; i < PER_CPU && nr_encoders < NR_ENCODERS; i++)
			encoders[nr_encoders++] = start_process("encoder", cpu, encode);
	}
	powersaved = start_process("powersaved", first, take_offline);
	name_me("trader");
	setsid();
	stay_on(last);
	began = ms_now();
	for (due = began; late < LIMIT_MS && !waitpid(powersaved, NULL, WNOHANG); due += TICK_MS) {
		if (due > ms_now())
			sleep_ms(due - ms_now());
		answer_tick();
		late = ms_now() - due;
		if (ms_now() - began >= NORMAL_MS)
			continue;
		/* The market is not open yet: ticks that were missed do not matter. */
		due += late < TICK_MS ? 0 : late;
		late = 0;
	}
	if (late < LIMIT_MS) {
		fprintf(stderr, "one CPU less is enough here\n");
		end(77);
	}
	incident("a tick was answered after %.0f ms, limit %d ms", late, LIMIT_MS);
	end(0);
}
