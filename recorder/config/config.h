/* SPDX-License-Identifier: MIT */
/*
 * The options of `record`, from the command line and the configuration file ([record], [channel
 * NAME], [trigger NAME]; keys are the long options' names).
 */
#pragma once

#include "dump/file/block.h"
#include "recorder/config/ring_size.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct err;

enum stack_kind { STACK_NONE, STACK_FP, STACK_DWARF };

struct config_channel {
	char *name;
	char *events;	       /* comma-separated, see event.h */
	uint64_t ring_bytes;   /* per CPU and bank, or of an AUX area; 0: default */
	bool ring_bytes_given; /* by the user, not a preset: never reduced to fit a limit */
	bool compact;	       /* records of eight bytes where the kernel allows them */
	int64_t horizon_ns;    /* rings are resized to hold this time, and begin with ring_bytes;
				* 0: they keep their size */
	bool horizon_given;    /* as the channel's own size, not by --horizon */
	bool optional;	       /* of a preset: skipped with a warning when it is not permitted */
	enum stack_kind stack;
	bool stack_given;     /* otherwise -g applies, see config_channels() */
	uint32_t stack_bytes; /* DWARF: bytes of stack to copy; default 8192 */
};

/* --size */
struct config_size {
	char *channel;
	uint64_t bytes;	    /* or, if 0: */
	int64_t horizon_ns; /* a time */
};

struct config {
	bool all_cpus; /* -a */
	int *cpus;     /* -C; sorted, unique */
	size_t nr_cpus;
	uint32_t *pids; /* -p */
	size_t nr_pids;
	uint32_t *tids; /* -t */
	size_t nr_tids;
	char *cgroup;	       /* --cgroup */
	bool no_inherit;       /* --no-inherit */
	char *events;	       /* -e, joined with commas */
	enum stack_kind stack; /* -g */
	bool stack_given;
	uint32_t stack_bytes;
	uint64_t ring_bytes;		/* -m; 0: default */
	int64_t horizon_ns;		/* --horizon; 0: none */
	struct ring_size_memory memory; /* --memory */
	struct config_size *sizes;	/* --size; a later one overrides */
	size_t nr_sizes;
	struct config_channel *channels;
	size_t nr_channels;
	char *preset;	   /* --preset */
	bool plain_preset; /* without sleep-stacks; decided at start */
	unsigned nr_banks; /* --banks */
	char **rules;	   /* -T */
	size_t nr_rules;
	bool rules_typed; /* from the command line, not the file */
	int64_t post_ns, cooldown_ns;
	uint64_t max_dumps, max_disk_bytes;
	char *tell_group;   /* NULL: none */
	char *on_dump;	    /* NULL: none */
	char *on_dump_user; /* NULL: nobody */
	bool crash_hold;
	bool dump_on_exit;
	bool dry_run;
	int64_t symbols_ns;	   /* --symbols; 0: off */
	bool hold_files;	   /* --hold-files */
	enum block_level compress; /* --compress */
	unsigned max_dump_cpus;	   /* --max-dump-cpus; 0: half of the CPUs, at most 4 */
	char *dir;		   /* -o; default "." */
	char *spill;		   /* --spill; NULL: none */
	char *name;		   /* -n; default "default" */
	char *config_path;	   /* --config; default /etc/ringback/ringback.conf if it exists */
	bool quiet, verbose;
	uint64_t ledger_bytes; /* --ledger-size */
	char **command;	       /* after --; NULL-terminated, borrowed from argv; NULL: none */
};

/* Reads argv[1..] of `record` and the configuration file; the command line overrides the file. 0,
 * -EINVAL. On success the caller must call config_free(). */
int config_load(struct config *c, int argc, char **argv, struct err *err);
void config_free(struct config *c);
/* Adds a rule to a struct config, as -T does. -EINVAL when its grammar is wrong. */
int config_add_rule(void *config, const char *text, struct err *err);

/*
 * The channels to record, with -m, -g and --size applied: the preset's, then -e's (named "events"),
 * then those of --channel and [channel NAME], which replace a preset's channel of the same name. -m
 * and -g override a preset's size and stack; a given channel's size= and stack= override both;
 * --horizon is the size of channels
 * without their own; --size overrides all. Without any size, ring_bytes is 0. A preset's channels are `optional`.
 * -EINVAL for a duplicate name and for a --size of an unknown channel. On success the caller must
 * call config_channels_free().
 */
int config_channels(const struct config *c, struct config_channel **out, size_t *nr,
		    struct err *err);
void config_channels_free(struct config_channel *channels, size_t nr);

/* A preset's channels as --channel texts, ended by NULL; NULL: no such preset. `plain`: without BPF. */
const char *const *preset_find(const char *name, bool plain);
/* Name and one line of help of preset `i`; false past the last. */
bool preset_nth(size_t i, const char **name, const char **help);

/* "NAME:EVENT,..[;size=SIZE|TIME][;stack=none|fp|dwarf:SIZE]". 0, -EINVAL, -ERANGE, -ENOMEM; on success
 * the caller must call config_channel_free(). */
int config_channel_parse(const char *text, struct config_channel *out, struct err *err);
void config_channel_free(struct config_channel *channel);
