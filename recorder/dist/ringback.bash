# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# bash completion for ringback, without help from outside, so that it works where bash-completion is not
# installed: `. ringback.bash`. tests/lint/lint_docs.sh holds it to the program's own --help.

# Those of the words that begin as typed.
_ringback_words() {
	local IFS=$'\n'

	mapfile -t COMPREPLY < <(compgen -W "${1// /$'\n'}" -- "$2")
}

_ringback_files() { # GLOB CURRENT
	mapfile -t COMPREPLY < <(compgen -f -X "!$1" -- "$2"; compgen -d -- "$2")
	compopt -o filenames 2>/dev/null
}

# Names of the recorders that run.
_ringback_names() {
	local dir socket names=

	for dir in /run/ringback "${XDG_RUNTIME_DIR:-/nonexistent}/ringback" \
		"/tmp/ringback-$UID" "${RINGBACK_RUNTIME_DIR:-/nonexistent}"; do
		for socket in "$dir"/*.sock; do
			[ -S "$socket" ] || continue
			socket=${socket##*/}
			names+=" ${socket%.sock}"
		done
	done
	echo "${names# }"
}

# Software events, and tracepoints where they may be read.
_ringback_events() {
	echo "cpu-clock task-clock page-faults minor-faults major-faults alignment-faults emulation-faults" \
		"context-switches cpu-migrations dummy bpf-output cgroup-switches"
	cat /sys/kernel/tracing/available_events 2>/dev/null
}

# The last of a list with commas.
_ringback_event() { # CURRENT
	local before=

	case $1 in *,*) before=${1%,*}, ;; esac
	_ringback_words "$(_ringback_events)" "${1##*,}"
	COMPREPLY=("${COMPREPLY[@]/#/$before}")
}

# Kinds of rules, and what some are about.
_ringback_rule() { # CURRENT
	local names

	case $1 in
	event:* | rate:*)
		_ringback_event "${1#*:}"
		COMPREPLY=("${COMPREPLY[@]/#/${1%%:*}:}")
		;;
	signal:*)
		names=$(compgen -A signal SIG)
		_ringback_words "signal:${names//$'\n'SIG/ signal:}" "$1"
		;;
	psi:*) _ringback_words "$(echo psi:{memory,io}:{some,full} psi:cpu:some psi:irq:full)" "$1" ;;
	file:* | uprobe:* | uretprobe:* | latency:* | watch:*)
		mapfile -t COMPREPLY < <(compgen -f -- "${1#*:}")
		COMPREPLY=("${COMPREPLY[@]/#/${1%%:*}:}")
		compopt -o nospace 2>/dev/null
		;;
	*)
		names="cpu: crash crash: event: every: exit exit: file: latency: load mem: offcpu: oom program psi: rate: rss:"
		_ringback_words "$names runqueue signal: stall: syscall: uprobe: uretprobe: watch:" "$1"
		compopt -o nospace 2>/dev/null
		;;
	esac
}

# Control groups, as paths below the mount or absolute ones.
_ringback_cgroup() { # CURRENT
	local dir type mount=/sys/fs/cgroup

	while read -r _ dir type _; do
		[ "$type" != cgroup2 ] || mount=$dir
	done </proc/self/mounts
	case $1 in
	/*) mapfile -t COMPREPLY < <(compgen -d -- "$1") ;;
	*)
		mapfile -t COMPREPLY < <(compgen -d -- "$mount/$1")
		COMPREPLY=("${COMPREPLY[@]#"$mount/"}")
		;;
	esac
	compopt -o nospace 2>/dev/null
}

_ringback_options() {
	case $1 in
	record)
		echo "--all-cpus --cpu --pid --tid --cgroup --no-inherit --event --call-graph --mmap-size --memory --size" \
			"--channel --preset --banks --trigger --post --cooldown --max-dumps --max-disk" \
			"--crash-hold --dry-run --tell-group --dump-on-exit --compress --symbols --hold-files --max-dump-cpus --output --name --ledger-size --config --quiet --verbose --help"
		;;
	trigger) echo "--name --reason --help" ;;
	status) echo "--name --json --help" ;;
	list) echo "--json --help" ;;
	info) echo "--json --all --help" ;;
	diff) echo "--tid --comm --help" ;;
	report) echo "--focus --from --to --tid --comm --html --force --history --no-history --help" ;;
	script) echo "--from --to --comm --pid --tid --cpu --event --no-pt --limit --json --history --no-history --help" ;;
	export) echo "--format --output --force --from --to --event --schema --cpu --tid --channel --help" ;;
	why) echo "--tid --comm --from --to --json --history --no-history --help" ;;
	symbols) echo "--add --output --help" ;;
	check) echo "--salvage --help" ;;
	doctor) echo "--json --repair --help" ;;
	esac
}

# The value of the option before the cursor; fails when that takes none that could be guessed.
_ringback_value() { # COMMAND OPTION CURRENT
	case $1:$2 in
	record:-o | record:--output | symbols:--add)
		mapfile -t COMPREPLY < <(compgen -d -- "$3")
		compopt -o filenames 2>/dev/null
		;;
	record:--config | check:--salvage | export:-o | export:--output | report:--html) _ringback_files '*' "$3" ;;
	record:--preset)
		_ringback_words "default cpu sched life waits syscalls io irq mem net" "$3"
		;;
	export:-f | export:--format) _ringback_words "perf pftrace folded pprof ndjson aux" "$3" ;;
	record:--banks) _ringback_words "1 2" "$3" ;;
	record:--compress) _ringback_words "fast high" "$3" ;;
	record:--hold-files) _ringback_words "yes no" "$3" ;;
	record:--symbols) _ringback_words "10s off" "$3" ;;
	record:--call-graph) _ringback_words "fp dwarf" "$3" ;;
	trigger:-n | trigger:--name | status:-n | status:--name)
		_ringback_words "$(_ringback_names)" "$3"
		;;
	record:-e | record:--event) _ringback_event "$3" ;;
	record:-T | record:--trigger) _ringback_rule "$3" ;;
	record:--cgroup) _ringback_cgroup "$3" ;;
	record:-p | record:--pid)
		_ringback_words "$(cd /proc && echo [0-9]*)" "$3"
		;;
	record:-[Ctmn] | record:--cpu | record:--tid | \
		record:--mmap-size | record:--memory | record:--size | record:--channel | record:--post | \
		record:--cooldown | record:--max-dumps | record:--max-disk | record:--name | \
		record:--max-dump-cpus | record:--ledger-size | trigger:--reason | script:--from | script:--to | \
		script:--comm | script:--pid | script:--tid | script:--cpu | script:--event | \
		script:--limit | report:--focus | report:--from | report:--to | report:--tid | report:--comm | diff:--tid | diff:--comm | export:--from | export:--to | export:--cpu | export:--tid | export:--channel | why:--tid | why:--comm | why:--from | \
		why:--to)
		COMPREPLY=()
		;;
	*) return 1 ;;
	esac
}

# "sched:sched_switch" comes as three words, since the colon parts them.
_ringback_join() {
	local words=() i at=$COMP_CWORD

	for ((i = 0; i < ${#COMP_WORDS[@]}; i++)); do
		if [ "$i" -gt 1 ] && { [[ ${COMP_WORDS[i]} == :* ]] || [[ ${COMP_WORDS[i - 1]} == *: ]]; }; then
			words[${#words[@]} - 1]+=${COMP_WORDS[i]}
			[ "$i" -gt "$COMP_CWORD" ] || at=$((at - 1))
		else
			words+=("${COMP_WORDS[i]}")
		fi
	done
	COMP_WORDS=("${words[@]}") COMP_CWORD=$at
}

_ringback() {
	if [ "$COMP_CWORD" -gt 1 ] && [ "${COMP_WORDS[1]}" = --no-pager ]; then
		COMP_WORDS=("${COMP_WORDS[0]}" "${COMP_WORDS[@]:2}") COMP_CWORD=$((COMP_CWORD - 1))
	fi
	local command current before i colons

	_ringback_join
	command=${COMP_WORDS[1]} current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
	COMPREPLY=()
	if [ "$COMP_CWORD" -le 1 ]; then
		_ringback_words "record trigger status list info script report diff why export symbols check doctor help version --no-pager" "$current"
		return
	fi
	# --preset=x comes as three words.
	if [ "$current" = = ]; then
		current=
	elif [ "$before" = = ]; then
		before=${COMP_WORDS[COMP_CWORD - 2]}
	fi
	for ((i = 2; i < COMP_CWORD; i++)); do
		if [ "${COMP_WORDS[i]}" = -- ]; then # the command to record
			mapfile -t COMPREPLY < <(compgen -c -f -- "$current")
			return
		fi
	done
	if _ringback_value "$command" "$before" "${current#[\'\"]}"; then
		# Only what stands behind the last colon is replaced, unless it is in quotes.
		case $COMP_WORDBREAKS:$current in
		*:*:[\'\"]*) ;;
		*:*:*:*)
			colons=${current%"${current##*:}"}
			COMPREPLY=("${COMPREPLY[@]#"$colons"}")
			;;
		esac
		return
	fi
	case $command:$current in
	*:-*) _ringback_words "$(_ringback_options "$command")" "$current" ;;
	info:* | script:* | report:* | diff:* | why:* | export:* | symbols:* | check:*) _ringback_files '*.rbd' "$current" ;;
	list:*)
		mapfile -t COMPREPLY < <(compgen -d -- "$current")
		compopt -o filenames 2>/dev/null
		;;
	help:*) _ringback_words "record trigger status list info script report diff why export symbols check doctor" "$current" ;;
	esac
}

complete -F _ringback ringback
