# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""fetch_upstream.py DIR: the test suites of sortedcontainers and intervaltree, below DIR.

sortedcontainers: from Debian's source package, as its archive for pip has no tests. The source list is
made from the address that the binary package has; apt checks signatures. intervaltree: from the
archive for pip. Prints what could not be had; what is there already is kept.
"""
import pathlib
import re
import subprocess
import sys
import tarfile


def run(*command, **kwargs):
    return subprocess.run(command, check=True, capture_output=True, text=True, **kwargs).stdout


def sortedcontainers(where):
    uri = re.search(r"'(\S+)/pool/", run("apt-get", "download", "--print-uris", "python3-sortedcontainers"))[1]
    release = dict(line.split("=", 1) for line in pathlib.Path("/etc/os-release").read_text().splitlines() if "=" in line)
    work = where / "apt"
    for name in ("lists/partial", "cache/archives/partial"):
        (work / name).mkdir(parents=True, exist_ok=True)
    keys = "/usr/share/keyrings/debian-archive-keyring.gpg"
    source = work / "source.list"
    source.write_text(f"deb-src [signed-by={keys}] {uri} {release['VERSION_CODENAME']} main\n")
    options = [f"-oDir::Etc::sourcelist={source}", "-oDir::Etc::sourceparts=/dev/null", f"-oDir::State::lists={work}/lists",
               f"-oDir::Cache={work}/cache", "-oAPT::Sandbox::User=root"]
    run("apt-get", "-qq", *options, "update")
    run("apt-get", "-qq", *options, "source", "--download-only", "sortedcontainers", cwd=work)
    unpack(next(work.glob("sortedcontainers_*.orig.tar.*")), where / "sortedcontainers", "tests")


def intervaltree(where):
    work = where / "pip"
    run(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary=intervaltree", "--dest", str(work),
        "intervaltree==3.2.1")
    unpack(next(work.glob("intervaltree-*.tar.gz")), where / "intervaltree", "test")


def unpack(archive, where, part):
    """The files of one directory of the archive, without the archive's first component."""
    with tarfile.open(archive) as tar:
        for member in tar.getmembers():
            name = pathlib.PurePosixPath(*pathlib.PurePosixPath(member.name).parts[1:])
            if member.isfile() and name.parts[:1] == (part,) and ".." not in name.parts:
                target = where / name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(tar.extractfile(member).read())


def main():
    where = pathlib.Path(sys.argv[1]).resolve()
    where.mkdir(parents=True, exist_ok=True)
    for fetch in (sortedcontainers, intervaltree):
        if (where / fetch.__name__).exists():
            continue
        try:
            fetch(where)
        except (OSError, subprocess.CalledProcessError, TypeError, StopIteration) as error:
            detail = getattr(error, "stderr", None) or str(error)
            print(f"skipped: upstream {fetch.__name__}: {detail.strip().splitlines()[-1] if detail.strip() else error}")


if __name__ == "__main__":
    main()
