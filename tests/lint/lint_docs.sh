#!/bin/bash
# SPDX-License-Identifier: MIT
# Man pages, completion, READMEs and RULES.md agree with the program.
cd "$(dirname "$0")/../.." || exit 1
. tests/helpers/tap.sh

program=${RINGBACK:-build/ringback}
man=recorder/dist/ringback.1

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

# What completion offers for the last word of `ringback WORD...`.
offered() {
	"$program" complete "$@"
}

# Short options, and names that an option takes, such as presets and formats.
names() {
	local command letter long name

	for command in $(commands); do
		while read -r letter long; do
			man_of "$command" | grep -qE "^\.It Fl $letter .*Fl -$long( |\$)" ||
				echo "$man: ringback $command --$long does not name its short form -$letter"
		done < <("$program" "$command" --help | sed -nE 's/^  -([a-zA-Z]), --([a-z-]+).*/\1 \2/p' | grep -v '^h help')
	done
	for name in $(offered record --preset ''); do
		man_of record | grep -q "^\.It Cm $name\$" || echo "$man: preset $name is missing"
	done
	for name in $(offered export --format ''); do
		man_of export | grep -q "^\.It Cm $name\$" || echo "$man: format $name is missing"
	done
}

# Commands and long options, as --help has them.
completed() {
	local command

	for command in $(commands); do
		diff <(offered "$command" -- | sort) <(options "$command") >/dev/null ||
			echo "completion of $command: $(offered "$command" -- | tr '\n' ' ')"
	done
	diff <(offered '' | grep -v -e - -e help -e version) <(commands)
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

if [ -x "$program" ]; then
	empty "every command and option is in the man page" "$(undocumented)"
	empty "the man page has no option that is not there" "$(invented)"
	empty "short options, presets and formats are in the man page" "$(names)"
	empty "completion offers the commands and options that --help has" "$(completed)"
else
	not_ok "the program is built" "no $program"
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
