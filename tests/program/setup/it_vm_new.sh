#!/bin/bash
# SPDX-License-Identifier: MIT
# TIMEOUT: 480
#
# A third kernel, newer than the second: tests that need its features. The tests of it_vm.sh run
# there by hand: tests/vm/run.sh -k new tests/vm/guest/it_aux.sh ...
exec tests/vm/run.sh -k new -t 350 tests/vm/guest/it_aux_pause.sh tests/vm/guest/it_compact.sh
