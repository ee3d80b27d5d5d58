// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The same requests from every format; what is wrong with a line, and where.
#include "trace/formats.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

using namespace lathcli::trace;

namespace {

const std::string samples = LATH_SAMPLES;

std::string contents(const std::string& name) {
    std::ifstream file(samples + "/" + name, std::ios::binary);
    REQUIRE(file);
    return {std::istreambuf_iterator<char>(file), {}};
}

input memory(std::string_view text) { return {"it", from_memory(text)}; }

std::vector<event> all(reader& r) {
    std::vector<event> events;
    for (event e; r.next(e);)
        events.push_back(e);
    return events;
}

std::vector<event> sample(const std::string& name, format expected) {
    auto r = open(input(name, open_file(samples + "/" + name)), {});
    CHECK(r->kind() == expected);
    return all(*r);
}

std::string complaint(std::string_view text) {
    try {
        all(*open(memory(text), {}));
    } catch (const bad_input& bad) {
        return bad.what();
    }
    return "";
}

// the good line of each text format, behind which bad ones are put
struct good {
    format kind;
    std::string start;
};
const good goods[] = {
    {format::fio3, "fio version 3 iolog\n10 f read 0 4096\n"},
    {format::fio2, "fio version 2 iolog\nf read 0 4096\n"},
    {format::blkparse,
     "  8,0 0 1 0.000000000 42 Q R 120 + 16 [x]\n8,0 0 1 0.5 42 C R 120 + 16 [0]\n"},
};

std::string third_line(format kind, const std::string& line) {
    for (const auto& g : goods)
        if (g.kind == kind)
            return complaint(g.start + line + "\n");
    return "";
}

std::string record(std::uint64_t sector, std::uint32_t bytes, std::uint32_t version = 7,
                   std::uint16_t more = 0) {
    std::string r(48, '\0');
    auto put = [&](std::size_t at, std::uint64_t value, int n) {
        for (int i = 0; i < n; i++)
            r[at + static_cast<std::size_t>(i)] = static_cast<char>(value >> 8 * i);
    };
    put(0, 0x65617400u | version, 4);
    put(16, sector, 8);
    put(24, bytes, 4);
    put(28, 1u | 1u << 16, 4);
    put(46, more, 2);
    return r;
}

} // namespace

TEST_CASE("every format tells the same requests") {
    auto golden = sample("fio3.log", format::fio3);
    REQUIRE(golden.size() == 14);
    CHECK(golden[0] == event{0, 120, 16, 0, false});
    CHECK(golden[1] == event{190000, (1ull << 31) + 1512, 48, 0, false});
    CHECK(golden[3].write);
    CHECK(golden[13] == event{806000, (1ull << 31) + 504, 16, 0, false});
    CHECK(sample("little.blktrace.0", format::blktrace) == golden);
    CHECK(sample("big.blktrace.0", format::blktrace) == golden);
    CHECK(sample("blkparse.txt", format::blkparse) == golden);
    for (std::size_t i = 0; i < golden.size(); i++)
        golden[i].time_ns = i ? 200000 : 0; // a wait behind the first
    CHECK(sample("fio2.log", format::fio2) == golden);
}

TEST_CASE("a byte order mark does not belong to the first line") {
    for (const auto& g : goods) {
        CHECK(complaint("\xef\xbb\xbf" + g.start) == "");
        CHECK(complaint(g.start + "\xef\xbb\xbf" + g.start) != ""); // only in front
    }
}

TEST_CASE("doubles are counted, and dropped when asked") {
    std::string text = contents("fio3-doubles.log");
    for (bool drop : {false, true}) {
        auto r = open(memory(text), {false, drop});
        auto events = all(*r);
        CHECK(r->counts().doubles == 11);
        CHECK(events.size() == (drop ? 12 : 23));
    }
    // a third one is a separate request
    auto r = open(memory("fio version 2 iolog\nf read 0 512\nf read 0 512\nf read 0 512\n"),
                  {false, true});
    CHECK(all(*r).size() == 2);
}

TEST_CASE("bad lines are named, and skipped when asked") {
    struct wrong {
        format kind;
        const char *line, *message;
    };
    const wrong lines[] = {
        {format::fio3, "x f read 0 4096", "it:3: no time at the start of the line"},
        {format::fio3, "99999999999999999999 f read 0 1", "it:3: no time at the start of the line"},
        {format::fio3, "1 f", "it:3: no action"},
        {format::fio2, "f jump 0 512", "it:3: unknown action 'jump'"},
        {format::fio2, "f read 0", "it:3: no offset and length after 'read'"},
        {format::fio2, "f read -1 512", "it:3: no offset and length after 'read'"},
        {format::fio2, "f read 0 512 7", "it:3: something behind the length"},
        {format::fio2, "f read 0 0", "it:3: a request of 0 bytes"},
        {format::fio2, "/dev/sda write 0 1099511627777",
         "it:3: a request of 1099511627777 bytes is longer than 2^40"},
        {format::fio2, "f write 1099511627776 1",
         "it:3: offset 1099511627776 and length 1 go beyond 1 TiB of a file"},
        {format::fio2, "f write 1 1099511627776",
         "it:3: offset 1 and length 1099511627776 go beyond 1 TiB of a file"},
        {format::fio2, "f sync", "it:3: no offset and length after 'sync'"},
        {format::fio2, "f wait 18446744073709551615 0",
         "it:3: a wait of 18446744073709551615 microseconds: the sum is beyond 2^64 ns"},
        {format::fio3, "1 f invalid 0 0", "it:3: unknown action 'invalid'"},
        {format::blkparse, "hello", "it:3: no device 'major,minor' at the start of the line"},
        {format::blkparse, "8,0 0 1 x 42 Q R 1 + 1", "it:3: no time in the fourth column"},
        {format::blkparse, "8,0 0 1 0.1 42", "it:3: no action in the sixth column"},
        {format::blkparse, "8,0 0 1 0.1 42 Q R 8 + x", "it:3: no 'sector + sectors' in a Q line"},
    };
    for (const auto& w : lines) {
        INFO(w.line);
        CHECK(third_line(w.kind, w.line) == w.message);
        for (const auto& g : goods) {
            if (g.kind != w.kind)
                continue;
            std::string more = g.start.substr(g.kind <= format::fio3 ? g.start.find('\n') + 1 : 0);
            std::string text = g.start + w.line + "\n" + more;
            auto r = open(memory(text), {true, false});
            CHECK(all(*r).size() == 2);
            CHECK(r->counts().bad == 1);
            CHECK(r->last_error() == w.message);
        }
    }
}

TEST_CASE("lines without requests") {
    CHECK(third_line(format::fio3, "") == "");
    CHECK(third_line(format::fio2, "f wait 100 0") == "");
    for (const char* line : {
             "8,0 0 1 0.1 42 Q FWS (     829) [jbd2/sda1-8]",
             "8,0 0 1 0.1 42 Q   R 36 (12 00 00 00 24 00 ..) [sg_inq]",
             "8,0 0 1 0.1 0 C   R [0]",
             "8,0 0 0 0.1 0 m   N two\nlines\n",
             "8,0 0 -5 0.1 42 P   N [a\nname\nof lines]",
             "8,0 0 1 0.1 42 UT  N [x] 3",
             "fio (4242)\n Reads Queued: 8, 148KiB\n\nCPU0 (8,0):\n",
             "Input file sda.blktrace.0 added",
         }) {
        INFO(line);
        CHECK(third_line(format::blkparse, line) == "");
    }
    for (const char* action : {"sync", "datasync", "sync_file_range", "syncfs", "wait"}) {
        INFO(action);
        CHECK(third_line(format::fio3, std::string("7 f ") + action + " 0 4096") == "");
        CHECK(third_line(format::fio2, std::string("f ") + action + " 0 4096") == "");
    }
}

TEST_CASE("what is not a trace") {
    CHECK(complaint("") == "it: empty");
    CHECK(complaint("hello\nworld\n").rfind("it: not a trace", 0) == 0);
    CHECK(complaint("\n \n").rfind("it: not a trace", 0) == 0);
    CHECK(complaint("fio version 9 iolog\n") ==
          "it:1: a fio iolog of a version other than 2 and 3");
    CHECK(complaint("fio version 3 iologs\n") == "it:1: expected 'fio version 3 iolog'");
    CHECK_THROWS_WITH(open_file("/no/such/file"),
                      "cannot read /no/such/file: No such file or directory");
    CHECK_THROWS_AS(open(input("/", open_file("/")), {}), std::runtime_error);
}

TEST_CASE("lines longer than the window") {
    std::string text = "fio version 2 iolog\n" + std::string(300000, 'x') + "\nf read 512 512\n";
    CHECK(complaint(text) == "it:2: line too long");
    auto r = open(memory(text), {true, false});
    auto events = all(*r);
    REQUIRE(events.size() == 1);
    CHECK(events[0].sector == 1);
}

TEST_CASE("binary records that are broken") {
    std::string good = record(8, 4096);
    CHECK(complaint(good).empty());
    CHECK(complaint(good + good.substr(0, 20)) == "it: byte 48: the record is cut short");
    CHECK(complaint(good + std::string(48, 'x')) == "it: byte 48: not the start of a record");
    CHECK(complaint(record(8, 4096, 6)) ==
          "it: byte 0: version 6 of the format; only 7 is known here");
    CHECK(complaint(record(8, 4096, 7, 9) + "pdu") ==
          "it: byte 48: the data of a record are cut short");
    CHECK(complaint(record(1ull << 50, 4096)) ==
          "it: byte 0: sector 1125899906842624 is beyond 2^44");
    CHECK(complaint(record(8, 0xffffffff)).empty());
    // no lines to go on behind: --skip-bad does not help
    auto r = open(memory(good + "x"), {true, false});
    event e;
    CHECK(r->next(e));
    CHECK_THROWS_AS(r->next(e), bad_input);
}

TEST_CASE("what fio and blktrace write") {
    struct written {
        const char* name;
        format kind;
        std::size_t requests;
        std::uint32_t devices;
        record_kind records; // of block traces
    };
    constexpr auto queue = record_kind::queue, issue = record_kind::issue;
    const written all_of_them[] = {
        {"blank.fio3", format::fio3, 4, 1, queue},
        {"files.fio3", format::fio3, 15, 1, queue},
        {"large.fio3", format::fio3, 4, 1, queue},
        {"randrw.fio3", format::fio3, 12, 1, queue},
        {"range.fio3", format::fio3, 12, 1, queue},
        {"sync.fio3", format::fio3, 12, 1, queue},
        {"thinktime.fio3", format::fio3, 8, 1, queue},
        {"trim.fio3", format::fio3, 8, 1, queue},
        {"trimwrite.fio3", format::fio3, 16, 1, queue},
        {"twice.fio3", format::fio3, 8, 1, queue},
        {"verify.fio3", format::fio3, 16, 1, queue},
        {"whole.blktrace", format::blktrace, 7, 1, queue},
        {"issue.blktrace", format::blktrace, 5, 1, issue},
        {"complete.blktrace", format::blktrace, 5, 1, record_kind::complete},
    };
    for (const auto& w : all_of_them) {
        INFO(w.name);
        auto r = open(input(w.name, open_file(samples + "/written/" + w.name)), {});
        CHECK(r->kind() == w.kind);
        auto events = all(*r);
        CHECK(events.size() == w.requests);
        std::uint32_t devices = 0;
        std::uint64_t before = 0;
        for (const auto& e : events) {
            devices = std::max(devices, e.device + 1);
            CHECK(e.time_ns >= before);
            before = e.time_ns;
        }
        CHECK(devices == w.devices);
        CHECK(r->records() ==
              (w.kind == format::blktrace ? std::optional(w.records) : std::nullopt));
    }
    auto large = sample("written/large.fio3", format::fio3);
    CHECK(large[3] == event{473920000, 3ull << 21, 2u << 20, 0, true});
}

TEST_CASE("a trace without queue records") {
    constexpr std::uint32_t queue = 1, issue = 7, complete = 8;
    auto one = [](std::uint32_t action, std::uint64_t sector) {
        std::string r = record(sector, 4096);
        r[28] = static_cast<char>(action);
        return r;
    };
    // a queue record late, but not too late: what came before it is of requests unseen
    std::string text = one(complete, 0) + one(issue, 8) + one(queue, 16) + one(issue, 24);
    auto r = open(memory(text), {});
    auto events = all(*r);
    REQUIRE(events.size() == 1);
    CHECK(events[0] == event{0, 16, 8, 0, false});
    CHECK(r->counts().other == 3);
    CHECK(r->records() == record_kind::queue);
    // issue before complete, whatever comes first
    text = one(complete, 0) + one(issue, 8) + one(complete, 8);
    r = open(memory(text), {});
    events = all(*r);
    REQUIRE(events.size() == 1);
    CHECK(events[0].sector == 8);
    CHECK(r->records() == record_kind::issue);
    CHECK(r->counts().other == 2);
    // many: the choice is made, and a queue record behind it is not passed over in silence
    text = "";
    for (std::size_t i = 0; i <= reader::most_held; i++)
        text += one(issue, 8);
    std::string more = text + one(issue, 8), late = text + one(queue, 8);
    r = open(memory(more), {});
    CHECK(all(*r).size() == reader::most_held + 2);
    r = open(memory(late), {});
    CHECK_THROWS_WITH(all(*r),
                      "it: byte 3145824: a queue record (Q) behind more than 65536 "
                      "records without one; trace records of one kind (blktrace -a queue)");
}

TEST_CASE("waits of fio's version 2 are its times") {
    std::string text = "fio version 2 iolog\n/dev/sda add\n/dev/sda open\n/dev/sda read 0 4096\n"
                       "/dev/sda wait 5000000 0\n/dev/sda write 8192 4096\n"
                       "/dev/sda wait 9000000 0\n/dev/sda write 18192 4096\n";
    auto r = open(memory(text), {});
    CHECK(r->has_times());
    auto events = all(*r);
    REQUIRE(events.size() == 3);
    CHECK(events[1].time_ns == 5000000000);
    CHECK(events[2].time_ns == 14000000000);
    CHECK(!open(memory("fio version 2 iolog\nf read 0 512\n"), {})->has_times());
    // in version 3 each line has its time, and a wait is nothing
    r = open(memory("fio version 3 iolog\n5 f read 0 512\n6 f wait 9 0\n7 f read 0 512\n"), {});
    CHECK(all(*r).back().time_ns == 2000);
}

TEST_CASE("names of fio's files") {
    // devices are devices, and as large as they are; files share one
    auto r = open(memory("fio version 2 iolog\n/dev/sda read 3298534883328 512\nf read 0 512\n"
                         "a file read 512 512\n/dev/sdb read 0 512\nf read 0 512\n"),
                  {});
    auto events = all(*r);
    REQUIRE(events.size() == 5);
    CHECK(events[0] == event{0, 3ull << 31, 1, 0, false});
    CHECK(events[1] == event{0, 0, 1, 1, false});
    CHECK(events[2] == event{0, (1ull << 31) + 1, 1, 1, false});
    CHECK(events[3].device == 2);
    CHECK(events[4] == events[1]);
    // behind the times of version 3 too
    r = open(memory("fio version 3 iolog\n1 /dev/sda read 3298534883328 512\n 1  f read 0 512\n"
                    "1\tf\t"
                    "read\t0\t512\n"),
             {});
    events = all(*r);
    REQUIRE(events.size() == 3);
    CHECK(events[0] == event{0, 3ull << 31, 1, 0, false});
    CHECK(events[1] == event{0, 0, 1, 1, false});
    CHECK(events[2] == events[1]);
}

TEST_CASE("records of a cgroup and of packet commands") {
    auto with_action = [](std::uint32_t action, std::uint16_t more) {
        std::string r = record(8, 4096, 7, more);
        for (unsigned i = 0; i < 4; i++)
            r[28 + i] = static_cast<char>(action >> 8 * i);
        return r + std::string(more, 'x');
    };
    constexpr std::uint32_t read = 1u << 16, packet = 1u << 25, notify = 1u << 26;
    std::string text = with_action(1 | 0x100 | read, 8) + with_action(1 | read | packet, 16) +
                       with_action(1 | notify, 4) + with_action(7 | read, 0);
    auto r = open(memory(text), {});
    CHECK(all(*r).size() == 1);
    CHECK(r->counts().other == 3);
}

TEST_CASE("more names than memory is given to") {
    std::string text = "fio version 2 iolog\n";
    for (int i = 0; i < 65537; i++)
        text += "/dev/" + std::to_string(i) + " read 0 512\n";
    CHECK(complaint(text) == "it:65538: more than 65536 files or devices");
    text = "fio version 2 iolog\n";
    for (int i = 0; i < 9000; i++)
        text += "f" + std::to_string(i) + " read 0 512\n";
    CHECK(complaint(text) == "it:8193: too many files for one device");
}

TEST_CASE("names of the formats") {
    CHECK(name_of(format::fio2) == std::string("fio2"));
    CHECK(name_of(format::fio3) == std::string("fio3"));
    CHECK(name_of(format::blktrace) == std::string("blktrace"));
}
