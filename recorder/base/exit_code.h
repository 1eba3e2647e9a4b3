/* SPDX-License-Identifier: MIT */
/* Exit codes of ringback, the same for all commands; documented in ringback(1). */
#pragma once

#define EXIT_FINE    0
#define EXIT_FAILED  1
#define EXIT_USAGE   2
#define EXIT_DAMAGED 3
