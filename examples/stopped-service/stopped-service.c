// SPDX-License-Identifier: MIT
/*
 * A search page asks a front end, which asks an index worker through a pipe. A script of the
 * operator copies the index: it stops the worker with SIGSTOP so that the files do not change, and
 * lets it go on with SIGCONT afterwards. The page waits for the front end, and this for the worker.
 */
#include "../incident.h"

#include <signal.h>

#define NORMAL_MS 1000
#define COPY_MS	  700
#define LIMIT_MS  200

/* A pipe there and one back. */
struct line {
	int question[2], answer[2];
};

static int open_line(struct line *l)
{
	return pipe(l->question) || pipe(l->answer);
}

static __attribute__((noinline)) bool receive(int fd)
{
	char byte = 0;

	return read(fd, &byte, 1) == 1 && byte;
}

static __attribute__((noinline)) bool ask(struct line *l)
{
	return write(l->question[1], "?", 1) == 1 && receive(l->answer[0]);
}

static bool next_question(struct line *l)
{
	return receive(l->question[0]);
}

static bool reply(struct line *l)
{
	return write(l->answer[1], "!", 1) == 1;
}

static __attribute__((noinline)) void search_index(void)
{
	work_ms(0.3);
}

static void run_worker(struct line *to_worker)
{
	while (next_question(to_worker)) {
		search_index();
		if (!reply(to_worker))
			break;
	}
}

static void run_frontend(struct line *to_frontend, struct line *to_worker)
{
	while (next_question(to_frontend))
		if (!ask(to_worker) || !reply(to_frontend))
			break;
}

static pid_t start_process(const char *name)
{
	pid_t pid = fork();

	if (!pid) {
		name_me(name);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	}
	return pid;
}

int main(void)
{
	struct line to_frontend, to_worker;
	double began, took = 0;
	pid_t worker;

	if (open_line(&to_frontend) || open_line(&to_worker)) {
		perror("pipe");
		return 1;
	}
	worker = start_process("index-worker");
	if (!worker) {
		run_worker(&to_worker);
		_exit(0);
	}
	if (!start_process("frontend")) {
		run_frontend(&to_frontend, &to_worker);
		_exit(0);
	}
	if (!start_process("copy-index")) {
		sleep_ms(NORMAL_MS);
		kill(worker, SIGSTOP);
		sleep_ms(COPY_MS);
		kill(worker, SIGCONT);
		_exit(0);
	}
	name_me("search-page");
	while (took < LIMIT_MS) {
		began = ms_now();
		if (!ask(&to_frontend))
			break;
		took = ms_now() - began;
		sleep_ms(5);
	}
	incident("a search took %.0f ms, limit %d ms", took, LIMIT_MS);
	/* The others end with their parent. */
	return 0;
}
