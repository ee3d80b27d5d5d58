// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Table `values`: maps of what programs keep, one thread. VALUE is the size of a struct in bytes, 8
// to 64, under random 64-bit keys; `text`: texts of 20 bytes under such keys; `texts`: 64-bit
// numbers under texts of 20 bytes.
//
//   fill/VALUE/N    inserts in random order (ns per entry, as all times)
//   hit/VALUE/N     finds of keys that are there, with a look at the value
//   scan/VALUE/N    100 entries from a random key on, by iterators
//   walk/VALUE/N    all entries; of lathwork in place, within a section
//   copy/VALUE/N    a copy of the map
//   erase/VALUE/N   of every second key
//   end/VALUE/N     the end of the map
//   bytes/VALUE/N   memory per entry
//
// Each sum of what was seen is compared with that of the input.
#include "harness/random.hpp"
#include "harness/sized.hpp"

#include "subjects/values/values_subject.hpp"

#include <algorithm>
#include <string>

#include <malloc.h>

namespace lathbench {

namespace {

using u64 = std::uint64_t;

const sized_plan plan = {{1000, 100000},
                         {1000, 100000},
                         {1000, 100000, 1000000, 10000000},
                         {"8", "16", "32", "64", "text", "texts"},
                         {},
                         {"fill", "hit", "scan", "walk", "copy", "erase", "end", "bytes"}};

class runner : public sized_runner<kept_subject> {
public:
    explicit runner(session& s) : sized_runner(s, plan, kept_subjects()) {}

private:
    // Different numbers, in random order.
    void prepare() override {
        random_source random{session_.seed(n_)};
        numbers_.resize(n_);
        for (u64 i = 0; i < n_; i++)
            numbers_[i] = ((i << 24) + random(u64{1} << 24)) * 2 + 1;
        for (u64 i = n_; i > 1; i--)
            std::swap(numbers_[i - 1], numbers_[random(i)]);
    }

    void repetition(const kept_subject& s, int threads) override {
        if (threads > 1)
            return;
        malloc_trim(0); // or malloc tidies up here what the subject before has freed
        std::map<std::string, double> sums;
        const u64 rounds = std::max<u64>(100000 / n_, 1);
        measured last;
        bool right = true;
        for (u64 i = 0; i < rounds; i++) {
            last = s.by_kind.at(kind_)(numbers_);
            right &= last.right;
            for (const auto& [work, ns] : last.ns)
                sums[work] += ns;
        }
        for (const auto& [work, ns] : sums)
            put(work.c_str(), s, 1, ns / static_cast<double>(rounds), right);
        session_.sample({name("bytes"), n_, 1, "bytes", "B"}, s.name, last.bytes, right);
    }

    std::vector<u64> numbers_;
};

} // namespace

table values_table() {
    return table_of<runner>("values",
                            "structs of 8 to 64 bytes and texts, by one thread: fill, "
                            "find, walk, copy, erase, end, memory",
                            "absl-btree", kept_subjects(), plan);
}

} // namespace lathbench
