#!/bin/bash
# SPDX-License-Identifier: MIT
# TIMEOUT: 900
#
# Three minutes of `make soak`, with a kill each 20 s.
export SOAK_MINUTES=3 SOAK_KILL_SECONDS=20
exec bash tests/soak.sh
