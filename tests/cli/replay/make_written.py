#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""make_written.py: traces as fio and blktrace write them, into samples/written.

The logs come from fio (package fio 3.33), a job per kind of request. The binary
records are made here: one trace with all that a record can be, with and without queue and issue records.
"""
import pathlib
import struct
import subprocess
import tempfile

here = pathlib.Path(__file__).resolve().parent / "samples/written"
QUEUE, BACKMERGE, FRONTMERGE, GETRQ, SLEEPRQ, REQUEUE, ISSUE, COMPLETE, PLUG, UNPLUG, TIMER, INSERT, SPLIT, BOUNCE, REMAP = range(1, 16)
READ, WRITE, FLUSH, SYNC, FS, PC, NOTIFY, AHEAD, META, DISCARD, FUA = (1 << n for n in (0, 1, 2, 3, 8, 9, 10, 11, 12, 13, 15))
CLASS = {QUEUE: 1 << 4, REQUEUE: 1 << 5, ISSUE: 1 << 6, COMPLETE: 1 << 7}
CGROUP = 1 << 8
SDA, SDB = 8 << 20, 8 << 20 | 16

JOBS = {
    "randrw.fio3": "--rw=randrw --bsrange=4k-32k --number_ios=12",
    "sync.fio3": "--rw=write --bs=4k --fsync=3 --fdatasync=2 --number_ios=12",
    "range.fio3": "--rw=write --bs=8k --sync_file_range=wait_before,write:2 --number_ios=12",
    "trim.fio3": "--rw=randtrim --bs=64k --number_ios=8 --ioengine=null",
    "trimwrite.fio3": "--rw=trimwrite --bs=16k --number_ios=8 --ioengine=null",
    "thinktime.fio3": "--rw=randread --bs=4k --thinktime=300 --number_ios=8",
    "files.fio3": "--rw=randwrite --bs=4k --nrfiles=5 --filesize=64k --openfiles=2 --number_ios=15",
    "verify.fio3": "--rw=write --bs=4k --size=32k --verify=crc32c",
    "large.fio3": "--rw=write --bs=1g --size=6g --ioengine=null --number_ios=4",
    "blank.fio3": "--rw=randread --bs=4k --number_ios=4 --filename='a file':'another one'",
    "twice.fio3": "--rw=randread --bs=4k --number_ios=4",
}


def fio(name, options, work):
    log = here / name
    log.unlink(missing_ok=True)
    for _ in range(2 if name.startswith("twice") else 1):  # fio appends
        command = f"fio --name=j --ioengine=psync --size=1m --write_iolog={log} {options}"
        if "--ioengine=null" in options:
            command = command.replace("--ioengine=psync ", "")
        subprocess.run(command, shell=True, cwd=work, check=True, capture_output=True)


class Recorder:
    """Binary records of two processors in the order of time."""

    def __init__(self):
        self.out, self.time, self.sequence = {0: b"", 1: b""}, 1000, 0

    def put(self, action, kinds, sector, size, device=SDA, pdu=b"", pid=4242, error=0, cpu=0):
        self.time += 1500
        self.sequence += 1
        self.out[cpu] += struct.pack("<IIQQIIIIIHH", 0x65617407, self.sequence, self.time, sector, size,
                                     action | (kinds | CLASS.get(action & 0xff, 0)) << 16, pid, device, cpu, error, len(pdu)) + pdu

    def process(self, pid, name, cpu=0):
        self.put(0, NOTIFY, 0, 0, 0, name + b"\0", pid, cpu=cpu)  # the record of a process's name

    def message(self, text, cpu=0):
        self.put(2, NOTIFY, 0, 0, SDA, text, 0, cpu=cpu)


def request(t, kinds, sector, size, actions, device=SDA, cpu=0, pid=4242):
    for action in (QUEUE, GETRQ, INSERT, ISSUE, COMPLETE):
        if action in actions or action in (GETRQ, INSERT):
            t.put(action, kinds, sector, size, device, pid=0 if action == COMPLETE else pid, cpu=cpu)


def binary(actions):
    t = Recorder()
    for cpu in (0, 1):
        t.process(4242, b"fio", cpu)
        t.process(77, b"jbd2/sda1-8", cpu)
        t.process(99, b"Web Content", cpu)
        t.process(11, b"kworker/0:1H", cpu)
    request(t, READ | FS, 2048, 4096, actions)
    request(t, WRITE | SYNC | FS, 4096, 8192, actions)
    request(t, WRITE | SYNC | META | FS, 8192, 4096, actions, pid=77)
    request(t, WRITE | FLUSH | SYNC | FS, 0, 0, actions, pid=11)  # FWS, nothing to write
    request(t, WRITE | FLUSH | SYNC | FUA | FS, 9000, 4096, actions, pid=77)
    request(t, WRITE | DISCARD | FS, 2048, 0xfffffe00, actions)  # 4 GiB - 512
    request(t, READ | AHEAD | FS, 100000, 131072, actions, device=SDB, cpu=1, pid=99)
    request(t, PC | READ, 0, 36, actions)
    if QUEUE in actions:
        t.put(QUEUE, PC, 0, 96, pdu=bytes.fromhex("a1082e00010000000000ec0000000000"))
        t.put(QUEUE, FS, 0, 0, pid=99)  # "N"
    t.put(PLUG, FS, 0, 0)
    if QUEUE in actions:
        t.put(QUEUE, WRITE | FS, 2064, 4096)
    t.put(BACKMERGE, WRITE | FS, 2064, 4096)
    t.put(FRONTMERGE, WRITE | FS, 2040, 4096)
    t.put(UNPLUG, FS, 0, 0, pdu=struct.pack(">Q", 3))
    t.put(TIMER, FS, 0, 0, pdu=struct.pack(">Q", 1))
    t.put(REMAP, READ | FS, 5000, 4096, pdu=struct.pack(">IIQ", 8 << 20 | 1, SDA, 2952))
    t.put(SPLIT, READ | FS, 6000, 8192, pdu=struct.pack(">Q", 6008))
    t.put(BOUNCE, READ | FS, 6000, 4096)
    t.put(SLEEPRQ, READ | FS, 0, 0)
    t.put(REQUEUE, READ | FS, 6000, 4096)
    t.message(b"cfq4242 slice expired t=0")
    t.message(b"written by hand:\nand a second line\n", cpu=1)
    if COMPLETE in actions:
        t.put(COMPLETE, PC | READ, 0, 36, pdu=bytes.fromhex("12000000240000"), error=5)
    request(t, READ | FS, 300000, 16384, actions, cpu=1)
    if QUEUE in actions:
        t.put(QUEUE | CGROUP, WRITE | FS, 7000, 4096, pdu=struct.pack("<Q", 1234))
    return t.out


def main():
    here.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        for name, options in JOBS.items():
            fio(name, options, work)
    whole = binary({QUEUE, ISSUE, COMPLETE})
    (here / "whole.blktrace").write_bytes(whole[0])
    (here / "issue.blktrace").write_bytes(binary({ISSUE, COMPLETE})[0])
    (here / "complete.blktrace").write_bytes(binary({COMPLETE})[0])


if __name__ == "__main__":
    main()
