// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// One file system, and what the addresses are that it gives for its files.
//
// FIEMAP calls them physical. They are offsets of the device that st_dev names where the file
// system lies on one block device and knows no other addresses. Elsewhere:
//   btrfs          its own address space; its chunk tree leads to the devices (btrfs.hpp)
//   XFS, realtime  files marked so lie on the realtime device, which the mount names
//   EROFS          the length of compressed data is that of the contents
//   st_dev of major number 0 (overlayfs, SMB, bcachefs, ...): no block device at all
#pragma once

#include "extents/btrfs.hpp"
#include "extents/fiemap.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include <sys/stat.h>

namespace lathcli {

// One space of addresses.
struct device {
    std::string file_system; // "ext4"
    std::string source; // "/dev/vda1", "" if not known
    std::uint64_t block_size;
    std::uint64_t size; // bytes; 0: not known
    std::string own; // why addresses are not offsets of the source; "": they are
};

class volume {
public:
    // fd is an open file or directory of the file system, or -1 where it cannot be opened; st is
    // its state. logical: leave the addresses of btrfs as they are.
    volume(int fd, const struct stat& st, bool logical);
    volume(const volume&) = delete;
    volume& operator=(const volume&) = delete;
    ~volume();

    const std::vector<device>& devices() const { return devices_; }
    // Equal for all parts of one file system that have their own numbers (st_dev); "": st_dev
    // is all there is.
    const std::string& identity() const { return identity_; }
    // Puts the extents of the open file where they lie: device becomes `first` + the place in
    // devices(), and an extent that lies in several pieces becomes as many. Those without a place
    // are counted. From any thread.
    void place(int fd, unsigned first, std::vector<extent>& extents, extent_skips& skips) const;
    // Whether chunks were moved or removed since the constructor read where they lie.
    bool moved() const;

private:
    void look_at_btrfs(int fd, bool logical);
    void look_at_mount(const struct stat& st);
    void place_chunks(unsigned first, std::vector<extent>& extents, extent_skips& skips) const;

    std::vector<device> devices_;
    std::string identity_;
    int fd_ = -1; // opened here; btrfs
    btrfs_chunks chunks_;
    std::vector<std::uint64_t> ids_; // btrfs: of each device
    bool translates_ = false, has_realtime_ = false;
};

} // namespace lathcli
