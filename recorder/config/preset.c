// SPDX-License-Identifier: MIT
/*
 * Presets: ready sets of channels, as --channel texts, for config_channel.c and --help. Adding one
 * is one row, one list and one line in ringback-record.1. A preset holds only events that every
 * kernel since 5.10 has built in (config: distribution kernels), because one that is missing fails
 * the whole preset.
 */
#include "recorder/config/config.h"

#include <string.h>

#define CPU "cpu:cpu-clock/freq=99/;size=512K;stack=fp"
#define SCHED                                                                                      \
	"sched:sched:sched_switch,sched:sched_wakeup,sched:sched_waking,"                          \
	"sched:sched_migrate_task;size=2M"
/*
 * Stacks make each record three times as large, and cost several times as much: only what needs
 * them has them. What sched_wakeup tells besides, on which CPU, sched_migrate_task does.
 */
#define SLEEPS "sched:sched:sched_switch,sched:sched_waking;size=8M;stack=fp"
#define MOVES  "moves:sched:sched_migrate_task;size=512K"
/* Where BPF chooses which stacks are needed: few. */
#define SWITCHES "sched:sched:sched_switch,sched:sched_waking,sched:sched_migrate_task;size=4M"
#define PLACES	 "sleeps:sleep-stacks;size=2M;stack=fp"
#define LIFE                                                                                       \
	"life:sched:sched_process_fork,sched:sched_process_exec,sched:sched_process_exit,"         \
	"signal:signal_generate,signal:signal_deliver,oom:mark_victim;size=256K"

struct preset {
	const char *name, *help;
	const char *channels[5]; /* ended by NULL */
};

/* The preset waits without BPF. */
static const char *const plain_waits[] = {CPU, SLEEPS, MOVES, LIFE, NULL};

static const struct preset presets[] = {
	{"default", "cpu, sched and life together", {CPU, SCHED, LIFE}},
	{"cpu", "where time goes: stacks of running threads, 99 a second and CPU", {CPU}},
	{"sched", "who runs, who wakes whom, who waits", {SCHED}},
	{"life", "processes that start and end, signals, victims of the OOM killer", {LIFE}},
	{"waits",
	 "default, with the stacks of who goes to sleep and who wakes, for `why`",
	 {CPU, SWITCHES, PLACES, LIFE}},
	{"syscalls",
	 "every system call with arguments and result",
	 {"syscalls:raw_syscalls:sys_enter,raw_syscalls:sys_exit;size=4M"}},
	{"io",
	 "requests to block devices, issued and completed",
	 {"io:block:block_rq_issue,block:block_rq_complete,block:block_rq_requeue;size=1M"}},
	{"irq",
	 "interrupts and softirqs, in and out",
	 {"irq:irq:irq_handler_entry,irq:irq_handler_exit,irq:softirq_entry,irq:softirq_exit;size="
	  "1M"}},
	{"mem",
	 "page faults with stacks (one in 64), reclaim, kswapd, compaction, OOM",
	 {"faults:page-faults/period=64/;size=512K;stack=fp",
	  "reclaim:vmscan:mm_vmscan_direct_reclaim_begin,vmscan:mm_vmscan_direct_reclaim_end,"
	  "vmscan:mm_vmscan_memcg_reclaim_begin,vmscan:mm_vmscan_memcg_reclaim_end,"
	  "vmscan:mm_vmscan_kswapd_wake,vmscan:mm_vmscan_kswapd_sleep,"
	  "compaction:mm_compaction_begin,compaction:mm_compaction_end,oom:mark_victim;size=512K"}},
	{"net",
	 "packets sent and received; socket states, retransmissions and drops",
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
