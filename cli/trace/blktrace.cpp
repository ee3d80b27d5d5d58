// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// blktrace's binary records, as linux/blktrace_api.h lays them out: 48 bytes in the byte order of
// the machine that wrote them, then pdu_len bytes. The action has its number in eight bits, a bit
// that says that the id of a cgroup begins the pdu, and categories in the upper half. Records of
// packet commands (PC) have no sector; those of flushes no bytes. Sectors are of 512 bytes. (Files
// of several processors, concatenated, are not in order of time: blkparse merges them.)
#include "trace/formats.hpp"

#include <array>

namespace lathcli::trace {

namespace {

constexpr std::size_t record_bytes = 48;
constexpr std::uint32_t magic = 0x65617400, magic_mask = 0xffffff00, version = 7;
constexpr std::uint32_t action_mask = 0xff, action_queue = 1, action_issue = 7, action_complete = 8;
constexpr std::uint32_t category_write = 1u << 17, category_packet = 1u << 25,
                        category_notify = 1u << 26, category_discard = 1u << 29;

template <class T>
T field(std::string_view record, std::size_t at, bool big) {
    T value = 0;
    for (std::size_t i = 0; i < sizeof(T); i++) {
        std::size_t from = big ? i : sizeof(T) - 1 - i;
        value = static_cast<T>(value << 8 | static_cast<unsigned char>(record[at + from]));
    }
    return value;
}

bool has_magic(std::string_view record, bool big) {
    return (field<std::uint32_t>(record, 0, big) & magic_mask) == magic;
}

class blktrace : public reader {
public:
    blktrace(input in, const reader_options& options)
        : reader(format::blktrace, std::move(in), options) {
        auto head = in_.peek(4);
        big_ = head.size() == 4 && has_magic(head, true);
    }

protected:
    bool resumes() const override { return false; }

    found step(event& e) override {
        auto record = in_.peek(record_bytes);
        if (record.empty())
            return found::end;
        if (record.size() < record_bytes)
            complain("the record is cut short");
        if (!has_magic(record, big_))
            complain("not the start of a record");
        if (auto n = field<std::uint32_t>(record, 0, big_) & ~magic_mask; n != version)
            complain("version " + std::to_string(n) + " of the format; only 7 is known here");
        auto sector = field<std::uint64_t>(record, 16, big_);
        auto bytes = field<std::uint32_t>(record, 24, big_);
        auto action = field<std::uint32_t>(record, 28, big_);
        auto device = field<std::uint32_t>(record, 36, big_);
        auto more = field<std::uint16_t>(record, 46, big_);
        found kind = kind_of(action);
        if (bytes == 0)
            kind = found::nothing;
        if (kind != found::nothing) {
            e.time_ns = field<std::uint64_t>(record, 8, big_);
            place_sectors(e, sector, (bytes + std::uint64_t{511}) / 512);
            e.device = device_number(std::to_string(device));
            e.write = (action & (category_write | category_discard)) != 0;
        }
        in_.skip(record_bytes);
        drop(more);
        return kind;
    }

    std::string where() const override {
        return in_.name() + ": byte " + std::to_string(in_.offset()) + ": ";
    }

private:
    static found kind_of(std::uint32_t action) {
        if (action & (category_notify | category_packet))
            return found::nothing;
        switch (action & action_mask) {
        case action_queue:
            return found::event;
        case action_issue:
            return found::issued;
        case action_complete:
            return found::completed;
        default:
            return found::nothing;
        }
    }
    void drop(std::size_t n) {
        if (in_.peek(n).size() < n)
            complain("the data of a record are cut short");
        in_.skip(n);
    }
    bool big_;
};

} // namespace

bool is_blktrace(std::string_view head) {
    return head.size() >= 4 && (has_magic(head, false) || has_magic(head, true));
}

std::unique_ptr<reader> make_blktrace(input in, const reader_options& options) {
    return std::make_unique<blktrace>(std::move(in), options);
}

} // namespace lathcli::trace
