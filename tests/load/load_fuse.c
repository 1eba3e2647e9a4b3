// SPDX-License-Identifier: MIT
/*
 * A file system in user space with one file, "file", whose content is that of FILE. After SIGUSR1
 * its server takes requests and never answers: who waits for one can't be killed. Ends with the
 * mount; as long as it runs, the mount hangs.
 *
 *	load_fuse DIR FILE        prints "mounted"; exits with 77 if this machine can't
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define FILE_NODE 2

static union {
	struct fuse_in_header head;
	char bytes[1 << 18];
} request;

static char *content;
static size_t nr_content;
static volatile sig_atomic_t silent;

static void be_silent(int sig)
{
	silent = sig;
}

static void reply(int fd, int error, const void *data, size_t n)
{
	struct fuse_out_header head = {(uint32_t)(sizeof(head) + n), -error, request.head.unique};
	struct iovec parts[2] = {{&head, sizeof(head)}, {(void *)data, n}};

	if (writev(fd, parts, 2) < 0 && errno != ENOENT)
		perror("load_fuse");
}

static struct fuse_attr attributes(uint64_t node)
{
	bool is_file = node == FILE_NODE;

	return (struct fuse_attr){.ino = node,
				  .mode = is_file ? S_IFREG | 0755 : S_IFDIR | 0755,
				  .size = is_file ? nr_content : 0,
				  .nlink = 1};
}

static void answer_read(int fd, const struct fuse_read_in *range)
{
	size_t at = range->offset < nr_content ? range->offset : nr_content;
	size_t n = nr_content - at;

	reply(fd, 0, content + at, n < range->size ? n : range->size);
}

static void answer(int fd)
{
	void *arg = &request.head + 1;
	struct fuse_init_in *init = arg;
	struct fuse_init_out limits = {.major = FUSE_KERNEL_VERSION, .max_write = 4096};
	struct fuse_entry_out entry = {.nodeid = FILE_NODE, .attr = attributes(FILE_NODE)};
	struct fuse_attr_out attr = {.attr = attributes(request.head.nodeid)};
	struct fuse_open_out opened = {0};

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
		answer_read(fd, arg);
		break;
	case FUSE_FLUSH:
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

static bool read_content(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return false;
	nr_content = (size_t)st.st_size;
	content = mmap(NULL, nr_content, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
	close(fd);
	return content != MAP_FAILED;
}

int main(int argc, char **argv)
{
	struct sigaction act = {.sa_handler = be_silent};
	char options[80];
	ssize_t n = 1;
	int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);

	if (argc < 3 || !read_content(argv[2]))
		return 1;
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other",
		 fd);
	if (fd < 0 || mount("load_fuse", argv[1], "fuse", 0, options)) {
		perror("no file system in user space");
		return 77;
	}
	sigaction(SIGUSR1, &act, NULL);
	puts("mounted");
	fflush(stdout);
	while (n > 0 || errno == EINTR || errno == ENOENT) {
		n = read(fd, &request, sizeof(request));
		if (n > 0 && !silent)
			answer(fd);
	}
	return 0;
}
