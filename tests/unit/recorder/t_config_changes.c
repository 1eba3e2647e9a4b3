/* LAYERS: recorder trigger kernel view dump base */
// SPDX-License-Identifier: MIT
/* What a reload can't apply is named, each thing once; what it applies is not. */
#include "tests/helpers/config_load.h"

#include "recorder/config/config_changes.h"

static char told[1024];

static void tell(const char *what, const char *how)
{
	size_t n = strlen(told);

	snprintf(told + n, sizeof(told) - n, "%s %s;", what, how);
}

static const char *changes(const char *before, const char *after)
{
	struct config old, fresh;
	struct err err;

	*told = '\0';
	loads(&old, before);
	loads(&fresh, after);
	assert_int_equal(config_changes(&old, &fresh, tell, &err), 0);
	config_free(&old);
	config_free(&fresh);
	return told;
}

static void rules_and_limits_are_applied(void **state)
{
	assert_string_equal(changes("", ""), "");
	assert_string_equal(changes("-T signal:USR1",
				    "-T load>3 --post 1s --cooldown 2s --max-dumps 3 "
				    "--max-disk 1G --dump-on-exit"),
			    "");
}

static void channels_are_named(void **state)
{
	assert_string_equal(changes("--channel a:dummy --channel b:dummy --channel c:dummy",
				    "--channel a:dummy --channel b:dummy;size=1M "
				    "--channel d:dummy"),
			    "channel b changed;channel c removed;channel d added;");
	assert_string_equal(changes("-e dummy", "-e dummy -g"), "channel events changed;");
	assert_string_equal(changes("-e dummy", "-e dummy -m 1M"), "channel events changed;");
}

static void other_settings_are_named(void **state)
{
	assert_string_equal(changes("-p 1", "-p 2"), "target changed;");
	assert_string_equal(changes("-p 1", "-p 1 --no-inherit"), "target changed;");
	assert_string_equal(changes("", "--memory 256M --symbols off -n other"),
			    "memory changed;symbols changed;name changed;");
	assert_string_equal(changes("", "--banks 1 --tell-group adm --compress high --crash-hold "
					"--hold-files=no -o /tmp --ledger-size 8M"),
			    "banks changed;tell-group changed;crash-hold changed;compress changed;"
			    "hold-files changed;output changed;ledger-size changed;");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules_and_limits_are_applied),
		cmocka_unit_test(channels_are_named),
		cmocka_unit_test(other_settings_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
