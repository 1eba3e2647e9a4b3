// SPDX-License-Identifier: MIT
/*
 * A shim in front of the libc functions that the recorder calls, linked into ringback-faults (ld --wrap).
 * It fails one call at one place, as faults.py says. Without RINGBACK_FAULTS in the environment it only passes calls on.
 * The place of a call that ends its function is that function's caller.
 *
 * RINGBACK_FAULTS names a file that the recorder, its children and faults.py map:
 *
 *	0   u32 place armed, 0: none    the offset of the return address in the program
 *	4   i32 error                   0: a short read or write
 *	8   u32 faults so far
 *	16  NR_SITES times: u32 place, u32 call (its number in CALLS), u32 calls so far, u32 0
 *
 * All wrapped functions take integers and pointers, at most six: they are passed on as such.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define NR_SITES 16384u

/* How a call fails. */
enum fails {
	MINUS, /* returns -1, sets errno */
	NIL,   /* returns NULL, sets errno */
	CODE,  /* returns the error */
	BYTES  /* as MINUS; the third argument is a number of bytes, the first a descriptor */
};

/* faults.py reads this list: the names, and the errors that each call can fail with. */
#define CALLS(X)                                                                                   \
	X(open64, MINUS, EMFILE ENOMEM ENOSPC EINTR)                                               \
	X(openat64, MINUS, EMFILE ENOMEM ENOSPC EINTR)                                             \
	X(read, BYTES, EIO EINTR EAGAIN SHORT)                                                     \
	X(pread64, BYTES, EIO EINTR SHORT)                                                         \
	X(write, BYTES, ENOSPC EIO EINTR EAGAIN SHORT)                                             \
	X(pwrite64, BYTES, ENOSPC EIO EINTR SHORT)                                                 \
	X(send, BYTES, EAGAIN EINTR ENOMEM SHORT)                                                  \
	X(recv, BYTES, EAGAIN EINTR ENOMEM)                                                        \
	X(sendto, MINUS, EAGAIN EINTR ENOMEM)                                                      \
	X(sendmsg, MINUS, EAGAIN EINTR ENOMEM)                                                     \
	X(recvfrom, MINUS, EAGAIN EINTR ENOMEM)                                                    \
	X(recvmsg, MINUS, EAGAIN EINTR ENOMEM)                                                     \
	X(socket, MINUS, EMFILE ENOMEM)                                                            \
	X(socketpair, MINUS, EMFILE ENOMEM)                                                        \
	X(bind, MINUS, ENOMEM ENOSPC)                                                              \
	X(connect, MINUS, EAGAIN EINTR)                                                            \
	X(accept4, MINUS, EMFILE ENOMEM EINTR EAGAIN)                                              \
	X(getsockopt, MINUS, ENOMEM)                                                               \
	X(setsockopt, MINUS, ENOMEM)                                                               \
	X(epoll_create1, MINUS, EMFILE ENOMEM)                                                     \
	X(epoll_ctl, MINUS, ENOMEM ENOSPC)                                                         \
	X(epoll_wait, MINUS, EINTR)                                                                \
	X(poll, MINUS, EINTR ENOMEM)                                                               \
	X(timerfd_create, MINUS, EMFILE ENOMEM)                                                    \
	X(eventfd, MINUS, EMFILE ENOMEM)                                                           \
	X(signalfd, MINUS, EMFILE ENOMEM)                                                          \
	X(sigtimedwait, MINUS, EAGAIN EINTR)                                                       \
	X(inotify_init1, MINUS, EMFILE ENOMEM)                                                     \
	X(inotify_add_watch, MINUS, ENOSPC ENOMEM)                                                 \
	X(memfd_create, MINUS, EMFILE ENOMEM)                                                      \
	X(pipe2, MINUS, EMFILE)                                                                    \
	X(dup, MINUS, EMFILE)                                                                      \
	X(fcntl64, MINUS, EMFILE)                                                                  \
	X(ioctl, MINUS, EIO ENOMEM EINTR)                                                          \
	X(syscall, MINUS, ENOMEM EMFILE ENOSPC EINTR)                                              \
	X(mmap64, MINUS, ENOMEM EAGAIN)                                                            \
	X(mlock, MINUS, ENOMEM EAGAIN)                                                             \
	X(madvise, MINUS, ENOMEM EAGAIN)                                                           \
	X(fsync, MINUS, EIO ENOSPC EINTR)                                                          \
	X(fdatasync, MINUS, EIO ENOSPC EINTR)                                                      \
	X(ftruncate64, MINUS, EIO EINTR)                                                           \
	X(fstat64, MINUS, ENOMEM)                                                                  \
	X(stat64, MINUS, ENOMEM)                                                                   \
	X(fstatat64, MINUS, ENOMEM)                                                                \
	X(statx, MINUS, ENOMEM)                                                                    \
	X(fstatfs64, MINUS, EIO ENOMEM EINTR)                                                      \
	X(statfs64, MINUS, EIO ENOMEM EINTR)                                                       \
	X(fstatvfs64, MINUS, EIO ENOMEM EINTR)                                                     \
	X(faccessat, MINUS, EIO ENOMEM)                                                            \
	X(access, MINUS, EIO ENOMEM)                                                               \
	X(readlink, MINUS, EIO ENOMEM)                                                             \
	X(readlinkat, MINUS, EIO ENOMEM)                                                           \
	X(realpath, NIL, EIO ENOMEM)                                                               \
	X(mkdir, MINUS, ENOSPC ENOMEM)                                                             \
	X(mkdirat, MINUS, ENOSPC ENOMEM)                                                           \
	X(rename, MINUS, ENOSPC ENOMEM)                                                            \
	X(renameat, MINUS, ENOSPC ENOMEM)                                                          \
	X(renameat2, MINUS, ENOSPC ENOMEM)                                                         \
	X(link, MINUS, ENOSPC ENOMEM EIO)                                                          \
	X(linkat, MINUS, ENOSPC ENOMEM EIO)                                                        \
	X(unlink, MINUS, EIO ENOMEM)                                                               \
	X(unlinkat, MINUS, EIO ENOMEM)                                                             \
	X(fchmod, MINUS, EIO)                                                                      \
	X(fchown, MINUS, EIO)                                                                      \
	X(fopen64, NIL, EMFILE ENOMEM)                                                             \
	X(fdopen, NIL, ENOMEM)                                                                     \
	X(opendir, NIL, EMFILE ENOMEM)                                                             \
	X(fdopendir, NIL, ENOMEM)                                                                  \
	X(scandir64, MINUS, ENOMEM EMFILE)                                                         \
	X(scandirat64, MINUS, ENOMEM EMFILE)                                                       \
	X(open_memstream, NIL, ENOMEM)                                                             \
	X(__getdelim, MINUS, ENOMEM EIO)                                                           \
	X(fork, MINUS, EAGAIN ENOMEM)                                                              \
	X(posix_spawn, CODE, EAGAIN ENOMEM)                                                        \
	X(waitpid, MINUS, EINTR)                                                                   \
	X(pthread_create, CODE, EAGAIN)                                                            \
	X(sem_wait, MINUS, EINTR)                                                                  \
	X(process_vm_readv, MINUS, ENOMEM)                                                         \
	X(malloc, NIL, ENOMEM)                                                                     \
	X(calloc, NIL, ENOMEM)                                                                     \
	X(realloc, NIL, ENOMEM)                                                                    \
	X(reallocarray, NIL, ENOMEM)                                                               \
	X(strdup, NIL, ENOMEM)                                                                     \
	X(strndup, NIL, ENOMEM)                                                                    \
	X(vasprintf, MINUS, ENOMEM)

#define CALL_NR(name, fails, errors) NR_##name,
enum { CALLS(CALL_NR) NR_CALLS };

struct site {
	_Atomic uint32_t place;
	uint32_t call;
	_Atomic uint32_t nr_calls;
	uint32_t reserved;
};

static struct faults {
	_Atomic uint32_t armed;
	int32_t error;
	_Atomic uint32_t nr_fired;
	uint32_t reserved;
	struct site sites[NR_SITES];
} * faults;

extern const char __executable_start[];

#define DECLARE(name, fails, errors)                                                               \
	long __real_##name(long a, long b, long c, long d, long e, long f);                        \
	long __wrap_##name(long a, long b, long c, long d, long e, long f);
CALLS(DECLARE)

__attribute__((constructor)) static void faults_map(void)
{
	const char *path = getenv("RINGBACK_FAULTS");
	int fd = path ? (int)__real_open64((long)path, O_RDWR | O_CLOEXEC, 0, 0, 0, 0) : -1;
	long p;

	if (fd < 0)
		return;
	p = __real_mmap64(0, sizeof(*faults), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (p != -1)
		faults = (struct faults *)p;
}

static void note(uint32_t place, uint32_t call)
{
	for (uint32_t i = place * 2654435761u % NR_SITES, n = 0; n < NR_SITES;
	     i = (i + 1) % NR_SITES, n++) {
		struct site *s = &faults->sites[i];
		uint32_t was = 0;

		if (s->place == place || atomic_compare_exchange_strong(&s->place, &was, place) ||
		    was == place) {
			s->call = call;
			s->nr_calls++;
			return;
		}
	}
}

/* Such an error can occur with this descriptor: no EAGAIN where it blocks; an eventfd and its like
 * (no file type) have no errors of disks and can always be written; no part of a small message. */
static bool can_occur(uint32_t call, int32_t error, int fd, size_t n)
{
	struct stat st;

	if ((int)__real_fstat64(fd, (long)&st, 0, 0, 0, 0))
		return false;
	if (!(st.st_mode & S_IFMT))
		return error == EINTR || (error == EAGAIN && call == NR_read);
	if (error == EAGAIN)
		return __real_fcntl64(fd, F_GETFL, 0, 0, 0, 0) & O_NONBLOCK;
	return error || (n > 1 && S_ISREG(st.st_mode)) ||
	       (n > PIPE_BUF && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)));
}

/* True when this call is the one to fail. */
static bool is_due(uint32_t call, void *caller, enum fails fails, long fd, long n)
{
	uint32_t place = (uint32_t)((uintptr_t)caller - (uintptr_t)__executable_start);

	if (!faults)
		return false;
	note(place, call);
	if (faults->armed != place)
		return false;
	if (fails == BYTES && call != NR_send && call != NR_recv &&
	    !can_occur(call, faults->error, (int)fd, (size_t)n))
		return false;
	if (!atomic_compare_exchange_strong(&faults->armed, &place, 0))
		return false;
	faults->nr_fired++;
	return true;
}

#define WRAP(name, fails, errors)                                                                  \
	long __wrap_##name(long a, long b, long c, long d, long e, long f)                         \
	{                                                                                          \
		if (!is_due(NR_##name, __builtin_return_address(0), fails, a, c))                  \
			return __real_##name(a, b, c, d, e, f);                                    \
		if (!faults->error)                                                                \
			return __real_##name(a, b, c / 2, d, e, f);                                \
		if (fails == CODE)                                                                 \
			return faults->error;                                                      \
		errno = faults->error;                                                             \
		return fails == NIL ? 0 : -1;                                                      \
	}
CALLS(WRAP)
