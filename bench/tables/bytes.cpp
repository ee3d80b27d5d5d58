// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Table `bytes`: N records with byte strings as keys (lathwork/bytes.h).
//
//   insert/KIND/N[/T]   all of them, in random order, by T threads (ns per record, wall time)
//   get/KIND/N[/T]      a key that is there, at random (ns per key)
//   batch/KIND/N        the same, 64 keys per call
//   seek/KIND/N         the record with a key, and the ten behind it (ns per seek)
//   scan/KIND/N         all in order (ns per record)
//   erase/KIND/N        all of them, in random order
//   bytes/KIND/N        memory per record beyond the record itself, after the inserts of one thread
//
// KIND is what keys look like. short: 3 to 11 letters. bytes16: 16 random bytes. prefix64: 64
// bytes, of which 48 are common to all and 16 are hexadecimal digits. url: addresses of pages, some
// 50 bytes, of N / 50 sites, of which some have far more pages than others. versions: N / 100 keys
// of 16 letters with 100 versions each.
//
// Keys to look for are copies, not those of the records. Every answer is compared with sums over
// the sorted records. Structures without their own locks are behind one spinlock when there are
// several threads.
#include "harness/random.hpp"
#include "harness/sized.hpp"
#include "harness/timing.hpp"

#include "subjects/bytes/bytes_subject.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <set>
#include <string>

#include <malloc.h>

namespace lathbench {

namespace {

using u64 = std::uint64_t;

constexpr std::size_t group = 64, near = 11;
constexpr u64 versions = 100;

std::string letters(random_source& random, u64 n) {
    std::string s;
    while (s.size() < n)
        s += static_cast<char>('a' + random(26));
    return s;
}

std::string url(random_source& random, u64 n) {
    static const char* const parts[] = {"products", "news", "users", "articles",
                                        "2026",     "en",   "img"};
    u64 sites = std::max<u64>(n / 50, 1), site = random(sites);
    site = random(2) ? site : random(site + 1); // some have far more than others
    random_source name{site};
    std::string s =
        "https://www." + letters(name, 4 + name(10)) + (name(2) ? ".com/" : ".example.org/");
    for (u64 i = 1 + random(2); i; i--)
        s += std::string(parts[random(std::size(parts))]) + "/";
    return s + std::to_string(random(100 * n));
}

std::string make_key(const std::string& kind, random_source& random, u64 n) {
    if (kind == "short")
        return letters(random, 3 + random(9));
    if (kind == "url")
        return url(random, n);
    if (kind == "versions")
        return letters(random, 16);
    std::string s;
    if (kind == "bytes16") {
        while (s.size() < 16)
            s += static_cast<char>(random(256));
        return s;
    }
    char digits[17];
    std::snprintf(digits, sizeof digits, "%016llx",
                  static_cast<unsigned long long>(random(~u64{0})));
    return "tenant/0000000042/table/orders/index/by-customer" + std::string(digits);
}

// Records one behind the other in memory.
class records {
public:
    const bench_record& operator[](u64 i) const {
        return *reinterpret_cast<const bench_record*>(&words_[at_[i]]);
    }
    u64 size() const { return at_.size(); }
    void add(const std::string& key, bool versioned, u64 tag, u64 value) {
        std::string text = key;
        for (int shift = 56; versioned && shift >= 0; shift -= 8)
            text += static_cast<char>(~tag >> shift);
        std::size_t words = (offsetof(bench_record, data) + text.size() + 7) / 8;
        at_.push_back(words_.size());
        words_.resize(words_.size() + words);
        auto* record = reinterpret_cast<bench_record*>(&words_[at_.back()]);
        record->value = value;
        record->tag = tag;
        record->size = static_cast<std::uint32_t>(key.size());
        record->whole = static_cast<std::uint32_t>(text.size());
        std::memcpy(record->data, text.data(), text.size());
    }
    void add(const bench_record& other) {
        add(std::string(other.data, other.size), other.whole > other.size, other.tag, other.value);
    }

private:
    std::vector<u64> words_;
    std::vector<std::size_t> at_;
};

// In random order.
records make_records(const std::string& kind, u64 n, u64 seed) {
    random_source random{seed};
    std::set<std::string> keys;
    u64 each = kind == "versions" ? versions : 1, count = std::max<u64>(n / each, 1);
    while (keys.size() < count)
        keys.insert(make_key(kind, random, n));
    std::vector<const std::string*> order;
    for (const auto& key : keys)
        order.push_back(&key);
    for (u64 i = count; i > 1; i--)
        std::swap(order[i - 1], order[random(i)]);
    records all;
    for (u64 tag = 1; tag <= each; tag++)
        for (const auto* key : order)
            all.add(*key, each > 1, each > 1 ? tag : 0, random(1u << 30));
    return all;
}

const sized_plan plan = {{10000, 100000},
                         {10000, 1000000},
                         {10000, 1000000, 10000000},
                         {"short", "bytes16", "prefix64", "url", "versions"},
                         {"insert", "get"},
                         {"batch", "seek", "scan", "erase", "bytes"}};

class runner : public sized_runner<bytes_subject> {
public:
    explicit runner(session& s) : sized_runner(s, plan, bytes_subjects()) {}

private:
    // The records, keys to look for, and what the answers are.
    void prepare() override {
        all_ = make_records(kind_, n_, session_.seed(n_));
        random_source random{session_.seed(n_ + 1)};
        std::vector<u64> sorted(all_.size());
        for (u64 i = 0; i < sorted.size(); i++)
            sorted[i] = i;
        std::sort(sorted.begin(), sorted.end(),
                  [&](u64 a, u64 b) { return all_[a].text() < all_[b].text(); });
        keys_ = records();
        gets_ = seeks_ = values_ = 0;
        for (u64 i = 0; i < sorted.size(); i++)
            values_ += all_[i].value;
        for (u64 i = 0; i < searches_of(n_); i++) {
            u64 at = random(sorted.size());
            keys_.add(all_[sorted[at]]);
            gets_ += all_[sorted[at]].value;
            for (u64 k = at; k < std::min<u64>(at + near, sorted.size()); k++)
                seeks_ += all_[sorted[k]].value;
        }
        keys_.add("", false, 0, 0); // before all
    }

    void repetition(const bytes_subject& s, int threads) override {
        u64 n = all_.size(), searches = keys_.size() - 1;
        struct alignas(64) line {
            u64 sum = 0;
        };
        std::vector<line> sums(static_cast<std::size_t>(threads));
        malloc_trim(0); // or malloc tidies up here what the subject before has freed
        auto set = s.make(threads > 1);
        double insert_ns = timed(threads, n, [&](u64 i, int) { set->insert(all_[i]); });
        u64 bytes = set->bytes();
        double get_ns = timed(threads, searches, [&](u64 i, int t) {
            sums[static_cast<std::size_t>(t)].sum += set->get(keys_[i]);
        });
        u64 sum = 0;
        for (const auto& l : sums)
            sum += l.sum;
        put("insert", s, threads, insert_ns, sum == gets_);
        put("get", s, threads, get_ns, sum == gets_);
        if (threads > 1)
            return;
        put_bytes(s, bytes, n, sum == gets_);
        in_order(s, *set);
        u64 erased = 0;
        double erase_ns = timed(1, n, [&](u64 i, int) { erased += set->erase(all_[n - 1 - i]); });
        put("erase", s, 1, erase_ns, erased == n && !set->scan(keys_[searches], 1));
    }

    void in_order(const bytes_subject& s, bytes_set& set) {
        u64 searches = keys_.size() - 1, groups = searches / group, batched = 0, sum = 0, few = 0;
        double batch_ns = timed(1, groups, [&](u64 i, int) {
            std::array<const bench_record*, group> some;
            for (std::size_t k = 0; k < group; k++)
                some[k] = &keys_[i * group + k];
            batched += set.get_batch(some.data(), group);
        });
        for (u64 i = 0; i < groups * group; i++)
            few += keys_[i].value;
        put("batch", s, 1, batch_ns / group, batched == few);
        double seek_ns = timed(1, searches, [&](u64 i, int) { sum += set.scan(keys_[i], near); });
        put("seek", s, 1, seek_ns, sum == seeks_);
        double scan_ns =
            timed(1, 1, [&](u64, int) { sum = set.scan(keys_[searches], ~std::size_t{0}); });
        put("scan", s, 1, scan_ns / static_cast<double>(all_.size()), sum == values_);
    }

    records all_, keys_;
    u64 gets_ = 0, seeks_ = 0, values_ = 0;
};

} // namespace

table bytes_table() {
    return table_of<runner>("bytes",
                            "byte keys of the caller's records: insert, get, seek, scan, erase",
                            "absl-btree", bytes_subjects(), plan, {"std-map"});
}

} // namespace lathbench
