#!/bin/sh
# SPDX-License-Identifier: MIT
#
# deb.sh DIR VERSION: builds the Debian packages in DIR from the files that git tracks. Called by make deb. Equal sources
# give equal packages wherever DIR is: all times are that of the last commit.
set -eu

dir=$1
version=$2
: "${SOURCE_DATE_EPOCH:=$(git log -1 --format=%ct)}"
export SOURCE_DATE_EPOCH

rm -rf "$dir"
mkdir -p "$dir/ringback-$version"
git ls-files -z | xargs -0 cp -p --parents -t "$dir/ringback-$version"
cd "$dir/ringback-$version"
cp -rp recorder/dist/debian debian
cat >debian/changelog <<END
ringback ($version) unstable; urgency=medium

  * The history is in the git repository.

 -- $(sed -n 's/^Maintainer: //p' debian/control)  $(date -R -u -d "@$SOURCE_DATE_EPOCH")
END
# The variables of the calling make would become those of the package's.
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES O CC SAN WERROR V VERSION PREFIX SYSCONFDIR DESTDIR
dpkg-buildpackage -b -us -uc
