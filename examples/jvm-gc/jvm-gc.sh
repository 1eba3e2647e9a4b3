#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Runs Sessions.java with a collector that stops all threads for a full collection, in a heap that is large enough.

if ! command -v java >/dev/null; then
	echo "there is no java" >&2
	exit 77
fi
exec java -XX:-UsePerfData -XX:+UseSerialGC -Xms400m -Xmx400m "$(dirname "$0")/Sessions.java"
