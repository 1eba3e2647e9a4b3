#!/bin/bash
# SPDX-License-Identifier: MIT
#
# incident.h for examples that are shell scripts, which source this file.
#
#	incident TEXT: informs the user and asks the recorder for a dump, as incident() of incident.h

incident() {
	echo "$1" >&2
	if [ "${RINGBACK_ASK:-program}" = program ]; then
		"${RINGBACK:-ringback}" trigger --reason "$1" >&2
	else
		sleep 1.5
	fi
}
