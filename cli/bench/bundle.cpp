// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The folder has its own loader and C library, so that those of the machine do not matter: the
// script starts the program by them.
#include "bench/bundle.hpp"

#include "base/text.hpp"
#include "harness/self.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace lathcli {

namespace {

namespace fs = std::filesystem;

// Of a shell it needs built-in commands alone. What follows is written behind it.
constexpr const char* script_begin = R"(#!/bin/sh
# ./run [OPTION...]: measures for at most eight minutes and writes results-N.json and results-N.txt
# into this folder. Options are those of lath bench: --seconds 60, --quick, --threads 1,8, ...
case $0 in */*) here=${0%/*} ;; *) here=. ;; esac
field() { # FILE NAME: the text behind "NAME :"
	found=unknown
	[ -r "$1" ] || return 0
	while IFS=: read -r name value; do
		case $name in "$2"*) found=${value#"${value%%[! 	]*}"} && return 0 ;; esac
	done <"$1"
}
field /proc/cpuinfo 'model name'
echo "processor: $found"
field /proc/meminfo MemTotal
echo "memory: $found"
kernel=unknown
[ ! -r /proc/version ] || read -r kernel </proc/version
echo "kernel: ${kernel%% (*}"
n=1
while [ -e "$here/results-$n.json" ] || [ -e "$here/results-$n.txt" ]; do n=$((n + 1)); done
unset LD_PRELOAD LD_LIBRARY_PATH
echo "results: $here/results-$n.txt and .json; Ctrl-C ends early and keeps what was measured"
)";

constexpr const char* script_end =
    R"( index --subjects lathwork,absl-btree,tbb --cases )"
    R"(tail,hot,one-key,one-leaf,fill,grow,latency-get,latency-insert,latency-update,latency-tail,latency-one-key \
	--seconds 400 --json "$here/results-$n.json" --text "$here/results-$n.txt" "$@"
)";

constexpr const char* readme =
    R"(Measures lathwork and two of its peers where threads meet, on any Linux (3.2 or later) of this processor family.
Nothing is installed and no file is written outside this folder: the libraries, the C library too, are in lib/.
Start ./run when nothing else runs; it takes at most eight minutes. Ctrl-C ends early and keeps what was measured.
Figures are in results-N.txt, all samples in results-N.json, with processor, kernel and memory; N counts the runs.
./run --seconds 60 is shorter, ./run --quick has smaller sizes; ./run --help names all options.
)";

std::runtime_error failed(const fs::path& path, const std::string& reason) {
    return std::runtime_error("--bundle: " + printable(path.string()) + ": " + reason);
}

// The files of one bundle. They are removed again unless keep() is called.
class folder {
public:
    explicit folder(fs::path root) : root_(std::move(root)) {
        if (mkdir(root_.c_str(), 0777) == 0) {
            made_.push_back(root_);
            return;
        }
        int error = errno;
        std::error_code none;
        if (error != EEXIST)
            throw failed(root_, std::strerror(error));
        if (!fs::is_directory(root_, none))
            throw failed(root_, "exists and is not a directory");
        std::error_code unreadable;
        bool empty = fs::is_empty(root_, unreadable);
        if (unreadable)
            throw failed(root_, unreadable.message());
        if (!empty)
            throw failed(root_, "is not empty; a bundle gets its own directory");
    }
    ~folder() {
        std::error_code none;
        for (auto path = made_.rbegin(); path != made_.rend(); ++path)
            fs::remove(*path, none);
    }
    folder(const folder&) = delete;
    folder& operator=(const folder&) = delete;
    void keep() { made_.clear(); }

    void directory(const fs::path& name) {
        if (mkdir((root_ / name).c_str(), 0777))
            throw failed(root_ / name, std::strerror(errno));
        made_.push_back(root_ / name);
    }
    void copy(const fs::path& from, const fs::path& name) {
        std::ifstream in(from, std::ios::binary);
        if (!in)
            throw failed(from, std::strerror(errno));
        int to = make(name, 0777);
        std::vector<char> block(1u << 20);
        do {
            in.read(block.data(), static_cast<std::streamsize>(block.size()));
            put(to, name, block.data(), static_cast<std::size_t>(in.gcount()));
        } while (in);
        if (in.bad())
            throw failed(from, "cannot be read");
        done(to, name);
    }
    void write(const fs::path& name, mode_t mode, const std::string& text) {
        int to = make(name, mode);
        put(to, name, text.data(), text.size());
        done(to, name);
    }

private:
    // Never an old file: what came to be there meanwhile is not ours.
    int make(const fs::path& name, mode_t mode) {
        fs::path path = root_ / name;
        int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (fd < 0)
            throw failed(path, std::strerror(errno));
        made_.push_back(path);
        return fd;
    }
    void put(int fd, const fs::path& name, const char* data, std::size_t size) {
        while (size) {
            ssize_t n = ::write(fd, data, size);
            if (n < 0 && errno == EINTR)
                continue;
            if (n < 0) {
                int error = errno;
                close(fd);
                throw failed(root_ / name, std::strerror(error));
            }
            data += n;
            size -= static_cast<std::size_t>(n);
        }
    }
    void done(int fd, const fs::path& name) {
        if (close(fd))
            throw failed(root_ / name, std::strerror(errno));
    }

    fs::path root_;
    std::vector<fs::path> made_;
};

} // namespace

void write_bundle(const std::string& directory) {
    auto files = lathbench::loaded_libraries();
    fs::path libraries = lathbench::bundle_libraries;
    folder bundle(directory);
    bundle.copy(lathbench::self_path(), lathbench::bundle_program);
    bundle.directory(libraries);
    for (const fs::path path : files.paths) // the name is that by which the loader looks for it
        bundle.copy(path, libraries / path.filename());
    std::string start = "exec ";
    if (!files.loader.empty())
        start += "\"$here/lib/" + fs::path(files.loader).filename().string() +
                 "\" --library-path \"$here/lib\" ";
    start += std::string("\"$here/") + lathbench::bundle_program + "\"";
    bundle.write("run", 0777, script_begin + start + script_end);
    bundle.write("README", 0666, readme);
    bundle.keep();
}

} // namespace lathcli
