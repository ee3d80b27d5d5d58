#!/bin/busybox sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# Init of the test guest (tools/kernel-run): run the stages named in /stages, one line of verdict
# each, and power off. A stage is a function below; it fails by its exit code.
/bin/busybox --install -s /bin
export PATH=/bin:/
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp
. /settings
mount -t debugfs debug /sys/kernel/debug 2>/dev/null

# The unit tests of the core. With KUnit a failed test does not fail the load: its report says so.
stage_units() {
	local round
	for round in $(seq ${UNIT_ROUNDS-2}); do
		insmod /lathwork.ko && insmod /lathwork_test.ko || return
		rmmod lathwork_test && rmmod lathwork || return
	done
	! dmesg | grep -E '^(\[[^]]*\] )? *not ok '
}

# The 2013 module test, every index, small: it counts its own errors and fails to load.
# An address space under threads, ours and the maple tree
stage_ranges() {
	local threads
	insmod /lathwork.ko || return
	for threads in 1 2; do
		insmod /range_bench.ko subject=maple threads=$threads ops=${RANGE_OPS-2000} regions=${REGIONS-2000} && rmmod range_bench || return
		insmod /range_bench.ko subject=lathwork threads=$threads ops=${RANGE_OPS-2000} regions=${REGIONS-2000} && rmmod range_bench || return
	done
	rmmod lathwork
}

stage_skiplist() {
	local benchmark
	insmod /lathwork.ko || return
	for benchmark in 1 2 3 4; do
		insmod /skiplist_test.ko items=5000 rounds=100 threads=3 keys=5000 holes=2000 benchmark=$benchmark || return
		grep -q ' errors 0$' /sys/kernel/debug/skiplist_test || return
		rmmod skiplist_test || return
	done
	rmmod lathwork
}

# Lines of the log that are about something: a busy host holds processors up, and the kernel notices.
log_lines() {
	dmesg | grep -cvE 'hrtimer: interrupt took|clocksource: '
}

# /dev/llds: the node is there after insmod, gone after rmmod; what users do leaves no line in the log.
stage_llds() {
	local lines
	insmod /lathwork.ko && insmod /llds.ko || return
	[ "$(stat -c '%a %u' /dev/llds)" = '600 0' ] || return
	lines=$(log_lines)
	llds_test || return
	if [ -e /proc/sys/abi/vsyscall32 ]; then # the kernel runs 32-bit programs
		llds_32 || return
	else
		echo "skipped: llds_32: no 32-bit programs here"
	fi
	[ "$(log_lines)" = "$lines" ] || return
	rmmod llds && rmmod lathwork && [ ! -e /dev/llds ]
}

# The tests of lathwork/store.h, on the kernel's store: number keys.
stage_store() {
	insmod /lathwork.ko && insmod /llds.ko || return
	export LATH_STORE_SPEC=dev:/dev/llds
	store_model 8 && store_concurrent --subcase='numbers*' || return
	rmmod llds && rmmod lathwork
}

# Random calls; FUZZ says how many.
stage_fuzz() {
	insmod /lathwork.ko && insmod /llds.ko || return
	llds_fuzz ${FUZZ-100000} ${SEED-1} || return
	rmmod llds && rmmod lathwork
}

# Loading and unloading while the device is used: refused while it is open or a name is kept, and nothing
# is left behind when it is not.
stage_unload() {
	local round
	insmod /lathwork.ko || return
	for round in $(seq ${ROUNDS-50}); do
		insmod /llds.ko || return
		llds_hold wait /tmp/held &
		until [ -e /tmp/held ]; do usleep 1000; done
		for try in $(seq 20); do
			! rmmod llds 2>/dev/null || return
		done
		rm /tmp/held
		wait $! || return
		! rmmod llds 2>/dev/null || return # a name is kept
		llds_hold remove || return
		rmmod llds || return
	done
	rmmod lathwork
}

# Many entries go without holding anybody up: close returns at once, no stall is reported.
stage_wipe() {
	insmod /lathwork.ko && insmod /llds.ko || return
	llds_hold fill ${ITEMS-1000000} || return
	rmmod llds && rmmod lathwork # waits for the worker
}

# Random calls while memory and copies fail, in kernels that can be told to.
stage_failing() {
	local what how
	[ -d /sys/kernel/debug/failslab ] || return
	insmod /lathwork.ko && insmod /llds.ko || return
	for what in failslab fail_page_alloc fail_usercopy; do
		cd /sys/kernel/debug/$what || return
		echo Y >task-filter # first: this shell is not to fail
		echo 3 >probability
		echo -1 >times
		echo 0 >verbose
		[ ! -e ignore-gfp-wait ] || echo N >ignore-gfp-wait
		[ ! -e cache-filter ] || echo N >cache-filter
		[ ! -e min-order ] || echo 0 >min-order
	done
	cd /
	for what in 1 2 3; do
		llds_fuzz $((${FUZZ-100000} / 5)) $what failing || return
	done
	for what in failslab fail_page_alloc fail_usercopy; do
		echo 0 >/sys/kernel/debug/$what/probability
	done
	rmmod llds && rmmod lathwork
}

# What was allocated by us and is known to nobody any more, after all stages before.
stage_leaks() {
	local scan
	for scan in 1 2 3; do
		sleep 6 # younger blocks are not reported
		echo scan >/sys/kernel/debug/kmemleak || return
	done
	! grep -A 16 -E 'unreferenced' /sys/kernel/debug/kmemleak
}

# Memory is charged to the cgroup of who asks for it. Last: the limit of a cgroup ends in a long message.
stage_cgroup() {
	mkdir -p /tmp/cg && mount -t cgroup2 cg /tmp/cg && echo +memory >/tmp/cg/cgroup.subtree_control || return
	mkdir /tmp/cg/small && echo 64M >/tmp/cg/small/memory.max || return
	insmod /lathwork.ko && insmod /llds.ko || return
	(read -r pid _ </proc/self/stat && echo $pid >/tmp/cg/small/cgroup.procs && exec llds_hold fill 100000) || return
	[ "$(cat /tmp/cg/small/memory.peak 2>/dev/null || echo 9999999)" -ge 5000000 ] || return
	echo "guest: complaints are wanted from here on"
	if (read -r pid _ </proc/self/stat && echo $pid >/tmp/cg/small/cgroup.procs && exec llds_hold fill 3000000); then
		return 1
	fi
	grep -E '^(oom|oom_kill) [1-9]' /tmp/cg/small/memory.events || return
	llds_hold fill 10000 || return # others are not touched
	rmmod llds && rmmod lathwork
}

# Figures at native speed, on User Mode Linux only: one processor. Its memory is a file of the host, whose
# pages are made when they are first touched: touch them before anything is timed.
stage_figures() {
	local benchmark repeat
	mount -t tmpfs -o size=80% tmp /tmp && dd if=/dev/zero of=/tmp/touch bs=1M 2>/dev/null
	umount /tmp
	insmod /lathwork.ko || return
	for repeat in 1 2 3 4 5 6 7; do
		for benchmark in 1 2 3 4; do
			insmod /skiplist_test.ko items=100000 rounds=$([ $benchmark = 4 ] && echo 2000 || echo 20000) threads=1 \
				keys=0 benchmark=$benchmark || return
			rmmod skiplist_test || return
		done
	done
	for repeat in 1 2 3 4 5; do
		for benchmark in 1 3 4; do
			insmod /skiplist_test.ko items=1000 rounds=10 threads=1 keys=1000000 benchmark=$benchmark || return
			rmmod skiplist_test || return
		done
	done
	rmmod lathwork
}

# One counter of iova_lathwork
iova_count() {
	sed -n "s/^$1 //p" /sys/kernel/debug/iova_lathwork
}

# Waits up to ten seconds until the command succeeds.
wait_for() {
	local try
	for try in $(seq 100); do
		"$@" >/dev/null 2>&1 && return
		usleep 100000
	done
	echo "guest: this did not happen in time: $*"
	return 1
}

patch_settled() { [ "$(cat /sys/kernel/livepatch/iova_lathwork/transition)" = 0 ]; }
patch_gone() { [ ! -e /sys/kernel/livepatch/iova_lathwork ]; }
no_domains() { [ "$(iova_count domains)" = 0 ]; }
patch_free() { [ "$(stat -c %a /sys/kernel/livepatch/iova_lathwork/enabled)" = 644 ]; }
patch_pinned() { [ "$(stat -c %a /sys/kernel/livepatch/iova_lathwork/enabled)" = 444 ]; }

# The IOMMU group of a PCI device without a driver gets this type of domain; the domain before ends.
group_type() {
	local group=/sys/bus/pci/devices/$1/iommu_group
	[ "$(cat $group/type)" = "$2" ] || echo "$2" >$group/type || return
	[ "$(cat $group/type)" = "$2" ]
}

# Loads the drive's driver; its address on the bus is in $drive then.
drive_load() {
	local module
	for module in $(cat /drive/order); do
		insmod /drive/$module || return
	done
	wait_for [ -b /dev/nvme0n1 ] || return
	drive=$(basename "$(readlink -f /sys/class/nvme/nvme0/device)")
}

# The driver goes, and the group has its first type again.
drive_unload() {
	local module
	for module in $(tac /drive/order); do
		rmmod ${module%.ko} || return
	done
	group_type "$drive" DMA-FQ
}

# The drive's group, likewise: the driver is away in the meantime.
drive_domain() {
	echo "$1" >/sys/bus/pci/drivers/nvme/unbind && group_type "$1" "$2"
}

# Loads iova_lathwork, and takes it back, when no domain has addresses of it.
patch_load() { insmod /iova_lathwork.ko timing=1 "$@" && wait_for patch_settled; }
patch_unload() {
	wait_for no_domains && wait_for patch_free || return
	echo 0 >/sys/kernel/livepatch/iova_lathwork/enabled && wait_for patch_gone && rmmod iova_lathwork
}

# All addresses came from lathwork, most were given back, none was refused or freed wrongly.
iova_counts_good() {
	cat /sys/kernel/debug/iova_lathwork
	[ "$(iova_count allocations)" -gt 100 ] && [ "$(iova_count frees)" -gt 100 ] || return
	[ "$(iova_count failed)" = 0 ] && [ "$(iova_count wrong_frees)" = 0 ] && [ "$(iova_count kernel_calls)" = 0 ]
}

# Verified input and output, from lathwork's addresses.
drive_verify() {
	wait_for [ -b /dev/nvme0n1 ] || return
	echo 0 >/sys/kernel/debug/iova_lathwork
	dma_io /dev/nvme0n1 ${IO_SECONDS-4} || return
	iova_counts_good
}

# I/O addresses of a drive behind an IOMMU, flushed lazily and at once. The patch is refused to be taken back
# while the drive has addresses, and is taken back in the end.
stage_iova() {
	local drive
	insmod /lathwork.ko && patch_load && drive_load || return
	[ "$(cat /sys/bus/pci/devices/$drive/iommu_group/type)" = DMA-FQ ] || return
	drive_verify || return
	patch_pinned || return
	if echo 0 2>/dev/null >/sys/kernel/livepatch/iova_lathwork/enabled; then return 1; fi
	drive_domain "$drive" DMA && echo "$drive" >/sys/bus/pci/drivers/nvme/bind || return
	drive_verify || return
	drive_domain "$drive" identity && patch_unload && drive_unload && rmmod lathwork
}

# Mappings through the DMA API by a device that does nothing, half of its space held. Each allocator begins with a new
# domain; with the counters of the allocator's part.
stage_dma_map() {
	local allocator device pages threads
	device=$(basename "$(dirname "$(grep -lx 0x0005 $(grep -lx 0x1b36 /sys/bus/pci/devices/*/vendor | sed 's/vendor/device/'))")")
	insmod /lathwork.ko && echo dma_bench >/sys/bus/pci/devices/$device/driver_override || return
	for allocator in ${ALLOCATORS-rcache rbtree lathwork}; do
		group_type $device DMA-FQ && patch_load allocator=$allocator && insmod /dma_bench.ko fill=${FILL-50} || return
		for threads in ${THREADS-1 2}; do
			for pages in ${PAGES-1 32 256}; do
				echo 0 >/sys/kernel/debug/iova_lathwork
				echo "$pages $threads ${OPS-200}" >/sys/kernel/debug/dma_bench || return
				sed "s/^dma_bench:/& $allocator:/" /sys/kernel/debug/dma_bench
				sed -n "s/^\(failed\|allocation_ns\|free_ns\) /dma_bench: $allocator: &/p" /sys/kernel/debug/iova_lathwork
				[ "$(iova_count wrong_frees)" = 0 ] || return
			done
		done
		rmmod dma_bench && group_type $device identity && patch_unload || return
	done
	rmmod lathwork
}

# Reads and writes of a drive by 16 threads, each in its own 20 MB, one after the other and at random: without the
# IOMMU, and with each allocator.
stage_io_table() {
	local drive allocator how bs
	insmod /lathwork.ko && drive_load || return
	for allocator in off ${ALLOCATORS-rbtree rcache lathwork}; do
		drive_domain "$drive" identity || return
		if [ $allocator != off ]; then group_type "$drive" DMA-FQ && patch_load allocator=$allocator || return; fi
		echo "$drive" >/sys/bus/pci/drivers/nvme/bind && wait_for [ -b /dev/nvme0n1 ] || return
		for how in read write randread randwrite; do
			case $how in rand*) bs=4k ;; *) bs=1m ;; esac
			[ $allocator = off ] || echo 0 >/sys/kernel/debug/iova_lathwork
			fio --name=io --filename=/dev/nvme0n1 --direct=1 --thread --ioengine=psync --rw=$how --bs=$bs --numjobs=16 \
				--size=20m --offset_increment=20m --time_based --runtime=${IO_SECONDS-4} --group_reporting --eta=never \
				--output-format=terse --output=/tmp/fio || return
			awk -F';' -v "what=$allocator $how $bs" '{ print "iova_table: " what ": " ($7 + $48) " KiB/s, error " $5; exit $5 != 0 }' \
				/tmp/fio || return
			[ $allocator = off ] || sed -n "s/^allocation_ns /iova_table: $allocator $how: &/p" /sys/kernel/debug/iova_lathwork
		done
		[ $allocator = off ] || { drive_domain "$drive" identity && patch_unload && echo "$drive" >/sys/bus/pci/drivers/nvme/bind; } || return
		wait_for [ -b /dev/nvme0n1 ] || return
	done
	drive_unload && rmmod lathwork
}

# What fio has written it reads back and compares: each block has a checksum and says where it belongs. 16 threads with
# eight requests each in flight, 4 KiB to 1 MiB at random, each thread in its own part; flushed lazily and at once, by
# the kernel without a patch and by lathwork.
stage_io_verify() {
	local drive type allocator
	insmod /lathwork.ko && drive_load || return
	for type in DMA-FQ DMA; do
		for allocator in kernel lathwork; do
			drive_domain "$drive" identity && group_type "$drive" $type || return
			[ $allocator = kernel ] || patch_load || return
			echo "$drive" >/sys/bus/pci/drivers/nvme/bind && wait_for [ -b /dev/nvme0n1 ] || return
			fio --name=io --filename=/dev/nvme0n1 --direct=1 --thread --ioengine=libaio --iodepth=8 --rw=randwrite \
				--bsrange=4k-1m --numjobs=16 --size=${VERIFY_MB-20}m --offset_increment=20m --loops=${LOOPS-1} \
				--verify=crc32c --verify_fatal=1 --group_reporting --eta=never --output-format=terse --output=/tmp/fio || return
			awk -F';' -v "what=$type $allocator" 'END {
				print "iova_verify: " what ": " int($47 / 1024) " MiB written, " int($6 / 1024) " compared, error " $5
				exit $5 != 0 || !$47 || $6 != $47 }' /tmp/fio || return
			drive_domain "$drive" identity || return
			if [ $allocator = lathwork ]; then
				iova_counts_good && patch_unload || return
			fi
			echo "$drive" >/sys/bus/pci/drivers/nvme/bind && wait_for [ -b /dev/nvme0n1 ] || return
		done
	done
	drive_unload && rmmod lathwork
}

# All allocators of I/O addresses, two threads, a bitmap of the pages.
stage_iova_bench() {
	local subject genalloc=genalloc
	insmod /lathwork.ko || return
	grep -q ' gen_pool_create$' /proc/kallsyms || { genalloc='' && echo "skipped: genalloc: the kernel has none"; }
	for subject in ${SUBJECTS-rcache rbtree space arenas holes maple $genalloc}; do
		insmod /iova_bench.ko subject=$subject fill=50 pages=0 threads=2 shared=1 ops=${OPS-1280} check=1 || return
		rmmod iova_bench || return
	done
	insmod /iova_bench.ko subject=space magazine=256 pages=32 burst=256 threads=2 ops=${OPS-1280} check=1 || return
	rmmod iova_bench && rmmod lathwork
}

# The same three of lathwork while a tenth of the allocations that may not sleep fail: requests are refused, no page is
# given twice, and nothing is lost.
stage_iova_failing() {
	local subject try good failslab=/sys/kernel/debug/failslab
	[ -d $failslab ] || { echo "skipped: iova_failing: the kernel cannot fail allocations" && return; }
	insmod /lathwork.ko || return
	echo -1 >$failslab/times && echo 0 >$failslab/verbose && echo 10 >$failslab/probability || return
	for subject in space arenas holes; do
		good=''
		for try in $(seq 100); do # to make a space may fail too
			echo 20000 >$failslab/space # the bytes before: to load a module takes some
			insmod /iova_bench.ko subject=$subject fill=50 pages=0 threads=2 shared=1 ops=${OPS-1280} check=1 && good=1 && break
		done
		[ "$good" ] && rmmod iova_bench || break
	done
	echo 0 >$failslab/probability
	[ "$good" ] && rmmod lathwork
}

# Figures of the allocators of I/O addresses: single pairs with one thread, with two that free each other's, and bursts
# as the flush queue frees.
stage_iova_figures() {
	local round pages subject threads
	insmod /lathwork.ko || return
	for round in $(seq ${ROUNDS-3}); do
		for threads in ${THREADS-1}; do
			for pages in ${PAGES-1 32 256 0}; do
				for subject in ${SUBJECTS-irqs rcache space holes maple}; do
					insmod /iova_bench.ko subject=$subject fill=50 pages=$pages threads=$threads shared=1 ops=${OPS-6400} &&
						rmmod iova_bench || return
				done
			done
		done
		for subject in ${BURSTS-rcache space arenas}; do
			insmod /iova_bench.ko subject=$subject magazine=256 fill=10 pages=32 burst=256 ops=${OPS-6400} && rmmod iova_bench || return
		done
	done
	rmmod lathwork
}

# How much of a space can be taken in mixed sizes until the first refusal.
stage_iova_full() {
	local subject
	insmod /lathwork.ko || return
	for subject in ${SUBJECTS-rcache space arenas holes maple}; do
		insmod /iova_bench.ko subject=$subject fill=100 pages=0 ops=64 && rmmod iova_bench || return
	done
	echo "iova_full: magazine=256:"
	insmod /iova_bench.ko subject=space magazine=256 fill=100 pages=0 ops=64 && rmmod iova_bench && rmmod lathwork
}

# The longest time with interrupts off, for modules built with LATH_IRQS_TIMED=1: half full, and so full that requests
# are refused and empty all magazines.
stage_irqs_off() {
	local subject fill longest=/sys/module/lathwork/parameters/irqs_off_ns
	insmod /lathwork.ko && [ -e $longest ] || { echo "irqs_off: build the modules with LATH_IRQS_TIMED=1" && return 1; }
	for subject in space arenas holes; do
		for fill in 50 100; do
			echo 0 >$longest
			insmod /iova_bench.ko subject=$subject fill=$fill pages=0 ops=${OPS-64000} magazine=256 && rmmod iova_bench || return
			echo "lathwork: irqs_off $subject fill $fill: $(cat $longest) ns"
		done
	done
	rmmod lathwork
}

# Does lockdep see a wrong order of our locks? Last: it reports once and goes to sleep.
stage_lockdep() {
	echo "guest: complaints are wanted from here on"
	insmod /lathwork.ko && insmod /lathwork_test.ko wrong_order=1 || return
	dmesg | grep 'possible circular locking dependency' && dmesg | grep 'lath_leaf' >/dev/null
}

# Likewise a mutex before a range and behind it.
stage_lockdep_range() {
	echo "guest: complaints are wanted from here on"
	insmod /lathwork.ko && insmod /lathwork_test.ko wrong_order=2 || return
	dmesg | grep 'possible circular locking dependency' && dmesg | grep 'lath_range' >/dev/null
}

# What the log says before this line is not about us (User Mode Linux 6.1 forks with a complaint).
echo "guest: start" | cat
for stage in $(cat /stages); do
	if "stage_$stage"; then
		echo "guest: pass $stage"
	else
		echo "guest: FAIL $stage"
		# the next stage begins anew; rmmod ends at the first name that is not loaded
		for module in llds range_bench skiplist_test lathwork_test iova_bench dma_bench lathwork; do
			rmmod $module 2>/dev/null
		done
	fi
done
echo "guest: done"
# qemu is told to end at a reboot, for which a kernel needs no ACPI; User Mode Linux would begin again
if grep -q 'User Mode Linux' /proc/cpuinfo; then poweroff -f; else reboot -f; fi
