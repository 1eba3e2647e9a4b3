/* SPDX-License-Identifier: MIT */
/* What of a configuration that was read again takes effect only at the next start. */
#pragma once

struct config;
struct err;

/*
 * Calls tell("channel cpu", "changed"), tell("target", "changed"), tell("ledger-size", "changed")
 * for each such difference; channels may also be "added" or "removed". -EINVAL as
 * config_channels(): the recorder would not start with `fresh`.
 */
int config_changes(const struct config *old, const struct config *fresh,
		   void (*tell)(const char *what, const char *how), struct err *err);
