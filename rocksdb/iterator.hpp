// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// iterator.hpp - an iterator of a memtable. It reads entries ahead, as long as none is inserted.
#ifndef LATH_ROCKSDB_ITERATOR_HPP
#define LATH_ROCKSDB_ITERATOR_HPP

#include "memtable.hpp"

namespace lath_rocksdb {

class iterator final : public rocksdb::MemTableRep::Iterator {
public:
    explicit iterator(memtable* table) : table_(table) {}

    bool Valid() const override { return i_ < n_; }
    const char* key() const override { return entry_of(ahead_[i_]); }

    void Next() override { step(false); }
    void Prev() override { step(true); }

    void Seek(const rocksdb::Slice& internal_key, const char* entry) override {
        const lath_bytes_key key = wanted(internal_key, entry);
        begin(&key, false);
    }

    void SeekForPrev(const rocksdb::Slice& internal_key, const char* entry) override {
        const lath_bytes_key key = wanted(internal_key, entry);
        begin(&key, true);
    }

    void SeekToFirst() override { begin(nullptr, false); }
    void SeekToLast() override { begin(nullptr, true); }

private:
    // Entries read at first, and at most, in one go.
    static constexpr uint32_t least = 4, most = 64;
    // Entries are fetched into the cache so many steps before they are read.
    static constexpr uint32_t early = 6;

    static lath_bytes_key wanted(const rocksdb::Slice& internal_key, const char* entry) {
        return entry ? key_of_entry(entry) : key_of_internal(internal_key);
    }

    void begin(const lath_bytes_key* key, bool back) {
        ask_ = least;
        look(key, back, false);
    }

    void step(bool back) {
        if (__builtin_expect(back == back_ && i_ + 1 < n_ && table_->changes() == seen_, 1)) {
            i_++;
            if (i_ + early < n_)
                __builtin_prefetch(entry_of(ahead_[i_ + early]));
            return;
        }
        go_on(back);
    }

    void go_on(bool back);
    void look(const lath_bytes_key* key, bool back, bool beside);

    memtable* table_;
    uint64_t seen_ = 0; // the memtable's changes before these were read
    uint32_t i_ = 0, n_ = 0, ask_ = least;
    bool back_ = false;
    uint64_t ahead_[most];
};

} // namespace lath_rocksdb

#endif // LATH_ROCKSDB_ITERATOR_HPP
