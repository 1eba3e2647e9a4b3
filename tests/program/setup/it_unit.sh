#!/bin/bash
# SPDX-License-Identifier: MIT
# TIMEOUT: 700
#
# The service under systemd: tests/vm/guest/it_unit.sh in a guest with Debian's 6.1, where cores
# come through a pipe. To run it with a newer kernel, where they come through a socket:
# tests/vm/run.sh -k new -s -t 600 tests/vm/guest/it_unit.sh
VM_CPUS=2 exec tests/vm/run.sh -s -t 600 tests/vm/guest/it_unit.sh
