# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# bash completion: `ringback complete` prints the candidates; files, directories and commands are left to the shell.

_ringback() {
	local out kind word

	mapfile -t out < <("${1/#\~/$HOME}" complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
	COMPREPLY=("${out[@]}")
	[[ ${out[*]} != *[:/] ]] || compopt -o nospace 2>/dev/null
	[[ ${out[0]-} == :* ]] || return 0
	kind=${out[0]%% *} word=${out[0]#* }
	case $kind in
	:command) mapfile -t COMPREPLY < <(compgen -c -f -- "$word") ;;
	:directory) mapfile -t COMPREPLY < <(compgen -d -- "$word") ;;
	:dump) mapfile -t COMPREPLY < <(compgen -f -X '!*.rbd' -- "$word"; compgen -d -- "$word") ;;
	:file) mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
	esac
	COMPREPLY=("${COMPREPLY[@]/#/${out[1]}}")
	compopt -o filenames 2>/dev/null
}

complete -F _ringback ringback
