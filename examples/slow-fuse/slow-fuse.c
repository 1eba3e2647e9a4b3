// SPDX-License-Identifier: MIT
/*
 * A backup reads objects from a file system in user space. The server of that file system answers
 * within a millisecond, until it compacts its cache before it answers a read: 700 ms. The reader
 * waits in read(), in the kernel, for a process that it has no connection to. The file system is
 * mounted on /mnt in a mount namespace of its own.
 */
#include "../incident.h"

#include <linux/fuse.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>

#define NORMAL_MS  900
#define COMPACT_MS 700
#define LIMIT_MS   200
#define OBJECT	   4096 /* bytes */
#define FILE_NODE  2

static union {
	struct fuse_in_header head;
	char bytes[1 << 16];
} request;

static void *argument(void)
{
	return &request.head + 1;
}

static void reply(int fd, int error, void *data, size_t size)
{
	struct fuse_out_header head = {(uint32_t)(sizeof(head) + size), -error,
				       request.head.unique};
	struct iovec parts[2] = {{&head, sizeof(head)}, {data, size}};

	/* Fails for a request that was interrupted meanwhile. */
	if (writev(fd, parts, 2) < 0 && errno != ENOENT)
		perror("bucketfs");
}

static struct fuse_attr attributes(uint64_t node)
{
	bool is_file = node == FILE_NODE;

	return (struct fuse_attr){.ino = node,
				  .mode = is_file ? S_IFREG | 0444 : S_IFDIR | 0555,
				  .size = is_file ? OBJECT : 0,
				  .nlink = 1};
}

static __attribute__((noinline)) void compact_cache(void)
{
	work_ms(COMPACT_MS);
}

static __attribute__((noinline)) void answer(int fd)
{
	static char object[OBJECT];
	struct fuse_init_in *init = argument();
	struct fuse_init_out limits = {.major = FUSE_KERNEL_VERSION, .max_write = OBJECT};
	struct fuse_entry_out entry = {.nodeid = FILE_NODE, .attr = attributes(FILE_NODE)};
	struct fuse_attr_out attr = {.attr = attributes(request.head.nodeid)};
	struct fuse_open_out opened = {.open_flags = FOPEN_DIRECT_IO};
	struct fuse_read_in *range = argument();

	switch (request.head.opcode) {
	case FUSE_INIT:
		limits.minor = init->minor < FUSE_KERNEL_MINOR_VERSION ? init->minor
								       : FUSE_KERNEL_MINOR_VERSION;
		reply(fd, 0, &limits, sizeof(limits));
		break;
	case FUSE_LOOKUP:
		reply(fd, 0, &entry, sizeof(entry));
		break;
	case FUSE_GETATTR:
		reply(fd, 0, &attr, sizeof(attr));
		break;
	case FUSE_OPEN:
		reply(fd, 0, &opened, sizeof(opened));
		break;
	case FUSE_READ:
		reply(fd, 0, object, range->size < OBJECT ? range->size : OBJECT);
		break;
	case FUSE_RELEASE:
		reply(fd, 0, NULL, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	default:
		reply(fd, ENOSYS, NULL, 0);
	}
}

static void serve_files(int fd)
{
	double began = ms_now();
	bool compacted = false;

	name_me("bucketfs");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(fd, &request, sizeof(request)) > 0) {
		if (!compacted && request.head.opcode == FUSE_READ &&
		    ms_now() - began > NORMAL_MS) {
			compacted = true;
			compact_cache();
		}
		answer(fd);
	}
	_exit(0);
}

static __attribute__((noinline)) ssize_t read_bytes(int fd, void *bytes, size_t size)
{
	ssize_t n = read(fd, bytes, size);

	return n < 0 ? -1 : n;
}

static __attribute__((noinline)) void read_object(void)
{
	char object[OBJECT];
	int fd = open("/mnt/object", O_RDONLY);

	if (fd < 0 || read_bytes(fd, object, sizeof(object)) != OBJECT) {
		perror("/mnt/object");
		exit(1);
	}
	close(fd);
}

int main(void)
{
	double began = ms_now(), due, took = 0;
	char options[80];
	pid_t server;
	int fd;

	fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (fd < 0 || unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL)) {
		perror("no file system in user space (root is needed)");
		return 77;
	}
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", fd);
	if (mount("bucketfs", "/mnt", "fuse", MS_NOSUID | MS_NODEV, options)) {
		perror("mount /mnt");
		return 77;
	}
	server = fork();
	if (!server)
		serve_files(fd);
	close(fd); /* the server has the last one: reads fail when it ends */
	name_me("backup");
	while (took < LIMIT_MS && ms_now() - began < 20000) {
		due = ms_now();
		read_object();
		took = ms_now() - due;
		sleep_ms(4);
	}
	incident("reading an object took %.0f ms, limit %d ms", took, LIMIT_MS);
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
	return 0;
}
