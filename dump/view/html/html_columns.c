// SPDX-License-Identifier: MIT
/* Columns of numbers for the page; see html_impl.h. */
#include "dump/view/html/html_impl.h"

#include <errno.h>

static const char *const names[NR_COLUMNS] = {
	[COL_SPAN_GAP] = "spanGap",	    [COL_SPAN_NS] = "spanNs",
	[COL_SPAN_STATE] = "spanState",	    [COL_SPAN_FLAGS] = "spanFlags",
	[COL_SPAN_CPU] = "spanCpu",	    [COL_SPAN_BY] = "spanBy",
	[COL_SPAN_CHAIN] = "spanChain",	    [COL_SPAN_BY_CHAIN] = "spanByChain",
	[COL_MERGED_RUN] = "mergedRun",	    [COL_MERGED_READY] = "mergedReady",
	[COL_MERGED_SLEEP] = "mergedSleep", [COL_MERGED_BLOCKED] = "mergedBlocked",
	[COL_SAMPLE_NS] = "sampleNs",	    [COL_SAMPLE_THREAD] = "sampleThread",
	[COL_SAMPLE_CPU] = "sampleCpu",	    [COL_SAMPLE_CHAIN] = "sampleChain",
	[COL_CHAIN_NODE] = "chainNode",	    [COL_NODE_PARENT] = "nodeParent",
	[COL_NODE_FRAME] = "nodeFrame",	    [COL_LIFE_NS] = "lifeNs",
	[COL_LIFE_TID] = "lifeTid",	    [COL_LIFE_OTHER] = "lifeOther",
	[COL_CALL_GAP] = "callGap",	    [COL_CALL_NS] = "callNs",
	[COL_CALL_DEPTH] = "callDepth",	    [COL_CALL_NAME] = "callName",
	[COL_CALL_FLAGS] = "callFlags",	    [COL_LIFE_KIND] = "lifeKind",
	[COL_LIFE_SIGNAL] = "lifeSignal",
};

#define LEB_MAX 10

void column_put(struct columns *c, enum column_id id, uint64_t v)
{
	struct buf *b = &c->b[id];

	if (b->cap - b->len < LEB_MAX && buf_reserve(b, b->len + 4096)) {
		c->rc = -ENOMEM;
		return;
	}
	for (; v >= 0x80; v >>= 7)
		b->p[b->len++] = (uint8_t)(v | 0x80);
	b->p[b->len++] = (uint8_t)v;
	c->nr[id]++;
}

void columns_clear(struct columns *c, enum column_id first, enum column_id last)
{
	for (int i = (int)first; i <= (int)last; i++) {
		c->b[i].len = 0;
		c->nr[i] = 0;
	}
}

void columns_free(struct columns *c)
{
	for (int i = 0; i < NR_COLUMNS; i++)
		buf_free(&c->b[i]);
}

const char *column_name(enum column_id id)
{
	return names[id];
}
