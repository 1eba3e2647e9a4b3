#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2034 # variables are for the tests that source this
#
# Sourced by tests that make control groups, as root.

# make_cgroup NAME: creates a control group below this shell's hierarchies: $cgroup, its directory,
# in the unified hierarchy or another, and $cgroup_name, its name in a dump. False: none may be made.
make_cgroup() {
	local type mount controllers

	while read -r _ mount type _; do
		controllers=
		[ "$type" = cgroup2 ] ||
			controllers=$(grep -m1 -E ":(.*,)?(name=)?${mount##*/}(,.*)?:" /proc/self/cgroup | cut -d: -f2):
		cgroup=$mount/$1-$$
		cgroup_name=$controllers/$1-$$
		mkdir "$cgroup" 2>/dev/null || continue
		(echo "$BASHPID" >"$cgroup/cgroup.procs") 2>/dev/null && return
		rmdir "$cgroup"
	done < <(grep -E '^[^ ]+ [^ ]+ cgroup2? ' /proc/self/mounts | sort -rk3,3)
	cgroup=
	return 1
}
