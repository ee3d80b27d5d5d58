// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// memtable.cpp - see memtable.hpp.
#include "memtable.hpp"

#include <algorithm>
#include <cerrno>
#include <new>
#include <random>
#include <stdexcept>

#include "iterator.hpp"

namespace lath_rocksdb {

namespace {

// Is one of so many entries in the sample, by its sequence number?
bool is_sampled(const lath_bytes_key& key, uint64_t one_in) {
    return key.tag * 0x9e3779b97f4a7c15 >> 32 & (one_in - 1) ? false : true;
}

} // namespace

// Make an empty set of entries; as lath_bytes_init().
int memtable::init(lath_bytes* set) {
    const lath_allocator allocator = memory_.allocator();
    lath_config config = LATH_CONFIG_INIT;
    config.allocator = &allocator;

    // In the reverse order of bytes everything goes backwards, so that sequence numbers ascend.
    const lath_bytes_records records = {
        [](void*, uint64_t value, lath_bytes_key* key) {
            const char* const entry = entry_of(value);
            __builtin_prefetch(entry + 64); // of a found entry RocksDB copies the value
            __builtin_prefetch(entry + 128);
            *key = key_of_entry(entry);
        },
        nullptr, descending_ ? 0u : static_cast<unsigned int>(LATH_BYTES_DESCENDING)};
    return lath_bytes_init(set, &records, &config);
}

memtable::memtable(rocksdb::Allocator* arena, bool descending)
    : MemTableRep(arena), memory_(arena), descending_(descending) {
    if (init(&set_))
        throw std::bad_alloc();
}

memtable::~memtable() {
    lath_bytes_fini(&set_, nullptr, nullptr);
    if (sample_)
        lath_bytes_fini(sample_.get(), nullptr, nullptr);
}

bool memtable::InsertKey(rocksdb::KeyHandle handle) {
    const auto* entry = static_cast<const char*>(handle);
    const int ret = lath_bytes_insert(&set_, value_of(entry), nullptr);
    if (ret == -EEXIST)
        return false;
    if (ret == -E2BIG)
        throw std::length_error("memtable lathwork: a key is longer than a GiB");
    if (ret)
        throw std::bad_alloc();
    std::atomic_thread_fence(std::memory_order_seq_cst); // pairs with watch()
    if (watched_.load(std::memory_order_relaxed))
        changes_.fetch_add(1, std::memory_order_release);
    if (is_sampled(key_of_entry(entry), sampled))
        sample(value_of(entry));
    return true;
}

uint64_t memtable::watch() {
    if (!watched_.load(std::memory_order_relaxed)) {
        watched_.store(true, std::memory_order_relaxed);
        std::atomic_thread_fence(std::memory_order_seq_cst); // pairs with InsertKey()
    }
    return changes();
}

bool memtable::Contains(const char* entry) const {
    const lath_bytes_key key = key_of_entry(entry);
    uint64_t value;
    return lath_bytes_get(&set_, &key, &value);
}

size_t memtable::scan(lath_bytes* set, const lath_bytes_key* from, bool back, bool beside,
                      uint64_t* values, size_t most, unsigned int flags) const {
    if (back != descending_)
        flags |= LATH_BYTES_BACK;
    if (beside)
        flags |= LATH_BYTES_BEHIND;
    return lath_bytes_scan(set, from, flags, values, most);
}

void memtable::Get(const rocksdb::LookupKey& key, void* arg,
                   bool (*each)(void* arg, const char* entry)) {
    // Most often the first entry is the only one that is wanted. What has another user key is not
    // offered: `each` would refuse it.
    uint64_t entries[8];
    lath_bytes_key from = key_of_internal(key.internal_key());
    size_t n = scan(&set_, &from, false, false, entries, 1, LATH_BYTES_SAME), i = 0;

    while (n && each(arg, entry_of(entries[i]))) {
        if (++i < n)
            continue;
        from = key_of_entry(entry_of(entries[n - 1]));
        n = scan(&set_, &from, false, true, entries, 8, LATH_BYTES_SAME);
        i = 0;
    }
}

// An entry that cannot be sampled makes estimates worse, and nothing else.
void memtable::sample(uint64_t value) {
    {
        std::lock_guard<std::mutex> lock(sample_mutex_);
        if (!sample_) {
            auto made = std::make_unique<lath_bytes>();
            if (init(made.get()))
                return;
            sample_ = std::move(made);
            has_sample_.store(true, std::memory_order_release);
        }
    }
    lath_bytes_insert(sample_.get(), value, nullptr);
}

// Count the entries from one key to before another one, up to `most` or a few more.
uint64_t memtable::count(lath_bytes* set, const lath_bytes_key& from, const lath_bytes_key& to,
                         uint64_t most) const {
    uint64_t values[most_scanned], end = 0, counted = 0;
    size_t n = scan(set, &from, false, false, values, most_scanned);

    scan(set, &to, false, false, &end, 1);
    while (n && counted < most) {
        const auto* const found = std::find(values, values + n, end);
        counted += static_cast<uint64_t>(found - values);
        if (found < values + n || n < most_scanned)
            break;
        const lath_bytes_key last = key_of_entry(entry_of(values[n - 1]));
        n = scan(set, &last, false, true, values, most_scanned);
    }
    return counted;
}

uint64_t memtable::ApproximateNumEntries(const rocksdb::Slice& from, const rocksdb::Slice& to) {
    constexpr uint64_t exactly = 512;
    const lath_bytes_key first = key_of_internal(from), last = key_of_internal(to);
    const int order = rocksdb::Slice(static_cast<const char*>(first.data), first.size)
                          .compare({static_cast<const char*>(last.data), last.size});
    if (order ? (order > 0) != descending_ : first.tag <= last.tag)
        return 0;
    const uint64_t few = count(&set_, first, last, exactly);
    if (few < exactly || !has_sample_.load(std::memory_order_acquire))
        return few;
    return std::max(few, sampled * count(sample_.get(), first, last, ~uint64_t{0}));
}

void memtable::UniqueRandomSample(const uint64_t entries, const uint64_t wanted,
                                  std::unordered_set<const char*>* sample) {
    const uint64_t step = wanted && wanted < entries ? entries / wanted : 1;
    uint64_t ahead[most_scanned];
    uint64_t i = 0, take = 0;
    size_t n = scan(nullptr, false, false, ahead, most_scanned);

    std::minstd_rand random(std::random_device{}());
    for (take = random() % step; n && sample->size() < wanted; i++) {
        if (i == take) {
            sample->insert(entry_of(ahead[i % most_scanned]));
            take = (i / step + 1) * step + random() % step; // one in each stretch of `step`
        }
        if (i % most_scanned + 1 < n)
            continue;
        const lath_bytes_key last = key_of_entry(entry_of(ahead[n - 1]));
        n = n < most_scanned ? 0 : scan(&last, false, true, ahead, most_scanned);
    }
}

rocksdb::MemTableRep::Iterator* memtable::GetIterator(rocksdb::Arena* arena) {
    if (!arena)
        return new iterator(this);
    return new (allocator_of(arena)->AllocateAligned(sizeof(iterator))) iterator(this);
}

} // namespace lath_rocksdb
