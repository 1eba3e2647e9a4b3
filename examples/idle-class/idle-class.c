// SPDX-License-Identifier: MIT
/*
 * A service was once a batch job, and its launcher still starts it in the idle class (SCHED_IDLE, as
 * with CPUSchedulingPolicy=idle of systemd). It does well as long as its CPU has nothing else to do.
 * Then a transcoder of normal priority has 600 ms of work on the same CPU, and the service gets
 * less than one percent of it.
 */
#include "../incident.h"

#include <signal.h>

#define NORMAL_MS    1000
#define TRANSCODE_MS 600
#define LIMIT_MS     200

static __attribute__((noinline)) void transcode(double ms)
{
	work_ms(ms);
}

/* A short clip now and then, then a long one. */
static void run_transcoder(void)
{
	for (double began = ms_now(); ms_now() - began < NORMAL_MS; sleep_ms(100))
		transcode(1);
	transcode(TRANSCODE_MS);
}

static __attribute__((noinline)) void render_invoice(void)
{
	work_ms(2);
}

static void run_service(void)
{
	double began = ms_now(), took = 0;

	while (took < LIMIT_MS && ms_now() - began < 20000) {
		double asked = ms_now();

		sleep_ms(5); /* for its data */
		render_invoice();
		took = ms_now() - asked;
	}
	incident("an invoice took %.0f ms, limit %d ms", took, LIMIT_MS);
}

static pid_t launch(const char *name, int policy, void (*run)(void))
{
	struct sched_param none = {0};
	pid_t pid = fork();

	if (pid)
		return pid;
	name_me(name);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (sched_setscheduler(0, policy, &none))
		perror("sched_setscheduler");
	else
		run();
	_exit(0);
}

int main(void)
{
	pid_t service, transcoder;

	name_me("launcher");
	stay_on(last_cpu());
	service = launch("invoice-api", SCHED_IDLE, run_service);
	transcoder = launch("transcoder", SCHED_OTHER, run_transcoder);
	waitpid(service, NULL, 0);
	kill(transcoder, SIGKILL);
	waitpid(transcoder, NULL, 0);
	return 0;
}
