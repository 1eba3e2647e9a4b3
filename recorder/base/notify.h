/* SPDX-License-Identifier: MIT */
/*
 * What a service manager is told: sd_notify(3), without its library. Where nobody listens
 * ($NOTIFY_SOCKET), nothing happens.
 */
#pragma once

/* state: "READY=1", "STOPPING=1" */
void notify_manager(const char *state);
