// SPDX-License-Identifier: MIT
/*
 * Maps a page of FILE that is not in memory, at an offset of 512 KiB, prints its address, and waits
 * for SIGUSR1. Then it reports a crash with a stack pointer to that page, as libringback-crash.so
 * does, and prints the number of bytes of the answer; 0 after 10 s without one.
 *
 *	load_told FILE
 */
#include "trigger/client/crash_wire.h"
#include "trigger/client/ringback.h"

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>

static struct {
	struct ringback_message head;
	struct crash_tell body;
	char stack[256];
} message = {{RINGBACK_VERSION_1, RINGBACK_CRASH, 0, 0, 0, 0, ""}, {.sig = SIGSEGV}, ""};

int main(int argc, char **argv)
{
	int file = argc > 1 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1, fd, sig;
	void *page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, file, 512 << 10);
	struct pollfd p = {.events = POLLIN};
	struct crash_reply answer;
	ssize_t n = 0;
	sigset_t set;

	if (page == MAP_FAILED)
		return 1;
	close(file); /* at its exit, that would hang */
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	printf("%p\n", page);
	fflush(stdout);
	sigwait(&set, &sig);
	message.head.pid = message.head.tid = (uint32_t)getpid();
	for (int i = 0; i < EVENT_USER_REGS_MAX; i++)
		message.body.regs[i] = (uintptr_t)page;
	fd = ringback_connect_();
	if (fd < 0 || send(fd, &message, sizeof(message), MSG_NOSIGNAL) < 0)
		return 1;
	p.fd = fd;
	if (poll(&p, 1, 10000) > 0)
		n = recv(fd, &answer, sizeof(answer), 0);
	printf("%d\n", (int)n);
	return 0;
}
