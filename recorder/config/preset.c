// SPDX-License-Identifier: MIT
/*
 * Presets: predefined sets of channels, as --channel texts, for config_channel.c and --help. Adding
 * one takes a row here and a line in ringback-record.1. A preset has only events that are built
 * into distribution kernels since 5.10, because one missing event fails the whole preset.
 */
#include "recorder/config/config.h"

#include <string.h>

#define CPU "cpu:cpu-clock/freq=99/;size=512K;stack=fp"
#define SCHED                                                                                      \
	"sched:sched:sched_switch,sched:sched_wakeup,sched:sched_waking,"                          \
	"sched:sched_migrate_task;size=2M;records=compact"
/* Stacks make a record three times as large and several times as expensive, so only events that
 * need them have them. sched_migrate_task replaces sched_wakeup, which only adds the CPU. */
#define SLEEPS "sched:sched:sched_switch,sched:sched_waking;size=8M;stack=fp"
#define MOVES  "moves:sched:sched_migrate_task;size=512K"
/* Needs BPF, which selects the few stacks that matter. */
#define SWITCHES                                                                                   \
	"sched:sched:sched_switch,sched:sched_waking,sched:sched_migrate_task;size=4M;records="    \
	"compact"
#define PLACES "sleeps:sleep-stacks;size=2M;stack=fp"
#define LIFE                                                                                       \
	"life:sched:sched_process_fork,sched:sched_process_exec,sched:sched_process_exit,"         \
	"signal:signal_generate,signal:signal_deliver,oom:mark_victim;size=256K"

struct preset {
	const char *name, *help;
	const char *channels[5]; /* ended by NULL */
};

/* Preset waits without BPF. */
static const char *const plain_waits[] = {CPU, SLEEPS, MOVES, LIFE, NULL};

static const struct preset presets[] = {
	{"default", "cpu, sched and life", {CPU, SCHED, LIFE}},
	{"cpu", "stacks of running threads, 99 times a second on each CPU", {CPU}},
	{"sched", "context switches, wake-ups, migrations", {SCHED}},
	{"life", "fork, exec, exit, signals, OOM kills", {LIFE}},
	{"waits",
	 "default, with the stacks of threads that sleep and of those that wake them, for `why`",
	 {CPU, SWITCHES, PLACES, LIFE}},
	{"syscalls",
	 "every system call with its arguments and result",
	 {"syscalls:raw_syscalls:sys_enter,raw_syscalls:sys_exit;size=4M"}},
	{"io",
	 "requests to block devices",
	 {"io:block:block_rq_issue,block:block_rq_complete,block:block_rq_requeue;size=1M"}},
	{"irq",
	 "interrupts and softirqs",
	 {"irq:irq:irq_handler_entry,irq:irq_handler_exit,irq:softirq_entry,irq:softirq_exit;size="
	  "1M"}},
	{"mem",
	 "one in 64 page faults, with its stack; reclaim, compaction, OOM kills",
	 {"faults:page-faults/period=64/;size=512K;stack=fp",
	  "reclaim:vmscan:mm_vmscan_direct_reclaim_begin,vmscan:mm_vmscan_direct_reclaim_end,"
	  "vmscan:mm_vmscan_memcg_reclaim_begin,vmscan:mm_vmscan_memcg_reclaim_end,"
	  "vmscan:mm_vmscan_kswapd_wake,vmscan:mm_vmscan_kswapd_sleep,"
	  "compaction:mm_compaction_begin,compaction:mm_compaction_end,oom:mark_victim;size=512K"}},
	{"net",
	 "packets; socket states, retransmissions, drops",
	 {"net:net:net_dev_start_xmit,net:netif_receive_skb;size=1M",
	  "tcp:sock:inet_sock_set_state,tcp:tcp_retransmit_skb,skb:kfree_skb;size=512K"}},
};

#define NR_PRESETS (sizeof(presets) / sizeof(presets[0]))

const char *const *preset_find(const char *name, bool plain)
{
	for (size_t i = 0; i < NR_PRESETS; i++)
		if (!strcmp(presets[i].name, name))
			return plain && !strcmp(name, "waits") ? plain_waits : presets[i].channels;
	return NULL;
}

bool preset_nth(size_t i, const char **name, const char **help)
{
	if (i >= NR_PRESETS)
		return false;
	*name = presets[i].name;
	*help = presets[i].help;
	return true;
}
