// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "extents/volume.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <system_error>

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

namespace lathcli {

namespace {

constexpr std::uint64_t erofs_magic = 0xe0f5e1e2; // newer than some <linux/magic.h>

std::string device_text(dev_t id) {
    return std::to_string(major(id)) + ":" + std::to_string(minor(id));
}

// mountinfo has blanks and backslashes as three octal digits.
std::string unescaped(const std::string& word) {
    std::string out;
    for (std::size_t i = 0; i < word.size(); i++) {
        unsigned code = 0;
        const char* digits = word.data() + i + 1;
        if (word[i] == '\\' && i + 3 < word.size() &&
            std::from_chars(digits, digits + 3, code, 8).ptr == digits + 3) {
            out += static_cast<char>(code);
            i += 3;
        } else {
            out += word[i];
        }
    }
    return out;
}

struct mounted {
    std::string file_system, source, options;
};

// The file system as /proc/self/mountinfo tells it; empty where it does not.
mounted mount_of(dev_t id) {
    std::ifstream mounts("/proc/self/mountinfo");
    std::string wanted = device_text(id);
    for (std::string line; std::getline(mounts, line);) {
        std::istringstream words(line);
        std::string number, parent, numbers, word;
        words >> number >> parent >> numbers;
        if (numbers != wanted)
            continue;
        while (words >> word && word != "-") {
        }
        mounted m;
        words >> m.file_system >> m.source >> m.options;
        m.source = unescaped(m.source);
        return m;
    }
    return {};
}

// "b" in "a,name=b,c"; "" where it is not there.
std::string option_of(const std::string& options, const std::string& name) {
    std::istringstream list(options);
    for (std::string each; std::getline(list, each, ',');)
        if (each.starts_with(name + "="))
            return unescaped(each.substr(name.size() + 1));
    return "";
}

// Bytes of a block device; 0: not known.
std::uint64_t size_of(dev_t id) {
    std::ifstream file("/sys/dev/block/" + device_text(id) + "/size");
    std::uint64_t sectors = 0;
    return file >> sectors && sectors < UINT64_MAX / 512 ? sectors * 512 : 0;
}

std::uint64_t size_of(const std::string& path) {
    struct stat st{};
    return stat(path.c_str(), &st) == 0 && S_ISBLK(st.st_mode) ? size_of(st.st_rdev) : 0;
}

std::string hex(std::uint64_t n) {
    char text[24];
    std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(n));
    return text;
}

} // namespace

volume::volume(int fd, const struct stat& st, bool logical) {
    struct statfs fs{};
    bool known = fd >= 0 && fstatfs(fd, &fs) == 0;
    auto magic = static_cast<std::uint32_t>(fs.f_type);
    std::uint64_t block = known && fs.f_bsize > 0 ? static_cast<std::uint64_t>(fs.f_bsize)
                                                  : static_cast<std::uint64_t>(st.st_blksize);
    devices_.push_back({"", "", block, 0, ""});
    if (known && magic == BTRFS_SUPER_MAGIC)
        look_at_btrfs(fd, logical);
    else
        look_at_mount(st);
    device& first = devices_.front();
    if (first.file_system.empty())
        first.file_system = known ? "file system of type " + hex(magic) : "unknown file system";
    if (known && magic == erofs_magic)
        first.own = "where data are compressed it gives the length of the contents";
}

volume::~volume() {
    if (fd_ >= 0)
        close(fd_);
}

void volume::look_at_mount(const struct stat& st) {
    auto m = mount_of(st.st_dev);
    device& data = devices_.front();
    data.file_system = m.file_system;
    data.source = m.source;
    data.size = size_of(st.st_dev);
    if (major(st.st_dev) == 0) {
        data.own = data.file_system == "overlay"
                       ? "they are those of the file systems of its layers"
                       : "no block device belongs to it";
        return;
    }
    auto realtime = m.file_system == "xfs" ? option_of(m.options, "rtdev") : "";
    if (!realtime.empty()) {
        device second{"xfs, realtime", realtime, data.block_size, size_of(realtime), ""};
        devices_.push_back(std::move(second));
        has_realtime_ = true;
    }
}

void volume::look_at_btrfs(int fd, bool logical) {
    device space = devices_.front();
    space.file_system = "btrfs";
    btrfs_identity found;
    int error = read_btrfs_identity(fd, found);
    if (!error)
        identity_.assign(found.id.begin(), found.id.end());
    for (const auto& d : found.devices)
        space.source += (space.source.empty() ? "" : ",") + (d.path.empty() ? "missing" : d.path);
    if (logical)
        space.own = "--logical leaves them as they are";
    else if (found.unknown_features)
        space.own = "its features " + hex(found.unknown_features) +
                    " are not known to this program, and may change where data lie";
    else if (!error && (error = chunks_.read(fd)) == EPERM)
        space.own = "reading where they lie needs CAP_SYS_ADMIN (root)";
    if (space.own.empty() && error)
        space.own = "where they lie cannot be read: " + std::generic_category().message(error);
    if (!space.own.empty()) {
        devices_ = {space};
        return;
    }
    translates_ = true;
    devices_.clear();
    for (const auto& d : found.devices) {
        ids_.push_back(d.id);
        devices_.push_back(
            {"btrfs",
             d.path.empty() ? "btrfs device " + std::to_string(d.id) + ", missing" : d.path,
             space.block_size, d.path.empty() ? 0 : size_of(d.path), ""});
    }
    fd_ = fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

bool volume::moved() const {
    btrfs_chunks now;
    return translates_ && fd_ >= 0 && (now.read(fd_) != 0 || !chunks_.all_in(now));
}

void volume::place_chunks(unsigned first, std::vector<extent>& extents, extent_skips& skips) const {
    std::vector<extent> placed;
    std::vector<btrfs_chunks::piece> pieces;
    for (const extent& e : extents) {
        pieces.clear();
        if (!chunks_.find(e.physical, e.length, pieces)) {
            skips.moved++;
            continue;
        }
        for (const auto& p : pieces) {
            auto id = std::ranges::find(ids_, p.device);
            if (id == ids_.end() || p.physical > device_limit - p.length) {
                skips.moved++;
                continue;
            }
            placed.push_back({p.physical, e.logical + p.from, p.length, e.flags,
                              static_cast<std::uint16_t>(first + (id - ids_.begin())),
                              static_cast<std::uint16_t>(p.copy)});
        }
    }
    extents = std::move(placed);
}

void volume::place(int fd, unsigned first, std::vector<extent>& extents,
                   extent_skips& skips) const {
    if (translates_)
        return place_chunks(first, extents, skips);
    unsigned number = 0;
    fsxattr attributes{};
    // A file that was marked in the moment before is not on both: XFS marks empty files only.
    if (has_realtime_ && ioctl(fd, FS_IOC_FSGETXATTR, &attributes) == 0 &&
        attributes.fsx_xflags & FS_XFLAG_REALTIME)
        number = 1;
    std::uint64_t end = devices_[number].own.empty() ? devices_[number].size : 0;
    std::erase_if(extents, [&](const extent& e) {
        // An address beyond the end is one of another device (f2fs counts through all of its own).
        bool beyond = end && (e.physical > end || e.length > end - e.physical);
        skips.invalid += beyond;
        return beyond;
    });
    for (extent& e : extents)
        e.device = static_cast<std::uint16_t>(first + number);
}

} // namespace lathcli
