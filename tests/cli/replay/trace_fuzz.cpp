// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Any bytes as a trace: events within their limits, errors as bad_input, and skipping bad lines
// finds what stopping at them found. Bytes that come a few at a time are the same trace; a line
// that does not fit in the window is one bad line.
#include "trace/formats.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

using namespace lathcli::trace;

namespace {

void expect(bool holds) {
    if (!holds)
        std::abort();
}

// A few bytes at a time.
class dribble : public byte_source {
public:
    explicit dribble(std::string_view bytes) : all_(from_memory(bytes)) {}
    std::size_t read(char* to, std::size_t n) override { return all_->read(to, n < 7 ? n : 7); }

private:
    std::unique_ptr<byte_source> all_;
};

struct outcome {
    std::vector<event> events;
    reader::counters counts;
    std::string error;
};

outcome read_all(format kind, std::unique_ptr<byte_source> source, reader_options options) {
    auto r = open_as(kind, input("fuzz", std::move(source)), options);
    expect(r->kind() == kind && name_of(kind)[0] != '?');
    outcome all;
    try {
        for (event e; r->next(e);) {
            expect(e.sectors > 0 && e.sector < sector_limit);
            expect(e.sector + e.sectors <= sector_limit);
            all.events.push_back(e);
        }
    } catch (const bad_input& bad) {
        expect(!options.skip_bad || kind == format::blktrace);
        all.error = bad.what();
    }
    // a block trace tells which of its records are the requests
    auto records = r->records();
    bool block = kind >= format::blktrace;
    expect(records ? block && name_of(*records)[0] != '?' : !block || all.events.empty());
    all.counts = r->counts();
    expect(all.counts.events >= all.events.size());
    expect(options.skip_bad || all.counts.bad == 0);
    expect((all.counts.bad > 0) == !r->last_error().empty());
    return all;
}

// The first byte 1 stands for a word that fills the window.
std::string stretch(std::string_view bytes) {
    std::string all(bytes);
    if (auto at = all.find('\1'); at != std::string::npos)
        all.replace(at, 1, input::window, 'x');
    return all;
}

// The reader that is chosen for the bytes, from a file: it gives what it gives from memory, whole
// or in crumbs.
void read_chosen(std::string_view bytes) {
    static const int file = memfd_create("trace", 0);
    expect(file >= 0 && ftruncate(file, 0) == 0 &&
           pwrite(file, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
    auto name = "/proc/self/fd/" + std::to_string(file);
    format kind;
    try {
        kind = open(input("fuzz", open_file(name)), {})->kind();
    } catch (const bad_input& bad) {
        expect(std::string_view(bad.what()).starts_with("fuzz:"));
        return;
    }
    auto whole = read_all(kind, from_memory(bytes), {true, false});
    for (bool crumbs : {false, true}) {
        std::unique_ptr<byte_source> source = open_file(name);
        if (crumbs)
            source = std::make_unique<dribble>(bytes);
        auto same = read_all(kind, std::move(source), {true, false});
        expect(same.events == whole.events && same.error == whole.error);
    }
    if (bytes.find('\1') != std::string_view::npos && kind != format::blktrace) {
        auto wide = stretch(bytes);
        expect(read_all(kind, from_memory(wide), {true, false}).counts.bad > 0);
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::string_view bytes(reinterpret_cast<const char*>(data), size);
    read_chosen(bytes);
    for (auto kind : {format::fio2, format::fio3, format::blktrace, format::blkparse}) {
        auto strict = read_all(kind, from_memory(bytes), {false, false});
        auto lenient = read_all(kind, from_memory(bytes), {true, false});
        expect(lenient.events.size() >= strict.events.size());
        expect(std::equal(strict.events.begin(), strict.events.end(), lenient.events.begin()));
        expect(strict.error.empty() == (lenient.error.empty() && lenient.counts.bad == 0));
        auto once = read_all(kind, from_memory(bytes), {true, true});
        expect(once.events.size() <= lenient.events.size());
    }
    return 0;
}
