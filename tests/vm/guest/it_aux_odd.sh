#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2154 # of recorder.sh
#
# In the guest: AUX areas of drivers that have limits, or whose data does not tell how much of it is
# new.
. tests/helpers/tap.sh
. tests/helpers/recorder.sh
. tests/vm/guest/module.sh

at_end+=("for i in zeros sizes restart limit min_pages max_pages readers; do echo 0 >$parameters/\$i; done; echo >$parameters/serves")

# dump: makes a dump of the recorder
dump() {
	path=$(dump_now)
	"$RINGBACK" info --json "$path" >"$work/info.json"
}

# each KEY: its values in all areas of the dump, without repetitions
each() {
	jq -c "[.aux[].$1] | unique" "$work/info.json"
}

# ---- zeros ----

set_to zeros 1
set_to rate 4096
set_to limit 16384
rec_start -a --symbols off --channel "count:rb_aux_count//;size=16K"
ticked 10 . rb_aux_count
dump
equal "zeros, a head that counts, exactly once around: all of it is there, and new" "[16384] [16384]" \
	"$(each bytes) $(each new_bytes)"
rec_stop

set_to limit 65541
set_to restart 2
set_to sizes 1
rec_start -a --symbols off --channel "mod:rb_aux_mod//;size=16K"
ticked 30 . rb_aux_mod
dump
equal "a head that is a position, four times around: the kernel's records tell it" "[65541] [16384]" \
	"$(each written_bytes) $(each new_bytes)"
set_to limit 65551
ticked 10 . rb_aux_mod
dump
equal "and what is new in the next dump" "[10] [16384]" "$(each new_bytes) $(each bytes)"
rec_stop
for i in zeros sizes restart limit; do set_to $i 0; done

# ---- areas that drivers do not take ----

# refused TEXT ARG..: a dry run fails and prints TEXT
refused() {
	local text=$1

	shift
	! "$RINGBACK" record --config /dev/null --dry-run "$@" >"$work/refused" 2>&1 && grep -q "$text" "$work/refused"
}

set_to min_pages 2
rec_start -a --symbols off --channel "trace:rb_aux_mod//;size=16K"
dump
equal "a PMU that takes no area of one page has areas all the same" "4 [16384]" \
	"$(jq '.aux | length' "$work/info.json") $(each area_bytes)"
rec_stop
set_to min_pages 32
check "too small an area: the error says how large it must be" \
	refused "its driver needs an AUX area of 128 KiB, not 16 KiB" -a --channel "trace:rb_aux_mod//;size=16K"
check "and what to type" grep -q "hint: --channel 'trace:rb_aux_mod//;size=128K'" "$work/refused"
set_to min_pages 0

set_to readers 1
check "no overwrite mode: the error says so" refused "its driver has no overwrite mode" -a -e rb_aux_mod//
check "with one bank, too" refused "its driver has no overwrite mode" -a --banks 1 -e rb_aux_mod//
set_to readers 0

set_to max_pages 64
rec_start -a --symbols off --channel "trace:rb_aux_mod//;size=1M"
check "no memory for a large area: half is tried, and half of that, which is said" \
	test "$(grep -c 'channel trace: no memory for an AUX area of .*; trying' "$work/err")" = 2
dump
equal "it records with these" "[262144]" "$(each area_bytes)"
rec_stop
set_to max_pages 8
check "below 64 KiB it is an error" refused "can't map a ring of 64 KiB for rb_aux_mod" -a --channel "trace:rb_aux_mod//;size=1M"
set_to max_pages 0

check "one PMU, two channels: the error names the other channel" \
	refused "rb_aux_mod takes one event on each CPU, and channel a of this recorder has it" -a \
	--channel "a:rb_aux_mod//" --channel "b:rb_aux_mod//"

# ---- CPUs that a PMU does not serve ----

set_to serves 1,3
check "CPUs that the PMU does not serve: refused" \
	refused "channel trace: rb_aux_count serves only CPUs 1,3, none of which is to be recorded" -C 0,2 --channel "trace:rb_aux_count//"
check "and what to type" grep -q "hint: -C 1,3" "$work/refused"
rec_start -C 0,1 --symbols off --channel "trace:rb_aux_count//;size=16K"
dump
equal "some that it serves: those are recorded" "[1]" "$(each cpu)"
rec_stop
echo >$parameters/serves

# ---- an area whose end stays unused ----

rm -f "$work"/dumps/*.rbd
rec_start -a --symbols off --channel "bts:intel_bts//;size=16K"
for i in 1 2 3; do
	ticked 5 . intel_bts
	dump
done
check "BTS: what was written is there in order, without a hole" "$loads/tool_area" "$work"/dumps/*.rbd
equal "all whole records" "[16368]" "$(each bytes)"
"$RINGBACK" export -f aux --cpu 1 -o "$work/aux" "$path"
equal "so does the export" 16368 "$(stat -c %s "$work/aux")"
rec_stop

# ---- CoreSight ----

rec_start -a --symbols off --channel "trace:cs_etm//;size=16K"
dump
rec_stop
"$loads/tool_area" pmu "$path" >"$work/pmu"
equal "CoreSight records time and threads unless told otherwise" "cs_etm config=0x10004000" "$(head -n 1 "$work/pmu")"
equal "the dump has the registers that a decoder wants, of each CPU" \
	"$(for i in 0 1 2 3; do printf 'cpu%s/%s=0x28000ea%s\n' $i trcidr/trcidr0 $i $i mgmt/trcauthstatus $i; done)" \
	"$(grep '^cpu[0-9]' "$work/pmu")"
tap_end
