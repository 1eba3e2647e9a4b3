// SPDX-License-Identifier: MIT
/* Names of dumps; see dump_name.h. */
#include "recorder/writer/dump_name.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PREFIX "ringback-"

static bool is_host_char(char c)
{
	return isalnum((unsigned char)c) || c == '.' || c == '-';
}

static bool is_trigger_char(char c)
{
	return is_host_char(c) || c == '_';
}

static void sanitize(char *out, size_t n, const char *text, bool (*allowed)(char),
		     const char *empty)
{
	size_t i;

	if (!*text)
		text = empty;
	for (i = 0; text[i] && i + 1 < n; i++)
		out[i] = allowed(text[i]) ? text[i] : '-';
	out[i] = '\0';
}

void dump_name_host(char *out, size_t n)
{
	char host[256] = "";

	if (gethostname(host, sizeof(host) - 1))
		host[0] = '\0';
	sanitize(out, n, host, is_host_char, "localhost");
}

void dump_name_time(char out[DUMPNAME_TIME_CHARS + 1], uint64_t real_ns)
{
	time_t sec = (time_t)(real_ns / 1000000000);
	char when[32];
	struct tm tm = {0};

	gmtime_r(&sec, &tm);
	strftime(when, sizeof(when), "%Y%m%dT%H%M%S", &tm);
	snprintf(out, DUMPNAME_TIME_CHARS + 1, "%.15s.%03uZ", when,
		 (unsigned)(real_ns / 1000000 % 1000));
}

void dump_name_make(char out[DUMPNAME_BYTES], const char *host, uint64_t real_ns,
		    const char *trigger)
{
	char safe_host[65], safe_trigger[DUMPNAME_RULE_BYTES], when[DUMPNAME_TIME_CHARS + 1];

	sanitize(safe_host, sizeof(safe_host), host, is_host_char, "localhost");
	sanitize(safe_trigger, sizeof(safe_trigger), trigger, is_trigger_char, "unnamed");
	dump_name_time(when, real_ns);
	snprintf(out, DUMPNAME_BYTES, PREFIX "%s-%s-%s.rbd", safe_host, when, safe_trigger);
}

static bool is_time(const char *p)
{
	static const char form[] = "ddddddddTdddddd.dddZ";

	for (size_t i = 0; i < DUMPNAME_TIME_CHARS; i++)
		if (form[i] == 'd' ? !isdigit((unsigned char)p[i]) : p[i] != form[i])
			return false;
	return true;
}

static bool ends_with(const char *text, size_t len, const char *end)
{
	size_t n = strlen(end);

	return len >= n && !memcmp(text + len - n, end, n);
}

bool dump_name_parse(const char *name, const char **time, bool *part)
{
	size_t len = strlen(name), host = strlen(PREFIX), i;
	bool is_part = ends_with(name, len, ".part");

	if (is_part)
		len -= strlen(".part");
	if (strncmp(name, PREFIX, host) || !ends_with(name, len, ".rbd"))
		return false;
	len -= strlen(".rbd");
	/* The host may contain '-', so the first match for a time ends it. */
	for (i = host; i < len && !(name[i] == '-' && is_time(name + i + 1)); i++)
		if (!is_host_char(name[i]))
			return false;
	if (i == host || i + 1 + DUMPNAME_TIME_CHARS + 1 >= len)
		return false;
	*time = name + i + 1;
	i += 1 + DUMPNAME_TIME_CHARS;
	if (name[i] != '-')
		return false;
	for (i++; i < len; i++)
		if (!is_trigger_char(name[i]))
			return false;
	*part = is_part;
	return true;
}

void dump_name_rule(char out[DUMPNAME_RULE_BYTES], const char *time)
{
	const char *rule = time + DUMPNAME_TIME_CHARS + 1;
	size_t len = strlen(rule);

	if (ends_with(rule, len, ".part"))
		len -= strlen(".part");
	len -= strlen(".rbd");
	snprintf(out, DUMPNAME_RULE_BYTES, "%.*s", (int)len, rule);
}
