// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Any bytes as a trace, as an extents dump and as a dump of free extents: operations within their
// limits, slots that are live once, errors as exceptions, and skipping bad lines finds at least
// what stopping at them found.
#include "alloc/pool.hpp"
#include "alloc/trace.hpp"

#include <cstdint>
#include <cstdlib>
#include <set>
#include <sstream>
#include <string>

using namespace lathcli;

namespace {

void expect(bool holds) {
    if (!holds)
        std::abort();
}

std::uint64_t read_all(std::string_view bytes, bool skip_bad) {
    alloc::reader in(trace::input("fuzz", trace::from_memory(bytes)), skip_bad);
    std::set<std::size_t> live;
    std::uint64_t operations = 0;
    try {
        for (alloc::operation o; in.next(o); operations++) {
            if (o.in_pieces) {
                expect(o.size > 0 && o.align > 0 && (o.align & (o.align - 1)) == 0);
                expect((o.most == 0 || o.most >= o.align) && o.hint != 0 && !o.is_free);
                expect(o.most == 0 || (o.size - 1) / o.most < (1u << 20));
                continue;
            }
            if (o.is_free) {
                expect(live.erase(o.slot) == 1);
                continue;
            }
            expect(o.size > 0 && (o.align & (o.align - 1)) == 0);
            expect(live.insert(o.slot).second && !in.name_of(o.slot).empty());
        }
    } catch (const trace::bad_input& e) {
        expect(!skip_bad && std::string(e.what()).starts_with("fuzz:"));
    }
    expect(in.counts().allocations + in.counts().frees == operations);
    return operations;
}

// Whatever is taken, what is left lies in the pool, in order, and holds nothing taken.
void check_pool(const std::vector<alloc::span>& taken) {
    alloc::pool whole = {{4096, 99999}, {1u << 20, UINT64_MAX}};
    auto left = alloc::without(whole, taken);
    for (std::size_t i = 0; i < left.size(); i++) {
        expect(left[i].first <= left[i].last && (i == 0 || left[i - 1].last < left[i].first));
        for (const auto& t : taken)
            expect(t.last < left[i].first || t.first > left[i].last);
    }
    expect(alloc::size_of(left) <= alloc::size_of(whole));
    for (const auto& s : alloc::trim(left, 4096))
        expect(s.first % 4096 == 0 && s.last % 4096 == 4095 && s.first <= s.last);
}

// Free extents are in order, apart, and within what is counted in the unit.
void check_dump(const std::string& bytes) {
    std::istringstream in{bytes};
    try {
        auto dump = alloc::read_dump("fuzz", in, "");
        expect(dump.unit > 0 && (dump.unit & (dump.unit - 1)) == 0);
        for (std::size_t i = 0; i < dump.free.size(); i++)
            expect(dump.free[i].first <= dump.free[i].last &&
                   (i == 0 || dump.free[i].first - 1 > dump.free[i - 1].last));
    } catch (const std::runtime_error& e) {
        expect(std::string(e.what()).starts_with("fuzz: "));
    }
}

// The same spans as a pool: in order and apart, of the size they have together; or two of them
// overlap.
void check_made(const std::vector<alloc::span>& spans) {
    std::uint64_t bytes = 0;
    for (const auto& s : spans)
        bytes = alloc::size_of({s}) > UINT64_MAX - bytes ? UINT64_MAX : bytes + alloc::size_of({s});
    try {
        auto made = alloc::make_pool(spans, "fuzz");
        for (std::size_t i = 1; i < made.size(); i++)
            expect(made[i].first > made[i - 1].last && made[i].first - 1 > made[i - 1].last);
        expect(alloc::size_of(made) == bytes);
    } catch (const std::runtime_error&) {
        expect(spans.size() > 1);
    }
}

// What is written is read again, as runs in order and apart that leave the same free.
void check_written(const std::vector<alloc::span>& spans) {
    const alloc::pool all = {{0, UINT64_MAX}};
    std::stringstream text;
    alloc::write_extents(text, spans);
    auto back = alloc::read_extents("fuzz", text).spans;
    for (std::size_t i = 1; i < back.size(); i++)
        expect(back[i].first > back[i - 1].last);
    auto before = alloc::without(all, spans), after = alloc::without(all, back);
    expect(before.size() == after.size());
    for (std::size_t i = 0; i < before.size(); i++)
        expect(before[i].first == after[i].first && before[i].last == after[i].last);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::string_view bytes(reinterpret_cast<const char*>(data), size);
    expect(read_all(bytes, true) >= read_all(bytes, false));
    try {
        alloc::parse_span(std::string(bytes));
    } catch (const std::runtime_error&) {
    }
    check_dump(std::string(bytes));
    std::vector<alloc::span> taken;
    try {
        std::istringstream in{std::string(bytes)};
        taken = alloc::read_extents("fuzz", in).spans;
    } catch (const std::runtime_error&) {
        for (std::size_t i = 0; i + 1 < size && i < 200; i += 2)
            taken.push_back({data[i] * 1000u, data[i] * 1000u + data[i + 1] * 64u});
    }
    if (taken.size() < 1000) {
        check_pool(taken);
        check_made(taken);
        check_written(taken);
        check_written({{0, UINT64_MAX}});
    }
    return 0;
}
