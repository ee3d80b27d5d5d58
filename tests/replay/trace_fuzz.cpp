// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Any bytes as a trace: events within their limits, errors as bad_input, and skipping bad lines finds what
// stopping at them found.
#include "trace/formats.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

using namespace lathcli::trace;

namespace {

void expect(bool holds) {
    if (!holds)
        std::abort();
}

std::vector<event> read_all(format kind, std::string_view bytes, reader_options options) {
    auto r = open_as(kind, input("fuzz", from_memory(bytes)), options);
    std::vector<event> events;
    try {
        for (event e; r->next(e);) {
            expect(e.sectors > 0 && e.sector < sector_limit);
            expect(e.sector + e.sectors <= sector_limit);
            events.push_back(e);
        }
    } catch (const bad_input&) {
        expect(!options.skip_bad || kind == format::blktrace);
    }
    expect(r->counts().events >= events.size());
    return events;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::string_view bytes(reinterpret_cast<const char*>(data), size);
    try {
        input in("fuzz", from_memory(bytes));
        detect(in);
    } catch (const bad_input&) {
    }
    for (auto kind : {format::fio2, format::fio3, format::blktrace, format::blkparse, format::msr,
                      format::spc}) {
        auto strict = read_all(kind, bytes, {false, false});
        auto lenient = read_all(kind, bytes, {true, false});
        expect(lenient.size() >= strict.size());
        expect(std::equal(strict.begin(), strict.end(), lenient.begin()));
        expect(read_all(kind, bytes, {true, true}).size() <= lenient.size());
    }
    return 0;
}
