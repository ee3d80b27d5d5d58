#!/bin/bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# fresh_root.sh: what packages_test.sh does in its fresh Debian, as root, with what is in /user: doc/install.md's install line, program
# and command for each language, then debian/tests.
set -euo pipefail
cd /user
export DEBIAN_FRONTEND=noninteractive HOME=/root
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

declare -A wanted=(
	[c]='15 is in [10, 30) -> 7'
	[c++]='15 is in [10, 30) -> 7'
	[python]="(20, 'Alan') [25, 30] 30"
	[rust]='0x2000 is in file'
)
# what packaging/Containerfile does: the command alone, without compiler or library
mkdir /packages
cp lathwork-tools_*.deb /packages
eval "$(sed -n 's/^RUN //p' Containerfile)"
lath store mem: set key value
apt-get purge -y lathwork-tools
apt-get update
echo "ok packaging/Containerfile"

while IFS=$'\t' read -r language install run <&3; do
	(
		# where the files of a release are, and what doc/install.md takes for granted
		for file in /user/*.deb /user/*.whl /user/lathwork-[0-9]*; do
			[[ ! -e $file ]] || ln -sf "$file" "$language"
		done
		cd "$language"
		case $language in
		python)
			python3 -m venv /venv
			# shellcheck disable=SC1091
			source /venv/bin/activate
			;;
		rust)
			export CARGO_NET_OFFLINE=true # there are no crates to fetch
			mkdir src
			mv main.rs src/main.rs
			cargo init --quiet --name quickstart --vcs none .
			;;
		esac
		eval "$install"
		eval "$run" | tee answer
	)
	grep -qxF "${wanted[$language]}" "/user/$language/answer" || {
		echo "$language: not the answer: $(cat "/user/$language/answer")"
		exit 1
	}
	echo "ok $language: $install"
	printf 'answer\t%s\t%s\n' "$language" "$(paste -sd ' ' "/user/$language/answer")"
done 3<lines

apt-get install -y --no-install-recommends ./lathwork-*.deb
for test in programs tools valkey dkms; do
	export AUTOPKGTEST_TMP=/tmp/$test
	mkdir "$AUTOPKGTEST_TMP"
	"debian-tests/$test"
	echo "ok debian/tests/$test"
done
if [[ ! $(ldconfig -p) == *liblathwork.so.* ]]; then
	echo "the installed library is not known to ldconfig"
	exit 1
fi
apt-get purge -y 'lathwork-*' 'liblathwork*' 'libforrest*'
left=$(find / -xdev \( -name '*lathwork*' -o -name '*forrest*' \) -not -path '/user/*' -not -path '/proc/*' -not -path '/venv/*' \
	-not -path '/root/.cargo/*' -not -path '/tmp/*' -not -path '/var/log/*' -not -path '/var/lib/apt/*')
if [[ $left ]]; then
	echo "left behind when the packages are purged: $left"
	exit 1
fi
echo "ok nothing is left when the packages are purged"
