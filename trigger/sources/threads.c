// SPDX-License-Identifier: MIT
/* Lists the threads of a process from /proc; see threads.h. */
#include "trigger/sources/threads.h"

#include "dump/base/bytes.h"
#include "dump/base/err.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

int threads_list(pid_t pid, pid_t **out, size_t *nr, struct err *err)
{
	char path[48];
	const struct dirent *e;
	struct buf list = {0};
	DIR *dir;
	int rc = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	if (!dir)
		return err_set(err, -ESRCH, "there is no process %d", (int)pid);
	while (!rc && (e = readdir(dir))) {
		pid_t tid = (pid_t)strtol(e->d_name, NULL, 10);

		if (tid > 0)
			rc = buf_put(&list, &tid, sizeof(tid));
	}
	closedir(dir);
	if (!rc && !list.len)
		rc = err_set(err, -ESRCH, "there is no process %d", (int)pid);
	else if (rc)
		err_set(err, rc, "out of memory for a trigger");
	if (rc) {
		buf_free(&list);
		return rc;
	}
	*out = (pid_t *)list.p;
	*nr = list.len / sizeof(pid_t);
	return 0;
}
