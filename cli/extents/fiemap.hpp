// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Where the bytes of one file lie on its device, by the FIEMAP ioctl.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lathcli {

// Bytes [logical, logical + length) of a file are bytes [physical, physical + length) of a device,
// or of the file system's own addresses (volume.hpp).
struct extent {
    std::uint64_t physical;
    std::uint64_t logical;
    std::uint64_t length;
    std::uint32_t flags; // FIEMAP_EXTENT_*
    std::uint16_t device = 0; // a number in scan_result::devices
    std::uint16_t copy = 0; // from 1; 0: the only one
};

// Extents without their own place on the device, by reason.
struct extent_skips {
    std::uint64_t inlined = 0; // data inside the inode or packed with other files' tails
    std::uint64_t delayed = 0; // written, not yet placed (--sync places them)
    std::uint64_t unknown = 0; // the file system does not say where
    std::uint64_t encoded = 0; // compressed: the length on the device is not told
    std::uint64_t invalid = 0; // no length, or beyond the end of the device or 2^56 bytes
    std::uint64_t moved = 0; // in no chunk of btrfs, or on a device that is missing

    std::uint64_t total() const { return inlined + delayed + unknown + encoded + invalid + moved; }
    void add(const extent_skips& other);
};

// Offsets on a device stay below this (64 PiB), which leaves a byte of the key for the device.
inline constexpr std::uint64_t device_limit = std::uint64_t{1} << 56;

// Append the extents of the open file in logical order. sync: place delayed data first.
// Returns 0 or an errno: EOPNOTSUPP or ENOTTY where the file system has no FIEMAP.
int read_extents(int fd, bool sync, std::vector<extent>& out, extent_skips& skips);

// The names of the flags that say something about an extent in place: "unwritten", "shared", ...
std::vector<std::string> flag_names(std::uint32_t flags);

} // namespace lathcli
