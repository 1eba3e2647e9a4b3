#!/bin/bash
# SPDX-License-Identifier: MIT
#
# run.sh [-k new] [-s] [-t SECONDS] TEST.sh...: runs tests in a guest with Debian's kernel (-k new:
# the kernel of the next release's backports), 4 CPUs (or $VM_CPUS) and the test module
# (module/pmu.c), under QEMU without KVM, and prints their points as one TAP: "ok N - TEST: what".
# Exits with 0 when the guest ended by itself and no point failed. Builds everything in
# $RINGBACK_BUILD/vm (-k new: vm-new), with the kernel's log in console.log. The guest has the
# sources' tests/ in /src; program, loads and tools in /build; the host's tools and libraries listed
# below; and busybox for the rest.
# -s: systemd from the host is the guest's first process, and `make install` has put ringback into
# /usr. Of systemd's units only the targets, the journal and tracefs are there. Everything but the kernel is
# in vm-systemd (-k new: vm-new-systemd).
set -u
cd "$(dirname "$0")/../.." || exit 1

: "${RINGBACK_BUILD:=build}"
build=$(realpath "$RINGBACK_BUILD")
program=$(realpath "${RINGBACK:-$build/ringback}")
vm=$build/vm
systemd=
limit=200
memory=1G
tools="bash awk basename bc cat chmod chown cmp comm cp cut date dd diff dirname env find getent grep head id jq ldd ln ls mkdir mktemp mv
	nproc paste perf pgrep python3 readlink realpath rm rmdir sed seq setpriv setsid sleep sort stat tail taskset tee timeout touch tr
	truncate uniq unshare wc xargs"

kernel=()
if [ "${1-}" = -k ]; then
	kernel=(-k "$2")
	vm=$build/vm-$2
	shift 2
fi
if [ "${1-}" = -s ]; then
	systemd=1
	memory=2G
	shift
fi
if [ "${1-}" = -t ]; then
	limit=$2
	shift 2
fi
dir=$vm${systemd:+-systemd}
root=$dir/root

# put FILE...: copies files into the guest, to the same paths
put() {
	local file

	for file; do
		install -D "$file" "$root$(realpath "$(dirname "$file")")/${file##*/}"
	done
}

# libraries FILE...: shared libraries that they need
libraries() {
	ldd "$@" 2>/dev/null | sed -n 's,.*[[:space:]]\(/[^ ]*\) (0x.*,\1,p' | sort -u
}

# put_systemd: adds systemd, with the tests as a service; $paths: its programs
put_systemd() {
	local units=$root/usr/lib/systemd/system

	paths+=(/usr/lib/systemd/systemd{,-journald,-shutdown} /usr/bin/{systemctl,journalctl,kill,mount,umount})
	mkdir -p "$units"/{sockets,multi-user}.target.wants "$root/new"
	cp /usr/lib/systemd/system/*.target /usr/lib/systemd/system/systemd-journald* \
		/usr/lib/systemd/system/sys-kernel-tracing.mount "$units/"
	ln -s ../systemd-journald.socket ../systemd-journald-dev-log.socket "$units/sockets.target.wants/"
	cp tests/vm/tests.service "$units/"
	ln -s ../tests.service "$units/multi-user.target.wants/"
	ln -sf multi-user.target "$units/default.target"
	echo 0123456789abcdef0123456789abcdef >"$root/etc/machine-id"
	# For the command of on-dump.
	mkdir -p "$root/usr/bin"
	ln -sf busybox "$root/usr/bin/sh"
	printf 'root:x:0:\nadm:x:4:\nnogroup:x:65534:\n' >"$root/etc/group"
	# Installs the existing build, whatever flags it was made with.
	env -u MAKEFLAGS -u MAKELEVEL make -s -o all O="$build" DESTDIR="$root" PREFIX=/usr install
}

make_root() {
	local tool python paths=()

	rm -rf "$root"
	mkdir -p "$root"/{usr/bin,usr/sbin,usr/lib,usr/lib64,proc,sys,dev,etc,opt/busybox,src,build/tests,build/tap}
	ln -s usr/bin usr/sbin usr/lib usr/lib64 "$root"
	cp tests/vm/init "$root/init"
	cp /bin/busybox "$root/usr/bin/busybox"
	cp "$vm/module/rb_aux.ko" "$root/"
	printf 'root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65534:nobody:/:/bin/false\n' >"$root/etc/passwd"
	for tool in $tools; do
		paths+=("$(PATH=/usr/bin:/usr/sbin type -P "$tool")")
	done
	[ -z "$systemd" ] || put_systemd
	put "${paths[@]}"
	# The parts of Python's library that it needs to start and to open a socket.
	python=$(/usr/bin/python3 -c 'import json; print(json.__path__[0])')
	python=${python%/*}
	mkdir -p "$root$python"
	cp -r "$python"/*.py "$python"/{collections,encodings,importlib,json,lib-dynload,re} "$root$python"
	cp -r tests "$root/src/"
	cp "$program" "$build"/tests/load_* "$build"/tests/tool_* "$root/build/tests/"
	rm -f "$root"/build/tests/*.[do]
	mv "$root/build/tests/${program##*/}" "$root/build/ringback"
	# shellcheck disable=SC2046 # a list of words
	put $(libraries "${paths[@]}" "$root"/build/ringback "$root"/build/tests/* "$python"/lib-dynload/*.so)
	printf '%s\n' "$@" >"$root/tests.list"
	(cd "$root" && find . | cpio -o -H newc --quiet) >"$dir/initramfs"
}

# One thread for all CPUs: with one thread each, QEMU 7.2 sometimes runs for ever a breakpoint that
# the kernel wrote into its own code and removed again (when it enables a tracepoint). On two host
# CPUs a single thread is no slower.
boot() {
	timeout -k 5 "$limit" qemu-system-x86_64 -accel tcg,thread=single -smp "${VM_CPUS:-4}" -m "$memory" \
		-nodefaults -display none -no-reboot \
		-kernel "$image" -initrd "$dir/initramfs" \
		-append 'console=ttyS0 panic=-1 quiet loglevel=6' \
		-serial "file:$dir/console.log" -serial "file:$dir/tests.log" </dev/null
}

# Merges the points into one TAP. Serial lines may end with CR.
points() {
	tr -d '\r' <"$dir/tests.log" | awk '
		/^# file: / { file = $3; sub(/.*\//, "", file) }
		/^# module: / { module = 1; kernel = $3 }
		/^# status: / && $3 != 0 { bad = 1 }
		/^# end of the guest$/ { whole = 1 }
		/^(not )?ok/ {
			word = $1 == "ok" ? "ok" : "not ok"
			if (word != "ok") bad = 1
			sub(/^(not )?ok *[0-9]* *-? */, "")
			print word, ++nr, "-", file ": " $0
			next
		}
		!/^1\.\./ { print /^#/ ? $0 : "# " $0 }
		END {
			print whole ? "ok" : "not ok", ++nr, "- the guest ran all and ended by itself"
			print module ? "ok" : "not ok", ++nr, "- its kernel took the test module"
			print "1.." nr
			exit bad || !whole || !module
		}'
}

mkdir -p "$dir"
: >"$dir/tests.log"
if ! tests/vm/kernel.sh "${kernel[@]}" "$vm"; then
	echo "not ok 1 - the guest's kernel is there and the test module builds"
	echo "1..1"
	exit 1
fi
# shellcheck disable=SC2012
image=$(ls "$vm"/kernel/boot/vmlinuz-* "$vm"/kernel/usr/lib/modules/*/vmlinuz 2>/dev/null | head -n 1)
make_root "$@"
start=$SECONDS
boot 2>&1 | sed 's/^/# /'
status=${PIPESTATUS[0]}
points
rc=$?
echo "# the guest took $((SECONDS - start)) s, limit $limit s"
[ "$rc" = 0 ] && [ "$status" = 0 ]
