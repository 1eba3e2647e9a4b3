#!/bin/bash
# SPDX-License-Identifier: MIT
# TIMEOUT: 480
#
# A third kernel, newer than the second: what only it can do. As it_vm.sh, whose tests run there by hand:
# tests/vm/run.sh -k new tests/vm/guest/it_aux.sh ...
exec tests/vm/run.sh -k new -t 280 tests/vm/guest/it_aux_pause.sh
