#!/bin/bash
# SPDX-License-Identifier: MIT
# The completion offers kinds of rules, events, tracepoints if tracefs is readable, and control
# groups, also when the shell splits words at colons.
cd "$(dirname "$0")/../../.." || exit 1
. tests/helpers/tap.sh

: "${RINGBACK:=build/ringback}"
export RINGBACK
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# offered WORD...: completions for `ringback record WORD...`, the last word being incomplete
offered() {
	bash -c '. recorder/dist/ringback.bash; COMP_WORDS=(ringback record "$@"); COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
		_ringback "$RINGBACK" 2>/dev/null; printf "%s\n" "${COMPREPLY[@]}"' - "$@"
}

kinds=$(sed -n 's/^\t\.name = "\([a-z]*\)",/\1/p' trigger/sources/src_*.c | sort)
equal "all kinds of rules, and no others" "$kinds" "$(offered -T "" | sed 's/:$//' | sort -u)"
equal "a kind that was begun" "latency:" "$(offered --trigger lat)"
equal "signals of a rule" "USR1 USR2" "$(offered -T signal : US | tr '\n' ' ' | sed 's/ $//')"
equal "in quotes all of it is replaced" "signal:USR1" "$(offered -T "'signal:USR1")"
equal "what may press" "full some" "$(offered -T psi : memory : | sort | tr '\n' ' ' | sed 's/ $//')"

"$RINGBACK" record --config /dev/null --dry-run -p $$ -e "$(offered -e "" | grep -v : | grep -vx -e cgroup-switches -e sleep-stacks | tr '\n' ',' | sed 's/,$//')" >"$work/out" 2>&1
equal "the recorder knows all software events" 0 $?
equal "an event that was begun" "context-switches" "$(offered -e con)"
equal "the second of a list" "page-faults,context-switches" "$(offered -e page-faults,con)"
if unshare -m sh -c 'mount -t tracefs nodev /sys/kernel/tracing' 2>/dev/null; then
	export -f offered
	traced() {
		unshare -m bash -c 'mount -t tracefs nodev /sys/kernel/tracing; offered "$@"' - "$@"
	}
	equal "a tracepoint, of which the shell replaces what is behind the colon" "sched_switch" "$(traced -e sched : sched_swi)"
	equal "one in quotes" "sched:sched_switch" "$(traced -e "'sched:sched_swi")"
	equal "behind a comma" "sched_switch" "$(traced -e sched : sched_switch,sched : sched_swi)"
	equal "in a rule" "sched_switch" "$(traced -T event : sched : sched_swi)"
else
	skip "a tracepoint" "tracefs can't be mounted"
fi
mount=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)
if [ -n "$mount" ] && mkdir "$mount/ringback-complete" 2>/dev/null; then
	mkdir "$mount/ringback-complete/inner"
	equal "a control group below the mount" ringback-complete "$(offered --cgroup ringback-comp)"
	equal "one within it" ringback-complete/inner "$(offered --cgroup ringback-complete/)"
	equal "as an absolute path" "$mount/ringback-complete" "$(offered --cgroup "$mount/ringback-comp")"
	rmdir "$mount/ringback-complete/inner" "$mount/ringback-complete"
else
	skip "a control group below the mount" "no cgroup can be made here"
fi
tap_end
