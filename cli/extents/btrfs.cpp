// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "extents/btrfs.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <iterator>

#include <linux/btrfs.h>
#include <linux/btrfs_tree.h>
#include <sys/ioctl.h>

namespace lathcli {

namespace {

constexpr std::size_t header_bytes = offsetof(btrfs_chunk, stripe);
constexpr std::uint64_t most_devices = 1u << 16;
constexpr std::uint64_t most_length = std::uint64_t{1} << 60;

// Numbers of the tree are little-endian.
template <typename T>
T le(const unsigned char* at) {
    T value = 0;
    for (std::size_t i = sizeof(T); i-- > 0;)
        value = static_cast<T>(value << 8 | at[i]);
    return value;
}

int call(int fd, unsigned long request, void* argument) {
    int ret;
    do
        ret = ioctl(fd, request, argument);
    while (ret < 0 && errno == EINTR);
    return ret < 0 ? errno : 0;
}

// Columns, copies and rotation of a profile; false: unknown, or it does not fit the stripes.
bool lay_out(btrfs_chunk_layout& c, std::uint64_t type, unsigned stripes, unsigned sub_stripes) {
    c.columns = c.copies = 1;
    c.rotates = false;
    switch (type & ~std::uint64_t{BTRFS_BLOCK_GROUP_TYPE_MASK}) { // unknown bits: no case
    case 0: // single
        return stripes == 1;
    case BTRFS_BLOCK_GROUP_RAID0:
        c.columns = stripes;
        return true;
    case BTRFS_BLOCK_GROUP_DUP:
    case BTRFS_BLOCK_GROUP_RAID1:
    case BTRFS_BLOCK_GROUP_RAID1C3:
    case BTRFS_BLOCK_GROUP_RAID1C4:
        c.copies = stripes;
        return true;
    case BTRFS_BLOCK_GROUP_RAID10:
        if (sub_stripes == 0 || stripes % sub_stripes)
            return false;
        c.copies = sub_stripes;
        c.columns = stripes / sub_stripes;
        return true;
    case BTRFS_BLOCK_GROUP_RAID5:
    case BTRFS_BLOCK_GROUP_RAID6: {
        unsigned parity = type & BTRFS_BLOCK_GROUP_RAID5 ? 1 : 2;
        c.rotates = true;
        c.columns = stripes - parity;
        return stripes > parity;
    }
    default:
        return false;
    }
}

struct search {
    alignas(btrfs_ioctl_search_args_v2)
        std::array<unsigned char, sizeof(btrfs_ioctl_search_args_v2) + (64u << 10)> bytes;

    btrfs_ioctl_search_args_v2* args() {
        return reinterpret_cast<btrfs_ioctl_search_args_v2*>(bytes.data());
    }
    // The chunks from this address on. 0 or an errno.
    int ask(int fd, std::uint64_t from) {
        std::memset(bytes.data(), 0, sizeof(btrfs_ioctl_search_args_v2));
        btrfs_ioctl_search_key& key = args()->key;
        key.tree_id = BTRFS_CHUNK_TREE_OBJECTID;
        key.min_objectid = key.max_objectid = BTRFS_FIRST_CHUNK_TREE_OBJECTID;
        key.min_type = key.max_type = BTRFS_CHUNK_ITEM_KEY;
        key.min_offset = from;
        key.max_offset = UINT64_MAX;
        key.max_transid = UINT64_MAX;
        key.nr_items = UINT32_MAX;
        args()->buf_size = bytes.size() - sizeof(btrfs_ioctl_search_args_v2);
        return call(fd, BTRFS_IOC_TREE_SEARCH_V2, bytes.data());
    }
};

} // namespace

bool btrfs_chunks::add(std::uint64_t address, const unsigned char* item, std::size_t size) {
    if (size < header_bytes)
        return false;
    btrfs_chunk_layout c;
    c.length = le<std::uint64_t>(item + offsetof(btrfs_chunk, length));
    c.stripe_length = le<std::uint64_t>(item + offsetof(btrfs_chunk, stripe_len));
    unsigned n = le<std::uint16_t>(item + offsetof(btrfs_chunk, num_stripes));
    if (c.length == 0 || c.length > most_length || address > most_length || c.stripe_length == 0 ||
        c.stripe_length > most_length || n == 0 ||
        (size - header_bytes) / sizeof(btrfs_stripe) < n ||
        !lay_out(c, le<std::uint64_t>(item + offsetof(btrfs_chunk, type)), n,
                 le<std::uint16_t>(item + offsetof(btrfs_chunk, sub_stripes))))
        return false;
    for (unsigned i = 0; i < n; i++) {
        const unsigned char* stripe = item + header_bytes + i * sizeof(btrfs_stripe);
        c.stripes.push_back({le<std::uint64_t>(stripe + offsetof(btrfs_stripe, devid)),
                             le<std::uint64_t>(stripe + offsetof(btrfs_stripe, offset))});
        if (c.stripes.back().physical > most_length)
            return false;
    }
    chunks_[address] = std::move(c);
    return true;
}

int btrfs_chunks::read(int fd) {
    chunks_.clear();
    search found;
    for (std::uint64_t from = 0;;) {
        if (int error = found.ask(fd, from))
            return error;
        const unsigned char* at = found.args()->buf;
        unsigned n = found.args()->key.nr_items;
        if (n == 0)
            return 0;
        for (unsigned i = 0; i < n; i++) {
            btrfs_ioctl_search_header head;
            std::memcpy(&head, at, sizeof head);
            at += sizeof head;
            if (!add(head.offset, at, head.len))
                return EINVAL;
            at += head.len;
            from = head.offset + 1;
        }
    }
}

bool btrfs_chunks::find(std::uint64_t address, std::uint64_t length,
                        std::vector<piece>& out) const {
    std::size_t before = out.size();
    for (std::uint64_t done = 0; done < length;) {
        auto next = chunks_.upper_bound(address + done);
        if (next == chunks_.begin() ||
            address + done - std::prev(next)->first >= std::prev(next)->second.length) {
            out.resize(before);
            return false;
        }
        const auto& [first, c] = *std::prev(next);
        std::uint64_t within = address + done - first;
        std::uint64_t n = std::min(length - done, c.length - within);
        // One column is one run per copy, however long; with rotation it moves each row.
        if (c.columns > 1 || c.rotates)
            n = std::min(n, c.stripe_length - within % c.stripe_length);
        std::uint64_t row = within / c.stripe_length / c.columns;
        std::uint64_t column = within / c.stripe_length % c.columns;
        for (unsigned copy = 0; copy < c.copies; copy++) {
            std::uint64_t which =
                c.rotates ? (column + row) % c.stripes.size() : column * c.copies + copy;
            const auto& stripe = c.stripes[which];
            out.push_back({stripe.device,
                           stripe.physical + row * c.stripe_length + within % c.stripe_length, done,
                           n, c.copies > 1 ? copy + 1 : 0});
        }
        done += n;
    }
    return true;
}

bool btrfs_chunks::all_in(const btrfs_chunks& other) const {
    return std::ranges::all_of(chunks_, [&](const auto& each) {
        auto there = other.chunks_.find(each.first);
        return there != other.chunks_.end() && there->second == each.second;
    });
}

int read_btrfs_identity(int fd, btrfs_identity& out) {
    // The features below zoned devices, extent tree v2 and simple quotas leave chunks as they are.
    // The stripe tree (bit 14) and what comes later need not.
    constexpr std::uint64_t known = ((std::uint64_t{1} << 14) - 1) | (std::uint64_t{1} << 16);
    btrfs_ioctl_fs_info_args info{};
    if (int error = call(fd, BTRFS_IOC_FS_INFO, &info))
        return error;
    std::copy(std::begin(info.fsid), std::end(info.fsid), out.id.begin());
    btrfs_ioctl_feature_flags features{};
    if (int error = call(fd, BTRFS_IOC_GET_FEATURES, &features))
        return error;
    out.unknown_features = features.incompat_flags & ~known;
    // Numbers of devices have gaps where devices were removed. num_devices leaves seeds out.
    for (std::uint64_t id = 1; id <= info.max_id && id <= most_devices; id++) {
        btrfs_ioctl_dev_info_args device{};
        device.devid = id;
        int error = call(fd, BTRFS_IOC_DEV_INFO, &device);
        if (error == ENODEV)
            continue;
        if (error)
            return error;
        const char* path = reinterpret_cast<const char*>(device.path);
        out.devices.push_back({id, std::string(path, strnlen(path, sizeof device.path))});
    }
    return 0;
}

} // namespace lathcli
