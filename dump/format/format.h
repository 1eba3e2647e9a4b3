/* SPDX-License-Identifier: MIT */
/*
 * The dump file, version 1, as C. dump/format/FORMAT.md has the same in prose and tables, together
 * with SYMBOLS.md, PACKED.md and format_packed.h; tests/unit/dump/t_format.c compares them.
 *
 *	fmt_header │ block │ block │ ... │ block (FOOTER) │ fmt_trailer
 *	block = fmt_block │ payload (one LZ4 frame) │ zeros up to a multiple of 8
 *
 * Everything is little-endian and 8-byte aligned; reserved fields are zero; ids are never reused. A
 * payload is a sequence of items (fmt_item + bytes), except in RECORDS, where it is kernel records
 * in the encoding that the block header names, and in AUX, where it is bytes of a hardware trace.
 */
#pragma once

#include "dump/format/format_packed.h"

#include <stddef.h>
#include <stdint.h>

/* 8 bytes each. The first byte is not text; a conversion of line ends damages the newline. */
#define FMT_MAGIC	  "\x89RBDUMP\n"
#define FMT_TRAILER_MAGIC "RBDONE\n\x89"
#define FMT_BLOCK_MAGIC	  0x4b4c4252u /* "RBLK" */
#define FMT_VERSION	  1u
#define FMT_NO_RING	  0xffffffffu

/* Maximum size of a decoded payload: the memory a reader needs per block. */
#define FMT_MAX_BLOCK_BYTES (4u << 20)
/* The LZ4 frame of an incompressible payload is slightly larger than the payload. */
#define FMT_MAX_STORED_BYTES (FMT_MAX_BLOCK_BYTES + 4096)
/* Usual block size of the writer. */
#define FMT_BLOCK_BYTES (256u << 10)
/* Likewise for AUX: a single area may be as large as all rings. */
#define FMT_AUX_BLOCK_BYTES (1u << 20)
/* One FOOTER cannot list more (an item header and a fmt_dir each). */
#define FMT_MAX_BLOCKS (FMT_MAX_BLOCK_BYTES / 64)

struct fmt_header {
	uint8_t magic[8];
	uint32_t version;
	uint32_t header_bytes;	  /* 64 */
	uint8_t id[16];		  /* random; hashes of blocks are seeded with its first 8 bytes */
	uint64_t created_real_ns; /* CLOCK_REALTIME */
	uint64_t reserved[2];
	uint64_t hash; /* XXH3-64, seed 0, of the 56 bytes before */
};

/* A reader skips unknown sections. */
enum fmt_section {
	FMT_HOST = 1,	  /* the machine and the recorder */
	FMT_TRIGGER = 2,  /* the trigger that fired */
	FMT_CHANNELS = 3, /* channels, their events, sample ids */
	FMT_FORMATS = 4,  /* tracepoint formats */
	FMT_WINDOWS = 5,  /* per ring: time range, bytes, losses */
	FMT_LEDGER = 6,	  /* processes, names, mappings */
	FMT_RECORDS = 7,  /* perf records of one ring */
	FMT_STATS = 8,	  /* timings and losses of the dump; written after the records */
	FMT_FOOTER = 9,	  /* directory of all blocks */
	FMT_SYMBOLS = 10, /* symbols of the dump's addresses; written after the records */
	FMT_AUX = 11,	  /* AUX data of one ring */
	FMT_CGROUPS = 12, /* control groups; written after the records */
	FMT_THREADS = 13, /* states of threads at the freeze; written after the records */
};

/* Encoding of a payload after LZ4 decompression. */
enum fmt_encoding {
	FMT_ENC_ITEMS = 0,  /* fmt_item, bytes, padding, fmt_item, ... */
	FMT_ENC_RAW = 1,    /* RECORDS: ring bytes as the kernel wrote them, newest record first */
	FMT_ENC_PACKED = 2, /* RECORDS: the same bytes as columns, fmt_pack and what follows it */
	FMT_ENC_BYTES = 3,  /* AUX: bytes as the hardware wrote them, oldest first */
};

struct fmt_block {
	uint32_t magic;		/* FMT_BLOCK_MAGIC */
	uint16_t section;	/* enum fmt_section */
	uint8_t encoding;	/* enum fmt_encoding */
	uint8_t flags;		/* 0 */
	uint32_t seq;		/* number of the block in the file, from 0 */
	uint32_t ring;		/* RECORDS, AUX: the ring's id, else FMT_NO_RING */
	uint32_t stored_bytes;	/* size of the LZ4 frame, without padding */
	uint32_t payload_bytes; /* after LZ4 */
	uint32_t content_bytes; /* after decoding; payload_bytes except for PACKED */
	uint32_t nr_records;	/* number of items or perf records; AUX: 0 */
	uint64_t first_ns;	/* RECORDS: earliest time, in the dump's clock; else 0 */
	uint64_t last_ns;	/* RECORDS: latest */
	uint64_t ring_off;	/* RECORDS, AUX: bytes of this window newer than this block */
	uint64_t stored_hash;	/* XXH3-64 of the stored bytes and their padding */
	uint64_t hash;		/* XXH3-64 of the 64 bytes before */
};

/* The last bytes of a committed file. Repeats the header's id, so that a file with a damaged header
 * can be salvaged. */
struct fmt_trailer {
	uint64_t footer_off; /* of the FOOTER's fmt_block */
	uint64_t file_bytes; /* the file's length, this included */
	uint64_t chain; /* XXH3-64 of all blocks' `hash` fields, in file order, FOOTER included */
	uint8_t id[16]; /* as in the header */
	uint64_t created_real_ns; /* as in the header */
	uint8_t magic[8];	  /* FMT_TRAILER_MAGIC */
	uint64_t hash;		  /* XXH3-64, seed 0, of the 56 bytes before */
};

/* An item: this, `bytes` bytes, zeros up to a multiple of 8. A reader skips unknown kinds. A fixed
 * item may grow at its end: a reader takes the fields that it knows and reads missing ones as 0. */
struct fmt_item {
	uint16_t kind; /* numbered per section */
	uint16_t reserved;
	uint32_t bytes;
};

/* ---- FOOTER: one DIR item per block, in file order, without the FOOTER itself ---- */
enum { FMT_FOOTER_DIR = 1 };

struct fmt_dir {
	uint64_t offset; /* of its fmt_block in the file */
	uint32_t stored_bytes;
	uint32_t payload_bytes;
	uint16_t section;
	uint16_t encoding;
	uint32_t ring;
	uint32_t nr_records;
	uint32_t content_bytes;
	uint64_t first_ns;
	uint64_t last_ns;
	uint64_t ring_off;
};

/* ---- HOST ---- */
enum {
	FMT_HOST_FACTS = 1,    /* fmt_host */
	FMT_HOST_HOSTNAME = 2, /* text, as are the following */
	FMT_HOST_UNAME = 3,    /* sysname release version machine */
	FMT_HOST_CPU_MODEL = 4,
	FMT_HOST_BOOT_ID = 5,
	FMT_HOST_OS = 6,	 /* PRETTY_NAME of os-release */
	FMT_HOST_RECORDER = 7,	 /* "ringback 0.1.0" */
	FMT_HOST_CMDLINE = 8,	 /* of the recorder, NUL-separated */
	FMT_HOST_CAPABILITY = 9, /* "name=value" as `ringback doctor` prints it; one item each */
	FMT_HOST_INSTANCE = 10,	 /* the recorder's -n NAME */
	FMT_HOST_CPU_ID = 11,	 /* "vendor,family,model,stepping"; arm64: MIDR_EL1, "0x..." */
	FMT_HOST_SESSION = 12,	 /* 16 random bytes: the same in all dumps of one recorder */
	FMT_HOST_BEFORE = 13,	 /* text: file name of the recorder's previous dump */
	FMT_HOST_JOINED = 14,	 /* text: file name of a dump joined with this one */
};

struct fmt_host {
	uint32_t nr_cpus_online;
	uint32_t nr_cpus_possible;
	uint32_t page_bytes;
	uint32_t clockid;	  /* of every time in the dump: CLOCK_MONOTONIC = 1 */
	int64_t real_minus_clock; /* a time plus this is CLOCK_REALTIME */
	int64_t boot_minus_clock; /* ... CLOCK_BOOTTIME */
	uint64_t mem_total_bytes;
	uint32_t recorder_pid;
	uint32_t recorder_uid;
	uint32_t flags; /* FMT_HOST_INITIAL_PIDNS: common_pid of tracepoints is the tid
			 * FMT_HOST_TARGET: only a target's threads were recorded */
	uint32_t reserved;
};

#define FMT_HOST_INITIAL_PIDNS 1u
#define FMT_HOST_TARGET	       2u

/* ---- TRIGGER ---- */
enum {
	FMT_TRIGGER_FACTS = 1,	 /* fmt_trigger */
	FMT_TRIGGER_NAME = 2,	 /* text: the rule's name, as in the file name */
	FMT_TRIGGER_RULE = 3,	 /* text: the rule as written */
	FMT_TRIGGER_REASON = 4,	 /* text from the program or user that requested the dump */
	FMT_TRIGGER_SAW = 5,	 /* text "key=value": a value that the rule observed */
	FMT_TRIGGER_MERGED = 6,	 /* fmt_merged + the rule's name: hits that this dump covers too */
	FMT_TRIGGER_BEGAN = 7,	 /* u64: when the operation that met the rule began */
	FMT_TRIGGER_COMM = 8,	 /* text: the thread's name at that time */
	FMT_TRIGGER_REPEATS = 9, /* fmt_repeats: how often this signature occurred */
};

struct fmt_trigger {
	uint64_t hit_ns;    /* when the rule was met: time 0 of everything that is printed */
	uint64_t real_ns;   /* the same in CLOCK_REALTIME */
	uint64_t freeze_ns; /* when the first ring was paused */
	uint64_t post_ns;   /* configured recording time after the hit */
	uint32_t pid, tid;  /* that met the rule or requested the dump; 0: none */
	uint32_t uid;
	uint32_t nr; /* number of the recorder's dump, from 1 */
};

struct fmt_merged {
	uint64_t first_ns, last_ns;
	uint64_t nr_hits;
};

/* Counts of this recorder, this dump included. */
struct fmt_repeats {
	uint64_t signature; /* of rule, thread name and stack */
	uint64_t nr_seen;
	uint64_t nr_kept; /* dumps written for it */
	uint64_t first_ns;
};

/* ---- CHANNELS ---- */
enum {
	FMT_CHANNEL = 1,	 /* fmt_channel + name */
	FMT_EVENT = 2,		 /* fmt_event + attr bytes (perf_event_attr, attr.size long) */
	FMT_EVENT_NAME = 3,	 /* u32 event + text: its name, sched:sched_switch */
	FMT_EVENT_FILTER = 4,	 /* u32 event + text */
	FMT_EVENT_ID = 5,	 /* fmt_event_id: PERF_SAMPLE_IDENTIFIER values */
	FMT_EVENT_TARGET = 6,	 /* u32 event + text: the uprobe's PATH:SYMBOL+OFF */
	FMT_EVENT_PMU = 7,	 /* u32 event + NUL-terminated texts: the name of its PMU, which has
				 AUX areas; then of its files in sysfs: path, content, path, ... */
	FMT_CHANNEL_HORIZON = 8, /* fmt_channel_horizon */
};

struct fmt_channel {
	uint32_t id; /* from 0 */
	uint32_t nr_banks;
	uint64_t ring_bytes;  /* per ring and bank */
	uint64_t sample_type; /* the same for all of its events */
	uint64_t regs_user;   /* attr.sample_regs_user */
	uint32_t stack_user;  /* attr.sample_stack_user */
	uint32_t flags;	      /* FMT_CHANNEL_COMPACT */
};

/* The recorder kept the records in eight bytes each; here they are as perf would have written them.
 * Of its windows ring_bytes and overwritten_bytes count those bytes, and bytes the records here. */
#define FMT_CHANNEL_COMPACT 1u
/* The rings of the channel were resized to hold a time. */
struct fmt_channel_horizon {
	uint32_t channel;
	uint32_t reserved;
	uint64_t horizon_ns;
};

struct fmt_event {
	uint32_t id; /* from 0, over all channels */
	uint32_t channel;
	uint32_t tracepoint; /* common_type; 0: not a tracepoint */
	uint32_t attr_bytes;
};

struct fmt_event_id {
	uint64_t id;
	uint32_t event;
	uint32_t ring;
};

/* ---- FORMATS ---- */
enum {
	FMT_FORMAT_TRACEPOINT = 1,  /* fmt_tracepoint + system, NUL, text of its `format` file */
	FMT_FORMAT_HEADER_PAGE = 2, /* text of events/header_page */
};

struct fmt_tracepoint {
	uint32_t id;
	uint32_t system_bytes; /* with its NUL */
};

/* ---- WINDOWS ---- */
enum {
	FMT_WINDOW = 1,	     /* fmt_window: one per ring */
	FMT_WINDOW_AUX = 2,  /* fmt_window_aux: one per ring with an AUX area */
	FMT_WINDOW_STOP = 3, /* fmt_trace_stop: any number per ring with an AUX area */
};

struct fmt_window {
	uint32_t ring; /* id from 0 */
	uint32_t channel;
	int32_t cpu; /* -1: any */
	int32_t tid; /* -1: any; a ring per thread has cpu -1 */
	uint64_t ring_bytes;
	uint64_t bytes; /* size of the complete records in this dump */
	uint64_t nr_records;
	uint64_t first_ns, last_ns; /* earliest and latest time; 0 when empty */
	uint64_t armed_ns;	    /* when this bank started recording */
	uint64_t paused_ns;	    /* when it stopped recording */
	uint64_t overwritten_bytes; /* written since armed_ns and overwritten */
	uint64_t lost;		    /* PERF_RECORD_LOST: samples dropped while recording */
	uint64_t lost_spare;	    /* likewise, while the bank was the spare: not a loss */
	uint64_t throttled;	    /* PERF_RECORD_THROTTLE */
	int64_t gap_ns;		 /* from the end of this ring's previous dump to armed_ns; < 0: the
				     * two overlap; 0 with FMT_WINDOW_FIRST */
	uint64_t prev_paused_ns; /* when the previous dump's bank of this ring stopped; 0: none */
	uint32_t flags;
	uint32_t tail_bytes; /* of the partly overwritten oldest record, not in the dump */
	uint64_t samples;    /* PERF_RECORD_SAMPLE among nr_records */
};

#define FMT_WINDOW_FIRST    1u /* first dump of this ring */
#define FMT_WINDOW_OFFLINE  2u /* its CPU went offline: last dump with this ring */
#define FMT_WINDOW_ONE_BANK 4u
#define FMT_WINDOW_BROKEN   8u	/* the ring contained invalid bytes: older records are missing */
#define FMT_WINDOW_TRIGGER  16u /* not a ring: contains the event that met the rule */
#define FMT_WINDOW_RUNNING  32u /* could not be paused: read while it was written */
#define FMT_WINDOW_SHORT    64u /* memory did not allow a ring for the channel's horizon */

/*
 * A ring's AUX area. CPU, thread and channel are in its fmt_window, which describes the kernel's
 * records about the area.
 *
 *	        ◀──────────────── bytes ────────────────▶
 *	oldest  │ from before start_ns │    new_bytes    │  newest: where the hardware stood
 */
struct fmt_window_aux {
	uint32_t ring;
	uint32_t event;	 /* fmt_event.id */
	uint32_t flags;	 /* FMT_AUX_* */
	uint32_t nr_aux; /* PERF_RECORD_AUX in the ring's window; of these, since start_ns: */
	uint32_t nr_truncated;
	uint32_t nr_partial;
	uint32_t nr_collision;
	uint32_t reserved;
	uint64_t area_bytes;
	uint64_t bytes;		/* in this dump */
	uint64_t new_bytes;	/* of these, written since start_ns */
	uint64_t written_bytes; /* since start_ns; without FMT_AUX_COUNTING a lower bound */
	uint64_t head;		/* aux_head after the stop */
	uint64_t start_ns;
	uint64_t stop_ns;
	uint64_t copy_ns;     /* time to copy the bytes */
	uint64_t blackout_ns; /* from stop_ns to the restart; 0: not restarted */
	/* Hardware clock (TSC, on arm64 CNTVCT) and the dump's clock at two times; 0: unknown. */
	uint64_t start_cycles;
	uint64_t start_cycles_ns;
	uint64_t stop_cycles;
	uint64_t stop_cycles_ns;
	/* Hardware clock to perf's own clock, which is not the dump's; see perf_event_mmap_page. */
	uint64_t time_zero;
	uint32_t time_mult; /* 0: unknown */
	uint32_t time_shift;
};

#define FMT_AUX_WRAPPED	  1u /* since start_ns more was written than the area holds */
#define FMT_AUX_COUNTING  2u /* head counts all bytes; else it is an offset in the area */
#define FMT_AUX_TRUNCATED 4u /* reported by a PERF_RECORD_AUX of the ring, as the next two */
#define FMT_AUX_PARTIAL	  8u
#define FMT_AUX_COLLISION 16u
#define FMT_AUX_PAUSED	  32u /* the event that met a rule stopped it in the kernel at stop_ns */

/*
 * A time since the previous dump in which the trace into a ring's AUX area stood although it should
 * have run. Stops for a dump, and by an event that met a rule, are not listed.
 */
struct fmt_trace_stop {
	uint32_t ring;
	uint32_t reason; /* FMT_STOP_* */
	uint64_t from_ns;
	uint64_t to_ns;	   /* when it ran again, at the latest the area's stop_ns */
	uint64_t stood_ns; /* of this time: all of it if nr is 1 */
	uint32_t nr;	   /* stops in this time */
	uint32_t reserved;
};

#define FMT_STOP_LOST	 1u /* the driver lost data, for which the kernel disables the event */
#define FMT_STOP_REFUSED 2u /* enabled, but the driver did not start it */
#define FMT_STOP_SILENT	 3u /* threads ran, nothing was written, and no end was reported */

/* ---- LEDGER: each block is self-contained (repeats the PATHs and NAMESPACES it needs) ---- */
enum {
	FMT_LEDGER_PATH = 1,	   /* fmt_path + text; ids are valid within their block */
	FMT_LEDGER_TASK = 2,	   /* fmt_task */
	FMT_LEDGER_COMM = 3,	   /* fmt_comm */
	FMT_LEDGER_MAP = 4,	   /* fmt_map */
	FMT_LEDGER_CGROUP = 5,	   /* u64 cgroup id + path */
	FMT_LEDGER_KSYM = 6,	   /* fmt_ksym + name: KSYMBOL: BPF programs, ftrace trampolines */
	FMT_LEDGER_CMDLINE = 7,	   /* u32 task key + arguments, NUL-separated (cut at 4 KiB) */
	FMT_LEDGER_NAMESPACES = 8, /* fmt_namespaces + nr fmt_namespace: a set that tasks share */
	FMT_LEDGER_TASK_NS = 9,	   /* fmt_stay: the task's namespaces, an id of NAMESPACES */
	FMT_LEDGER_TASK_CGROUP = 10, /* fmt_stay: its process's cgroup, an id of PATH */
	FMT_LEDGER_BPF = 11,	     /* fmt_bpf: a program that was loaded while recording */
};

struct fmt_path {
	uint32_t id;
	uint8_t build_id_bytes; /* 0: unknown */
	uint8_t reserved[3];
	uint8_t build_id[20];
	uint32_t reserved2;
};

/* A thread from start to exit. A reused tid is a different task with a different key. */
struct fmt_task {
	uint32_t key; /* unique in the dump, from 1 */
	uint32_t tid;
	uint32_t pid; /* thread group */
	uint32_t ppid;
	uint64_t start_ns; /* 0: started before the recorder */
	uint64_t exit_ns;  /* 0: alive at the freeze */
	uint32_t flags;	   /* FMT_TASK_* */
	uint32_t uid;	   /* of the process at the scan; ~0 unknown */
};

#define FMT_TASK_SCANNED 1u /* seen in /proc */
#define FMT_TASK_SAMPLED 2u /* a record of this dump is about it */

/* The task's name from `ns` on. */
struct fmt_comm {
	uint32_t key;
	uint32_t flags; /* FMT_COMM_EXEC */
	uint64_t ns;	/* 0: before the task was first seen */
	char comm[16];
};

#define FMT_COMM_EXEC 1u

/* An executable mapping of the process `key` (its thread group leader's task). */
struct fmt_map {
	uint32_t key;
	uint32_t path; /* FMT_LEDGER_PATH id of the same block */
	uint64_t start, end, pgoff;
	uint64_t ns;	 /* mapped at; 0: before the process was first seen */
	uint64_t end_ns; /* replaced or removed by an exec at; 0: still mapped */
	uint64_t ino;
	uint32_t maj, min;
	uint32_t prot, flags; /* of mmap(2) */
	uint64_t ino_generation;
};

/* The kernel's numbers (NET_NS_INDEX, ... in linux/perf_event.h). */
enum fmt_namespace_kind {
	FMT_NS_NET = 0,
	FMT_NS_UTS = 1,
	FMT_NS_IPC = 2,
	FMT_NS_PID = 3,
	FMT_NS_USER = 4,
	FMT_NS_MNT = 5,
	FMT_NS_CGROUP = 6,
};

struct fmt_namespaces {
	uint32_t id; /* valid within the block */
	uint32_t nr;
};

/* From stat(2) of /proc/PID/ns/KIND. */
struct fmt_namespace {
	uint32_t kind; /* enum fmt_namespace_kind */
	uint32_t dev;
	uint64_t ino;
};

/* The cgroup or namespace set of a task from `ns` on. A thread without one has its leader's. */
struct fmt_stay {
	uint32_t key;
	uint32_t what;	/* id of the path or namespace set */
	uint64_t ns;	/* 0: before the task was first seen */
	uint32_t flags; /* FMT_STAY_* */
	uint32_t reserved;
};

#define FMT_STAY_INHERITED 1u /* from the parent at the fork; not verified since */

struct fmt_ksym {
	uint64_t addr;
	uint32_t bytes;
	uint16_t type; /* PERF_RECORD_KSYMBOL_TYPE_* */
	uint16_t flags;
	uint64_t ns, end_ns;
};

/* A BPF program; its symbols, bpf_prog_TAG_NAME, are FMT_LEDGER_KSYM. */
struct fmt_bpf {
	uint32_t id; /* as bpftool shows it */
	uint32_t reserved;
	uint8_t tag[8];
	uint64_t ns, end_ns;
};

/* ---- SYMBOLS: each block is self-contained (repeats the IMAGEs it needs) ---- */
enum {
	FMT_SYM_IMAGE = 1,    /* fmt_image + its path; ids count from 0 in each block */
	FMT_SYM_FUNCTION = 2, /* fmt_function + its name as in the symbol table, mangled */
	FMT_SYM_PLACE = 3,    /* fmt_place + the function's name, NUL, the source file */
	FMT_SYM_SEGMENT = 4,  /* fmt_segment: where a part of a FILE lies in memory */
	FMT_SYM_UNWIND = 5, /* fmt_unwind + its two programs: how to unwind a frame of this code */
	FMT_SYM_CODE = 6,   /* fmt_code + bytes of an image's code */
	FMT_SYM_NOTE = 9,   /* fmt_note + text: why symbols of an image are missing */
};

/* The meaning of places (`start`, `at`) in an image. */
enum fmt_image_kind {
	FMT_IMAGE_KERNEL = 0, /* "[kernel.kallsyms]" or a module, "[ext4]": addresses */
	FMT_IMAGE_FILE = 1,   /* a mapped file or [vdso]: offsets in the file */
	FMT_IMAGE_TASK = 2,   /* code generated at run time: addresses of the process */
};

struct fmt_image {
	uint32_t id;
	uint8_t kind;		/* enum fmt_image_kind */
	uint8_t build_id_bytes; /* 0: unknown */
	uint16_t reserved;
	uint8_t build_id[20];
	uint32_t key; /* TASK: of the process */
	uint64_t ino; /* FILE: as in fmt_map; 0: unknown */
	uint64_t ino_generation;
	uint32_t maj, min;
};

struct fmt_function {
	uint32_t image;
	uint32_t reserved;
	uint64_t start;
	uint64_t bytes;
};

/* Source line of place `at`. In inlined functions one per function: `depth` 0 is the innermost, the
 * last is the function that contains them. */
struct fmt_place {
	uint32_t image;
	uint32_t depth;
	uint64_t at;
	uint32_t line;		 /* from 1; 0: unknown */
	uint32_t function_bytes; /* of the name, with its NUL */
};

/* A segment of a FILE, from its program headers. Relates places to addresses, so that a separate
 * debug file can be used without the file. */
struct fmt_segment {
	uint32_t image;
	uint32_t flags; /* FMT_SEGMENT_* */
	uint64_t value; /* virtual address as linked */
	uint64_t offset;
	uint64_t bytes;
};

#define FMT_SEGMENT_DATA 1u /* no code: unwind tables, constants, variables */

/* Call frame information of a FILE's code (DWARF 4, 6.4) in self-contained form. */
struct fmt_unwind {
	uint32_t image;
	uint32_t flags; /* FMT_UNWIND_* */
	uint64_t start; /* as in fmt_function */
	uint64_t bytes;
	uint32_t code_align;
	int32_t data_align;
	uint32_t return_register;
	uint32_t initial_bytes; /* of the first program; the rest is the second */
};

#define FMT_UNWIND_SIGNAL 1u /* signal frame: the caller was interrupted and did not call */
#define FMT_UNWIND_SWITCH 2u /* functions that it calls run on another stack */

/* Code that a hardware trace passed through, in whole pages except at a file's end. */
struct fmt_code {
	uint32_t image;
	uint32_t reserved;
	uint64_t start; /* as in fmt_function */
};

struct fmt_note {
	uint32_t image;
	uint32_t reserved;
};

/* ---- CGROUPS: those with a CPU quota or a memory limit, and names of containers ---- */
enum {
	FMT_CGROUP = 1,	     /* fmt_cgroup + u32 pids[nr_pids] + path below its hierarchy's mount */
	FMT_CGROUP_TIME = 2, /* u64 since_ns, u64 at_ns; present even without groups */
	FMT_CGROUP_NAMES = 3, /* texts, each ended by a NUL: id of a container or a pod, as in paths
			       * of control groups; runtime, namespace, pod, container */
};

struct fmt_cgroup {
	uint32_t version;	  /* of the hierarchy: 1, 2 */
	uint32_t flags;		  /* FMT_CGROUP_* */
	uint64_t since_ns, at_ns; /* the time that the counters cover */
	uint64_t quota_ns;	  /* CPU time in each period, of all its threads; 0: no quota */
	uint64_t period_ns;
	uint64_t nr_throttled; /* periods in which it was throttled */
	uint64_t throttled_ns;
	uint64_t memory_limit_bytes; /* 0: none */
	uint64_t memory_bytes;	     /* in use at at_ns */
	uint64_t nr_limit_hits;	     /* allocations that met the limit */
	uint64_t nr_oom_kills;
	uint32_t nr_pids; /* processes in it and below, at at_ns; at most FMT_CGROUP_MAX_PIDS */
	uint32_t reserved;
};

#define FMT_CGROUP_NEW	     1u /* created after since_ns: its counters began with it */
#define FMT_CGROUP_MORE	     2u /* more processes than listed */
#define FMT_CGROUP_MAX_PIDS  256u
#define FMT_CGROUP_MAX_NAMES 1024u

/* ---- THREADS: what /proc said of the threads right after the freeze ---- */
enum {
	FMT_THREADS_READ = 1, /* fmt_threads; present even without threads */
	FMT_THREAD_STATE = 2, /* fmt_thread_state + u64 cpus[nr_cpu_words] + texts, each ended by a
			       * NUL: wait channel, file, protocol, local address, remote one */
};

struct fmt_threads {
	uint64_t from_ns, to_ns; /* reading began and ended */
	uint32_t nr_threads;	 /* FMT_THREAD_STATE items */
	uint32_t nr_left_out;	 /* threads not read for lack of time */
	uint32_t nr_denied;	/* threads whose system call the recorder was not allowed to read */
	uint32_t nr_unsearched; /* processes whose files were not searched for other ends */
};

struct fmt_thread_state {
	uint64_t ns; /* when it was read */
	uint32_t tid, pid;
	uint8_t state;	/* letter of /proc/PID/stat: R, S, D, T, t, ... */
	uint8_t policy; /* SCHED_*, with FMT_THREAD_SCHED; so are the next two */
	int8_t nice;
	uint8_t rt_priority;
	uint32_t flags;		 /* FMT_THREAD_* */
	int32_t syscall;	 /* -1: asleep outside of one; with FMT_THREAD_SYSCALL */
	int32_t fd;		 /* that it waits for; -1: none */
	uint64_t args[6];	 /* with FMT_THREAD_SYSCALL and syscall >= 0 */
	uint64_t sp, pc;	 /* with FMT_THREAD_SYSCALL */
	uint64_t timer_slack_ns; /* 0: unknown */
	uint64_t nr_voluntary;	 /* context switches since its start */
	uint64_t nr_involuntary;
	uint32_t stop_signal; /* state T, t: that stopped it; 0: unknown */
	uint32_t tracer_pid;
	uint32_t futex_word;  /* value of the futex that it waits for; with FMT_THREAD_FUTEX */
	uint32_t futex_owner; /* tid of the thread that holds this lock; 0: unknown */
	uint32_t peers[4];    /* processes at the other end of `fd`, the first of nr_peers */
	uint32_t nr_peers;
	uint32_t nr_cpu_words; /* of its affinity mask, CPU 0 in bit 0; 0: unknown */
};

#define FMT_THREAD_SCHED	 1u
#define FMT_THREAD_SYSCALL	 2u
#define FMT_THREAD_FUTEX	 4u
#define FMT_THREAD_KERNEL	 8u /* a kernel thread */
#define FMT_THREAD_MAX_PEERS	 4u
#define FMT_THREAD_MAX_CPU_WORDS 16u

/* ---- STATS ---- */
enum {
	FMT_STATS_DUMP = 1,	/* fmt_dump_stats */
	FMT_STATS_SIDEBAND = 2, /* fmt_sideband_stats */
	FMT_STATS_SALVAGE = 3,	/* fmt_salvage: this file was salvaged from a damaged one */
	FMT_STATS_SYMBOLS = 4,	/* fmt_symbol_stats: statistics of symbol collection */
	FMT_STATS_CUT = 5, /* text: why writing was cut short; the oldest records are missing */
};

struct fmt_dump_stats {
	uint64_t enable_ns; /* time to enable the spare banks */
	uint64_t pause_ns;  /* first to last ring paused: the freeze skew */
	uint64_t disable_ns;
	uint64_t barrier_ns; /* wait until the kernel no longer writes to the frozen rings */
	uint64_t signal_ns;  /* hit to last ring paused, without post time */
	uint64_t walk_ns;    /* time to find the windows */
	uint64_t write_ns;   /* time to pack, compress and write, up to this item */
	uint64_t nr_rings;
	uint64_t ring_bytes; /* sum of fmt_window.bytes */
	uint64_t nr_dumps;   /* committed by this recorder before */
	uint64_t nr_refused; /* dumps that could not be written (disk) */
	uint64_t nr_hits;    /* hits of all rules since start */
	uint64_t nr_held;    /* of these, suppressed by a cooldown or a limit */
	uint64_t cpu_ns;     /* CPU time of the recorder since start */
	uint64_t rss_bytes;
};

struct fmt_sideband_stats {
	uint64_t nr_records;
	uint64_t nr_lost; /* PERF_RECORD_LOST of the sideband: repaired by a scan */
	uint64_t nr_scans;
	uint64_t nr_wakeups;
	uint64_t ledger_bytes;
	uint64_t nr_tasks; /* alive and tombstones */
	uint64_t nr_tombstones;
	uint64_t nr_evicted; /* dropped early because of the memory limit: names may be missing */
};

/* How symbol collection ended; symbols found until then are in the dump. */
enum fmt_symbols_end {
	FMT_SYMBOLS_DONE = 0,
	FMT_SYMBOLS_TIME = 1, /* time limit reached */
	FMT_SYMBOLS_HIT = 2,  /* stopped for the next dump */
	FMT_SYMBOLS_DIED = 3, /* the symbolizer process died */
	FMT_SYMBOLS_OFF = 4,  /* disabled (--symbols=off) */
	FMT_SYMBOLS_FAIL = 5, /* the symbolizer process could not be started */
	FMT_SYMBOLS_ROOM = 6, /* disk space exhausted */
};

struct fmt_symbol_stats {
	uint64_t ns; /* duration */
	uint64_t nr_blocks;
	uint64_t payload_bytes;
	uint32_t end; /* enum fmt_symbols_end */
	uint32_t reserved;
};

/* What was missing in the file that this one was salvaged from. */
struct fmt_salvage {
	uint64_t nr_bad_blocks;	  /* known to have existed, but damaged */
	uint64_t unclaimed_bytes; /* that belong to no block */
	uint64_t file_bytes;	  /* of the damaged file */
};

_Static_assert(sizeof(struct fmt_header) == 64, "fmt_header");
_Static_assert(offsetof(struct fmt_header, hash) == 56, "fmt_header.hash");
_Static_assert(sizeof(struct fmt_block) == 72, "fmt_block");
_Static_assert(offsetof(struct fmt_block, hash) == 64, "fmt_block.hash");
_Static_assert(sizeof(struct fmt_trailer) == 64, "fmt_trailer");
_Static_assert(offsetof(struct fmt_trailer, hash) == 56, "fmt_trailer.hash");
_Static_assert(sizeof(struct fmt_item) == 8, "fmt_item");
_Static_assert(sizeof(struct fmt_dir) == 56, "fmt_dir");
_Static_assert(sizeof(struct fmt_host) == 56, "fmt_host");
_Static_assert(sizeof(struct fmt_trigger) == 48, "fmt_trigger");
_Static_assert(sizeof(struct fmt_merged) == 24, "fmt_merged");
_Static_assert(sizeof(struct fmt_repeats) == 32, "fmt_repeats");
_Static_assert(sizeof(struct fmt_channel) == 40, "fmt_channel");
_Static_assert(sizeof(struct fmt_channel_horizon) == 16, "fmt_channel_horizon");
_Static_assert(sizeof(struct fmt_event) == 16, "fmt_event");
_Static_assert(sizeof(struct fmt_event_id) == 16, "fmt_event_id");
_Static_assert(sizeof(struct fmt_tracepoint) == 8, "fmt_tracepoint");
_Static_assert(sizeof(struct fmt_window) == 136, "fmt_window");
_Static_assert(sizeof(struct fmt_window_aux) == 152, "fmt_window_aux");
_Static_assert(sizeof(struct fmt_trace_stop) == 40, "fmt_trace_stop");
_Static_assert(sizeof(struct fmt_path) == 32, "fmt_path");
_Static_assert(sizeof(struct fmt_task) == 40, "fmt_task");
_Static_assert(sizeof(struct fmt_comm) == 32, "fmt_comm");
_Static_assert(sizeof(struct fmt_map) == 80, "fmt_map");
_Static_assert(sizeof(struct fmt_namespaces) == 8, "fmt_namespaces");
_Static_assert(sizeof(struct fmt_namespace) == 16, "fmt_namespace");
_Static_assert(sizeof(struct fmt_stay) == 24, "fmt_stay");
_Static_assert(sizeof(struct fmt_ksym) == 32, "fmt_ksym");
_Static_assert(sizeof(struct fmt_bpf) == 32, "fmt_bpf");
_Static_assert(sizeof(struct fmt_image) == 56, "fmt_image");
_Static_assert(sizeof(struct fmt_function) == 24, "fmt_function");
_Static_assert(sizeof(struct fmt_place) == 24, "fmt_place");
_Static_assert(sizeof(struct fmt_segment) == 32, "fmt_segment");
_Static_assert(sizeof(struct fmt_unwind) == 40, "fmt_unwind");
_Static_assert(sizeof(struct fmt_code) == 16, "fmt_code");
_Static_assert(sizeof(struct fmt_note) == 8, "fmt_note");
_Static_assert(sizeof(struct fmt_cgroup) == 96, "fmt_cgroup");
_Static_assert(sizeof(struct fmt_threads) == 32, "fmt_threads");
_Static_assert(sizeof(struct fmt_thread_state) == 160, "fmt_thread_state");
_Static_assert(sizeof(struct fmt_dump_stats) == 120, "fmt_dump_stats");
_Static_assert(sizeof(struct fmt_sideband_stats) == 64, "fmt_sideband_stats");
_Static_assert(sizeof(struct fmt_salvage) == 24, "fmt_salvage");
_Static_assert(sizeof(struct fmt_symbol_stats) == 32, "fmt_symbol_stats");
