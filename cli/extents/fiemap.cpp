// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The kernel answers FIEMAP in batches; each call goes on where the last extent ended.
#include "extents/fiemap.hpp"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sys/ioctl.h>

namespace lathcli {

namespace {

// Extents a call: 256 of 56 bytes are 14 KiB of stack and more than all but a few files have.
constexpr unsigned batch = 256;

struct request {
    alignas(fiemap) std::array<std::byte, sizeof(fiemap) + batch * sizeof(fiemap_extent)> bytes;

    fiemap* head() { return reinterpret_cast<fiemap*>(bytes.data()); }
    int ask(int fd, std::uint64_t start, bool sync) {
        std::memset(bytes.data(), 0, sizeof(fiemap));
        head()->fm_start = start;
        head()->fm_length = FIEMAP_MAX_OFFSET - start;
        head()->fm_flags = sync ? FIEMAP_FLAG_SYNC : 0;
        head()->fm_extent_count = batch;
        int ret;
        do
            ret = ioctl(fd, FS_IOC_FIEMAP, head());
        while (ret < 0 && errno == EINTR);
        return ret < 0 ? errno : 0;
    }
};

// The counter of the reason why an extent has no place, or nullptr.
std::uint64_t* reason(const fiemap_extent& e, extent_skips& skips) {
    if (e.fe_flags & FIEMAP_EXTENT_DELALLOC)
        return &skips.delayed;
    if (e.fe_flags & FIEMAP_EXTENT_UNKNOWN)
        return &skips.unknown;
    if (e.fe_flags &
        (FIEMAP_EXTENT_DATA_INLINE | FIEMAP_EXTENT_DATA_TAIL | FIEMAP_EXTENT_NOT_ALIGNED))
        return &skips.inlined;
    // Encryption keeps lengths; other encodings do not.
    if ((e.fe_flags & FIEMAP_EXTENT_ENCODED) && !(e.fe_flags & FIEMAP_EXTENT_DATA_ENCRYPTED))
        return &skips.encoded;
    if (e.fe_length == 0 || e.fe_physical >= device_limit ||
        e.fe_length > device_limit - e.fe_physical)
        return &skips.invalid;
    return nullptr;
}

} // namespace

void extent_skips::add(const extent_skips& other) {
    inlined += other.inlined;
    delayed += other.delayed;
    unknown += other.unknown;
    encoded += other.encoded;
    invalid += other.invalid;
    moved += other.moved;
}

int read_extents(int fd, bool sync, std::vector<extent>& out, extent_skips& skips) {
    request req;
    for (std::uint64_t start = 0;;) {
        if (int error = req.ask(fd, start, sync))
            return error;
        unsigned n = req.head()->fm_mapped_extents;
        const fiemap_extent* found = req.head()->fm_extents;
        for (unsigned i = 0; i < n; i++) {
            if (std::uint64_t* skip = reason(found[i], skips))
                ++*skip;
            else
                out.push_back({found[i].fe_physical, found[i].fe_logical, found[i].fe_length,
                               found[i].fe_flags, 0, 0});
        }
        if (n == 0 || (found[n - 1].fe_flags & FIEMAP_EXTENT_LAST))
            return 0;
        std::uint64_t next = found[n - 1].fe_logical + found[n - 1].fe_length;
        if (next <= start)
            return EIO; // a file system that does not get on
        start = next;
    }
}

std::vector<std::string> flag_names(std::uint32_t flags) {
    std::vector<std::string> names;
    if (flags & FIEMAP_EXTENT_UNWRITTEN)
        names.emplace_back("unwritten");
    if (flags & FIEMAP_EXTENT_SHARED)
        names.emplace_back("shared");
    if (flags & FIEMAP_EXTENT_DATA_ENCRYPTED)
        names.emplace_back("encrypted");
    if (flags & FIEMAP_EXTENT_MERGED)
        names.emplace_back("merged");
    return names;
}

} // namespace lathcli
