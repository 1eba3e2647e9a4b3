// SPDX-License-Identifier: MIT
/*
 * `ringback export -f ndjson`: one JSON object a line, first that of `info --json`, then those of
 * `script --json`, by the same code. SCHEMA.md describes them, export_ndjson_schema is for validators.
 */
#include "dump/view/export/export.h"

#include "dump/view/info/info.h"
#include "dump/view/script/script.h"

const char export_ndjson_schema[] =
	"{\n"
	"  \"$schema\": \"http://json-schema.org/draft-07/schema#\",\n"
	"  \"title\": \"a line of ringback export -f ndjson\",\n"
	"  \"anyOf\": [{\"$ref\": \"#/definitions/event\"}, {\"$ref\": \"#/definitions/dump\"}],\n"
	"  \"definitions\": {\n"
	"    \"count\": {\"type\": [\"integer\", \"string\"], \"pattern\": \"^-?[0-9]+$\"},\n"
	"    \"moment\": {\"type\": \"string\", \"pattern\": \"^[0-9]+$\"},\n"
	"    \"address\": {\"type\": \"string\", \"pattern\": \"^0x[0-9a-f]+$\"},\n"
	"    \"known\": {\"type\": [\"integer\", \"null\"]},\n"
	"    \"dump\": {\n"
	"      \"description\": \"the first line: all that ringback info --json prints\",\n"
	"      \"type\": \"object\",\n"
	"      \"required\": [\"version\", \"id\", \"losses\", \"window\", \"trigger\", \"host\","
	" \"channels\", \"rings\"],\n"
	"      \"properties\": {\n"
	"        \"losses\": {\"type\": \"array\", \"items\": {\"type\": \"string\"}},\n"
	"        \"window\": {\"type\": [\"object\", \"null\"]},\n"
	"        \"trigger\": {\"type\": \"object\", \"required\": [\"name\", \"time\", \"utc\"],\n"
	"          \"properties\": {\"time\": {\"$ref\": \"#/definitions/moment\"}}},\n"
	"        \"host\": {\"type\": \"object\", \"required\": [\"hostname\", \"uname\"]},\n"
	"        \"channels\": {\"type\": \"array\", \"items\": {\"type\": \"object\"}},\n"
	"        \"rings\": {\"type\": \"array\", \"items\": {\"type\": \"object\"}}\n"
	"      }\n"
	"    },\n"
	"    \"place\": {\n"
	"      \"type\": \"object\",\n"
	"      \"properties\": {\n"
	"        \"function\": {\"type\": [\"string\", \"null\"]},\n"
	"        \"file\": {\"type\": \"string\"},\n"
	"        \"line\": {\"$ref\": \"#/definitions/count\"}\n"
	"      }\n"
	"    },\n"
	"    \"frame\": {\n"
	"      \"allOf\": [{\"$ref\": \"#/definitions/place\"}],\n"
	"      \"required\": [\"ip\"],\n"
	"      \"properties\": {\n"
	"        \"ip\": {\"$ref\": \"#/definitions/address\"},\n"
	"        \"dso\": {\"type\": \"string\"},\n"
	"        \"off\": {\"$ref\": \"#/definitions/address\"},\n"
	"        \"offset\": {\"$ref\": \"#/definitions/count\"},\n"
	"        \"inlined\": {\"type\": \"array\", \"items\": {\"$ref\":"
	" \"#/definitions/place\"}}\n"
	"      }\n"
	"    },\n"
	"    \"event\": {\n"
	"      \"type\": \"object\",\n"
	"      \"required\": [\"t\", \"time\", \"cpu\", \"tid\", \"pid\", \"comm\", \"event\"],\n"
	"      \"properties\": {\n"
	"        \"t\": {\"description\": \"ns after the trigger, negative: before it\",\n"
	"              \"$ref\": \"#/definitions/count\"},\n"
	"        \"time\": {\"$ref\": \"#/definitions/moment\"},\n"
	"        \"cpu\": {\"$ref\": \"#/definitions/known\"},\n"
	"        \"tid\": {\"$ref\": \"#/definitions/known\"},\n"
	"        \"pid\": {\"$ref\": \"#/definitions/known\"},\n"
	"        \"comm\": {\"type\": [\"string\", \"null\"]},\n"
	"        \"event\": {\"type\": \"string\"},\n"
	"        \"fields\": {\"type\": \"object\"},\n"
	"        \"raw\": {\"type\": \"string\", \"pattern\": \"^([0-9a-f]{2})*$\"},\n"
	"        \"period\": {\"$ref\": \"#/definitions/count\"},\n"
	"        \"addr\": {\"$ref\": \"#/definitions/address\"},\n"
	"        \"at\": {\"$ref\": \"#/definitions/frame\"},\n"
	"        \"chain\": {\"type\": \"array\", \"items\": {\"$ref\":"
	" \"#/definitions/frame\"}},\n"
	"        \"user_stack\": {\"type\": \"object\", \"required\": [\"bytes\"]}\n"
	"      }\n"
	"    }\n"
	"  }\n"
	"}\n";

static int all(struct export *x, struct export_result *res, struct err *err)
{
	const struct export_options *opt = x->opt;
	const char *event = opt->event;
	struct info_options info = {.path = opt->path, .json = true, .all = true};
	struct script_options script = {
		.from_ns = opt->from_ns,
		.to_ns = opt->to_ns,
		.json = true,
		.events = &event,
		.nr_events = event ? 1 : 0,
	};
	struct info_result header;
	struct script_result events;
	int rc = info_print(x->a.r, x->a.m, &info, x->out.out, &header, err);

	if (rc)
		return rc;
	rc = script_print(x->a.r, x->a.m, &script, x->out.out, &events, err);
	res->nr_records = events.nr_printed;
	res->nr_bad = header.nr_bad > events.nr_bad_blocks ? header.nr_bad : events.nr_bad_blocks;
	return rc;
}

const struct exporter export_ndjson = {
	.name = "ndjson",
	.help = "a JSON object a line: the dump, then each event; --schema",
	.suffix = ".ndjson",
	.all = all,
};
