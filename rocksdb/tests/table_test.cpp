// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// table_test.cpp - a memtable without a database: every call against a sorted map, memory that
// fails, what the memory is counted as, damage, and what other RocksDBs and orders get.
#include "table.hpp"

#include <malloc.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <unordered_map>
#include <unordered_set>

#include "check.hpp"
#include "entry.hpp"
#include "iterator.hpp"

namespace rocksdb {
extern const Comparator*
BytewiseComparatorWithU64Ts(); // exported, and declared in no public header
}

using namespace lath_rocksdb;
using namespace lath_rocksdb::tests;

namespace {

std::mt19937_64 random_number(1);

uint64_t below(uint64_t n) { return random_number() % n; }

// User keys in order, then sequence numbers in descending order.
struct place {
    std::string key;
    uint64_t sequence;
};

struct place_order {
    bool descending;
    bool operator()(const place& a, const place& b) const {
        const int c = rocksdb::Slice(a.key).compare(b.key);
        return c ? (c < 0) != descending : a.sequence > b.sequence;
    }
};

using model = std::map<place, int, place_order>;

std::string some_key() {
    static const char* const begin[] = {"", "a common beginning of forty bytes: 9876_", "12345678",
                                        "k"};
    std::string key = begin[below(4)];
    for (uint64_t rest = below(4) ? below(4) : below(200); rest; rest--)
        key.push_back("\0ab\xff"[below(4)]);
    return key;
}

place placed(const char* entry) {
    const lath_bytes_key key = key_of_entry(entry);
    return {std::string(static_cast<const char*>(key.data), key.size), key.tag};
}

bool same(const place& a, const place& b) { return a.key == b.key && a.sequence == b.sequence; }

// The iterator is at the model's place.
void expect_at(rocksdb::MemTableRep::Iterator& it, const model& m, model::const_iterator at) {
    EXPECT(it.Valid() == (at != m.end()));
    if (at != m.end())
        EXPECT(same(placed(it.key()), at->first));
}

// Steps of an iterator, with inserts between them that it must see.
void walk(rocksdb::MemTableRep& table, model& m, uint64_t& sequence) {
    std::unique_ptr<rocksdb::MemTableRep::Iterator> it(table.GetIterator(nullptr));
    const place from = {some_key(), below(sequence + 2)};
    const std::string internal = internal_key(from.key, from.sequence, 1);
    const std::string entry = encoded(internal, "");
    model::const_iterator at;
    switch (below(4)) {
    case 0:
        it->SeekToFirst();
        at = m.begin();
        break;
    case 1:
        it->SeekToLast();
        at = m.empty() ? m.end() : std::prev(m.end());
        break;
    case 2:
        it->Seek(internal, below(2) ? entry.data() : nullptr);
        at = m.lower_bound(from);
        break;
    default:
        it->SeekForPrev(internal, below(2) ? entry.data() : nullptr);
        at = m.upper_bound(from);
        at = at == m.begin() ? m.end() : std::prev(at);
    }
    expect_at(*it, m, at);
    const uint64_t back = below(20), inserts = below(3) ? 0 : 5;
    for (uint64_t steps = below(100); steps && at != m.end(); steps--) {
        if (below(30) < inserts) {
            const place next = {some_key(), ++sequence};
            EXPECT(insert(table, next.key, next.sequence));
            m[next] = 0;
        }
        if (below(20) < back) {
            it->Prev();
            at = at == m.begin() ? m.end() : std::prev(at);
        } else {
            it->Next();
            ++at;
        }
        expect_at(*it, m, at);
    }
}

// What a lookup was given.
struct seen {
    std::vector<place> places;
    uint64_t most = 0; // it says no to this one

    static bool one(void* arg, const char* entry) {
        auto* to = static_cast<seen*>(arg);
        to->places.push_back(placed(entry));
        return to->places.size() < to->most;
    }
};

// A lookup may end at the last entry of the user key, and those of this memtable do.
void expect_found(const model& m, const place& from, const seen& found) {
    model::const_iterator at = m.lower_bound(from);
    for (const place& one : found.places) {
        EXPECT(at != m.end() && same(one, at->first) && one.key == from.key);
        ++at;
    }
    EXPECT(at == m.end() || at->first.key != from.key ||
           found.places.size() >= std::max<uint64_t>(found.most, 1));
}

const validator nothing, anything = [](const char*, bool) { return rocksdb::Status::OK(); };

void get(memtable& table, const model& m, uint64_t sequence) {
    const place from = {some_key(), below(sequence + 2)};
    seen found;
    found.most = below(40);
    seen checked = found;
    table.Get(lookup(from.key, from.sequence), &found, seen::one);
    expect_found(m, from, found);
    EXPECT(table
               .GetAndValidate(lookup(from.key, from.sequence), &checked, seen::one, true, below(2),
                               below(2) ? nothing : anything)
               .ok());
    expect_found(m, from, checked);
}

// Lookups of many keys, in order, some of them equal.
void get_many(memtable& table, const model& m, uint64_t sequence, bool descending) {
    const size_t n = below(80);
    std::vector<place> from(n);
    std::vector<std::string> encoded_keys(n);
    std::vector<const char*> keys(n);
    std::vector<seen> found(n);
    std::vector<void*> args(n);
    for (place& one : from)
        one = {some_key(), below(sequence + 2)};
    std::sort(from.begin(), from.end(), place_order{descending});
    for (size_t i = 0; i < n; i++) {
        encoded_keys[i] = encoded(internal_key(from[i].key, from[i].sequence, 255), "");
        keys[i] = encoded_keys[i].data();
        found[i].most = below(4);
        args[i] = &found[i];
    }
    EXPECT(table
               .MultiGet(n, keys.data(), args.data(), seen::one, true, below(2),
                         below(2) ? nothing : anything)
               .ok());
    for (size_t i = 0; i < n; i++)
        expect_found(m, from[i], found[i]);
}

void check_model(bool descending) {
    blocks arena;
    const auto made = make_table(arena, descending);
    auto* table = static_cast<memtable*>(made.get());
    model m(place_order{descending});
    uint64_t sequence = 0;
    for (unsigned int i = 0; i < 30000; i++) {
        const place next = {some_key(), below(10) ? ++sequence : 1 + below(sequence + 1)};
        sequence = std::max(sequence, next.sequence);
        EXPECT(insert(*table, next.key, next.sequence, "", i % 2) == m.emplace(next, 0).second);
        if (i % 16)
            continue;
        walk(*table, m, sequence);
        get(*table, m, sequence);
        get_many(*table, m, sequence, descending);
        const place there = {some_key(), below(sequence + 2)};
        EXPECT(table->Contains(encoded(internal_key(there.key, there.sequence), "").data()) ==
               m.count(there));
    }
    EXPECT(table->ApproximateMemoryUsage() <= 512);
}

// Walk all entries in both directions. moved: the damaged one is out of order, which is found.
// Returns whether the first walk found damage.
bool walk_damaged(lath_rocksdb::iterator& it, size_t entries, const place& damaged, bool moved) {
    rocksdb::Status walked;
    it.SeekToFirst();
    for (size_t steps = 0; walked.ok() && it.Valid() && steps <= entries; steps++)
        walked = it.NextAndValidate(true);
    const bool found = walked.IsCorruption();
    EXPECT(found || !moved);
    if (found)
        EXPECT(walked.ToString().find(rocksdb::Slice(damaged.key).ToString(true)) !=
               std::string::npos);
    it.SeekToLast();
    walked = rocksdb::Status::OK();
    while (walked.ok() && it.Valid())
        walked = it.PrevAndValidate(false);
    EXPECT((walked.IsCorruption() || !moved) && !it.Valid());
    return found;
}

// One bit of one key has changed in memory: with checksums each lookup, seek and walk that comes by
// says so, with checks of the order those that meet keys out of order.
void check_damage(bool descending) {
    constexpr unsigned int n = 300, versions = 3;
    const auto name = [](unsigned int i) {
        std::string digits = std::to_string(1000 + i);
        return i % 2 ? "key:" + digits : "a key of more than eight bytes:" + digits;
    };
    blocks arena;
    memtable table(&arena, descending);
    std::unordered_map<const char*, std::string> sums; // copies, for checksums
    for (unsigned int i = 0; i < n * versions; i++)
        insert(table, name(i % n), i + 1);
    lath_rocksdb::iterator it(&table);
    std::vector<const char*> all;
    for (it.SeekToFirst(); it.Valid(); it.Next()) {
        all.push_back(it.key());
        const place there = placed(it.key());
        sums[it.key()] = encoded(internal_key(there.key, there.sequence), "");
    }
    EXPECT(all.size() == n * versions);
    const validator sum = [&](const char* entry, bool) {
        const bool same = !std::memcmp(entry, sums.at(entry).data(), sums.at(entry).size());
        return same ? rocksdb::Status::OK() : rocksdb::Status::Corruption("sum");
    };
    const auto ignore = [](void*, const char*) { return false; };
    unsigned found_by_walk = 0, found_by_place = 0;
    for (unsigned int round = 0; round < 400; round++) {
        const size_t at = 1 + below(all.size() - 2);
        const place there = placed(all[at]);
        const std::string wanted = encoded(internal_key(there.key, there.sequence, 255), "");
        const rocksdb::Slice internal(wanted.data() + 1, wanted.size() - 2);
        const char* const keys[] = {wanted.data()};
        void* args[] = {nullptr};
        const bool order = below(2);
        // undamaged: nothing is found
        EXPECT(it.SeekAndValidate(internal, nullptr, false, true, sum).ok() && it.key() == all[at]);
        EXPECT(it.NextAndValidate(false).ok() && it.key() == all[at + 1]);
        EXPECT(it.PrevAndValidate(false).ok() && it.key() == all[at]);

        char* const byte = const_cast<char*>(all[at]) + 1 + below(there.key.size());
        const auto bit = static_cast<char>(1 << below(8));
        *byte ^= bit;
        const lookup key(there.key, there.sequence);
        EXPECT(table.GetAndValidate(key, nullptr, ignore, false, order, sum).IsCorruption());
        EXPECT(table.MultiGet(1, keys, args, ignore, false, order, sum).IsCorruption());
        EXPECT(it.SeekAndValidate(internal, nullptr, false, order, sum).IsCorruption());
        EXPECT(!it.Valid());
        // without checksums: where the key is in another place now
        found_by_place +=
            table.GetAndValidate(key, nullptr, ignore, true, true, nothing).IsCorruption();
        const place damaged = placed(all[at]);
        const place_order in_order{descending};
        const bool moved =
            !in_order(placed(all[at - 1]), damaged) || !in_order(damaged, placed(all[at + 1]));
        found_by_walk += walk_damaged(it, all.size(), damaged, moved);
        *byte ^= bit;
    }
    std::printf("damage: of 400 changed bits lookups without checksums found %u, walks %u\n",
                found_by_place, found_by_walk);
    EXPECT(found_by_place > 100 && found_by_walk > 200);
}

// Entries in a range, and a sample of all.
void check_estimates() {
    blocks arena;
    const auto table = make_table(arena, false);
    const auto key = [](unsigned int i) { return std::to_string(1000000 + i); };
    constexpr unsigned int n = 200000;
    for (unsigned int i = 0; i < n; i++)
        insert(*table, key(i * 7919 % n), i + 1);
    for (unsigned int size = 1; size < n; size *= 3) {
        const unsigned int from = static_cast<unsigned int>(below(n - size));
        const double found = static_cast<double>(table->ApproximateNumEntries(
            internal_key(key(from), ~0ull >> 8), internal_key(key(from + size), ~0ull >> 8)));
        EXPECT(size < 500 ? found == size : found > size * 0.5 && found < size * 2.);
    }
    EXPECT(!table->ApproximateNumEntries(internal_key(key(9), 9), internal_key(key(8), 9)));
    std::unordered_set<const char*> sample;
    table->UniqueRandomSample(n, 1000, &sample);
    EXPECT(sample.size() > 900 && sample.size() <= 1000);
    sample.clear();
    table->UniqueRandomSample(n, 2 * n, &sample);
    EXPECT(sample.size() == n);
}

// Memory that fails: an insert throws, changes nothing, and can be made again. `pass`: of the
// blocks that an insert asks for, this many can be had.
void check_failing(int pass) {
    blocks arena;
    const auto table = make_table(arena, false); // which takes nothing
    int failed = 0;
    model m(place_order{false});
    for (uint64_t i = 1; i < 20000; i++) {
        const place next = {below(4) ? some_key() : "versions", i};
        const std::string entry = encoded(internal_key(next.key, next.sequence), "");
        char* buffer;
        rocksdb::KeyHandle handle = table->Allocate(entry.size(), &buffer);
        entry.copy(buffer, entry.size());
        try {
            arena.fail_from(pass + 1);
            EXPECT(table->InsertKey(handle));
            arena.fail_from(0);
        } catch (const std::bad_alloc&) {
            arena.fail_from(0);
            failed++;
            EXPECT(!table->Contains(entry.data()));
            EXPECT(table->InsertKey(handle));
        }
        m[next] = 0;
    }
    EXPECT(failed > 10 || pass > 0);
    std::unique_ptr<rocksdb::MemTableRep::Iterator> it(table->GetIterator(nullptr));
    it->SeekToFirst();
    for (auto at = m.cbegin(); at != m.cend(); ++at, it->Next())
        expect_at(*it, m, at);
    EXPECT(!it->Valid());
}

// Entries wait for others: lookups find them, a key that a batch has twice is refused, and without
// memory they go on waiting. A memtable that is full takes no more of its arena.
void check_waiting(bool descending) {
    int thrown = 0;
    for (unsigned int round = 0; round < 60; round++) {
        blocks arena;
        const auto table = make_table(arena, descending);
        model m(place_order{descending});
        uint64_t sequence = 1;
        std::string key;
        const uint64_t iterate = below(2) ? below(2000) : 2000;
        for (uint64_t i = 0; i < 1500; i++) {
            if (below(16))
                key = some_key();
            const place next = {key, below(8) ? ++sequence : sequence};
            EXPECT(insert(*table, next.key, next.sequence) == m.emplace(next, 0).second);
            const place from = {below(2) ? key : some_key(), below(sequence + 2)};
            if (!below(20)) {
                seen found;
                found.most = 1 + below(4);
                table->Get(lookup(from.key, from.sequence), &found, seen::one);
                expect_found(m, from, found);
            }
            if (!below(50)) {
                const std::string entry = encoded(internal_key(from.key, from.sequence), "");
                EXPECT(table->Contains(entry.data()) == (m.count(from) == 1));
            }
            if (!below(50)) {
                seen found;
                found.most = 1;
                arena.fail_from(1);
                try {
                    table->Get(lookup(key, sequence), &found, seen::one);
                } catch (const std::bad_alloc&) {
                    thrown++;
                    arena.fail_from(0);
                    table->Get(lookup(key, sequence), &found, seen::one);
                }
                arena.fail_from(0);
                EXPECT(found.places.size() == 1 && same(found.places[0], next));
            }
            if (i == iterate)
                walk(*table, m, sequence);
        }
        size_t counted = 0;
        if (below(2)) {
            if (below(2))
                arena.fail_from(1);
            table->MarkReadOnly();
            arena.fail_from(0);
            counted = arena.bytes();
        }
        std::unique_ptr<rocksdb::MemTableRep::Iterator> it(table->GetIterator(nullptr));
        it->SeekToFirst();
        for (auto at = m.cbegin(); at != m.cend(); ++at, it->Next())
            expect_at(*it, m, at);
        EXPECT(!it->Valid());
        EXPECT(!counted || arena.bytes() == counted);
    }
    EXPECT(thrown > 10);
}

// All memory but the object comes from the arena, and an empty memtable takes little of it.
void check_accounting() {
    class region final : public rocksdb::Allocator {
    public:
        char* Allocate(size_t bytes) override { return memory_.get() + (used_ += bytes) - bytes; }
        char* AllocateAligned(size_t bytes, size_t, rocksdb::Logger*) override {
            used_ = (used_ + 15) & ~size_t{15};
            return Allocate(bytes);
        }
        size_t BlockSize() const override { return 4096; }
        size_t used() const { return used_; }

    private:
        std::unique_ptr<char[]> memory_{new char[64 << 20]};
        size_t used_ = 0;
    } arena;
    const auto table = make_table(arena, false);
    EXPECT(arena.used() == 0);
    const auto heap = [] {
        const struct mallinfo2 info = mallinfo2();
        return info.uordblks + info.hblkhd;
    };
    insert(*table, "first", 1);
    const size_t heap_before = heap(), before = arena.used();
    for (uint64_t i = 2; i <= 100000; i++)
        insert(*table, some_key(), i);
    const size_t grown = heap() - heap_before; // before stdout gets its buffer
    std::printf("accounting: %zu bytes from the arena, %zd from the heap\n", arena.used() - before,
                static_cast<ssize_t>(grown));
    EXPECT(grown < 16384);
    EXPECT(table->ApproximateMemoryUsage() <= 512);
}

// Arrays that grow leave smaller ones behind: these serve again while the memtable is filled.
void check_growth() {
    constexpr uint64_t entries = 8000, prefixes = 100;
    blocks arena;
    const auto table = make_table(arena, false);
    char key[24];
    for (uint64_t i = 0; i < entries; i++) {
        std::snprintf(key, sizeof(key), "%08lu%08lu", static_cast<unsigned long>(i % prefixes),
                      static_cast<unsigned long>(below(100000000)));
        insert(*table, key, i + 1);
    }
    const size_t each = arena.bytes() / entries;
    std::printf("growth: %zu bytes per entry\n", each);
    EXPECT(each < 100);
}

void check_others() {
    // another order: a skip list, which takes aligned memory for entries
    blocks arena;
    factory made;
    const key_order order(rocksdb::BytewiseComparatorWithU64Ts());
    std::unique_ptr<rocksdb::MemTableRep> list(
        made.CreateMemTableRep(order, &arena, nullptr, nullptr));
    EXPECT(list->ApproximateMemoryUsage() == 0);

    const std::string here = std::to_string(ROCKSDB_MAJOR) + "." + std::to_string(ROCKSDB_MINOR);
    EXPECT(check_version(here + ".0").empty());
    EXPECT(check_version("1.2.3").find("RocksDB 1.2.3") != std::string::npos);
    EXPECT(check_layout().empty());
}

// Entries that come in order do not wait: when the memtable is full it takes no more memory. Others
// do, with keys that share no eight bytes, each of another size.
void check_in_order(bool descending) {
    for (const bool ordered : {true, false}) {
        int grown = 0;
        for (unsigned int n = 1; n < 200; n++) {
            blocks arena;
            const auto table = make_table(arena, descending);
            for (unsigned int i = 0; i < 40 + n; i++) {
                const unsigned int place = ordered ? i : below(1U << 20);
                char text[32];
                std::snprintf(text, sizeof(text), "%07u%u", descending ? 2000000 - place : place,
                              i);
                EXPECT(insert(*table, text, 1 + i));
            }
            const size_t before = arena.bytes();
            table->MarkReadOnly();
            grown += arena.bytes() != before;
        }
        EXPECT(ordered == !grown);
    }
}

} // namespace

int main() {
    check_others();
    check_accounting();
    check_model(false);
    check_model(true);
    check_damage(false);
    check_damage(true);
    check_estimates();
    for (int pass = 0; pass < 3; pass++)
        check_failing(pass);
    check_growth();
    memtable::least_deferred = 0;
    check_waiting(false);
    check_waiting(true);
    check_in_order(false);
    check_in_order(true);
    check_model(false);
    for (int pass = 0; pass < 3; pass++)
        check_failing(pass);
    std::printf("10 passed, 0 failed\n");
}
