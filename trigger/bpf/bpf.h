/* SPDX-License-Identifier: MIT */
/*
 * BPF without a compiler: instructions one by one with labels, maps, loading, and putting a program
 * on an event. The only caller of bpf(2).
 *
 *	struct bpf_code c = {0};
 *	int end = bpf_label(&c);
 *
 *	bpf_call(&c, BPF_FUNC_ktime_get_ns);
 *	bpf_jump_imm(&c, BPF_JEQ, BPF_REG_0, 0, end);
 *	...
 *	bpf_place(&c, end);
 *	bpf_return(&c, 0);
 *	rc = bpf_load(&c, BPF_PROG_TYPE_KPROBE, "latency", &fd, err);
 *
 * Mistakes (too many instructions, a label that is nowhere, a jump too far) are kept in the code
 * and told by bpf_load(), so that nothing has to be checked in between. Programs run in the kernel
 * without us once they are on an event; they end with the event's descriptor, also when the
 * recorder is killed.
 */
#pragma once

#include <linux/bpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct perf_event_attr;

#define BPF_CODE_MAX   512
#define BPF_LABELS_MAX 64

struct bpf_code {
	struct bpf_insn v[BPF_CODE_MAX];
	size_t nr;
	/* Where a label stands, plus one; and which label a jump goes to, plus one. */
	uint16_t places[BPF_LABELS_MAX];
	uint8_t targets[BPF_CODE_MAX];
	int nr_labels;
	const char *fault; /* the first mistake; NULL: none */
};

/* ---- instructions; `size` is BPF_DW (8 bytes), BPF_W, BPF_H or BPF_B ---- */

void bpf_move(struct bpf_code *c, int dst, int src);
void bpf_move_imm(struct bpf_code *c, int dst, int32_t imm);
void bpf_imm64(struct bpf_code *c, int dst, uint64_t imm);
/* BPF_ADD, BPF_SUB, BPF_AND, ... on 64 bits. */
void bpf_alu(struct bpf_code *c, int op, int dst, int src);
void bpf_alu_imm(struct bpf_code *c, int op, int dst, int32_t imm);
/* dst = *(src + off) */
void bpf_get(struct bpf_code *c, int size, int dst, int src, int off);
/* *(dst + off) = src */
void bpf_put(struct bpf_code *c, int size, int dst, int off, int src);
void bpf_put_imm(struct bpf_code *c, int size, int dst, int off, int32_t imm);
/* *(dst + off) += src, atomically, 64 bits */
void bpf_add_to(struct bpf_code *c, int dst, int off, int src);
/* The address of a map, and one in the frame: r10 + off. */
void bpf_map(struct bpf_code *c, int dst, int map_fd);
void bpf_frame(struct bpf_code *c, int dst, int off);
/* A function of the kernel by its number, BPF_FUNC_*; r1 to r5 are lost, the result is in r0. */
void bpf_call(struct bpf_code *c, int func);
void bpf_return(struct bpf_code *c, int32_t imm);

/* A new label; it stands where bpf_place() is called, once. */
int bpf_label(struct bpf_code *c);
void bpf_place(struct bpf_code *c, int label);
void bpf_jump(struct bpf_code *c, int label);
/* BPF_JEQ, BPF_JNE, BPF_JGT, BPF_JLE, ..., unsigned: if (dst op src) goto label. */
void bpf_jump_if(struct bpf_code *c, int op, int dst, int src, int label);
void bpf_jump_imm(struct bpf_code *c, int op, int dst, int32_t imm, int label);

/* ---- maps ---- */

struct bpf_map_options {
	enum bpf_map_type type;
	uint32_t key_bytes, value_bytes, max_entries;
	const char *name; /* as bpftool shows it: at most 15 letters, digits and _ */
};

/* A descriptor in *fd. 0 or -errno with what to type. */
int bpf_map_open(const struct bpf_map_options *o, int *fd, struct err *err);
/* 0 or -errno. */
int bpf_map_set(int fd, const void *key, const void *value);
int bpf_map_get(int fd, const void *key, void *value);
int bpf_map_delete(int fd, const void *key);
/* The key behind `key` (NULL: the first); -ENOENT: there is none. */
int bpf_map_next(int fd, const void *key, void *next);
/* CPUs that may ever be there: a per-CPU map has a value of each, 8-byte aligned. */
uint32_t bpf_nr_cpus(void);

/* ---- programs ---- */

/* With the verifier's last words in the error. 0 or -errno. */
int bpf_load(const struct bpf_code *c, enum bpf_prog_type type, const char *name, int *fd,
	     struct err *err);

/*
 * An event of `attr` (a tracepoint or a probe) that only runs the program: nothing is counted or
 * sampled, no ring is needed. It is never enabled: a program runs for hits on all CPUs from the
 * moment that it is set (trace_call_bpf() comes before the lists of enabled events are looked at),
 * so one event does for all of them, and the CPU it was opened on may go offline.
 *
 * On a tracepoint the program must return 1: 0 would take the sample from everybody else who
 * records that tracepoint, the recorder's own rings included.
 */
int bpf_attach(const struct perf_event_attr *attr, const char *name, int prog_fd, int *fd,
	       struct err *err);

/* How often a program was to run and could not, as another ran on that CPU; 0 when unknown. */
uint64_t bpf_nr_missed(int prog_fd);
