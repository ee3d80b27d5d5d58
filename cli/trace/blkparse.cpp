// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The text of blkparse in its default layout. What it can print (blkparse 1.2.0, process_default()
// and show_stats()):
//
//   "MAJ,MIN CPU SEQUENCE SECONDS.NANOSECONDS PID ACTION RWBS", then by action
//     Q I D B   "SECTOR + SECTORS [NAME]"; "[NAME]" without data (flushes); of packet commands
//               "BYTES (CDB) [NAME]", "(CDB)" where it was recorded
//     C R       "SECTOR + SECTORS [ERROR]"; "SECTOR [ERROR]" without data; "(CDB) [ERROR]"
//     with -t   "( MICROSECONDS)" before the bracket in these
//     M F G S   "SECTOR + SECTORS [NAME]", or "[NAME]";  P U T: "[NAME]", with a count
//     A         "SECTOR + SECTORS <- (MAJ,MIN) SECTOR";  X: "SECTOR / SECTOR [NAME]"
//     m         the text of a message, which may go on in the lines behind it
//   with -s     "NAME (PID)" and figures per process, behind the events
//   without -q  "CPU0 (sda):", "Total (sda):" and figures, "Throughput", "Events", "Skips"
//   "Input file sda.blktrace.0 added" before or behind all that
//
// NAME is any text: with a newline in it the event goes on in the next line.
//
// Outputs that were put behind each other are read as one trace: times begin again behind a
// summary, and go on where the last ended.
#include "trace/fields.hpp"
#include "trace/formats.hpp"

#include <initializer_list>
#include <utility>

namespace lathcli::trace {

namespace {

// "8,0" of the first column
bool is_device(std::string_view word) {
    auto comma = word.find(',');
    return comma != std::string_view::npos && number(word.substr(0, comma)) &&
           number(word.substr(comma + 1));
}

// A line that begins what blkparse prints behind the events.
bool begins_summary(std::string_view line) {
    for (std::string_view start :
         {"CPU", "Total (", "Throughput", "Events (", "Skips:", "Input file "})
        if (line.starts_with(start))
            return true;
    // "NAME (PID)": figures of a process
    auto open = line.rfind('(');
    return open != std::string_view::npos && line.ends_with(')') &&
           number(line.substr(open + 1, line.size() - open - 2));
}

class blkparse : public reader {
public:
    blkparse(input in, const reader_options& options)
        : reader(format::blkparse, std::move(in), options) {}

protected:
    found step(event& e) override {
        std::string_view text;
        if (!next_line(text))
            return found::end;
        if (text.find_first_not_of(" \t") == std::string_view::npos)
            return found::nothing;
        return parse(text, e);
    }

private:
    found parse(std::string_view text, event& e) {
        if (looks_like_blkparse(text)) {
            if (std::exchange(in_summary_, false))
                restart();
            goes_on_ = false;
        } else if (in_summary_ || goes_on_ || begins_summary(text)) {
            in_summary_ = in_summary_ || !goes_on_ || begins_summary(text);
            return found::nothing;
        }
        words fields(text);
        auto device = fields.next();
        if (!is_device(device))
            complain("no device 'major,minor' at the start of the line");
        fields.next();
        fields.next();
        auto time = seconds(fields.next());
        if (!time)
            complain("no time in the fourth column");
        auto pid = fields.next(), action = fields.next();
        if (pid.empty() || action.empty())
            complain("no action in the sixth column");
        auto name = text.rfind('[');
        goes_on_ = action == "m" || (name != std::string_view::npos &&
                                     text.find(']', name) == std::string_view::npos);
        e.time_ns = *time;
        if (action == "Q")
            return request(found::event, device, fields, e);
        if (action == "D")
            return request(found::issued, device, fields, e);
        if (action == "C")
            return request(found::completed, device, fields, e);
        return found::nothing;
    }

    found request(found kind, std::string_view device, words& fields, event& e) {
        auto rwbs = fields.next(), first = fields.next(), plus = fields.next();
        // Without data: the name or the time of a flush follows, or what a packet command has.
        auto bracket = [](std::string_view word) {
            return !word.empty() && (word[0] == '[' || word[0] == '(');
        };
        auto sector = number(first);
        if (bracket(first) || (sector && bracket(plus)))
            return found::nothing;
        auto sectors = number(fields.next());
        if (!sector || plus != "+" || !sectors)
            complain("no 'sector + sectors' in a " + std::string(name_of(kind)) + " line");
        if (*sectors == 0)
            return found::nothing;
        place_sectors(e, *sector, *sectors);
        e.device = device_number(device);
        e.write = rwbs.find_first_of("WD") != std::string_view::npos || rwbs.starts_with("ZA");
        return kind;
    }

    bool in_summary_ = false;
    bool goes_on_ = false; // a message, or a name with a newline in it
};

} // namespace

bool looks_like_blkparse(std::string_view line) {
    words fields(line);
    return is_device(fields.next()) && number(fields.next()) &&
           parse_digits<std::int64_t>(fields.next()) && seconds(fields.next());
}

std::unique_ptr<reader> make_blkparse(input in, const reader_options& options) {
    return std::make_unique<blkparse>(std::move(in), options);
}

} // namespace lathcli::trace
