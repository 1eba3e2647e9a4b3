#!/bin/bash
# SPDX-License-Identifier: MIT
# TIMEOUT: 1600
#
# A second kernel, Debian's 6.1 in a guest with 4 CPUs: the test module's PMUs, and the tests of the
# whole program that depend most on the kernel and are quick. Others run there by hand:
# tests/vm/run.sh tests/program/rules/it_trigger.sh ...
guest=tests/vm/guest
exec tests/vm/run.sh -t 1500 $guest/it_aux_pmu.sh $guest/it_aux.sh $guest/it_aux_read.sh $guest/it_aux_ended.sh $guest/it_aux_odd.sh $guest/it_pt.sh $guest/it_compact.sh \
	tests/program/record/it_hotplug.sh \
	tests/program/record/it_zero_gap.sh
