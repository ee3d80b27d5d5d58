// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Formats of a request per line in columns: MSR-Cambridge CSV, SPC.
#include "trace/fields.hpp"
#include "trace/formats.hpp"
#include "trace/lines.hpp"

namespace lathcli::trace {

namespace {

// "TIMESTAMP,HOST,DISK,Read|Write,OFFSET,SIZE,RESPONSE", timestamps in 100 ns since 1601
class msr : public lines {
public:
    msr(input in, const reader_options& options) : lines(format::msr, std::move(in), options) {}

protected:
    found parse(std::string_view text, event& e) override {
        columns fields(text);
        auto stamp = fields.next();
        if (stamp == "Timestamp")
            return found::nothing; // a header line
        auto time = number(stamp);
        auto host = fields.next(), disk = fields.next(), type = fields.next();
        auto offset = number(fields.next()), size = number(fields.next());
        if (!time || *time > UINT64_MAX / 100)
            complain("no timestamp in the first column");
        if (type != "Read" && type != "Write")
            complain("neither Read nor Write in the fourth column");
        if (!offset || !size)
            complain("no offset and size in the columns five and six");
        e.time_ns = *time * 100;
        place(e, *offset, *size);
        e.device = device_number(std::string(*host) + "," + std::string(*disk));
        e.write = type == "Write";
        return found::event;
    }
};

bool is_opcode(std::string_view word) {
    return word.size() == 1 && std::string_view("rRwW").find(word[0]) != std::string_view::npos;
}

// "ASU,LBA,BYTES,R|W,SECONDS", more columns allowed. LBAs are of 512 bytes.
class spc : public lines {
public:
    spc(input in, const reader_options& options) : lines(format::spc, std::move(in), options) {}

protected:
    found parse(std::string_view text, event& e) override {
        columns fields(text);
        auto asu = fields.next();
        auto lba = number(fields.next()), size = number(fields.next());
        auto opcode = fields.next(), stamp = fields.next();
        if (!number(asu) || !lba || !size)
            complain("no 'ASU,LBA,size' at the start of the line");
        if (!opcode || !is_opcode(*opcode))
            complain("neither R nor W in the fourth column");
        auto time = stamp ? seconds(*stamp) : std::nullopt;
        if (!time)
            complain("no time in the fifth column");
        if (*lba >= sector_limit)
            complain("LBA " + std::to_string(*lba) + " is beyond 2^44");
        e.time_ns = *time;
        place(e, *lba * 512, *size);
        e.device = device_number(*asu);
        e.write = *opcode == "w" || *opcode == "W";
        return found::event;
    }
};

} // namespace

bool looks_like_msr(std::string_view line) {
    columns fields(line);
    auto stamp = fields.next();
    if (stamp == "Timestamp")
        return true;
    fields.next();
    fields.next();
    auto type = fields.next();
    return number(stamp) && (type == "Read" || type == "Write");
}

bool looks_like_spc(std::string_view line) {
    columns fields(line);
    auto asu = number(fields.next()), lba = number(fields.next()), size = number(fields.next());
    auto opcode = fields.next();
    return asu && lba && size && opcode && is_opcode(*opcode);
}

std::unique_ptr<reader> make_msr(input in, const reader_options& options) {
    return std::make_unique<msr>(std::move(in), options);
}

std::unique_ptr<reader> make_spc(input in, const reader_options& options) {
    return std::make_unique<spc>(std::move(in), options);
}

} // namespace lathcli::trace
