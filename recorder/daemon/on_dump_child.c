// SPDX-License-Identifier: MIT
/*
 * The process that becomes the command of --on-dump; see on_dump.h. `ringback on-dump UID GID
 * COMMAND`, a program of its own, since all this must not run in a copy of the recorder's memory,
 * nor hold up its main loop.
 */
#include "recorder/daemon/on_dump.h"

#include "recorder/base/exit_code.h"
#include "recorder/base/priority.h"

#include <fcntl.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NR_FILES  1024
#define OOM_SCORE "500"
#define NOT_RUN	  126

/* The service's score protects the recorder, and may not be inherited. */
static void be_killable(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	(void)!write(fd, OOM_SCORE, strlen(OOM_SCORE));
	close(fd);
}

static int drop_privileges(uid_t uid, gid_t gid)
{
	if (!geteuid() &&
	    (setgroups(0, NULL) || setresgid(gid, gid, gid) || setresuid(uid, uid, uid)))
		return -1;
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || !getuid() || !geteuid() ? -1 : 0;
}

int on_dump_child(int argc, char **argv)
{
	struct rlimit files = {NR_FILES, NR_FILES}, none = {0, 0};
	const char *path = getenv("RINGBACK_DUMP");
	int fd;

	if (argc != 4 || !path)
		return EXIT_USAGE;
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || dup2(fd, STDIN_FILENO) < 0)
		return NOT_RUN;
	syscall(SYS_close_range, 3, ~0u, 0); /* what the recorder itself inherited */
	be_killable();
	priority_set(0, PRIORITY_IDLE);
	setrlimit(RLIMIT_NOFILE, &files);
	setrlimit(RLIMIT_MEMLOCK, &none);
	setrlimit(RLIMIT_RTPRIO, &none);
	if (chdir("/") ||
	    drop_privileges((uid_t)strtoul(argv[1], NULL, 10), (gid_t)strtoul(argv[2], NULL, 10)))
		return NOT_RUN;
	execl("/bin/sh", "sh", "-c", argv[3], NULL);
	return NOT_RUN;
}
