#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""make_samples.py: the same requests in every format, from samples/fio3.log.

fio3.log and fio3-doubles.log were written by fio 3.33:
  fio --name=m --ioengine=libaio --iodepth=4 --rw=randrw --bsrange=4k-32k --size=2m --number_ios=14
      --filename=f0:f1 --write_iolog=fio3.log
  fio --name=r --ioengine=null --iodepth=8 --rw=randread --bs=4k --size=64m --number_ios=12
      --write_iolog=fio3-doubles.log
"""
import pathlib
import struct

here = pathlib.Path(__file__).resolve().parent / "samples"
TERA = 1 << 40
Q, C, WRITE, READ, NOTIFY = 1, 8, 1 << 17, 1 << 16, 1 << 26


def requests():
    files = {}
    for line in (here / "fio3.log").read_text().splitlines()[1:]:
        time, name, action, *rest = line.split()
        if action in ("read", "write"):
            place = files.setdefault(name, len(files)) * TERA
            yield int(time), place + int(rest[0]), int(rest[1]), action


def record(order, sequence, time_us, sector, size, action, pdu=b""):
    return struct.pack(order + "IIQQIIIIIHH", 0x65617407, sequence, time_us * 1000, sector, size, action,
                       4242, (8 << 20) | 0, 0, 0, len(pdu)) + pdu


def binary(order):
    out = [record(order, 1, 0, 0, 0, NOTIFY, b"fio\0")]
    for i, (time, offset, size, action) in enumerate(requests(), 2):
        kind = WRITE if action == "write" else READ
        out.append(record(order, 2 * i, time, offset // 512, size, Q | kind))
        out.append(record(order, 2 * i + 1, time, offset // 512, size, C | kind))
    return b"".join(out)


def main():
    text = (here / "fio3.log").read_text().splitlines()
    v2 = ["fio version 2 iolog"] + [line.split(" ", 1)[1] for line in text[1:]]
    v2.insert(5, "f0 wait 200 0")
    (here / "fio2.log").write_text("\n".join(v2) + "\n")
    (here / "little.blktrace.0").write_bytes(binary("<"))
    (here / "big.blktrace.0").write_bytes(binary(">"))


if __name__ == "__main__":
    main()
