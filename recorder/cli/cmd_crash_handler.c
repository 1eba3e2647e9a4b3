// SPDX-License-Identifier: MIT
/*
 * `ringback crash-handler DIR PID TID SIGNAL DUMPABLE`: started by the kernel for a crash while a
 * recorder has --crash-hold, if the kernel has no coredump socket (before Linux 6.16). The core is
 * on stdin. Hidden: not in the help.
 */
#include "recorder/cli/cmd.h"

#include "recorder/coredump/core_serve.h"
#include "recorder/coredump/core_state.h"
#include "recorder/coredump/core_work.h"
#include "trigger/kernel/clock.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NICE (-10)

static int run(int argc, char **argv)
{
	char former[CORE_PATTERN_BYTES];
	struct core_job j = {.began_ns = clock_ns(), .pattern = former};

	if (argc != 6)
		return EXIT_USAGE;
	prctl(PR_SET_DUMPABLE, 0);
	signal(SIGPIPE, SIG_IGN);
	setpriority(PRIO_PROCESS, 0, NICE);
	j.names.pid = atoi(argv[2]);
	j.names.tid = atoi(argv[3]);
	j.names.sig = atoi(argv[4]);
	j.names.dumpable = atoi(argv[5]);
	j.pidfd = (int)syscall(SYS_pidfd_open, j.names.pid, 0);
	j.stream = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	close(STDIN_FILENO);
	if (j.pidfd < 0 || j.stream < 0 || core_state_former(argv[1], former))
		return EXIT_FAILED;
	j.report = core_serve_ask(argv[1]);
	core_work(&j);
	return EXIT_FINE;
}

const struct command cmd_crash_handler = {
	.name = CORE_HANDLER,
	.run = run,
};
