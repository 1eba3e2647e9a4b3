#!/bin/bash
# SPDX-License-Identifier: MIT
# TIMEOUT: 1200
#
# The Debian packages: equal bytes from two directories, no complaint of lintian, and in a root of
# their own (an overlay over this one, with a systemctl that only notes its calls) they are
# installed, upgraded, removed and purged as an administrator expects.
cd "$(dirname "$0")/../../.." || exit 1
. tests/helpers/tap.sh

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# build NAME: into $dir/NAME
build() {
	env -u MAKEFLAGS -u MAKELEVEL make --no-print-directory O="$dir/$1" deb >"$dir/$1.log" 2>&1 ||
		tail -n 30 "$dir/$1.log"
}
build a
build a-longer-name

# the_debs NAME
the_debs() {
	(cd "$dir/$1/deb" && ls ./*.deb && sha256sum ./*.deb)
}
check "two builds in different directories have the same bytes" diff <(the_debs a) <(the_debs a-longer-name)
version=$(sed -n 's/^VERSION\t*:= //p' Makefile)
main=$dir/a/deb/ringback_${version}_amd64.deb
dev=$dir/a/deb/ringback-dev_${version}_amd64.deb
# TMPDIR: lintian leaves temporary files behind
check "lintian has no complaint" env TMPDIR="$dir" lintian --allow-root --fail-on error,warning "$main" "$dev"

# files DEB: modes and paths of its files, without documentation
files() {
	dpkg-deb -c "$1" | awk '$1 !~ /^d/ && $6 !~ /share\/(doc|lintian)/ { print $1, $6 }' | LC_ALL=C sort -k 2
}
multiarch=$(gcc -print-multiarch)
equal "ringback has the program and what belongs to it" "-rw------- ./etc/ringback/ringback.conf
-rw-r--r-- ./lib/systemd/system/ringback-keeper.service
-rw-r--r-- ./lib/systemd/system/ringback.service
-rwxr-xr-x ./usr/bin/ringback
-rw-r--r-- ./usr/share/bash-completion/completions/ringback
$(find recorder/dist -name '*.[17]' -printf '-rw-r--r-- ./usr/share/man/man%f %f.gz\n' |
	sed 's,man/man.*\.\([17]\) ,man/man\1/,' | LC_ALL=C sort -k 2)" "$(files "$main")"
equal "ringback-dev has what programs use" "-rw-r--r-- ./usr/include/ringback.h
-rw-r--r-- ./usr/lib/$multiarch/libringback-crash.so
-rw-r--r-- ./usr/lib/$multiarch/pkgconfig/ringback.pc" "$(files "$dev")"

# An older version, and a root to install into.
dpkg-deb -R "$main" "$dir/older"
sed -i 's/^Version: .*/Version: 0.0.0/' "$dir/older/DEBIAN/control"
dpkg-deb -b "$dir/older" "$dir/older.deb" >/dev/null
cat >"$dir/systemctl" <<'END'
#!/bin/sh
echo "$*" >>/calls
END
cat >"$dir/steps" <<'END'
set -e
export DEBIAN_FRONTEND=noninteractive
installed() { find / -xdev -path /proc -prune -o -path '*ringback*' -not -path '/tmp*' -print | LC_ALL=C sort; }
step() { : >/calls; step=$1; shift; "$@" >/log 2>&1 || cat /log; cp /calls "/calls-$step"; }
rm -f /usr/sbin/policy-rc.d
mkdir -p /run/systemd/system
installed >/before
step install dpkg -i /older.deb
ringback --version >/version
echo '# mine' >>/etc/ringback/ringback.conf
mkdir -m 700 /var/lib/ringback
touch /var/lib/ringback/x.rbd
step upgrade dpkg -i /main.deb /dev.deb
dpkg-query -W -f '${Version}' ringback >/upgraded
cp /etc/ringback/ringback.conf /conf
step remove dpkg -r ringback
ls /etc/ringback/ringback.conf /var/lib/ringback/x.rbd >/removed
step purge dpkg -P ringback ringback-dev
installed >/after
END
# in_root: runs the steps; what they wrote is in $dir/upper
in_root() {
	mkdir -p "$dir/root" "$dir/tmpfs" "$dir/results"
	# shellcheck disable=SC2016 # for the inner shell
	unshare -m bash -c 'cd "$1" && mount -t tmpfs tmpfs tmpfs && mkdir tmpfs/upper tmpfs/work &&
		mount -t overlay -o lowerdir=/,upperdir=tmpfs/upper,workdir=tmpfs/work overlay root &&
		mount -t proc proc root/proc && mount --rbind /dev root/dev &&
		cp "$2" root/main.deb && cp "$3" root/dev.deb && cp older.deb steps root/ &&
		install -m 755 systemctl root/usr/bin/systemctl.new && mv root/usr/bin/systemctl.new root/usr/bin/systemctl &&
		chroot root sh /steps
		rc=$?
		cp tmpfs/upper/{calls-*,version,upgraded,conf,removed,before,after} results/
		exit $rc' - "$dir" "$main" "$dev"
}
calls() {
	grep -oE '^(.* )?(start|stop|enable|restart|try-restart|reload-or-restart) .*ringback.*' "$dir/results/calls-$1" |
		sed 's/--no-ask-password //; s/--quiet //'
}
if [ "$(id -u)" != 0 ]; then
	skip "install, upgrade, remove and purge" "needs root"
	tap_end
	exit
fi
check "install, upgrade, remove and purge" in_root
equal "the installed program runs" "ringback $version" "$(head -n 1 "$dir/results/version")"
empty "installation starts and enables nothing" "$(calls install)"
equal "an upgrade restarts the recorder if it runs, and does not stop it before" \
	"try-restart ringback.service" "$(calls upgrade)"
equal "the new version is there" "$version" "$(cat "$dir/results/upgraded")"
check "a changed configuration is kept" grep -q '^# mine' "$dir/results/conf"
equal "removal stops the recorder" "stop ringback.service ringback-keeper.service" "$(calls remove)"
equal "and keeps configuration and dumps" 2 "$(wc -l <"$dir/results/removed")"
check "a purge leaves nothing" diff "$dir/results/before" "$dir/results/after"
tap_end
