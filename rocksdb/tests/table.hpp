// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// table.hpp - for tests: a memtable without a database, and its entries.
#ifndef LATH_ROCKSDB_TESTS_TABLE_HPP
#define LATH_ROCKSDB_TESTS_TABLE_HPP

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "factory.hpp"
#include "inside.hpp"

#define EXPECT(what)                                                                \
    do {                                                                            \
        if (!(what)) {                                                              \
            std::fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #what); \
            std::exit(1);                                                           \
        }                                                                           \
    } while (0)

namespace lath_rocksdb::tests {

// An arena of separate blocks, so that checkers see every access beside one.
class blocks final : public rocksdb::Allocator {
public:
    char* Allocate(size_t bytes) override { return take(bytes); }
    // Aligned to 8 and to no more, as blocks of RocksDB's arena for several threads may be.
    char* AllocateAligned(size_t bytes, size_t, rocksdb::Logger*) override {
        return take(bytes + 8) + 8;
    }
    size_t BlockSize() const override { return 4096; }

    size_t bytes() const { return bytes_; }
    // Let the n-th block from now on, and all later ones, fail; 0: none.
    void fail_from(int n) { left_ = n; }

private:
    char* take(size_t bytes) {
        std::lock_guard<std::mutex> lock(mutex_);
        if (left_ == 1)
            throw std::bad_alloc();
        if (left_)
            left_--;
        bytes_ += bytes;
        return blocks_.emplace_back(new char[bytes]).get();
    }

    std::mutex mutex_;
    std::vector<std::unique_ptr<char[]>> blocks_;
    size_t bytes_ = 0;
    int left_ = 0;
};

// A comparator of the keys in a memtable, with the layout that RocksDB gives it.
class key_order final : public rocksdb::MemTableRep::KeyComparator {
public:
    explicit key_order(const rocksdb::Comparator* comparator) : comparator_(comparator) {}
    int operator()(const char*, const char*) const override { return 0; }
    int operator()(const char*, const rocksdb::Slice&) const override { return 0; }

private:
    [[maybe_unused]] const void* inner_table_ = nullptr;
    [[maybe_unused]] const rocksdb::Comparator* comparator_;
};

inline std::string internal_key(const std::string& key, uint64_t sequence, unsigned char type = 1) {
    std::string internal = key;
    const uint64_t tag = sequence << 8 | type;
    for (unsigned int i = 0; i < 8; i++)
        internal.push_back(static_cast<char>(tag >> 8 * i));
    return internal;
}

inline void add_varint(std::string& to, size_t n) {
    for (; n >= 128; n >>= 7)
        to.push_back(static_cast<char>(n | 128));
    to.push_back(static_cast<char>(n));
}

inline std::string encoded(const std::string& internal, const std::string& value) {
    std::string entry;
    add_varint(entry, internal.size());
    entry += internal;
    add_varint(entry, value.size());
    return entry + value;
}

// Insert an entry; returns whether it is new. Throws std::bad_alloc.
inline bool insert(rocksdb::MemTableRep& table, const std::string& key, uint64_t sequence,
                   const std::string& value = "", bool concurrently = false) {
    const std::string entry = encoded(internal_key(key, sequence), value);
    char* buffer = nullptr;
    rocksdb::KeyHandle handle = table.Allocate(entry.size(), &buffer);
    entry.copy(buffer, entry.size());
    return concurrently ? table.InsertKeyConcurrently(handle) : table.InsertKey(handle);
}

// A key that is looked for.
class lookup {
public:
    lookup(const std::string& key, uint64_t sequence)
        : entry_(encoded(internal_key(key, sequence, 255), "")),
          key_(entry_.data(), entry_.data() + (entry_.size() - key.size() - 9),
               entry_.data() + entry_.size() - 1) {}
    operator const rocksdb::LookupKey&() const { return key_; }

private:
    std::string entry_;
    rocksdb::LookupKey key_;
};

inline std::unique_ptr<rocksdb::MemTableRep> make_table(rocksdb::Allocator& arena,
                                                        bool descending) {
    factory made;
    const key_order order(descending ? rocksdb::ReverseBytewiseComparator()
                                     : rocksdb::BytewiseComparator());
    return std::unique_ptr<rocksdb::MemTableRep>(
        made.CreateMemTableRep(order, &arena, nullptr, nullptr));
}

} // namespace lath_rocksdb::tests

#endif // LATH_ROCKSDB_TESTS_TABLE_HPP
