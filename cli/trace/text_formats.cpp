// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The one-line-a-request formats: blkparse, MSR-Cambridge CSV, SPC.
#include "trace/fields.hpp"
#include "trace/formats.hpp"

namespace lathcli::trace {

namespace {

// Lines through a parse function; blank lines are nothing.
class lines : public reader {
public:
    using reader::reader;

protected:
    found step(event& e) override {
        std::string_view text;
        if (!in_.line(text))
            return found::end;
        if (in_.too_long())
            complain("line too long");
        if (text.find_first_not_of(" \t") == std::string_view::npos)
            return found::nothing;
        return parse(text, e);
    }
    virtual found parse(std::string_view text, event& e) = 0;
};

// "8,0" of the first column
bool is_device(std::string_view word) {
    auto comma = word.find(',');
    return comma != std::string_view::npos && number(word.substr(0, comma)) &&
           number(word.substr(comma + 1));
}

// "MAJ,MIN CPU SEQ SECONDS PID ACTION RWBS SECTOR + SECTORS [NAME]"; then a summary, from "CPU0
// (8,0):"
class blkparse : public lines {
public:
    blkparse(input in, const reader_options& options)
        : lines(format::blkparse, std::move(in), options) {}

protected:
    found parse(std::string_view text, event& e) override {
        words fields(text);
        auto device = fields.next();
        if (device.rfind("CPU", 0) == 0 || device == "Total")
            summary_ = true;
        if (summary_)
            return found::nothing;
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
        if (action != "Q")
            return found::nothing;
        auto rwbs = fields.next();
        auto sector = number(fields.next());
        auto plus = fields.next();
        if (sector && plus != "+")
            return found::nothing; // a flush without data
        auto sectors = number(fields.next());
        if (!sector || !sectors)
            complain("no 'sector + sectors' in a Q line");
        if (*sectors == 0)
            return found::nothing;
        if (*sector >= sector_limit || *sectors > length_limit / 512)
            complain("a request beyond 2^53 bytes");
        e.time_ns = since_first(*time);
        place(e, *sector * 512, *sectors * 512);
        e.device = device_number(device);
        e.write = rwbs.find_first_of("WD") != std::string_view::npos;
        return found::event;
    }

private:
    bool summary_ = false;
};

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
        e.time_ns = since_first(*time * 100);
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
        e.time_ns = since_first(*time);
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

bool looks_like_blkparse(std::string_view line) {
    words fields(line);
    return is_device(fields.next()) && number(fields.next()) && number(fields.next()) &&
           seconds(fields.next());
}

std::unique_ptr<reader> make_blkparse(input in, const reader_options& options) {
    return std::make_unique<blkparse>(std::move(in), options);
}

std::unique_ptr<reader> make_msr(input in, const reader_options& options) {
    return std::make_unique<msr>(std::move(in), options);
}

std::unique_ptr<reader> make_spc(input in, const reader_options& options) {
    return std::make_unique<spc>(std::move(in), options);
}

} // namespace lathcli::trace
