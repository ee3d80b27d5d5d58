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

    bool Valid() const override { return at_ != nullptr; }
    const char* key() const override { return at_; }

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
    static constexpr uint32_t least = 4, most = 512;
    // Entries are fetched into the cache so many steps before they are read.
    static constexpr uint32_t early = 8;

    static lath_bytes_key wanted(const rocksdb::Slice& internal_key, const char* entry) {
        return entry ? key_of_entry(entry) : key_of_internal(internal_key);
    }

    void begin(const lath_bytes_key* key, bool back) {
        ask_ = least;
        look(key, back, false);
    }

    void step(bool back) {
        if (__builtin_expect(i_ < ends_[back] && table_->changes() == seen_, 1)) {
            __builtin_prefetch(ahead(i_ + early - 1));
            at_ = ahead(i_++);
            return;
        }
        go_on(back);
    }

    const char* ahead(uint32_t i) const { return reinterpret_cast<const char*>(ahead_[i]); }
    void go_on(bool back);
    void look(const lath_bytes_key* key, bool back, bool beside);

    memtable* table_;
    const char* at_ = nullptr;  // the entry it stands on, or none
    uint64_t seen_ = 0;         // the memtable's changes before these were read
    uint32_t i_ = 0;            // the next one in ahead_
    uint32_t ends_[2] = {0, 0}; // how many there are, for steps forward and back; one of them is 0
    uint32_t ask_ = least;
    uint64_t ahead_[most + early]; // addresses of entries; behind the last one, of any
};

} // namespace lath_rocksdb

#endif // LATH_ROCKSDB_ITERATOR_HPP
