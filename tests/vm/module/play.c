// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The bytes that intel_pt plays back: one file per CPU in debugfs. Opening it for writing drops the
 * old content; it keeps what is then written, at most PLAY_MAX bytes. A buffer gets the content
 * once, from its beginning.
 */
#include "rb_aux.h"

#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#define PLAY_MAX (256u << 20)

struct playback {
	struct mutex lock; /* of writers */
	u8 *bytes;	   /* vmalloc */
	size_t have, room; /* `have` is published with release, after the bytes */
};

static struct playback __percpu *plays;

size_t play_bytes(int cpu, u64 at, size_t n, const u8 **p)
{
	struct playback *play = per_cpu_ptr(plays, cpu);
	size_t have = smp_load_acquire(&play->have);

	if (at >= have)
		return 0;
	*p = play->bytes + at;
	return min_t(u64, n, have - at);
}

/* On return no interrupt handler uses the old bytes any more. */
static void forget(struct playback *play)
{
	smp_store_release(&play->have, 0);
	synchronize_rcu();
	vfree(play->bytes);
	play->bytes = NULL;
	play->room = 0;
}

static int play_open(struct inode *inode, struct file *file)
{
	struct playback *play = inode->i_private;

	file->private_data = play;
	if (file->f_mode & FMODE_WRITE) {
		mutex_lock(&play->lock);
		forget(play);
		mutex_unlock(&play->lock);
	}
	return 0;
}

/* Makes room for `size` bytes in all; may move the bytes. */
static int grow(struct playback *play, size_t size)
{
	size_t have = play->have, room = max_t(size_t, size, 2 * play->room);
	u8 *bytes;

	if (size <= play->room)
		return 0;
	bytes = vmalloc(room);
	if (!bytes)
		return -ENOMEM;
	if (have)
		memcpy(bytes, play->bytes, have);
	forget(play);
	play->bytes = bytes;
	play->room = room;
	smp_store_release(&play->have, have);
	return 0;
}

static ssize_t play_write(struct file *file, const char __user *from, size_t n, loff_t *pos)
{
	struct playback *play = file->private_data;
	ssize_t rc;

	mutex_lock(&play->lock);
	rc = n > PLAY_MAX - play->have ? -EFBIG : grow(play, play->have + n);
	if (!rc && copy_from_user(play->bytes + play->have, from, n))
		rc = -EFAULT;
	if (!rc) {
		smp_store_release(&play->have, play->have + n);
		*pos += n;
		rc = n;
	}
	mutex_unlock(&play->lock);
	return rc;
}

static const struct file_operations play_fops = {
	.owner = THIS_MODULE,
	.open = play_open,
	.write = play_write,
};

int play_init(struct dentry *dir)
{
	struct dentry *pt = debugfs_create_dir("pt", dir);
	int cpu;

	plays = alloc_percpu(struct playback);
	if (!plays)
		return -ENOMEM;
	for_each_possible_cpu(cpu)
	{
		char name[16];

		mutex_init(&per_cpu_ptr(plays, cpu)->lock);
		snprintf(name, sizeof(name), "cpu%d", cpu);
		debugfs_create_file(name, 0200, pt, per_cpu_ptr(plays, cpu), &play_fops);
	}
	return 0;
}

void play_exit(void)
{
	int cpu;

	if (!plays)
		return;
	for_each_possible_cpu(cpu) vfree(per_cpu_ptr(plays, cpu)->bytes);
	free_percpu(plays);
}
