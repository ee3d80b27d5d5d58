#!/bin/bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# run.sh [later | series]: the modules in the packaged kernel, and in User Mode Linux where that has been built; in later
# kernels that are packaged; the patches for the kernel's source tree, by the kernel's own judge of style.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
code=0
case ${1-} in
later) # two CPU minutes each to compile
	for version in 6.12 7.3; do
		if tools/kernel-headers "$version" >/dev/null; then
			tools/kernel-run "$version-iommu" units iova iova_bench || code=$?
		else
			echo "skipped: kernel-$version: no suite has it, or it cannot be downloaded"
		fi
	done
	;;
series)
	dir=$PWD/build/kernel/intree
	rm -rf "$dir"
	mkdir -p "$dir"
	tar -C "$dir" -xf /usr/src/linux-source-6.1.tar.xz linux-source-6.1/{MAINTAINERS,drivers/iommu,include/linux/iova.h} \
		linux-source-6.1/lib/{Kconfig,Makefile} linux-source-6.1/Documentation/admin-guide/kernel-parameters.txt \
		linux-source-6.1/scripts/{checkpatch.pl,const_structs.checkpatch,spelling.txt}
	make -s -C kernel intree "LINUX=$dir/linux-source-6.1" "SERIES=$dir/series"
	cd "$dir"
	perl linux-source-6.1/scripts/checkpatch.pl --no-tree --strict --quiet series/000[1-9]*.patch
	;;
*)
	tools/kernel-run || code=$?
	if tools/kernel-image uml-debug --cached >/dev/null; then
		tools/kernel-run uml-debug FUZZ=10000 ROUNDS=5 ITEMS=100000 || code=$?
	else
		echo "skipped: kernel-uml: tools/kernel-image uml-debug builds it"
	fi
	if tools/kernel-image uml-smp-debug --cached >/dev/null; then
		tools/kernel-run uml-smp-debug || code=$?
		tools/kernel-run uml-smp-debug lockdep_range || code=$?
	else
		echo "skipped: kernel-smp: tools/kernel-image uml-smp-debug builds it"
	fi
	;;
esac
exit "$code"
