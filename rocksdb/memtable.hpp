// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// memtable.hpp - a memtable of RocksDB's whose entries are in an index of byte keys.
//
// Any number of threads insert and read at once, readers without locks. Entries are never erased,
// so an iterator needs no critical section; it must only not outlive the memtable.
#ifndef LATH_ROCKSDB_MEMTABLE_HPP
#define LATH_ROCKSDB_MEMTABLE_HPP

#include <atomic>
#include <memory>
#include <mutex>

#include "entry.hpp"
#include "inside.hpp"
#include "memory.hpp"

namespace lath_rocksdb {

class memtable final : public rocksdb::MemTableRep {
public:
    // descending: user keys are in the reverse order of their bytes. Throws std::bad_alloc.
    memtable(rocksdb::Allocator* arena, bool descending);
    ~memtable() override;

    void Insert(rocksdb::KeyHandle handle) override { InsertKey(handle); }
    void InsertConcurrently(rocksdb::KeyHandle handle) override { InsertKey(handle); }
    // Returns false if there is an entry with this key and sequence number. Throws std::bad_alloc,
    // and std::length_error for keys of more than a GiB.
    bool InsertKey(rocksdb::KeyHandle handle) override;
    // The index finds the place of a neighbour faster than a hint is kept.
    bool InsertKeyWithHint(rocksdb::KeyHandle handle, void**) override { return InsertKey(handle); }
    bool InsertKeyConcurrently(rocksdb::KeyHandle handle) override { return InsertKey(handle); }
    bool InsertKeyWithHintConcurrently(rocksdb::KeyHandle handle, void**) override {
        return InsertKey(handle);
    }

    bool Contains(const char* entry) const override;
    void Get(const rocksdb::LookupKey& key, void* arg,
             bool (*each)(void* arg, const char* entry)) override;
    uint64_t ApproximateNumEntries(const rocksdb::Slice& from, const rocksdb::Slice& to) override;
    void UniqueRandomSample(uint64_t entries, uint64_t wanted,
                            std::unordered_set<const char*>* sample) override;
    // All but this object is taken from the arena.
    size_t ApproximateMemoryUsage() override { return sizeof(*this); }
    Iterator* GetIterator(rocksdb::Arena* arena) override;

    // Copy at most `most` entries, as the index has them, in the memtable's order: from the key on,
    // or from the first one on if from is NULL. back: in the other direction, from the key or the
    // last one down. beside: not the entry with the key. Returns how many; fewer than `most`: these
    // are all.
    size_t scan(const lath_bytes_key* from, bool back, bool beside, uint64_t* entries,
                size_t most) const {
        return scan(&set_, from, back, beside, entries, most);
    }

    // An iterator that reads ahead has to know whether there are new entries: what this returns
    // changes with every insert that begins after the call.
    uint64_t watch();
    uint64_t changes() const { return changes_.load(std::memory_order_acquire); }

private:
    static constexpr size_t most_scanned = 64;
    // One entry in `sampled` is in the sample too.
    static constexpr uint64_t sampled = 256;

    int init(lath_bytes* set);
    void sample(uint64_t value);
    size_t scan(lath_bytes* set, const lath_bytes_key* from, bool back, bool beside,
                uint64_t* values, size_t most, unsigned int flags = 0) const;
    uint64_t count(lath_bytes* set, const lath_bytes_key& from, const lath_bytes_key& to,
                   uint64_t most) const;

    memory memory_;
    mutable lath_bytes set_;
    bool descending_;
    std::mutex sample_mutex_;
    std::unique_ptr<lath_bytes> sample_; // made when the first entry comes
    std::atomic<bool> has_sample_{false};
    std::atomic<bool> watched_{false}; // there are iterators: count changes
    alignas(64) std::atomic<uint64_t> changes_{0};
};

} // namespace lath_rocksdb

#endif // LATH_ROCKSDB_MEMTABLE_HPP
