// SPDX-License-Identifier: MIT
/*
 * Channels as text, "NAME:EVENT,..;size=SIZE;stack=KIND;records=KIND", and the list of channels from presets, -e
 * and --channel. event.c parses the events.
 */
#include "recorder/config/config.h"

#include "dump/base/array.h"
#include "dump/base/err.h"
#include "dump/base/str.h"
#include "recorder/config/config_row.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EVENTS_CHANNEL "events" /* of -e */
#define RING_MIN       4096
#define HORIZON_MIN_NS 1000000000ll
#define HORIZON_MAX_NS 3600000000000ll

/* Length up to the next ';' outside [...]; a quoted ']' does not end the brackets. */
static size_t part_len(const char *p)
{
	size_t i;
	int depth = 0;
	char quote = 0;

	for (i = 0; p[i] && (p[i] != ';' || depth); i++) {
		if (quote)
			quote = p[i] == quote ? 0 : quote;
		else if (depth && (p[i] == '"' || p[i] == '\''))
			quote = p[i];
		else if (p[i] == '[')
			depth++;
		else if (p[i] == ']' && depth)
			depth--;
	}
	return i;
}

/* "8M", or a time: "30s". What may be both is a size: "5m". */
static int ring_size(const char *text, uint64_t *bytes, int64_t *horizon_ns, struct err *err)
{
	int rc = str_size(text, bytes, NULL);

	*horizon_ns = 0;
	if (rc == -EINVAL && !str_time(text, horizon_ns, NULL)) {
		*bytes = 0;
		return config_horizon_check(*horizon_ns, err);
	}
	if (rc) {
		str_size(text, bytes, err);
		err_hint(err, "write a size with K, M or G, such as 8M, or a time, such as 30s");
	} else if (*bytes < RING_MIN || *bytes > 64ull << 30) {
		rc = err_set(err, -ERANGE, "size=%s is out of range", text);
		err_hint(err, "from 4K to 64G is possible, per CPU and bank");
	}
	return rc;
}

int config_horizon_check(int64_t ns, struct err *err)
{
	if (ns >= HORIZON_MIN_NS && ns <= HORIZON_MAX_NS)
		return 0;
	err_set(err, -ERANGE, "rings can't be sized for that time");
	err_hint(err, "from 1s to 1h is possible");
	return -ERANGE;
}

static int channel_size(struct config_channel *ch, const char *text, struct err *err)
{
	int rc = ring_size(text, &ch->ring_bytes, &ch->horizon_ns, err);

	ch->ring_bytes_given = !rc && ch->ring_bytes;
	ch->horizon_given = !rc && ch->horizon_ns;
	return rc;
}

/* One "size=8M" or "stack=fp". */
static int channel_option(struct config_channel *ch, const char *text, struct err *err)
{
	int rc;

	if (!strncmp(text, "size=", 5))
		return channel_size(ch, text + 5, err);
	if (!strncmp(text, "stack=", 6)) {
		rc = config_stack_parse(text + 6, &ch->stack, &ch->stack_bytes, err);
		ch->stack_given = !rc;
		return rc;
	}
	if (!strcmp(text, "records=compact") || !strcmp(text, "records=perf")) {
		ch->compact = text[8] == 'c';
		return 0;
	}
	err_set(err, -EINVAL, "a channel has no option '%s'", text);
	err_hint(err, "its options are size=SIZE, size=TIME, stack=none|fp|dwarf:SIZE and "
		      "records=compact|perf");
	return -EINVAL;
}

static int channel_options(struct config_channel *ch, const char *p, struct err *err)
{
	int rc = 0;

	while (!rc && *p == ';') {
		size_t len = part_len(++p);
		char *one = strndup(p, len);

		if (!one)
			return config_no_memory(err);
		if (len)
			rc = channel_option(ch, one, err);
		free(one);
		p += len;
	}
	return rc;
}

int config_channel_parse(const char *text, struct config_channel *out, struct err *err)
{
	struct config_channel ch = {0};
	const char *colon = strchr(text, ':');
	size_t len;
	int rc;

	if (!colon) {
		err_set(err, -EINVAL, "channel '%s' names no events", text);
		err_hint(err, "write NAME:EVENT,.. such as sched:sched:sched_switch;size=4M");
		return -EINVAL;
	}
	len = part_len(colon + 1);
	ch.name = strndup(text, (size_t)(colon - text));
	ch.events = strndup(colon + 1, len);
	if (!ch.name || !ch.events) {
		rc = config_no_memory(err);
	} else if (!config_name_ok(ch.name)) {
		rc = err_set(err, -EINVAL, "'%s' can't be a channel's name", ch.name);
		err_hint(err, "use up to 31 letters, digits, - and _ before the first ':'");
	} else if (!len) {
		rc = err_set(err, -EINVAL, "channel '%s' names no events", ch.name);
		err_hint(err, "write %s:EVENT,.. such as %s:sched:sched_switch", ch.name, ch.name);
	} else {
		rc = channel_options(&ch, colon + 1 + len, err);
	}
	if (rc)
		config_channel_free(&ch);
	else
		*out = ch;
	return rc;
}

void config_channel_free(struct config_channel *channel)
{
	if (!channel)
		return;
	free(channel->name);
	free(channel->events);
	*channel = (struct config_channel){0};
}

void config_channels_free(struct config_channel *channels, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		config_channel_free(&channels[i]);
	free(channels);
}

/* ---- the list ---- */

struct channel_list {
	struct config_channel *v;
	size_t nr;
};

static struct config_channel *list_find(const struct channel_list *l, const char *name)
{
	for (size_t i = 0; i < l->nr; i++)
		if (!strcmp(l->v[i].name, name))
			return &l->v[i];
	return NULL;
}

/* Takes ownership of `ch`, also on failure. */
static int list_add(struct channel_list *l, struct config_channel *ch, struct err *err)
{
	if (!array_room(l->v, l->nr)) {
		config_channel_free(ch);
		return config_no_memory(err);
	}
	l->v[l->nr++] = *ch;
	return 0;
}

static int name_taken(const char *name, struct err *err)
{
	err_set(err, -EINVAL, "there are two channels named '%s'", name);
	err_hint(err, "give each channel a different name");
	return -EINVAL;
}

int config_add_channel(void *config, const char *text, struct err *err)
{
	struct config *c = config;
	struct channel_list l = {c->channels, c->nr_channels};
	struct config_channel ch;
	int rc = config_channel_parse(text, &ch, err);

	if (rc)
		return rc;
	if (list_find(&l, ch.name)) {
		rc = name_taken(ch.name, err);
		config_channel_free(&ch);
		return rc;
	}
	rc = list_add(&l, &ch, err);
	c->channels = l.v;
	c->nr_channels = l.nr;
	return rc;
}

int config_add_size(void *config, const char *text, struct err *err)
{
	struct config *c = config;
	const char *equals = strchr(text, '=');
	struct config_size one;
	int rc;

	if (!equals || equals == text) {
		rc = err_set(err, -EINVAL, "'%s' is not a channel and its size", text);
		err_hint(err,
			 "write NAME=SIZE, such as sched=64M, or NAME=TIME, such as sched=30s");
		return rc;
	}
	rc = ring_size(equals + 1, &one.bytes, &one.horizon_ns, err);
	if (rc)
		return rc;
	one.channel = strndup(text, (size_t)(equals - text));
	if (!one.channel || !array_room(c->sizes, c->nr_sizes)) {
		free(one.channel);
		return config_no_memory(err);
	}
	c->sizes[c->nr_sizes++] = one;
	return 0;
}

static int no_channel(const struct channel_list *l, const char *name, struct err *err)
{
	char names[512] = "";
	size_t n = 0;

	for (size_t i = 0; i < l->nr && n < sizeof(names); i++)
		n += (size_t)snprintf(names + n, sizeof(names) - n, "%s%s", i ? ", " : "",
				      l->v[i].name);
	err_set(err, -EINVAL, "--size %s: there is no channel '%s'", name, name);
	err_hint(err, "the channels are: %s", names);
	return -EINVAL;
}

static int apply_sizes(struct channel_list *l, const struct config *c, struct err *err)
{
	for (size_t i = 0; i < c->nr_sizes; i++) {
		struct config_channel *ch = list_find(l, c->sizes[i].channel);

		if (!ch)
			return no_channel(l, c->sizes[i].channel, err);
		if (c->sizes[i].bytes)
			ch->ring_bytes = c->sizes[i].bytes;
		ch->ring_bytes_given = c->sizes[i].bytes;
		ch->horizon_ns = c->sizes[i].horizon_ns;
		ch->horizon_given = ch->horizon_ns;
	}
	return 0;
}

/* Applies --horizon, -m and -g; `over`: even if the channel has its own size and stack. */
static void apply_common(const struct config *c, struct config_channel *ch, bool over)
{
	if (over || (!ch->ring_bytes && !ch->horizon_ns))
		ch->horizon_ns = c->horizon_ns;
	if (c->ring_bytes && (over || !ch->ring_bytes)) {
		ch->ring_bytes = c->ring_bytes;
		ch->ring_bytes_given = true;
	}
	if (c->stack_given && (over || !ch->stack_given)) {
		ch->stack = c->stack;
		ch->stack_bytes = c->stack_bytes;
	}
}

static int add_preset(struct channel_list *l, const struct config *c, struct err *err)
{
	const char *const *texts = c->preset ? preset_find(c->preset, c->plain_preset) : NULL;
	struct channel_list given = {c->channels, c->nr_channels};

	for (; texts && *texts; texts++) {
		struct config_channel ch;
		int rc = config_channel_parse(*texts, &ch, err);

		if (rc)
			return rc;
		if (list_find(&given, ch.name)) {
			config_channel_free(&ch);
			continue;
		}
		ch.ring_bytes_given = false;
		ch.optional = true;
		apply_common(c, &ch, true);
		rc = list_add(l, &ch, err);
		if (rc)
			return rc;
	}
	return 0;
}

/* Adds a copy of a given channel. */
static int add_given(struct channel_list *l, const struct config *c,
		     const struct config_channel *from, struct err *err)
{
	struct config_channel ch = *from;

	if (list_find(l, from->name))
		return name_taken(from->name, err);
	ch.name = strdup(from->name);
	ch.events = strdup(from->events);
	if (!ch.name || !ch.events) {
		config_channel_free(&ch);
		return config_no_memory(err);
	}
	apply_common(c, &ch, false);
	return list_add(l, &ch, err);
}

int config_channels(const struct config *c, struct config_channel **out, size_t *nr,
		    struct err *err)
{
	struct config_channel e = {.name = EVENTS_CHANNEL, .events = c->events};
	struct channel_list l = {0};
	int rc;

	rc = add_preset(&l, c, err);
	if (!rc && c->events)
		rc = add_given(&l, c, &e, err);
	for (size_t i = 0; !rc && i < c->nr_channels; i++)
		rc = add_given(&l, c, &c->channels[i], err);
	if (!rc)
		rc = apply_sizes(&l, c, err);
	if (rc) {
		config_channels_free(l.v, l.nr);
		return rc;
	}
	*out = l.v;
	*nr = l.nr;
	return 0;
}
