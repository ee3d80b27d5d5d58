// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// From paths to an extent_map: walk directories, read extents in parallel, index them.
#pragma once

#include "extents/map.hpp"

#include <map>
#include <string>
#include <vector>

#include <sys/types.h>

namespace lathcli {

struct scan_options {
    std::vector<std::string> paths;
    unsigned threads = 1;
    bool all_devices = false; // else only the device of the first path
    bool sync = false;
};

struct device {
    dev_t id;
    std::string file_system; // "ext4"
    std::string source;      // "/dev/vda1", "" if not known
    std::uint64_t block_size;
};

struct file_record {
    std::string path;
    std::vector<std::string> links; // further names of the same inode that were met
    unsigned device;
    std::uint64_t size;
    std::vector<extent> extents;
};

struct scan_result {
    std::vector<device> devices;
    std::vector<file_record> files;
    extent_map map;
    std::map<std::string, std::uint64_t> skipped_files; // by reason
    extent_skips skipped_extents;
    std::uint64_t errors = 0; // files that should have been read and were not
    bool interrupted = false;
    double seconds = 0;
};

// Complaints go to stderr and name the path; a reason that holds for a whole file system is told
// once. Throws std::runtime_error where nothing can be done: no memory. A signal in the caller's
// stop_on_signal ends it.
void scan(const scan_options& options, scan_result& result);

} // namespace lathcli
