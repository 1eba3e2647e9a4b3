/* SPDX-License-Identifier: MIT */
/*
 * Templates for the sentences of the verdict. "{thread} waited {time} for {thread}" takes one
 * argument for each placeholder, in order and of the named kind, so that sentences stay in one
 * piece. "{s}" and "{es}" are the plural endings for the last "{nr}".
 */
#pragma once

#include <stdint.h>

struct chain_frame;
struct finding;
struct text;
struct why;

enum phrase_kind {
	PHRASE_THREAD,	 /* "checkout (1425)" */
	PHRASE_NAME,	 /* "checkout" */
	PHRASE_TASK,	 /* as thread, but for a tid at a time */
	PHRASE_TIME,	 /* "812 ms" */
	PHRASE_FUNCTION, /* "render_report()" */
	PHRASE_TEXT,	 /* untrusted text, made safe for a terminal */
	PHRASE_NR,
	PHRASE_PERCENT, /* of a share: "62 %" */
	PHRASE_SHARE,	/* of a share: "62.4 %" */
	PHRASE_PRIO,	/* "nice 5", "real-time priority 50" */
};

struct phrase_arg {
	enum phrase_kind kind;
	uint64_t n, at_ns;
	double share;
	const void *p;
};

#define SAY_THREAD(thread)                                                                         \
	{                                                                                          \
		.kind = PHRASE_THREAD, .n = (thread)                                               \
	}
#define SAY_NAME(thread)                                                                           \
	{                                                                                          \
		.kind = PHRASE_NAME, .n = (thread)                                                 \
	}
#define SAY_TASK(tid, ns)                                                                          \
	{                                                                                          \
		.kind = PHRASE_TASK, .n = (tid), .at_ns = (ns)                                     \
	}
#define SAY_TIME(ns)                                                                               \
	{                                                                                          \
		.kind = PHRASE_TIME, .n = (ns)                                                     \
	}
#define SAY_FUNCTION(frame)                                                                        \
	{                                                                                          \
		.kind = PHRASE_FUNCTION, .p = (frame)                                              \
	}
#define SAY_TEXT(s)                                                                                \
	{                                                                                          \
		.kind = PHRASE_TEXT, .p = (s)                                                      \
	}
#define SAY_NR(nr)                                                                                 \
	{                                                                                          \
		.kind = PHRASE_NR, .n = (uint64_t)(nr)                                             \
	}
#define SAY_PERCENT(x)                                                                             \
	{                                                                                          \
		.kind = PHRASE_PERCENT, .share = (x)                                               \
	}
#define SAY_SHARE(x)                                                                               \
	{                                                                                          \
		.kind = PHRASE_SHARE, .share = (x)                                                 \
	}
#define SAY_PRIO(prio)                                                                             \
	{                                                                                          \
		.kind = PHRASE_PRIO, .n = (uint64_t)(int64_t)(prio)                                \
	}

/* The arguments follow the template; args[0] is ignored. */
void phrase_put(const struct why *w, struct text *t, const char *phrase,
		const struct phrase_arg *args);
#define why_phrase(w, t, phrase, ...)                                                              \
	phrase_put(w, t, phrase, (const struct phrase_arg[]){{0}, ##__VA_ARGS__})

/* A whole line of evidence. */
#define finding_say(w, f, label, phrase, ...)                                                      \
	why_phrase(w, finding_line(f, label), phrase "\n", ##__VA_ARGS__)
