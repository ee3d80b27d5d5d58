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

    // The same with a check that the next entry comes after this one. Return Corruption if not;
    // the iterator then stands nowhere.
    rocksdb::Status NextAndValidate(bool show_keys) LATH_SINCE_11_8 {
        return step_checked(false, show_keys);
    }
    rocksdb::Status PrevAndValidate(bool show_keys) LATH_SINCE_11_8 {
        return step_checked(true, show_keys);
    }

    void Seek(const rocksdb::Slice& internal_key, const char* entry) override {
        const lath_bytes_key key = wanted(internal_key, entry);
        begin(&key, false);
    }

    // Seek() with checks of the entry found and, as GetAndValidate(), of those beside it. Returns
    // Corruption if one fails; the iterator then stands nowhere.
    rocksdb::Status SeekAndValidate(const rocksdb::Slice& internal_key, const char* entry,
                                    bool show_keys, bool order,
                                    const validator& valid) LATH_SINCE_11_8 {
        const lath_bytes_key key = wanted(internal_key, entry);
        memtable::before_search();
        begin(&key, false);
        return kept(table_->check_search(key, at_, {order, show_keys, valid}));
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
    // The begin of an entry is fetched into the cache this many steps before it is read, and the
    // rest of it: RocksDB reads the keys of some entries before it reads values.
    static constexpr uint32_t early = 8, soon = 4;

    static lath_bytes_key wanted(const rocksdb::Slice& internal_key, const char* entry) {
        return entry ? key_of_entry(entry) : key_of_internal(internal_key);
    }

    void begin(const lath_bytes_key* key, bool back) {
        ask_ = least;
        look(key, back);
    }

    // Move to the next entry, or to none. Returns false if a search for the key of the entry that
    // it was at has not found that entry: its key has changed.
    bool step(bool back) {
        if (__builtin_expect(is_ahead(back), 1)) {
            __builtin_prefetch(ahead(i_ + early - 1));
            prefetch_rest(ahead_[i_ + soon - 1]);
            at_ = ahead(i_++);
            return true;
        }
        return go_on(back);
    }

    // Has the next entry been read?
    bool is_ahead(bool back) const { return i_ < ends_[back] && table_->changes() == seen_; }

    rocksdb::Status step_checked(bool back, bool show_keys) {
        const char* const last = at_;
        if (__builtin_expect(!step(back), 0))
            return kept(misplaced(key_of_entry(last), show_keys));
        if (!at_)
            return rocksdb::Status::OK();
        return kept(back ? table_->check_order(at_, last, show_keys)
                         : table_->check_order(last, at_, show_keys));
    }

    // Leave the entry if a check has failed.
    rocksdb::Status kept(rocksdb::Status s) {
        if (!s.ok())
            at_ = nullptr;
        return s;
    }

    // Of the entry at this address, which may be 0.
    static void prefetch_rest(uint64_t entry) {
        __builtin_prefetch(reinterpret_cast<const void*>(entry + 64));
        __builtin_prefetch(reinterpret_cast<const void*>(entry + 128));
    }
    const char* ahead(uint32_t i) const { return reinterpret_cast<const char*>(ahead_[i]); }
    bool go_on(bool back);
    void look(const lath_bytes_key* key, bool back);

    memtable* table_;
    const char* at_ = nullptr; // the entry it is at, or none
    uint64_t seen_ = 0; // the memtable's changes before these were read
    uint32_t i_ = 0; // the next one in ahead_
    uint32_t ends_[2] = {0, 0}; // how many there are, for steps forward and back; one of them is 0
    uint32_t ask_ = least;
    uint64_t ahead_[most + early]; // addresses of entries; behind the last one, of any
};

} // namespace lath_rocksdb

#endif // LATH_ROCKSDB_ITERATOR_HPP
