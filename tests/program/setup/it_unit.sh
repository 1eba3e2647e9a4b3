#!/bin/bash
# SPDX-License-Identifier: MIT
# TIMEOUT: 1000
#
# The service under systemd: tests/vm/guest/it_unit.sh with every option, and it_systemd.sh, its life
# from enable to removal, in a guest with Debian's 6.1, where cores come through a pipe. To run it
# with a newer kernel, where they come through a socket:
# tests/vm/run.sh -k new -s -t 600 tests/vm/guest/it_unit.sh
VM_CPUS=2 exec tests/vm/run.sh -s -t 900 tests/vm/guest/it_unit.sh tests/vm/guest/it_systemd.sh
