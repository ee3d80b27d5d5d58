// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// fio's iolog. Version 2: "FILE ACTION [OFFSET LENGTH]"; version 3 has a time before it,
// microseconds since the start (the manual does not say the unit; fio 3.33 writes these). The log
// is written when a request is queued, so its order is that of arrival. Actions: add, open, close
// of a file; read, write, trim, and sync, datasync, wait, which are no requests to sort.
//
// Files have no place on a device: they are laid out 1 TiB apart in the order in which they appear.
#include "trace/fields.hpp"
#include "trace/formats.hpp"

namespace lathcli::trace {

namespace {

constexpr std::uint64_t file_bytes = std::uint64_t{1} << 40;

class fio : public reader {
public:
    fio(format kind, input in, const reader_options& options)
        : reader(kind, std::move(in), options) {}

protected:
    found step(event& e) override {
        std::string_view text;
        if (!in_.line(text))
            return found::end;
        if (in_.line_number() == 1)
            return header(text);
        if (in_.too_long())
            complain("line too long");
        words fields(text);
        std::uint64_t time = 0;
        if (kind() == format::fio3) {
            auto word = fields.next();
            if (word.empty())
                return found::nothing;
            auto us = number(word);
            if (!us || *us > UINT64_MAX / 1000)
                complain("no time at the start of the line");
            time = *us * 1000;
        }
        auto file = fields.next(), action = fields.next();
        if (file.empty())
            return found::nothing;
        if (action == "read" || action == "write" || action == "trim") {
            e.time_ns = since_first(time);
            return request(e, file, action, fields);
        }
        if (action == "add" || action == "open" || action == "close" || action == "sync" ||
            action == "datasync" || action == "wait")
            return found::nothing;
        complain(action.empty() ? "no action" : "unknown action '" + std::string(action) + "'");
    }

private:
    found header(std::string_view text) const {
        std::string expected =
            std::string("fio version ") + (kind() == format::fio3 ? "3" : "2") + " iolog";
        if (text != expected)
            complain("expected '" + expected + "'");
        return found::nothing;
    }

    found request(event& e, std::string_view file, std::string_view action, words& fields) {
        auto offset = number(fields.next()), length = number(fields.next());
        if (!offset || !length)
            complain("no offset and length after '" + std::string(action) + "'");
        if (!fields.next().empty())
            complain("something behind the length");
        if (*offset >= file_bytes)
            complain("offset " + std::to_string(*offset) + " is beyond 1 TiB");
        std::uint64_t place_of_file = device_number(file);
        if (place_of_file >= sector_limit / (file_bytes / 512) - 1)
            complain("too many files for one device");
        place(e, place_of_file * file_bytes + *offset, *length);
        e.write = action != "read";
        return found::event;
    }
};

} // namespace

std::unique_ptr<reader> make_fio(format kind, input in, const reader_options& options) {
    return std::make_unique<fio>(kind, std::move(in), options);
}

} // namespace lathcli::trace
