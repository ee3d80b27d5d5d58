// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// memtable.hpp - a memtable of RocksDB's whose entries are in an index of byte keys.
//
// Any number of threads insert and read at once, readers without locks. Entries are never erased,
// so an iterator needs no critical section; it must only not outlive the memtable.
#ifndef LATH_ROCKSDB_MEMTABLE_HPP
#define LATH_ROCKSDB_MEMTABLE_HPP

#include <array>
#include <atomic>
#include <mutex>

#include "entry.hpp"
#include "inside.hpp"
#include "memory.hpp"
#include "validate.hpp"

namespace lath_rocksdb {

class memtable final : public rocksdb::MemTableRep {
public:
    // descending: user keys are in the reverse order of their bytes.
    memtable(rocksdb::Allocator* arena, bool descending)
        : MemTableRep(arena), descending_(descending) {}
    ~memtable() override;

    void Insert(rocksdb::KeyHandle handle) override { InsertKey(handle); }
    void InsertConcurrently(rocksdb::KeyHandle handle) override { InsertKey(handle); }
    // Returns false if there is an entry with this key and sequence number. Throws std::bad_alloc,
    // and std::length_error for keys of more than a GiB. At times it waits until calls that are
    // under way in other threads have ended: not in a section of lathwork's.
    //
    // In a large memtable the entry may wait for others of its thread: 32 are inserted at a time,
    // with overlapped cache misses. Entries that come in the order of their keys do not wait. A
    // lookup that finds its key among those that wait inserts them before, and so does whatever
    // reads more than one key; a memtable that iterators have read has none that wait. Without
    // memory they go on waiting, the reader throws std::bad_alloc, and so do the inserts after
    // them. A key that waits with its sequence number is taken again if another thread inserts it,
    // which RocksDB never does: it finds the same key twice in one batch.
    bool InsertKey(rocksdb::KeyHandle handle) override;
    // The index finds the place of a neighbour faster than a hint is kept.
    bool InsertKeyWithHint(rocksdb::KeyHandle handle, void**) override { return InsertKey(handle); }
    bool InsertKeyConcurrently(rocksdb::KeyHandle handle) override { return InsertKey(handle); }
    bool InsertKeyWithHintConcurrently(rocksdb::KeyHandle handle, void**) override {
        return InsertKey(handle);
    }

    // The last entries that wait are inserted, for which there may be no memory: later then, in
    // memory that RocksDB does not count. It has counted what the arena has when this returns, and
    // asserts that it is no more when the memtable ends (MemTableListVersion::UnrefMemTable()).
    void MarkReadOnly() override;
    bool Contains(const char* entry) const override;
    void Get(const rocksdb::LookupKey& key, void* arg,
             bool (*each)(void* arg, const char* entry)) override;
    // As Get(), with checks of what the lookup sees. Returns Corruption if one fails; `each` is not
    // called for that entry. An entry whose key has changed is not found by its old key: with
    // `valid` entries beside the key are checked too, with `order` where one of them seems to be
    // it.
    rocksdb::Status GetAndValidate(const rocksdb::LookupKey& key, void* arg,
                                   bool (*each)(void* arg, const char* entry), bool show_keys,
                                   bool order, const validator& valid) LATH_SINCE_11_8;
    // Look up n keys, each an entry without a value, in ascending order: as Get() or, with
    // `order` or `valid`, as GetAndValidate() for one after the other, up to the first
    // Corruption. Cache misses of keys overlap.
    rocksdb::Status MultiGet(size_t n, const char* const* keys, void** args,
                             bool (*each)(void* arg, const char* entry), bool show_keys, bool order,
                             const validator& valid) LATH_SINCE_11_8;
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
        return scan(all(), from, back, beside, entries, most);
    }

    // Check what a search for a key has found: the first entry at or after it, or NULL. Between it
    // and before_search() the thread calls nothing else of any memtable.
    static void before_search();
    rocksdb::Status check_search(const lath_bytes_key& key, const char* found,
                                 const checks& with) const;
    // Does one entry come before another one?
    bool in_order(const char* first, const char* second) const {
        // Most often lengths are single bytes, user keys have eight bytes, and these differ.
        const auto a = static_cast<unsigned char>(*first), b = static_cast<unsigned char>(*second);
        if (__builtin_expect(a - 16u < 112u && b - 16u < 112u, 1)) {
            const uint64_t x = number_of(first + 1), y = number_of(second + 1);
            if (__builtin_expect(x != y, 1))
                return (x < y) != descending_;
        }
        return comes_before(key_of_entry(first), key_of_entry(second), descending_);
    }
    // Check that one entry comes before another one.
    rocksdb::Status check_order(const char* first, const char* second, bool show_keys) const {
        if (__builtin_expect(in_order(first, second), 1))
            return rocksdb::Status::OK();
        return out_of_order(key_of_entry(first), key_of_entry(second), show_keys);
    }

    // An iterator that reads ahead has to know whether there are new entries: what this returns
    // changes with every insert that begins after the call. Inserts what waits, and no entry waits
    // from then on. Throws std::bad_alloc.
    uint64_t watch();
    uint64_t changes() const { return changes_.load(std::memory_order_acquire); }

    // Does RocksDB tell a memtable that it is full before it counts its memory? 7.8 counts first,
    // and what the last entries that wait take would be missing in its sum.
    static constexpr bool told_before_count = ROCKSDB_MAJOR >= 11;
    // Bytes of a memtable's index from which on entries wait for others: there the misses take more
    // time than what comes on top. Tests set it before they make memtables.
    static inline size_t least_deferred = told_before_count ? size_t{1} << 20 : ~size_t{0};

private:
    static constexpr size_t most_scanned = 64;
    // That of a write buffer of 4 MiB, unless the options say otherwise.
    static constexpr size_t small_block = size_t{512} << 10;
    // One entry in `sampled` is in the sample too, in memtables whose index has more bytes than
    // least_sampled.
    static constexpr uint64_t sampled = 256;
    static constexpr size_t least_sampled = 65536;

    // Entries that wait, with a hash of each user key. Entries are added and taken out under the
    // lock; lookups read the hashes without.
    struct alignas(64) deferred {
        static constexpr unsigned int most = 32;
        static constexpr unsigned int in_order = 8;
        std::mutex lock;
        // Of the entry that came last the first eight bytes of its key, and how many in a row came
        // in the order of the keys. Without the lock: threads that share this may miss some.
        std::atomic<const char*> last{nullptr};
        std::atomic<uint64_t> slice{0};
        std::atomic<unsigned int> run{in_order};
        std::atomic<unsigned int> used{0};
        std::array<std::atomic<uint16_t>, most> hash{};
        std::array<const char*, most> entry{};
    };

    // Where they wait: each thread has one of these, so that writers that take turns do not move
    // its lines from processor to processor. With more threads than that some share one.
    using waiting = std::array<deferred, 4>;

    // What comes from the arena with the first entry: most memtables of many column families are
    // empty.
    struct contents {
        explicit contents(rocksdb::Allocator* arena) : from(arena) {}
        memory from;
        lath_bytes set; // of all entries
        std::atomic<lath_bytes*> sample{nullptr}; // of some; made when the first of them comes
        std::atomic<waiting*> later{nullptr}; // made when the index has become large
    };

    // The set of all entries; NULL: there is none yet.
    lath_bytes* all() const {
        contents* const made = contents_.load(std::memory_order_acquire);
        return made ? &made->set : nullptr;
    }
    int init(memory& from, lath_bytes* set) const;
    contents* make();
    char* aligned(size_t size);
    void look_up(uint64_t first, void* arg, bool (*each)(void* arg, const char* entry));
    rocksdb::Status look_up_checked(lath_bytes_key key, void* arg,
                                    bool (*each)(void* arg, const char* entry),
                                    const checks& with) const;
    // Check that an entry is where searches for its key end, from both sides.
    rocksdb::Status check_place(const char* entry, bool show_keys) const;
    // Check the entries before a key, and at or after it.
    rocksdb::Status check_around(const lath_bytes_key& key, const checks& with) const;
    bool comes_in_order(deferred& later, const char* entry, const lath_bytes_key& key) const;
    bool defer(contents& of, waiting& all, const char* entry, const lath_bytes_key& key,
               bool again);
    static bool settle(contents& of, deferred& later);
    waiting* what_waits() const;
    void settle_all() const;
    void settle_with(const lath_bytes_key& key) const;
    void make_deferred(contents& of);
    lath_bytes* make_sample(contents& of);
    void sample(contents& of, uint64_t value);
    size_t scan(lath_bytes* set, const lath_bytes_key* from, bool back, bool beside,
                uint64_t* values, size_t most, unsigned int flags = 0) const;
    uint64_t count(lath_bytes* set, const lath_bytes_key& from, const lath_bytes_key& to,
                   uint64_t most) const;

    const bool descending_;
    std::mutex making_; // contents, the sample and what waits
    std::atomic<contents*> contents_{nullptr};
    std::atomic<bool> watched_{false}; // there are iterators: count changes
    alignas(64) std::atomic<uint64_t> changes_{0};
};

} // namespace lath_rocksdb

#endif // LATH_ROCKSDB_MEMTABLE_HPP
