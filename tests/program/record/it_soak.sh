#!/bin/bash
# SPDX-License-Identifier: MIT
# TIMEOUT: 600
#
# Three minutes of `make soak`, with a kill each half a minute.
export SOAK_MINUTES=3 SOAK_KILL_SECONDS=30
exec tests/soak.sh
