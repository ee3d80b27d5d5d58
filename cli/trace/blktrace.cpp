// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// blktrace's binary records, as linux/blktrace_api.h lays them out: 48 bytes in the byte order of
// the machine that wrote them, then pdu_len bytes. Action Q, a request queued, is the arrival.
// Sectors are of 512 bytes. (Files of several processors, concatenated, are not in order of time:
// blkparse merges them.)
#include "trace/formats.hpp"

#include <array>

namespace lathcli::trace {

namespace {

constexpr std::size_t record_bytes = 48;
constexpr std::uint32_t magic = 0x65617400, magic_mask = 0xffffff00, version = 7;
constexpr std::uint32_t action_queue = 1;
constexpr std::uint32_t category_write = 1u << 17, category_notify = 1u << 26;

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
            wrong("the record is cut short");
        if (!has_magic(record, big_))
            wrong("not the start of a record");
        if ((field<std::uint32_t>(record, 0, big_) & ~magic_mask) != version)
            wrong("a version other than 7");
        auto time = field<std::uint64_t>(record, 8, big_);
        auto sector = field<std::uint64_t>(record, 16, big_);
        auto bytes = field<std::uint32_t>(record, 24, big_);
        auto action = field<std::uint32_t>(record, 28, big_);
        auto device = field<std::uint32_t>(record, 36, big_);
        auto more = field<std::uint16_t>(record, 46, big_);
        bool queued = (action & 0xffff) == action_queue && !(action & category_notify) && bytes;
        if (queued && (sector >= sector_limit - length_limit / 512 || bytes > length_limit))
            wrong("a request beyond 2^53 bytes");
        in_.skip(record_bytes);
        drop(more);
        if (!queued)
            return found::nothing;
        e.time_ns = since_first(time);
        e.sector = sector;
        e.sectors = (bytes + 511) / 512;
        e.device = device_number(std::to_string(device));
        e.write = (action & category_write) != 0;
        return found::event;
    }

private:
    [[noreturn]] void wrong(const char* what) const {
        throw bad_input(in_.name() + ": byte " + std::to_string(in_.offset()) + ": " + what);
    }
    void drop(std::size_t n) {
        if (in_.peek(n).size() < n)
            wrong("the data of a record are cut short");
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
