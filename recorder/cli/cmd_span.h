/* SPDX-License-Identifier: MIT */
/* --from and --to of commands that read a dump: times relative to its trigger. */
#pragma once

#include "recorder/cli/cmd.h"

struct cmd_dump;

struct cmd_span {
	bool has_from, has_to;
	int64_t from_ns, to_ns; /* relative to the trigger */
};

/* The option rows for a command that stores a struct cmd_span in the field `span` of `type`. */
#define CMD_SPAN_ROWS(type, span)                                                                  \
	{"from",                                                                                   \
	 0,                                                                                        \
	 "T",                                                                                      \
	 OPTION_OWN,                                                                               \
	 offsetof(type, span),                                                                     \
	 .set = cmd_span_from,                                                                     \
	 .help = "start at this time, relative to the trigger: -200ms, +50us, -1.5s"},             \
	{                                                                                          \
		"to", 0, "T", OPTION_OWN, offsetof(type, span), .set = cmd_span_to,                \
								.help = "end at this time"         \
	}

int cmd_span_from(void *span, const char *arg, struct err *err);
int cmd_span_to(void *span, const char *arg, struct err *err);
/* EXIT_FINE; EXIT_USAGE when --from is after --to. */
int cmd_span_check(const struct command *c, const struct cmd_span *s);
/* Converts to the dump's clock; 0 and UINT64_MAX for an option that was not given. EXIT_FINE;
 * EXIT_USAGE, with a message, when --from is after the end of the dump. */
int cmd_span_of(const struct cmd_span *s, const struct cmd_dump *d, uint64_t *from_ns,
		uint64_t *to_ns);
