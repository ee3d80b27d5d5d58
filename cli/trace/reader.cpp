// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// What all readers share, and the choice among them.
#include "trace/formats.hpp"

namespace lathcli::trace {

const char* name_of(format f) {
    switch (f) {
    case format::fio2:
        return "fio2";
    case format::fio3:
        return "fio3";
    case format::blktrace:
        return "blktrace";
    case format::blkparse:
        return "blkparse";
    case format::msr:
        return "msr";
    case format::spc:
        return "spc";
    }
    return "?";
}

reader::reader(format kind, input in, const reader_options& options)
    : in_(std::move(in)), kind_(kind), options_(options) {}

void reader::complain(const std::string& what) const {
    throw bad_input(in_.name() + ":" + std::to_string(in_.line_number()) + ": " + what);
}

std::uint32_t reader::device_number(std::string_view name) {
    // a name per request would be an attack on memory
    constexpr std::size_t most = 1u << 16;
    auto it = devices_.find(name);
    if (it != devices_.end())
        return it->second;
    if (devices_.size() == most)
        complain("more than 65536 files or devices");
    auto n = static_cast<std::uint32_t>(devices_.size());
    devices_.emplace(name, n);
    return n;
}

void reader::place(event& e, std::uint64_t offset, std::uint64_t bytes) const {
    if (bytes == 0 || bytes > length_limit)
        complain("a request of " + std::to_string(bytes) + " bytes");
    e.sector = offset / 512;
    // offset + bytes cannot overflow once the sector is known to be small
    if (e.sector >= sector_limit - length_limit / 512)
        complain("offset " + std::to_string(offset) + " is beyond 2^53 bytes");
    e.sectors = static_cast<std::uint32_t>((offset + bytes + 511) / 512 - e.sector);
}

std::uint64_t reader::since_first(std::uint64_t ns) {
    if (!seen_first_) {
        seen_first_ = true;
        first_ns_ = ns;
    }
    return ns > first_ns_ ? ns - first_ns_ : 0;
}

// One event, doubles not looked at; false at the end.
bool reader::take(event& e) {
    for (;;) {
        e = event{};
        try {
            switch (step(e)) {
            case found::event:
                counts_.events++;
                return true;
            case found::end:
                return false;
            case found::nothing:
                counts_.other++;
            }
        } catch (const bad_input& bad) {
            if (!options_.skip_bad || !resumes())
                throw;
            counts_.bad++;
            last_error_ = bad.what();
        }
    }
}

bool reader::next(event& e) {
    while (take(e)) {
        event same = last_;
        same.time_ns = e.time_ns;
        bool twin = counts_.events > 1 && same == e && !dropped_;
        last_ = e;
        dropped_ = twin; // a third one is a new request
        if (!twin)
            return true;
        counts_.doubles++;
        if (!options_.drop_doubles)
            return true;
    }
    return false;
}

format detect(input& in) {
    auto head = in.peek(4096);
    if (head.empty())
        throw bad_input(in.name() + ": empty");
    if (is_blktrace(head))
        return format::blktrace;
    if (head.rfind("fio version 2 iolog", 0) == 0)
        return format::fio2;
    if (head.rfind("fio version 3 iolog", 0) == 0)
        return format::fio3;
    if (head.rfind("fio version ", 0) == 0)
        throw bad_input(in.name() + ":1: a fio iolog of a version other than 2 and 3");
    // the first line that has something on it
    while (!head.empty()) {
        auto end = head.find('\n');
        auto line = head.substr(0, end);
        if (!line.empty() && line.back() == '\r')
            line.remove_suffix(1);
        if (line.find_first_not_of(" \t") != std::string_view::npos) {
            if (looks_like_msr(line))
                return format::msr;
            if (looks_like_spc(line))
                return format::spc;
            if (looks_like_blkparse(line))
                return format::blkparse;
            break;
        }
        head.remove_prefix(end == std::string_view::npos ? head.size() : end + 1);
    }
    throw bad_input(in.name() + ": not a trace (known: fio iolog 2 and 3, blktrace, blkparse text, "
                                "MSR-Cambridge CSV, SPC)");
}

std::unique_ptr<reader> open_as(format kind, input in, const reader_options& options) {
    switch (kind) {
    case format::fio2:
    case format::fio3:
        return make_fio(kind, std::move(in), options);
    case format::blktrace:
        return make_blktrace(std::move(in), options);
    case format::blkparse:
        return make_blkparse(std::move(in), options);
    case format::msr:
        return make_msr(std::move(in), options);
    case format::spc:
        return make_spc(std::move(in), options);
    }
    throw std::logic_error("no such format");
}

std::unique_ptr<reader> open(input in, const reader_options& options) {
    format kind = detect(in);
    return open_as(kind, std::move(in), options);
}

} // namespace lathcli::trace
