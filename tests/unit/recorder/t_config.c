/* LAYERS: recorder trigger kernel view dump base */
// SPDX-License-Identifier: MIT
/*
 * The options of `record`: every option's value and range, what contradicts what, the configuration
 * file and the positions in its errors, and which of the two wins.
 */
#include "tests/helpers/config_load.h"

#include "dump/base/err.h"
#include "recorder/config/config_row.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- the command line ---- */

static void nothing_said_means_defaults(void **state)
{
	struct config c;

	loads(&c, "");
	assert_true(c.all_cpus); /* the tests run as root */
	assert_string_equal(c.preset, "default");
	assert_string_equal(c.dir, ".");
	assert_string_equal(c.name, "default");
	assert_int_equal(c.nr_banks, 2);
	assert_int_equal(c.compress, BLOCK_FAST);
	assert_int_equal(c.max_dump_cpus, 0);
	assert_int_equal(c.ledger_bytes, 64 << 20);
	assert_true(c.hold_files);
	assert_int_equal(c.ring_bytes, 0);
	assert_int_equal(c.memory.percent, 2);
	assert_int_equal(c.nr_sizes, 0);
	assert_int_equal(c.post_ns, 0);
	assert_int_equal(c.cooldown_ns, 0);
	assert_int_equal(c.max_dumps, 0);
	assert_int_equal(c.max_disk_bytes, 0);
	assert_false(c.dump_on_exit || c.no_inherit || c.quiet || c.verbose || c.stack_given);
	assert_null(c.command);
	config_free(&c);
}

static void every_option_has_a_long_and_most_a_short_form(void **state)
{
	static const char *const texts[] = {
		"-p 12 -C 8,0-2,1 -e a:b -e c:d -m 1M -T signal:USR1 -o /tmp/x -n web -q -g "
		"--post 2s --cooldown 1m --max-dumps 3 --max-disk 1G --dump-on-exit --banks 1 "
		"--no-inherit --ledger-size 8M --compress high --max-dump-cpus 3 --spill /s "
		"--on-dump true --on-dump-user ann",
		"--pid=12 --cpu=8,0-2,1 --event=a:b --event c:d --mmap-size=1M "
		"--trigger=signal:USR1 --output=/tmp/x --name=web --quiet --call-graph "
		"--post=2s --cooldown=1m --max-dumps=3 --max-disk=1G --dump-on-exit --banks=1 "
		"--no-inherit --ledger-size=8M --compress=high --max-dump-cpus=3 --spill=/s "
		"--on-dump=true --on-dump-user=ann",
	};

	for (size_t i = 0; i < 2; i++) {
		struct config c;

		loads(&c, texts[i]);
		assert_int_equal(c.nr_pids, 1);
		assert_int_equal(c.pids[0], 12);
		assert_int_equal(c.nr_cpus, 4);
		assert_int_equal(c.cpus[0], 0);
		assert_int_equal(c.cpus[3], 8);
		assert_string_equal(c.events, "a:b,c:d");
		assert_null(c.preset);
		assert_int_equal(c.ring_bytes, 1 << 20);
		assert_string_equal(c.on_dump, "true");
		assert_string_equal(c.on_dump_user, "ann");
		assert_int_equal(c.nr_rules, 1);
		assert_string_equal(c.rules[0], "signal:USR1");
		assert_string_equal(c.dir, "/tmp/x");
		assert_string_equal(c.spill, "/s");
		assert_string_equal(c.name, "web");
		assert_int_equal(c.compress, BLOCK_HIGH);
		assert_int_equal(c.max_dump_cpus, 3);
		assert_true(c.quiet && c.dump_on_exit && c.no_inherit && !c.all_cpus);
		assert_int_equal(c.stack, STACK_FP);
		assert_int_equal(c.post_ns, 2000000000);
		assert_int_equal(c.cooldown_ns, 60000000000);
		assert_int_equal(c.max_dumps, 3);
		assert_int_equal(c.max_disk_bytes, 1 << 30);
		assert_int_equal(c.nr_banks, 1);
		assert_int_equal(c.ledger_bytes, 8 << 20);
		config_free(&c);
	}
}

static void call_graph_takes_its_kind_after_an_equals_sign(void **state)
{
	static const struct {
		const char *args;
		enum stack_kind stack;
		uint32_t bytes;
	} rows[] = {
		{"-g", STACK_FP, 0},
		{"-g=fp", STACK_FP, 0},
		{"-gfp", STACK_FP, 0},
		{"-g=dwarf", STACK_DWARF, 8192},
		{"-g=dwarf:16K", STACK_DWARF, 16384},
		{"--call-graph=dwarf:16K", STACK_DWARF, 16384},
		{"--call-graph=dwarf:65528", STACK_DWARF, 65528},
		{"-g=dwarf:1001", STACK_DWARF, 1008},
		{"-g=none", STACK_NONE, 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct config c;

		loads(&c, rows[i].args);
		assert_int_equal(c.stack, rows[i].stack);
		assert_int_equal(c.stack_bytes, rows[i].bytes);
		assert_true(c.stack_given);
		config_free(&c);
	}
	refuses("-g=lbr", "-g: 'lbr'", "dwarf:SIZE");
	refuses("-g=dwarf:64K", "out of range", "65528");
	refuses("-g dwarf", "'dwarf' is not an option", "-g=dwarf");
	refuses("--call-graph fp", "'fp' is not an option", "--call-graph=fp");
}

static void a_command_stands_after_two_dashes(void **state)
{
	struct config c;

	loads(&c, "-e a:b -- ls -l --help");
	assert_string_equal(c.command[0], "ls");
	assert_string_equal(c.command[1], "-l");
	assert_string_equal(c.command[2], "--help");
	assert_null(c.command[3]);
	assert_false(c.all_cpus);
	config_free(&c);

	loads(&c, "-a -- make");
	assert_true(c.all_cpus);
	assert_string_equal(c.command[0], "make");
	config_free(&c);

	refuses("ls -l", "'ls' is not an option", "-- ls");
	refuses("-a ls", "'ls' is not an option", "-- ls");
	refuses("-a --", "no command after --", "-- COMMAND");
	/* Here the dashes are a directory's name. */
	refuses("-o -- ls", "'ls' is not an option", "-- ls");
}

static void options_that_are_not_there_are_named(void **state)
{
	refuses("-x", "no option -x", "--help");
	refuses("-ax", "no option -x", "--help");
	refuses("--trigegr=x", "no option --trigegr", "--trigger");
	refuses("--zzzzzzzzzzzzzzzz", "no option --zzzz", "--help");
	refuses("--quiet=yes", "--quiet takes no value", "");
	refuses("-e", "-e needs a value: EVENT,..", "");
	refuses("-a --post", "--post needs a value: TIME", "");
}

static void values_out_of_range_say_the_range(void **state)
{
	refuses("--banks 3", "--banks: 3 is out of range", "from 1 to 2");
	refuses("-m 1", "-m: 1 is out of range", "from 4 KiB");
	refuses("-m lots", "'lots' is not a size", "512K");
	refuses("--post 5", "'5' is not a time", "ms");
	refuses("--post=-5s", "-5s is negative", "");
	refuses("--max-dumps many", "not a number", "");
	refuses("--hold-files maybe", "neither yes nor no", "");
	refuses("--ledger-size 1K", "out of range", "1 MiB");
	refuses("--max-dump-cpus 0", "--max-dump-cpus: 0 is out of range", "from 1 to 64");
	refuses("--max-dump-cpus -1", "not a number", "");
	refuses("--compress zstd", "'zstd' is not one of fast|high", "");
	refuses("--compress hihg", "'hihg' is not one of fast|high", "did you mean high");
}

static void cpu_lists_are_checked(void **state)
{
	static const char *const bad[] = {"x", "1-", "3-1", "1,,2", "1,", ",", "0-99999999", "1 2"};
	struct config c;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct err err = ERR_INIT;
		char *argv[] = {"record", "--config=/dev/null", "-C", (char *)bad[i], NULL};

		assert_int_equal(config_load(&c, 4, argv, &err), -EINVAL);
		assert_non_null(strstr(err.what, "not a list of CPUs"));
		assert_non_null(strstr(err.hint, "0-3,8"));
	}
	loads(&c, "-C 65535");
	assert_int_equal(c.cpus[0], 65535);
	config_free(&c);
	refuses("-C 65536", "not a list of CPUs", "");
}

static void ids_are_checked_and_kept_once(void **state)
{
	struct config c;

	loads(&c, "-p 5,6,5 -p 7,6");
	assert_int_equal(c.nr_pids, 3);
	assert_int_equal(c.pids[2], 7);
	config_free(&c);
	loads(&c, "-t 9 -C 0");
	assert_int_equal(c.tids[0], 9);
	assert_int_equal(c.nr_cpus, 1);
	config_free(&c);
	refuses("-p nginx", "-p: 'nginx' is not a list of process ids", "pgrep");
	refuses("-p 0", "not a list of process ids", "");
	refuses("-t 1,x", "not a list of thread ids", "");
	refuses("-p 99999999999999999999", "not a list of process ids", "");
}

static void targets_that_exclude_each_other_are_refused(void **state)
{
	struct config c;

	refuses("-a -p 1", "-a and -p contradict", "give one target");
	refuses("-p 1 -t 1", "-p and -t contradict", "");
	refuses("--cgroup x -p 1", "-p and --cgroup contradict", "");
	refuses("--cgroup x -a", "-a and --cgroup contradict", "");
	refuses("-p 1 -- ls", "-p and -- COMMAND contradict", "");
	refuses("-q -v", "-q and -v contradict", "");
	loads(&c, "-C 0 -p 1");
	config_free(&c);
	loads(&c, "-C 0 --cgroup x");
	config_free(&c);
	loads(&c, "-C 0");
	assert_false(c.all_cpus);
	config_free(&c);
}

static void without_root_a_target_must_be_named(void **state)
{
	if (geteuid() != 0)
		skip();
	assert_int_equal(seteuid(65534), 0);
	refuses("", "no target to record", "sudo ringback record -a");
	assert_int_equal(seteuid(0), 0);
}

static void rules_are_checked_early(void **state)
{
	struct config c;

	loads(&c, "-T signal:USR1 -T signal:HUP;name=hup;post=1s");
	assert_int_equal(c.nr_rules, 2);
	config_free(&c);
	refuses("-T signal:USR1;nam=x", "-T: ", "");
}

static void presets_are_found_or_guessed(void **state)
{
	const char *name, *help;
	struct config c;

	for (size_t i = 0; preset_nth(i, &name, &help); i++) {
		const char *const *text = preset_find(name, false);

		assert_non_null(text);
		assert_true(help[0]);
		for (; *text; text++) {
			struct config_channel ch;

			assert_int_equal(config_channel_parse(*text, &ch, NULL), 0);
			assert_true(ch.ring_bytes > 0);
			config_channel_free(&ch);
		}
	}
	loads(&c, "--preset io");
	assert_string_equal(c.preset, "io");
	config_free(&c);
	refuses("--preset io --preset net", "there is a preset already: io",
		"-e and --channel add");
	refuses("--preset shed", "no preset 'shed'", "did you mean sched");
	refuses("--preset everything", "no preset 'everything'", "--help");
}

/* ---- channels ---- */

static void channel_texts_are_taken_apart(void **state)
{
	struct config_channel ch;

	assert_int_equal(
		config_channel_parse("net-1:a:b,c/freq=9/;size=4M;stack=dwarf:16K", &ch, NULL), 0);
	assert_string_equal(ch.name, "net-1");
	assert_string_equal(ch.events, "a:b,c/freq=9/");
	assert_int_equal(ch.ring_bytes, 4 << 20);
	assert_true(ch.ring_bytes_given && ch.stack_given);
	assert_int_equal(ch.stack, STACK_DWARF);
	assert_int_equal(ch.stack_bytes, 16384);
	config_channel_free(&ch);

	/* A ';' inside a filter does not end the events, nor does a ']' in its quotes. */
	assert_int_equal(
		config_channel_parse("x:a:b[comm ~ \"];*\" && c!=';'],d:e;size=64K", &ch, NULL), 0);
	assert_string_equal(ch.events, "a:b[comm ~ \"];*\" && c!=';'],d:e");
	assert_int_equal(ch.ring_bytes, 65536);
	assert_false(ch.stack_given);
	config_channel_free(&ch);
}

static void channel_texts_that_are_wrong_say_so(void **state)
{
	refuses("--channel x", "'x' names no events", "NAME:EVENT");
	refuses("--channel x:", "'x' names no events", "x:sched:sched_switch");
	refuses("--channel x:;size=1M", "names no events", "");
	refuses("--channel a/b:x:y", "'a/b' can't be a channel's name", "letters");
	refuses("--channel :x:y", "can't be a channel's name", "");
	refuses("--channel x:a:b;sise=1M", "no option 'sise=1M'", "size=SIZE");
	refuses("--channel x:a:b;size=1", "out of range", "4K");
	refuses("--channel x:a:b;stack=deep", "'deep' is not a kind of stack", "dwarf");
	refuses("--channel x:a:b --channel x:c:d", "two channels named 'x'", "");
	refuses("-e a:b --channel events:c:d", "two channels named 'events'", "");
}

/* The channel of that name among the effective ones. */
static void preset_events_and_channels_make_one_list(void **state)
{
	struct config_channel *v, *ch;
	struct config c;
	size_t nr;

	loads(&c,
	      "--preset default -e x:y --channel sched:a:b --channel mine:c:d;size=8M;stack=none "
	      "-m 1M -g=dwarf");
	assert_int_equal(config_channels(&c, &v, &nr, NULL), 0);
	assert_int_equal(nr, 5);

	ch = named(v, nr, "cpu"); /* -m and -g win over the preset */
	assert_int_equal(ch->ring_bytes, 1 << 20);
	assert_int_equal(ch->stack, STACK_DWARF);
	assert_true(ch->ring_bytes_given && ch->optional);
	ch = named(v, nr, "sched"); /* the given one, not the preset's */
	assert_string_equal(ch->events, "a:b");
	assert_int_equal(ch->ring_bytes, 1 << 20);
	assert_false(ch->optional);
	ch = named(v, nr, "events");
	assert_string_equal(ch->events, "x:y");
	assert_int_equal(ch->stack, STACK_DWARF);
	ch = named(v, nr, "mine"); /* its own values win over -m and -g */
	assert_int_equal(ch->ring_bytes, 8 << 20);
	assert_int_equal(ch->stack, STACK_NONE);
	config_channels_free(v, nr);
	config_free(&c);

	loads(&c, "");
	assert_int_equal(config_channels(&c, &v, &nr, NULL), 0);
	assert_int_equal(nr, 3);
	ch = named(v, nr, "sched");
	assert_int_equal(ch->ring_bytes, 2 << 20);
	assert_false(ch->ring_bytes_given);
	config_channels_free(v, nr);
	config_free(&c);
}

/* ---- the configuration file ---- */

static char file_path[] = "/tmp/ringback-t_config.XXXXXX";

static int make_file(void **state)
{
	int fd = mkstemp(file_path);

	return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
	return unlink(file_path);
}

static void write_file(const char *text)
{
	FILE *f = fopen(file_path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

/* "--config FILE MORE" */
static const char *with_file(const char *text, const char *more)
{
	static char args[256];

	write_file(text);
	snprintf(args, sizeof(args), "--config %s %s", file_path, more);
	return args;
}

/* The error must begin with the file's name and this line. */
static void file_refused(const char *text, int line, const char *what, const char *hint)
{
	char want[128];

	snprintf(want, sizeof(want), "%s:%d: ", file_path, line);
	refuses(with_file(text, ""), want, hint);
	refuses(with_file(text, ""), what, hint);
}

static void the_file_says_what_options_say(void **state)
{
	struct config c;

	loads(&c, with_file("# a comment\n"
			    "[record]\n"
			    "output = /var/dumps\n"
			    "post=2s\n"
			    "dump-on-exit = yes\n"
			    "no-inherit = off\n"
			    "event = a:b[x==1 && y!=2]\n"
			    "  event = c:d\n"
			    "call-graph=dwarf:4K\n"
			    "cpu = 0-1\n"
			    "[channel net]\n"
			    "events = net:*\n"
			    "events = skb:kfree_skb\n"
			    "size=4M\n"
			    "; another comment\n"
			    "[trigger app]\n"
			    "rule = signal:USR1\n"
			    "cooldown = 10s\n"
			    "max = 3/24h\n"
			    "min-fill = 50%\n",
			    ""));
	assert_string_equal(c.dir, "/var/dumps");
	assert_int_equal(c.post_ns, 2000000000);
	assert_true(c.dump_on_exit);
	assert_false(c.no_inherit);
	assert_string_equal(c.events, "a:b[x==1 && y!=2],c:d");
	assert_int_equal(c.stack_bytes, 4096);
	assert_int_equal(c.nr_cpus, 2);
	assert_null(c.preset);
	assert_int_equal(c.nr_channels, 1);
	assert_string_equal(c.channels[0].name, "net");
	assert_string_equal(c.channels[0].events, "net:*,skb:kfree_skb");
	assert_int_equal(c.channels[0].ring_bytes, 4 << 20);
	assert_int_equal(c.nr_rules, 1);
	assert_string_equal(c.rules[0], "signal:USR1;name=app;cooldown=10s;max=3/24h;min-fill=50%");
	assert_string_equal(c.config_path, file_path);
	config_free(&c);
}

static void the_command_line_wins(void **state)
{
	static const char text[] = "[record]\npost=2s\noutput=/var/dumps\nall-cpus=yes\n"
				   "[channel net]\nevents=net:*\n"
				   "[trigger app]\nrule=signal:USR1\n";
	struct config c;

	loads(&c, with_file(text, "--post 5ms -e a:b -T signal:HUP -p 12"));
	assert_int_equal(c.post_ns, 5000000);
	assert_string_equal(c.dir, "/var/dumps");
	assert_int_equal(c.nr_channels, 0);
	assert_string_equal(c.events, "a:b");
	assert_int_equal(c.nr_rules, 1);
	assert_string_equal(c.rules[0], "signal:HUP");
	assert_false(c.all_cpus);
	assert_int_equal(c.nr_pids, 1);
	config_free(&c);

	loads(&c, with_file(text, "-- ls"));
	assert_false(c.all_cpus);
	assert_int_equal(c.nr_channels, 1);
	assert_int_equal(c.nr_rules, 1);
	config_free(&c);
}

static void mistakes_in_the_file_are_found_by_line(void **state)
{
	file_refused("[record]\n\npsot=2s\n", 3, "no key 'psot'", "did you mean post?");
	file_refused("[record]\npost=2x\n", 2, "post: '2x' is not a time", "250us");
	file_refused("[record]\npost=1s\npost=2s\n", 3, "post is given twice", "");
	file_refused("[record]\npid=1\n", 2, "pid can't be set in a file", "--pid");
	file_refused("[record]\ndump-on-exit=maybe\n", 2, "'maybe' is neither yes nor no", "");
	file_refused("[recrod]\npost=1s\n", 1, "no section [recrod]", "did you mean record?");
	file_refused("post=1s\n", 1, "before the first section", "[record]");
	file_refused("[record]\npost\n", 2, "neither [SECTION] nor KEY=VALUE", "");
	file_refused("[channel net]\nevent=a:b\n", 2, "no key 'event'", "did you mean events?");
	file_refused("[channel]\nevents=a:b\n", 1, "can't be a channel's name", "[channel NAME]");
	file_refused("\n[channel net]\n\nsize=4M\n", 2,
		     "'net' has no events=", "events = sched:sched_switch");
	file_refused("[channel net]\nevents=a:b\nsize=1M\nsize=2M\n", 4, "size is given twice", "");
	file_refused("[channel net]\nevents=a:b\nstack=x\n", 2, "'x' is not a kind of stack", "");
	file_refused("[trigger app]\npost=1s\n", 1,
		     "trigger 'app' has no rule=", "rule = signal:USR1");
	file_refused("[trigger app]\nrule=signal:USR1;zz=1\n", 2, "", "");
	file_refused("[trigger app]\nrule=signal:USR1\ncoldown=1s\n", 3, "no key 'coldown'",
		     "cooldown");
}

/* The library says nothing of them. */
static void sections_without_a_key_are_seen(void **state)
{
	struct config c;

	file_refused("[record]\n\n[recrod]\n", 3, "no section [recrod]", "did you mean record?");
	file_refused("\xef\xbb\xbf[recrod]\n", 1, "no section [recrod]", "");
	file_refused(" \t[tirgger app] # why\n[record]\n", 1, "no section [tirgger app]",
		     "did you mean trigger?");
	file_refused("[]\n", 1, "no section []", "[channel NAME]");
	file_refused("[record\npost=1s\n", 1, "neither [SECTION] nor KEY=VALUE", "");
	file_refused("[record]\n[trigger t]\n[channel c]\n", 2,
		     "trigger 't' has no rule=", "such as: rule = signal:USR1");
	file_refused("[channel c]", 1, "channel 'c' has no events=", "such as: events = ");
	file_refused("[trigger]\n", 1, "can't be a trigger's name", "[trigger NAME]");
	loads(&c, with_file("# [recrod]\n[record]\n; [trigger t]\n[record]\n", ""));
	config_free(&c);
}

/* An option after " ;" must not get lost as a comment would. */
static void a_semicolon_in_a_rule_is_no_comment(void **state)
{
	struct config c;
	struct err err;
	int rc = load(&c, &err, with_file("[trigger app]\nrule=signal:USR1 ;post=1s\n", ""));

	if (!rc)
		assert_non_null(strstr(c.rules[0], "post=1s"));
	config_free(&c);
}

static void long_lines_are_read_whole(void **state)
{
	char *text = malloc(100 * 1024);
	struct config c;
	size_t n;

	assert_non_null(text);
	n = (size_t)sprintf(text, "[record]\nevent=");
	for (int i = 0; i < 1000; i++)
		n += (size_t)sprintf(text + n, "%ssystem:event_%04d", i ? "," : "", i);
	strcpy(text + n, "\npost=1s\n");
	loads(&c, with_file(text, ""));
	assert_int_equal(strlen(c.events), 1000 * 18 - 1);
	assert_int_equal(c.post_ns, 1000000000);
	config_free(&c);

	n = (size_t)sprintf(text, "[record]\nevent=");
	memset(text + n, 'x', 80 * 1024);
	strcpy(text + n + 80 * 1024, "\n");
	file_refused(text, 2, "line is too long", "");
	free(text);
}

static void root_reads_no_file_that_others_may_write(void **state)
{
	struct config c;

	if (geteuid() != 0)
		skip();
	assert_int_equal(chmod(file_path, 0602), 0);
	refuses(with_file("[record]\n", ""), "is writable by users other than root", "go-w");
	assert_int_equal(chmod(file_path, 0600), 0);
	assert_int_equal(chown(file_path, 65534, 65534), 0);
	refuses(with_file("[record]\n", ""), "owner 65534", "chown root");
	assert_int_equal(chown(file_path, 0, 0), 0);
	loads(&c, with_file("[record]\n", ""));
	config_free(&c);
}

static void a_named_file_must_be_there(void **state)
{
	refuses("--config /nonexistent/x", "/nonexistent/x: No such file", "");
	refuses("--config /tmp", "/tmp is not a file", "");
}

/* ---- help ---- */

static void help_has_every_option(void **state)
{
	char *help = NULL, name[64];
	size_t n;
	FILE *out = open_memstream(&help, &n);

	options_help(config_options, out);
	fclose(out);
	for (const struct option_row *r = config_options; r->name; r++) {
		snprintf(name, sizeof(name), "--%s", r->name);
		assert_non_null(strstr(help, name));
	}
	assert_non_null(strstr(help, "(default: 64M)"));
	for (char *save, *line = strtok_r(help, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save))
		assert_true(strlen(line) <= 100);
	free(help);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_said_means_defaults),
		cmocka_unit_test(every_option_has_a_long_and_most_a_short_form),
		cmocka_unit_test(call_graph_takes_its_kind_after_an_equals_sign),
		cmocka_unit_test(a_command_stands_after_two_dashes),
		cmocka_unit_test(options_that_are_not_there_are_named),
		cmocka_unit_test(values_out_of_range_say_the_range),
		cmocka_unit_test(cpu_lists_are_checked),
		cmocka_unit_test(ids_are_checked_and_kept_once),
		cmocka_unit_test(targets_that_exclude_each_other_are_refused),
		cmocka_unit_test(without_root_a_target_must_be_named),
		cmocka_unit_test(rules_are_checked_early),
		cmocka_unit_test(presets_are_found_or_guessed),
		cmocka_unit_test(channel_texts_are_taken_apart),
		cmocka_unit_test(channel_texts_that_are_wrong_say_so),
		cmocka_unit_test(preset_events_and_channels_make_one_list),
		cmocka_unit_test(the_file_says_what_options_say),
		cmocka_unit_test(the_command_line_wins),
		cmocka_unit_test(mistakes_in_the_file_are_found_by_line),
		cmocka_unit_test(sections_without_a_key_are_seen),
		cmocka_unit_test(a_semicolon_in_a_rule_is_no_comment),
		cmocka_unit_test(long_lines_are_read_whole),
		cmocka_unit_test(root_reads_no_file_that_others_may_write),
		cmocka_unit_test(a_named_file_must_be_there),
		cmocka_unit_test(help_has_every_option),
	};

	return cmocka_run_group_tests(tests, make_file, remove_file);
}
