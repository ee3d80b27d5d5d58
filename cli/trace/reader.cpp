// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// What all readers share, and the choice among them.
#include "trace/formats.hpp"

#include "base/stop_on_signal.hpp"

#include <algorithm>

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
    }
    return "?";
}

const char* name_of(record_kind kind) {
    switch (kind) {
    case record_kind::queue:
        return "queue (Q)";
    case record_kind::issue:
        return "issue (D)";
    case record_kind::complete:
        return "complete (C)";
    }
    return "?";
}

reader::reader(format kind, input in, const reader_options& options)
    : input_reader(std::move(in), options.skip_bad), kind_(kind), options_(options) {}

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
    if (bytes == 0)
        complain("a request of 0 bytes");
    if (bytes > length_limit)
        complain("a request of " + std::to_string(bytes) + " bytes is longer than 2^40");
    // the sum cannot overflow once the offset is known to be small
    if (offset / 512 >= sector_limit || (offset + bytes + 511) / 512 > sector_limit)
        complain("offset " + std::to_string(offset) + " is beyond 2^53 bytes");
    e.sector = offset / 512;
    e.sectors = static_cast<std::uint32_t>((offset + bytes + 511) / 512 - e.sector);
}

void reader::place_sectors(event& e, std::uint64_t sector, std::uint64_t sectors) const {
    if (sector >= sector_limit)
        complain("sector " + std::to_string(sector) + " is beyond 2^44");
    if (sectors > length_limit / 512)
        complain("a request of " + std::to_string(sectors) + " sectors is longer than 2^31");
    place(e, sector * 512, sectors * 512);
}

const char* reader::name_of(found kind) {
    return kind == found::issued ? "D" : kind == found::completed ? "C" : "Q";
}

// Decide which records are the requests of a trace in which no queue record came. Returns false
// when no other came either.
bool reader::choose_without_queue() {
    if (held_.empty())
        return false;
    bool issued = std::any_of(held_.begin(), held_.end(),
                              [](const held& h) { return h.kind == found::issued; });
    records_ = issued ? record_kind::issue : record_kind::complete;
    return true;
}

// Whether a record is of the kind that was chosen. A queue record behind the choice of another
// kind says that the choice was wrong.
bool reader::chosen(const held& h) {
    if (h.kind == found::event && *records_ != record_kind::queue)
        complain("a queue record (Q) behind more than " + std::to_string(most_held) +
                 " records without one; trace records of one kind (blktrace -a queue)");
    bool same = *records_ == (h.kind == found::event    ? record_kind::queue
                              : h.kind == found::issued ? record_kind::issue
                                                        : record_kind::complete);
    counts_.other += !same;
    return same;
}

// Times since the first event, earlier ones counting as that, and devices as they appear.
void reader::deliver(event& e, std::uint64_t run) {
    if (!seen_first_ || run != run_of_last_) {
        base_ns_ = last_ns_;
        first_ns_ = e.time_ns;
        run_of_last_ = run;
        seen_first_ = true;
    }
    e.time_ns = e.time_ns > first_ns_ ? e.time_ns - first_ns_ : 0;
    e.time_ns = e.time_ns > UINT64_MAX - base_ns_ ? UINT64_MAX : base_ns_ + e.time_ns;
    last_ns_ = std::max(last_ns_, e.time_ns);
    if (shown_devices_.size() <= e.device)
        shown_devices_.resize(e.device + 1u);
    if (!shown_devices_[e.device])
        shown_devices_[e.device] = devices_shown_++;
    e.device = *shown_devices_[e.device];
    counts_.events++;
}

// The next record: one that was held back, once it is known which are the requests, or else what
// the next line or record of the input is.
reader::held reader::next_record() {
    if (records_ && !held_.empty()) {
        held first = held_.front();
        held_.pop_front();
        return first;
    }
    held h{{}, found::nothing, 0};
    h.kind = step(h.e);
    h.run = run_;
    return h;
}

// Whether a record is a request, as far as it is known; holds it back where it is not.
bool reader::is_request(const held& h) {
    if (h.kind == found::nothing) {
        counts_.other++;
        return false;
    }
    if (!records_ && h.kind == found::event) {
        records_ = record_kind::queue;
        counts_.other += held_.size();
        held_.clear();
    }
    if (!records_) {
        held_.push_back(h);
        if (held_.size() > most_held)
            choose_without_queue();
        return false;
    }
    return chosen(h);
}

// One event, doubles not looked at; false at the end.
bool reader::take(event& e) {
    for (;;) {
        try {
            held h = next_record();
            if (h.kind == found::end) {
                if (records_ || !choose_without_queue())
                    return false;
                continue;
            }
            if (!is_request(h))
                continue;
            e = h.e;
            deliver(e, h.run);
            return true;
        } catch (const stopped&) {
            // What was held back was read: it is given out before the signal is passed on.
            if (records_ || !choose_without_queue())
                throw;
        } catch (const bad_input& bad) {
            if (!resumes() || !skips(bad))
                throw;
            counts_.bad++;
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
    auto head = in.peek(detect_bytes);
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
    while (!head.empty()) {
        auto end = head.find('\n');
        auto line = head.substr(0, end);
        if (looks_like_blkparse(line))
            return format::blkparse;
        // blank lines, and what blkparse says of the files that it reads
        if (line.find_first_not_of(" \t\r") != std::string_view::npos &&
            !line.starts_with("Input file "))
            break;
        head.remove_prefix(end == std::string_view::npos ? head.size() : end + 1);
    }
    throw bad_input(in.name() +
                    ": not a trace (known: fio iolog 2 and 3, blktrace, blkparse text)");
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
    }
    throw std::logic_error("no such format");
}

std::unique_ptr<reader> open(input in, const reader_options& options) {
    format kind = detect(in);
    return open_as(kind, std::move(in), options);
}

} // namespace lathcli::trace
