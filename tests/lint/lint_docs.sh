#!/bin/bash
# SPDX-License-Identifier: MIT
# What the program can, the man page, the completion and the README tell; and what they tell, it can.
cd "$(dirname "$0")/../.." || exit 1
. tests/helpers/tap.sh

build=${RINGBACK_BUILD:-build}
program=${RINGBACK:-build/ringback}
man=recorder/dist/ringback.1
completion=recorder/dist/ringback.bash

commands() {
	"$program" --help | sed -n 's/^  ringback \([a-z]*\) .*/\1/p'
}

# The long options of a command, one a line.
options() {
	"$program" "$1" --help | grep -oE -- '(^|[ ,])--[a-z][a-z-]+' | tr -d ' ,' | sort -u
}

# The part of the man page about one command (a subsection), and its own page where it has one, as plain text, "\-" made "-".
man_of() {
	{
		sed -n "/^\.Ss ringback $1/,/^\.S[sh] /p" $man
		[ ! -e "${man%.1}-$1.1" ] || cat "${man%.1}-$1.1"
	} | sed 's/\\-/-/g'
}

# in_man COMMAND OPTION: as .Fl -name or in a list item
in_man() {
	man_of "$1" | grep -qE -- "Fl -${2#--}( |\$|=)"
}

undocumented() {
	local command option

	for command in $(commands); do
		man_of "$command" | grep -q . || echo "$man has no subsection 'ringback $command'"
		for option in $(options "$command"); do
			in_man "$command" "$option" || [ "$option" = --help ] ||
				echo "$man: ringback $command $option is missing"
		done
	done
}

# Options in the man page that no command has.
invented() {
	local command option known

	for command in $(commands); do
		known=$(options "$command")
		for option in $(man_of "$command" | grep -oE 'Fl -[a-z][a-z-]+' | sed 's/Fl -/--/' | sort -u); do
			printf '%s\n' "$known" | grep -qxF -- "$option" ||
				echo "$man: ringback $command has no $option"
		done
	done
}

# The options table itself: long names with their letters, and the presets.
table() {
	local long letter arg preset

	while read -r long letter arg; do
		man_of record | grep -qE "^\.(It .*)?Fl -$long( |\$)" || echo "$man: --$long ($arg) is missing"
		[ "$letter" = - ] || man_of record | grep -qE "^\.It Fl $letter .*Fl -$long( |\$)" ||
			echo "$man: --$long does not name its short form -$letter"
	done < <("$build/tests/tool_options")
	for preset in $("$build/tests/tool_options" presets); do
		man_of record | grep -q "^\.It Cm $preset\$" || echo "$man: preset $preset is missing"
		grep -qw "$preset" $completion || echo "$completion: preset $preset is missing"
	done
}

# The formats of export: in man page and completion, each with its help.
formats() {
	local format offered

	offered=$(bash -c '. "$1"; COMP_WORDS=(ringback export -f ""); COMP_CWORD=3
		_ringback; printf "%s\n" "${COMPREPLY[@]}"' - $completion)
	for format in $("$program" export --help | sed -n 's/^      \([a-z]*\)  *[a-z].*/\1/p'); do
		man_of export | grep -q "^\.It Cm $format\$" || echo "$man: format $format is missing"
		printf '%s\n' "$offered" | grep -qxF "$format" || echo "$completion: format $format is missing"
	done
}

# bash itself is asked: after "ringback COMMAND --", all its long options must be offered.
completed() {
	local command option offered

	for command in $(commands); do
		offered=$(bash -c '. "$1"; COMP_WORDS=(ringback "$2" --); COMP_CWORD=2
			_ringback; printf "%s\n" "${COMPREPLY[@]}"' - $completion "$command" | sed 's/=$//')
		for option in $(options "$command"); do
			[ "$option" = --help ] || printf '%s\n' "$offered" | grep -qxF -- "$option" ||
				echo "$completion: $command does not offer $option"
		done
		for option in $offered; do
			[ "$option" = --help ] || options "$command" | grep -qxF -- "$option" ||
				echo "$completion: $command has no $option"
		done
	done
	offered=$(bash -c '. "$1"; COMP_WORDS=(ringback ""); COMP_CWORD=1
		_ringback; printf "%s\n" "${COMPREPLY[@]}"' - $completion)
	for command in $(commands); do
		printf '%s\n' "$offered" | grep -qxF "$command" || echo "$completion: no command $command"
	done
}

packages() {
	local package

	for package in $(tests/deps.sh list); do
		grep -qF "\`$package\`" README.md || echo "README.md does not say what $package is for"
	done
}

# Files and folders that the README and examples/README.md name must be there.
named_files() {
	local file

	# shellcheck disable=SC2016 # the quotes are the document's
	for file in $(grep -ohE '`(recorder|trigger|dump|tests|examples)/[A-Za-z0-9_./-]*`' README.md \
		examples/README.md | tr -d '`' | grep -v NAME | sort -u); do
		[ -e "$file" ] || echo "README.md names $file, which is not there"
	done
}

if [ -x "$program" ] && [ -x "$build/tests/tool_options" ]; then
	empty "every command and option is in the man page" "$(undocumented)"
	empty "the man page has no option that is not there" "$(invented)"
	empty "the options table is in man page and completion" "$(table)"
	empty "the formats of export are in man page and completion" "$(formats)"
	empty "the completion offers what there is" "$(completed)"
else
	not_ok "the program is built" "no $program or $build/tests/tool_options"
fi
check "the man pages are clean" mandoc -T lint -W warning "${man%.1}"*.[17]
empty "every package is explained in the README" "$(packages)"
empty "files named in the READMEs are there" "$(named_files)"
check "the README has at most 200 lines" test "$(wc -l <README.md)" -le 200
# Every source of the table has an item in the man page and a section in RULES.md.
rules() {
	local name

	for name in $(sed -n 's/^\t\.name = "\([a-z]*\)",/\1/p' trigger/sources/src_*.c); do
		grep -q "^\.It Li $name" recorder/dist/ringback-rules.7 || echo "recorder/dist/ringback-rules.7 has no item '$name'"
		grep -q "^### .*\b$name\b" trigger/RULES.md || echo "trigger/RULES.md has no section '$name'"
	done
}
empty "every kind of trigger is documented" "$(rules)"
tap_end
