// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// fio's iolog. What fio 3.33 writes (log_io_u(), log_file(), io_ddir_name()), always version 3:
//
//   "fio version 3 iolog"
//   "TIME NAME add|open|close"         TIME: microseconds since the log was begun
//   "TIME NAME ACTION OFFSET LENGTH"   read, write, trim: a request, when it is queued
//                                      sync, datasync, sync_file_range, later also syncfs: none;
//                                      their offset and length mean nothing
// and what it reads besides: version 2, which has no TIME, and in it "NAME wait MICROSECONDS 0":
// the next request comes so long after the one before. In version 3 fio ignores a wait.
//
// fio opens its log to append: a second run puts its own log behind the first. NAME may have
// blanks in it. The manual does not say what LENGTH may be; a trim has up to 4 GiB.
//
// A name below /dev/ is a device. Other files have no place on one: they are laid out on an
// imaginary device, 1 TiB apart in the order in which they appear.
#include "trace/fields.hpp"
#include "trace/formats.hpp"

#include <algorithm>
#include <map>

namespace lathcli::trace {

namespace {

constexpr std::uint64_t file_bytes = std::uint64_t{1} << 40;
constexpr std::uint64_t most_wait = UINT64_MAX / 1000; // microseconds

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

bool is_header(std::string_view text, format kind) {
    while (text.ends_with(' '))
        text.remove_suffix(1);
    return text == (kind == format::fio3 ? "fio version 3 iolog" : "fio version 2 iolog");
}

class fio : public reader {
public:
    fio(format kind, input in, const reader_options& options)
        : reader(kind, std::move(in), options) {
        // A log of version 2 that waits has times from its first request on. No more is looked at
        // than detect() did: a pipe may not have more yet.
        waits_ = in_.peek(detect_bytes).find(" wait ") != std::string_view::npos;
    }
    bool has_times() const override { return kind() == format::fio3 || waits_; }

protected:
    found step(event& e) override {
        std::string_view text;
        if (!next_line(text))
            return found::end;
        if (is_header(text, kind())) {
            if (in_.line_number() > 1)
                restart();
            return found::nothing;
        }
        if (in_.line_number() == 1)
            complain(std::string("expected 'fio version ") + (kind() == format::fio3 ? "3" : "2") +
                     " iolog'");
        words fields(text);
        if (kind() == format::fio3) {
            auto word = fields.next();
            if (word.empty())
                return found::nothing;
            auto us = number(word);
            if (!us || *us > UINT64_MAX / 1000)
                complain("no time at the start of the line");
            time_ns_ = *us * 1000;
        }
        return line(e, fields.rest());
    }

private:
    // NAME ACTION, or NAME ACTION OFFSET LENGTH; taken apart from the right for the blanks in NAME.
    found line(event& e, std::string_view text) {
        text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
        auto before = text;
        auto last = last_word(before);
        if (last.empty())
            return found::nothing;
        if (is_one_of(last, {"add", "open", "close"}) && !before.empty())
            return found::nothing;
        auto length = number(last);
        auto offset_word = last_word(before);
        auto offset = number(offset_word);
        auto name = before;
        auto action = last_word(name);
        if (!length || !offset || name.empty())
            wrong_line(text);
        if (is_one_of(action, {"sync", "datasync", "sync_file_range", "syncfs"}))
            return found::nothing;
        if (action == "wait")
            return wait(*offset);
        if (!is_one_of(action, {"read", "write", "trim"}))
            wrong_line(text);
        return request(e, name, action, *offset, *length);
    }

    // What a line lacks that is neither of a file nor of a request.
    [[noreturn]] void wrong_line(std::string_view text) const {
        words fields(text);
        fields.next();
        auto action = fields.next();
        if (action.empty())
            complain("no action");
        if (is_one_of(action, {"read", "write", "trim", "sync", "datasync", "sync_file_range",
                               "syncfs", "wait"})) {
            fields.next();
            fields.next();
            complain(fields.next().empty()
                         ? "no offset and length after '" + std::string(action) + "'"
                         : "something behind the length");
        }
        complain("unknown action '" + std::string(action) + "'");
    }

    found wait(std::uint64_t us) {
        if (kind() == format::fio3) // fio ignores it: each line has its time
            return found::nothing;
        if (us > most_wait || us * 1000 > UINT64_MAX - time_ns_)
            complain("a wait of " + std::to_string(us) +
                     " microseconds: the sum is beyond 2^64 ns");
        time_ns_ += us * 1000;
        waits_ = true;
        return found::nothing;
    }

    found request(event& e, std::string_view file, std::string_view action, std::uint64_t offset,
                  std::uint64_t length) {
        std::uint64_t base = 0;
        e.device = 0;
        if (file.starts_with("/dev/")) {
            e.device = device_number(file);
        } else {
            base = place_of(file);
            if (offset >= file_bytes || length > file_bytes - offset)
                complain("offset " + std::to_string(offset) + " and length " +
                         std::to_string(length) + " go beyond 1 TiB of a file");
            e.device = device_number(""); // what all files share
        }
        e.time_ns = time_ns_;
        place(e, base + offset, length);
        e.write = action != "read";
        return found::event;
    }

    // Where a file begins.
    std::uint64_t place_of(std::string_view file) {
        auto [it, is_new] = files_.try_emplace(std::string(file), files_.size());
        if (is_new && it->second >= sector_limit / (file_bytes / 512) - 1) {
            files_.erase(it);
            complain("too many files for one device");
        }
        return it->second * file_bytes;
    }

    std::map<std::string, std::uint64_t, std::less<>> files_;
    std::uint64_t time_ns_ = 0;
    bool waits_ = false;
};

} // namespace

std::unique_ptr<reader> make_fio(format kind, input in, const reader_options& options) {
    return std::make_unique<fio>(kind, std::move(in), options);
}

} // namespace lathcli::trace
