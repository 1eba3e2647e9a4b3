#!/bin/bash
# SPDX-License-Identifier: MIT
#
# An unprivileged neighbour: what it puts in the place of a perf map is not followed, waited for or
# believed; it reaches none of the recorder's sockets; as a member of the tell-group it floods the
# programs' socket, and others are answered all the same.
. tests/helpers/tap.sh
. tests/helpers/recorder.sh
only_root "an unprivileged neighbour" "needs root"

secret=$work/secret
chmod 711 "$work"
# A process of nobody that runs code made at run time, at an address that it prints.
cat >"$work/jit.py" <<'END'
import ctypes, mmap, os

code = bytes.fromhex("b900ca9a3b") + bytes.fromhex("ffc975fc") + b"\xc3"  # mov ecx, 10^9; dec ecx; jnz; ret
area = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
area.write(code)
at = ctypes.addressof(ctypes.c_char.from_buffer(area))
print(f"{os.getpid()} {at:x}", flush=True)
while True:
    ctypes.CFUNCTYPE(None)(at)()
END
chmod 644 "$work/jit.py"

# busy: starts it; sets $jit, its pid, $at, the address, and $map, the path of its perf map
busy() {
	in_background as_nobody /usr/bin/python3 "$work/jit.py" >"$work/at"
	wait_for 20 test -s "$work/at"
	read -r jit at <"$work/at"
	map=/tmp/perf-$jit.map
	at_end+=("rm -rf $map")
}

end_busy() {
	kill "$jit"
	wait "$bg_pid" 2>/dev/null
	rm -rf "$map"
}

# named: a dump now; its report is in $work/report
named() {
	sleep 0.3
	timeout 60 "$RINGBACK" trigger >"$work/path" && timeout 60 "$RINGBACK" report "$(cat "$work/path")" >"$work/report" &&
		grep -q python3 "$work/report"
}

rec_start -a --channel 'cpu:cpu-clock/freq=499/;size=1M;stack=fp'

busy
line="$at 20 neighbours_loop"
as_nobody sh -c "echo '$line' >$map"
check "a perf map gives names" eval 'named && grep -q neighbours_loop "$work/report"'
rm "$map"

echo "$at 20 root_only_name" >"$secret"
chmod 600 "$secret"
as_nobody ln -s "$secret" "$map"
check "a symbolic link in its place: a dump is made" named
check "and nothing of the file behind it is in the dump" eval '! grep -q root_only_name "$work/report"'
rm "$map"

as_nobody mkfifo "$map"
check "a FIFO in its place is not waited for" named
rm "$map"

as_nobody mkdir "$map"
check "nor a directory read" named
rmdir "$map"

as_nobody truncate -s 250M "$map"
check "a sparse file of 250 MB is read in bounds" named
rm "$map"

as_nobody sh -c "printf '%s 20 a\033[31mred\342\200\256evil\n' $at >$map"
check "control and bidi characters in a name" named
check "do not reach the terminal" eval '! grep -qP "\x1b|\xe2\x80\xae" "$work/report"'
end_busy

# What cannot be reached by others: everything in the control directory.
chmod 755 "$work"
for socket in "$work"/run/*; do
	check "${socket##*/} is closed to others" eval '! as_nobody /usr/bin/python3 -c "
import socket, sys
for kind in socket.SOCK_STREAM, socket.SOCK_SEQPACKET, socket.SOCK_DGRAM:
    try:
        socket.socket(socket.AF_UNIX, kind).connect(sys.argv[1])
        sys.exit(0)
    except OSError:
        pass
sys.exit(1)" "$socket"'
done
rec_stop

# A member of the group that may tell.
mkdir -m 755 "$work/run.tell"
rec_start -a -m 64K -e sched:sched_process_exec --tell-group nogroup -T 'program;cooldown=1h'
sockets() {
	find "/proc/$rec_pid/fd" -lname 'socket:*' | wc -l
}
before=$(sockets)
as_nobody /usr/bin/python3 - "$work/run.tell/default.tell" <<'END' >"$work/flood" 2>&1 &
import socket, sys, time

end = time.time() + 4
sent = 0
while time.time() < end:
    peers = []
    try:
        for _ in range(300):
            s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            s.setblocking(False)
            s.connect(sys.argv[1])
            peers.append(s)
    except OSError:
        pass
    for s in peers:
        try:
            while True:
                s.send(b"x" * 4000)
                sent += 1
        except OSError:
            s.close()
print(sent)
END
flood=$!
sleep 0.5
answered=0
for _ in 1 2 3 4 5; do
	timeout 20 "$RINGBACK" status >/dev/null && answered=$((answered + 1))
	sleep 0.2
done
equal "status is answered during a flood" 5 $answered
check "and a dump is made" timeout 60 "$RINGBACK" trigger
wait $flood
echo "# $(cat "$work/flood") messages; sockets of the recorder before: $before, after: $(sockets)"
check "many messages were sent" test "$(cat "$work/flood")" -gt 1000
check "the recorder holds no connection of the flood" wait_for 20 eval '[ "$(sockets)" -le $((before + 4)) ]'
check "and a bounded amount of memory" test "$(awk '/VmRSS/ { print $2 }' "/proc/$rec_pid/status")" -lt 65536
rec_stop
tap_end
