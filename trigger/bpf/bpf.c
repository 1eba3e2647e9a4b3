// SPDX-License-Identifier: MIT
/*
 * A small assembler and loader for BPF; see bpf.h. Jumps are resolved when the program is loaded,
 * in a copy, so that one code may be loaded more than once.
 */
#include "trigger/bpf/bpf.h"

#include "dump/base/err.h"
#include "dump/base/str.h"
#include "trigger/kernel/event.h"
#include "trigger/kernel/settings.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOG_BYTES (256u << 10)

/* Newer than some C libraries' headers. */
#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif
#ifndef CAP_BPF
#define CAP_BPF 39
#endif

static int sys_bpf(int cmd, union bpf_attr *attr)
{
	long rc = syscall(SYS_bpf, cmd, attr, sizeof(*attr));

	return rc < 0 ? -errno : (int)rc;
}

/* ---- instructions ---- */

static void blame(struct bpf_code *c, const char *fault)
{
	if (!c->fault)
		c->fault = fault;
}

static void emit(struct bpf_code *c, uint8_t code, int dst, int src, int off, int32_t imm)
{
	if (c->nr == BPF_CODE_MAX) {
		blame(c, "too many instructions");
		return;
	}
	if (off < INT16_MIN || off > INT16_MAX)
		blame(c, "an offset is too large");
	c->v[c->nr++] = (struct bpf_insn){.code = code,
					  .dst_reg = (uint8_t)(dst & 15),
					  .src_reg = (uint8_t)(src & 15),
					  .off = (int16_t)off,
					  .imm = imm};
}

void bpf_move(struct bpf_code *c, int dst, int src)
{
	emit(c, BPF_ALU64 | BPF_MOV | BPF_X, dst, src, 0, 0);
}

void bpf_move_imm(struct bpf_code *c, int dst, int32_t imm)
{
	emit(c, BPF_ALU64 | BPF_MOV | BPF_K, dst, 0, 0, imm);
}

void bpf_imm64(struct bpf_code *c, int dst, uint64_t imm)
{
	emit(c, BPF_LD | BPF_DW | BPF_IMM, dst, 0, 0, (int32_t)(uint32_t)imm);
	emit(c, 0, 0, 0, 0, (int32_t)(uint32_t)(imm >> 32));
}

void bpf_alu(struct bpf_code *c, int op, int dst, int src)
{
	emit(c, (uint8_t)(BPF_ALU64 | op | BPF_X), dst, src, 0, 0);
}

void bpf_alu_imm(struct bpf_code *c, int op, int dst, int32_t imm)
{
	emit(c, (uint8_t)(BPF_ALU64 | op | BPF_K), dst, 0, 0, imm);
}

void bpf_get(struct bpf_code *c, int size, int dst, int src, int off)
{
	emit(c, (uint8_t)(BPF_LDX | BPF_MEM | size), dst, src, off, 0);
}

void bpf_put(struct bpf_code *c, int size, int dst, int off, int src)
{
	emit(c, (uint8_t)(BPF_STX | BPF_MEM | size), dst, src, off, 0);
}

void bpf_put_imm(struct bpf_code *c, int size, int dst, int off, int32_t imm)
{
	emit(c, (uint8_t)(BPF_ST | BPF_MEM | size), dst, 0, off, imm);
}

void bpf_add_to(struct bpf_code *c, int dst, int off, int src)
{
	/* BPF_ATOMIC with BPF_ADD, called BPF_XADD before Linux 5.12. */
	emit(c, BPF_STX | 0xc0 | BPF_DW, dst, src, off, BPF_ADD);
}

void bpf_map(struct bpf_code *c, int dst, int map_fd)
{
	emit(c, BPF_LD | BPF_DW | BPF_IMM, dst, BPF_PSEUDO_MAP_FD, 0, map_fd);
	emit(c, 0, 0, 0, 0, 0);
}

void bpf_frame(struct bpf_code *c, int dst, int off)
{
	bpf_move(c, dst, BPF_REG_10);
	bpf_alu_imm(c, BPF_ADD, dst, off);
}

void bpf_call(struct bpf_code *c, int func)
{
	emit(c, BPF_JMP | BPF_CALL, 0, 0, 0, func);
}

void bpf_return(struct bpf_code *c, int32_t imm)
{
	bpf_move_imm(c, BPF_REG_0, imm);
	emit(c, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

int bpf_label(struct bpf_code *c)
{
	if (c->nr_labels < BPF_LABELS_MAX)
		return c->nr_labels++;
	blame(c, "too many labels");
	return 0;
}

void bpf_place(struct bpf_code *c, int label)
{
	if (c->places[label])
		blame(c, "a label stands twice");
	c->places[label] = (uint16_t)(c->nr + 1);
}

static void jump(struct bpf_code *c, int op, int dst, int src, int32_t imm, int label)
{
	if (c->nr < BPF_CODE_MAX)
		c->targets[c->nr] = (uint8_t)(label + 1);
	emit(c, (uint8_t)(BPF_JMP | op), dst, src, 0, imm);
}

void bpf_jump(struct bpf_code *c, int label)
{
	jump(c, BPF_JA, 0, 0, 0, label);
}

void bpf_jump_if(struct bpf_code *c, int op, int dst, int src, int label)
{
	jump(c, op | BPF_X, dst, src, 0, label);
}

void bpf_jump_imm(struct bpf_code *c, int op, int dst, int32_t imm, int label)
{
	jump(c, op | BPF_K, dst, 0, imm, label);
}

/* ---- what is not allowed ---- */

static int refuse(struct err *err, int code, const char *what)
{
	int64_t v;

	err_sys(err, code, "the kernel refuses %s", what);
	if (code == -ENOSYS)
		err_hint(err,
			 "this kernel has no bpf(2): use one with CONFIG_BPF_SYSCALL, or rules "
			 "such as event: and psi:");
	else if (code != -EPERM && code != -EACCES)
		;
	else if (!(setting_capable(CAP_BPF) && setting_capable(CAP_PERFMON)) &&
		 !setting_capable(CAP_SYS_ADMIN))
		err_hint(err,
			 "rules on latency are decided by BPF programs in the kernel: run as root, "
			 "or "
			 "sudo setcap cap_bpf,cap_perfmon,cap_dac_read_search+ep %s%s",
			 setting_program((char[256]){0}, 256),
			 setting_number("kernel/unprivileged_bpf_disabled", &v) && v
				 ? "  (kernel.unprivileged_bpf_disabled lets nobody else)"
				 : "");
	else
		err_hint(err, "a locked-down kernel does not let BPF programs read: "
			      "cat /sys/kernel/security/lockdown");
	return code;
}

/* ---- maps ---- */

/* Until Linux 5.11 maps count as locked memory. */
static void raise_memlock(void)
{
	struct rlimit r = {RLIM_INFINITY, RLIM_INFINITY};

	setrlimit(RLIMIT_MEMLOCK, &r);
}

int bpf_map_open(const struct bpf_map_options *o, int *fd, struct err *err)
{
	union bpf_attr a;
	char what[100];
	int rc;

	memset(&a, 0, sizeof(a));
	a.map_type = o->type;
	a.key_size = o->key_bytes;
	a.value_size = o->value_bytes;
	a.max_entries = o->max_entries;
	snprintf(a.map_name, sizeof(a.map_name), "%s", o->name);
	rc = sys_bpf(BPF_MAP_CREATE, &a);
	if (rc == -EPERM && setting_capable(CAP_SYS_RESOURCE)) {
		raise_memlock();
		rc = sys_bpf(BPF_MAP_CREATE, &a);
	}
	snprintf(what, sizeof(what), "a BPF map of %u entries", o->max_entries);
	if (rc < 0)
		return refuse(err, rc, what);
	*fd = rc;
	return 0;
}

static int map_op(int cmd, int fd, const void *key, void *value)
{
	union bpf_attr a;

	memset(&a, 0, sizeof(a));
	a.map_fd = (uint32_t)fd;
	a.key = (uintptr_t)key;
	a.value = (uintptr_t)value;
	return sys_bpf(cmd, &a);
}

int bpf_map_set(int fd, const void *key, const void *value)
{
	return map_op(BPF_MAP_UPDATE_ELEM, fd, key, (void *)value);
}

int bpf_map_get(int fd, const void *key, void *value)
{
	return map_op(BPF_MAP_LOOKUP_ELEM, fd, key, value);
}

int bpf_map_delete(int fd, const void *key)
{
	return map_op(BPF_MAP_DELETE_ELEM, fd, key, NULL);
}

int bpf_map_next(int fd, const void *key, void *next)
{
	return map_op(BPF_MAP_GET_NEXT_KEY, fd, key, next);
}

/* "0-7" or "0": one more than the last number. */
uint32_t bpf_nr_cpus(void)
{
	char line[256];
	const char *last = line;
	uint64_t v;

	if (!setting_line("/sys/devices/system/cpu/possible", line, sizeof(line)))
		return 4096;
	for (const char *p = line; *p; p++)
		if (*p == '-' || *p == ',')
			last = p + 1;
	return str_u64(last, &v, NULL) || v >= 4096 ? 4096 : (uint32_t)v + 1;
}

/* ---- programs ---- */

static int link_jumps(const struct bpf_code *c, struct bpf_insn *v, struct err *err)
{
	const char *fault = c->fault;

	for (size_t i = 0; i < c->nr && !fault; i++) {
		int place;

		if (!c->targets[i])
			continue;
		place = c->places[c->targets[i] - 1];
		if (!place)
			fault = "a label stands nowhere";
		v[i].off = (int16_t)(place - 1 - (int)i - 1);
	}
	return fault ? err_set(err, -EINVAL, "a BPF program is wrong: %s", fault) : 0;
}

/* The last lines of the log, on one. */
static void last_words(const char *log, char *out, size_t n)
{
	size_t len = strlen(log), from;

	while (len && log[len - 1] == '\n')
		len--;
	/* The summary ("processed 12 insns ...") says nothing of the reason. */
	for (from = len; from && log[from - 1] != '\n'; from--)
		;
	if (from && !strncmp(log + from, "processed ", 10))
		for (len = from - 1; len && log[len - 1] == '\n'; len--)
			;
	from = len > 300 ? len - 300 : 0;
	str_safe(out, n, log + from, len - from);
}

static int explain(union bpf_attr *a, int code, const char *name, struct err *err)
{
	char *log = calloc(1, LOG_BYTES), words[500] = "", what[80];

	snprintf(what, sizeof(what), "the BPF program '%s'", name);
	refuse(err, code, what);
	if (!log)
		return code;
	a->log_buf = (uintptr_t)log;
	a->log_size = LOG_BYTES;
	a->log_level = 1;
	sys_bpf(BPF_PROG_LOAD, a);
	last_words(log, words, sizeof(words));
	free(log);
	if (words[0])
		err_sys(err, code, "the kernel refuses the BPF program '%s': %s", name, words);
	return code;
}

int bpf_load(const struct bpf_code *c, enum bpf_prog_type type, const char *name, int *fd,
	     struct err *err)
{
	struct bpf_insn v[BPF_CODE_MAX];
	union bpf_attr a;
	int rc;

	memcpy(v, c->v, sizeof(v));
	rc = link_jumps(c, v, err);
	if (rc)
		return rc;
	memset(&a, 0, sizeof(a));
	a.prog_type = type;
	a.insns = (uintptr_t)v;
	a.insn_cnt = (uint32_t)c->nr;
	/* Most functions of the kernel that tell of tasks and time want one of the GPL's kin. */
	a.license = (uintptr_t) "Dual MIT/GPL";
	snprintf(a.prog_name, sizeof(a.prog_name), "%s", name);
	rc = sys_bpf(BPF_PROG_LOAD, &a);
	if (rc == -EPERM && setting_capable(CAP_SYS_RESOURCE)) {
		raise_memlock();
		rc = sys_bpf(BPF_PROG_LOAD, &a);
	}
	if (rc < 0)
		return explain(&a, rc, name, err);
	*fd = rc;
	return 0;
}

static int any_cpu(void)
{
	int cpu = 0;

	while (cpu < 4096 && !setting_cpu_online(cpu))
		cpu++;
	return cpu;
}

int bpf_attach(const struct perf_event_attr *attr, const char *name, int prog_fd, int *fd,
	       struct err *err)
{
	struct perf_event_attr a = *attr;
	int cpu = any_cpu(), event, rc;

	a.size = sizeof(a);
	a.sample_period = 0;
	a.sample_type = 0;
	a.freq = 0;
	a.wakeup_events = 0;
	a.disabled = 1;
	event = event_open(&a, -1, cpu, -1, 0);
	if (event < 0)
		return event_strerror(err, event, name, &a, -1, cpu, 0, NULL);
	if (ioctl(event, PERF_EVENT_IOC_SET_BPF, prog_fd)) {
		char what[300];

		rc = -errno;
		snprintf(what, sizeof(what), "a BPF program on %s", name);
		refuse(err, rc, what);
		if (rc == -E2BIG)
			err_hint(err, "at most 64 programs may be on one tracepoint");
		else if (rc == -EINVAL)
			err_hint(err, "use a kernel with CONFIG_BPF_EVENTS");
		close(event);
		return rc;
	}
	*fd = event;
	return 0;
}

uint64_t bpf_nr_missed(int prog_fd)
{
	struct bpf_prog_info info;
	union bpf_attr a;

	memset(&a, 0, sizeof(a));
	memset(&info, 0, sizeof(info));
	a.info.bpf_fd = (uint32_t)prog_fd;
	a.info.info_len = sizeof(info);
	a.info.info = (uintptr_t)&info;
	return sys_bpf(BPF_OBJ_GET_INFO_BY_FD, &a) ? 0 : info.recursion_misses;
}
