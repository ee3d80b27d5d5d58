// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// From paths to an extent_map: walk directories, read extents in parallel, index them.
#pragma once

#include "extents/map.hpp"
#include "extents/volume.hpp"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace lathcli {

struct scan_options {
    std::vector<std::string> paths;
    unsigned threads = 1;
    bool all_devices = false; // else only the file system of the first path
    bool sync = false;
    bool logical = false; // take addresses that are not offsets of a device
    bool asks = false; // there are questions about bytes of the device
    std::string only; // a device: leave out what lies on others; "": none
};

struct file_record {
    std::string path;
    std::vector<std::string> links; // further names of the same inode that were met
    unsigned volume; // a number in scan_result::volumes
    std::uint64_t size;
    std::vector<extent> extents; // pieces on devices, in the order of the file; with all copies
    // As the file system told them: what translation to devices or the choice of one cuts is whole
    // here. Fragments: runs of extents that lie one after the other.
    std::uint64_t told_extents = 0, told_fragments = 0, told_bytes = 0;
};

// A file system and the number of its first device.
struct placed_volume {
    std::unique_ptr<volume> what;
    unsigned first;
};

struct scan_result {
    std::vector<placed_volume> volumes;
    std::vector<device> devices; // of all of them
    std::vector<file_record> files;
    extent_map map;
    std::map<std::string, std::uint64_t> skipped_files; // by reason
    extent_skips skipped_extents;
    std::uint64_t errors = 0; // files that should have been read and were not
    bool interrupted = false;
    double seconds = 0;
};

// Complaints go to stderr and name the path; a reason that holds for a whole file system is told
// once. Throws std::runtime_error where nothing can be done: no memory, or questions about bytes of
// a device where addresses are not offsets of one, without `logical`. A signal in the caller's
// stop_on_signal ends it.
void scan(const scan_options& options, scan_result& result);

} // namespace lathcli
