// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// table_test.cpp - a memtable without a database: every call against a sorted map, memory that
// fails, what the memory is counted as, and what is refused.
#include "table.hpp"

#include <malloc.h>

#include <map>
#include <random>
#include <unordered_set>

#include "check.hpp"
#include "entry.hpp"

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

// The iterator stands on the model's place.
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

// A get may end at the last entry of the user key, and this one does.
void get(rocksdb::MemTableRep& table, const model& m, uint64_t sequence) {
    struct seen {
        std::vector<place> places;
        uint64_t most;
    } seen{{}, below(40)};
    const place from = {some_key(), below(sequence + 2)};
    table.Get(lookup(from.key, from.sequence), &seen, [](void* arg, const char* entry) {
        auto* to = static_cast<struct seen*>(arg);
        to->places.push_back(placed(entry));
        return to->places.size() < to->most;
    });
    model::const_iterator at = m.lower_bound(from);
    for (const place& one : seen.places) {
        EXPECT(at != m.end() && same(one, at->first) && one.key == from.key);
        ++at;
    }
    EXPECT(at == m.end() || at->first.key != from.key ||
           seen.places.size() >= std::max<uint64_t>(seen.most, 1));
}

void check_model(bool descending) {
    blocks arena;
    const auto table = make_table(arena, descending);
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
        const place there = {some_key(), below(sequence + 2)};
        EXPECT(table->Contains(encoded(internal_key(there.key, there.sequence), "").data()) ==
               m.count(there));
    }
    EXPECT(table->ApproximateMemoryUsage() < 4096);
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
// blocks that an insert asks for, so many can be had.
void check_failing(int pass) {
    blocks arena;
    std::unique_ptr<rocksdb::MemTableRep> table;
    int failed = 0;
    while (!table) {
        arena.fail_from(failed + 1);
        try {
            table = make_table(arena, false);
        } catch (const std::bad_alloc&) {
            failed++;
        }
        arena.fail_from(0);
    }
    EXPECT(failed > 0);
    model m(place_order{false});
    failed = 0;
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
    EXPECT(arena.used() <= 1024);
    const auto heap = [] {
        const struct mallinfo2 info = mallinfo2();
        return info.uordblks + info.hblkhd;
    };
    insert(*table, "first", 1);
    const size_t heap_before = heap(), before = arena.used();
    for (uint64_t i = 2; i <= 100000; i++)
        insert(*table, some_key(), i);
    std::printf("accounting: %zu bytes from the arena, %zd from the heap\n", arena.used() - before,
                static_cast<ssize_t>(heap() - heap_before));
    EXPECT(heap() < heap_before + 16384);
    EXPECT(table->ApproximateMemoryUsage() < 4096);
}

void check_refusals() {
    blocks arena;
    factory made;
    const auto refused = [&](const rocksdb::Comparator* comparator) {
        rocksdb::ColumnFamilyOptions family;
        family.comparator = comparator;
        return made.ValidateOptions(rocksdb::DBOptions(), family);
    };
    EXPECT(refused(rocksdb::BytewiseComparator()).ok());
    EXPECT(refused(rocksdb::ReverseBytewiseComparator()).ok());
    const rocksdb::Status no = refused(rocksdb::BytewiseComparatorWithU64Ts());
    EXPECT(no.IsInvalidArgument() &&
           no.ToString().find(rocksdb::BytewiseComparatorWithU64Ts()->Name()) != std::string::npos);

    // created without being validated: a skip list, which takes aligned memory for entries
    const key_order order(rocksdb::BytewiseComparatorWithU64Ts());
    std::unique_ptr<rocksdb::MemTableRep> list(
        made.CreateMemTableRep(order, &arena, nullptr, nullptr));
    EXPECT(list->ApproximateMemoryUsage() == 0);

    EXPECT(check_version("7.8.3").empty() == (ROCKSDB_MAJOR == 7 && ROCKSDB_MINOR == 8));
    EXPECT(check_version("1.2.3").find("RocksDB 1.2.3") != std::string::npos);
    EXPECT(check_layout().empty());
}

} // namespace

int main() {
    check_refusals();
    check_accounting();
    check_model(false);
    check_model(true);
    check_estimates();
    for (int pass = 0; pass < 3; pass++)
        check_failing(pass);
    std::printf("6 passed, 0 failed\n");
}
