/* LAYERS: recorder trigger kernel view dump base */
// SPDX-License-Identifier: MIT
/* `ringback status` and `ringback trigger` as people and scripts see them, against a made-up
 * recorder. */
#include "recorder/cli/cmd.h"

#include "recorder/daemon/ctl.h"

#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static char dir[] = "/tmp/t_status-XXXXXX";

/* The answer documented in ctl.h. */
static const char answer[] =
	"{\"ok\":true,\"name\":\"default\",\"pid\":812,\"version\":\"0.1.0\",\"uptime_ns\":"
	"5400000000000,"
	"\"target\":\"all CPUs\",\"state\":\"armed\",\"channels\":["
	"{\"name\":\"cpu\",\"events\":[\"cpu-clock\"],\"ring_bytes\":524288,\"nr_rings\":2,"
	"\"banks\":2,"
	"\"horizon_ns\":31200000000,\"fill_percent\":100,\"written_bytes\":3145728},"
	"{\"name\":\"sched\",\"events\":[\"sched:sched_switch\",\"sched:sched_wakeup\","
	"\"sched:sched_waking\",\"sched:sched_migrate_task\"],\"ring_bytes\":4194304,\"nr_rings\":"
	"2,"
	"\"banks\":2,\"horizon_ns\":900000000,\"fill_percent\":7,\"written_bytes\":99}],"
	"\"dumps\":{\"committed\":3,\"failed\":1,\"deleted\":0,\"last\":\"/var/tmp/a\\u001b.rbd\","
	"\"spilled\":2,\"spill_directory\":\"/spill\",\"spill_reason\":\"disk full\"},"
	"\"rules\":[{\"name\":\"manual\",\"text\":\"manual\",\"hits\":3,\"held\":0,\"blocked_until_"
	"ns\":0}],"
	"\"totals\":{\"hits\":1237,\"merged\":2,\"held\":1230},"
	"\"sideband\":{\"records\":99,\"lost\":0,\"scans\":1,\"wakeups\":4},"
	"\"ledger\":{\"bytes\":1048576,\"max_bytes\":67108864,\"tasks\":123,\"tombstones\":4,"
	"\"maps\":999,"
	"\"evicted\":0},\"cost\":{\"cpu_ns\":12300000,\"rss_bytes\":12582912,\"ring_bytes\":"
	"18874368,"
	"\"voluntary\":12,\"involuntary\":3}}";

static const char shown[] =
	"recorder 'default': armed, pid 812, up 90.0 min, version 0.1.0\n"
	"target: all CPUs\n"
	"\n"
	"channel   horizon   fill     ring  rings  banks  written  events\n"
	"cpu        31.2 s  100 %  512 KiB      2      2    3 MiB  cpu-clock\n"
	"sched    900.0 ms    7 %    4 MiB      2      2     99 B  sched:sched_switch, "
	"sched:sched_wakeup, sched:sched_waking and 1 more\n"
	"\n"
	"trigger  hits  held  next      rule\n"
	"manual      3     0  any time  manual\n"
	"\n"
	"dumps:      3 written, 1 failed or refused, 0 deleted to stay within limits\n"
	"last dump:  /var/tmp/a\\x1b.rbd\n"
	"spilled:    2 dumps to /spill: disk full\n"
	"triggers:   1,237 hits, 2 merged with a dump being written, 1,230 held\n"
	"processes:  123 tasks, 4 exited, 999 mappings; 1 MiB of 64 MiB memory, 0 "
	"evicted\n"
	"sideband:   99 records, 0 lost, 1 scan of /proc, 4 wake-ups\n"
	"cost:       12.3 ms CPU (0.000 % of one), 12 MiB resident, 18 MiB of rings\n"
	"            12 voluntary and 3 involuntary context switches\n";

/* A recorder in a process of its own; ends with its parent's SIGKILL. */
static void serve(const char *name, int ready)
{
	struct ctl_client *client;
	struct ctl *c;
	struct pollfd p;
	json_t *request;

	if (ctl_listen(name, &c, NULL) || write(ready, "x", 1) != 1)
		_exit(1);
	p = (struct pollfd){.fd = ctl_fd(c), .events = POLLIN};
	while (poll(&p, 1, -1) > 0) {
		while (ctl_next(c, &client, &request)) {
			const char *cmd = json_string_value(json_object_get(request, "cmd"));
			json_t *reason = json_object_get(request, "reason");

			if (!strcmp(cmd, "trigger"))
				ctl_reply(c, client,
					  json_pack("{s:b, s:s, s:b, s:O}", "ok", 1, "path",
						    "/d/x.rbd", "merged", 1, "reason", reason));
			else
				ctl_reply(c, client, json_loads(answer, 0, NULL));
			json_decref(request);
		}
	}
}

static pid_t start(const char *name)
{
	int ready[2];
	pid_t child;
	char c;

	assert_int_equal(pipe(ready), 0);
	child = fork();
	if (!child)
		serve(name, ready[1]);
	assert_int_equal(read(ready[0], &c, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return child;
}

static void stop(pid_t child)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

/* Runs a command; what it printed to `fd` (1 or 2). */
static const char *run(const struct command *c, int expect, int fd, char **argv)
{
	static char text[8192];
	FILE *f = tmpfile();
	int argc = 0, saved = dup(fd), code;
	size_t n;

	while (argv[argc])
		argc++;
	fflush(stdout);
	dup2(fileno(f), fd);
	optind = 0;
	code = c->run(argc, argv);
	fflush(stdout);
	dup2(saved, fd);
	close(saved);
	rewind(f);
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	fclose(f);
	assert_int_equal(code, expect);
	return text;
}

#define RUN(command, expect, fd, ...)                                                              \
	run(&command, expect, fd, (char *[]){"x", ##__VA_ARGS__, NULL})

static void status_is_aligned_and_names_units(void **state)
{
	pid_t child = start("default");

	assert_string_equal(RUN(cmd_status, EXIT_FINE, 1), shown);
	stop(child);
}

static void json_is_the_recorders_own_answer(void **state)
{
	pid_t child = start("default");
	json_t *got = json_loads(RUN(cmd_status, EXIT_FINE, 1, "--json"), 0, NULL);
	json_t *want = json_loads(answer, 0, NULL);

	assert_true(json_equal(got, want));
	json_decref(got);
	json_decref(want);
	stop(child);
}

/* promtool checks the names: it_metrics.sh. */
static void metrics_have_seconds_ratios_and_labels(void **state)
{
	static const char *const lines[] = {
		"ringback_build_info{recorder=\"default\",version=\"0.1.0\"} 1\n",
		"# TYPE ringback_uptime_seconds gauge\n"
		"ringback_uptime_seconds{recorder=\"default\"} 5400.000000000\n",
		"ringback_channel_horizon_seconds{recorder=\"default\",channel=\"sched\"} "
		"0.900000000\n",
		"ringback_channel_fill_ratio{recorder=\"default\",channel=\"sched\"} 0.07\n",
		"# TYPE ringback_dumps_total counter\n"
		"ringback_dumps_total{recorder=\"default\"} 3\n",
		"ringback_rule_hits_total{recorder=\"default\",rule=\"manual\"} 3\n",
		"ringback_sideband_lost_total{recorder=\"default\"} 0\n",
		"ringback_context_switches_total{recorder=\"default\",kind=\"voluntary\"} 12\n"
		"ringback_context_switches_total{recorder=\"default\",kind=\"involuntary\"} 3\n",
	};
	pid_t child = start("default");
	const char *text = RUN(cmd_status, EXIT_FINE, 1, "--metrics");

	stop(child);
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		if (!strstr(text, lines[i]))
			fail_msg("no %s", lines[i]);
	assert_null(strstr(text, "last_dump_timestamp_seconds{")); /* not in the answer */
}

static void without_a_name_all_recorders_are_listed(void **state)
{
	pid_t a = start("a"), b = start("b");
	const char *text = RUN(cmd_status, EXIT_FINE, 1);

	assert_memory_equal(text, shown, strlen(shown));
	assert_int_equal(text[strlen(shown)], '\n');
	assert_string_equal(text + strlen(shown) + 1, shown);
	assert_string_equal(RUN(cmd_status, EXIT_FINE, 1, "-n", "b"), shown);
	stop(a);
	stop(b);
}

static void trigger_prints_the_path_alone(void **state)
{
	pid_t child = start("default");

	assert_string_equal(RUN(cmd_trigger, EXIT_FINE, 1, "--reason", "a \xff\n"), "/d/x.rbd\n");
	assert_string_equal(
		RUN(cmd_trigger, EXIT_FINE, 2),
		"ringback: this trigger was merged with a dump that was already being written\n");
	stop(child);
}

static void without_a_recorder_both_say_how_to_start_one(void **state)
{
	static const char hint[] = "ringback: no recorder named 'default' is running\n"
				   "  hint: start one: ringback record ";

	assert_non_null(strstr(RUN(cmd_trigger, EXIT_FAILED, 2), hint));
	assert_non_null(strstr(RUN(cmd_status, EXIT_FAILED, 2), hint));
}

static void wrong_arguments_are_usage_errors(void **state)
{
	char reason[300];

	memset(reason, 'r', sizeof(reason) - 1);
	reason[sizeof(reason) - 1] = '\0';
	RUN(cmd_trigger, EXIT_USAGE, 1, "--reason", reason);
	RUN(cmd_trigger, EXIT_USAGE, 1, "-n");
	RUN(cmd_trigger, EXIT_USAGE, 1, "x");
	RUN(cmd_status, EXIT_USAGE, 1, "--bogus");
	RUN(cmd_status, EXIT_USAGE, 1, "x");
}

/* Killed recorders leave their sockets. */
static void clear_dir(void)
{
	static const char *const files[] = {"default.sock", "default.lock", "a.sock",
					    "a.lock",	    "b.sock",	    "b.lock"};
	int fd = open(dir, O_RDONLY | O_DIRECTORY);

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		unlinkat(fd, files[i], 0);
	close(fd);
	rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(status_is_aligned_and_names_units),
		cmocka_unit_test(json_is_the_recorders_own_answer),
		cmocka_unit_test(metrics_have_seconds_ratios_and_labels),
		cmocka_unit_test(without_a_name_all_recorders_are_listed),
		cmocka_unit_test(trigger_prints_the_path_alone),
		cmocka_unit_test(without_a_recorder_both_say_how_to_start_one),
		cmocka_unit_test(wrong_arguments_are_usage_errors),
	};
	int rc;

	if (!mkdtemp(dir))
		return 1;
	setenv("RINGBACK_RUNTIME_DIR", dir, 1);
	setenv("NO_COLOR", "1", 1);
	rc = cmocka_run_group_tests(tests, NULL, NULL);
	clear_dir();
	return rc;
}
