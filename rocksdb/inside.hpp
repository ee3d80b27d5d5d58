// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// inside.hpp - what a memtable meets of RocksDB that RocksDB's public headers do not declare.
//
// In RocksDB's own tree these are its headers. Outside they are declared here as RocksDB 7.8 lays
// them out; check.hpp tries each of them before the factory is registered.
#ifndef LATH_ROCKSDB_INSIDE_HPP
#define LATH_ROCKSDB_INSIDE_HPP

#include <rocksdb/comparator.h>
#include <rocksdb/memtablerep.h>
#include <rocksdb/slice.h>

#ifdef LATH_ROCKSDB_TREE

#include "db/lookup_key.h"
#include "db/memtable.h"
#include "memory/arena.h"

namespace lath_rocksdb {

inline rocksdb::Allocator* allocator_of(rocksdb::Arena* arena) { return arena; }

inline const rocksdb::Comparator* comparator_of(const rocksdb::MemTableRep::KeyComparator& keys) {
    return static_cast<const rocksdb::MemTable::KeyComparator&>(keys).comparator.user_comparator();
}

} // namespace lath_rocksdb

#else

namespace rocksdb {

// Memory that lives as long as its memtable.
class Allocator {
public:
    virtual ~Allocator() = default;
    virtual char* Allocate(size_t bytes) = 0;
    virtual char* AllocateAligned(size_t bytes, size_t huge_page_size = 0,
                                  Logger* logger = nullptr) = 0;
    virtual size_t BlockSize() const = 0;
};

// The argument of a lookup: a key and the sequence number of a snapshot.
class LookupKey {
public:
    LookupKey(const char* start, const char* key, const char* end)
        : start_(start), key_(key), end_(end) {}
    Slice internal_key() const { return {key_, static_cast<size_t>(end_ - key_)}; }

private:
    [[maybe_unused]] const char* start_; // the length of what follows, as a varint
    const char* key_;
    const char* end_;
};

} // namespace rocksdb

namespace lath_rocksdb {

// An Arena is an Allocator before anything else.
inline rocksdb::Allocator* allocator_of(rocksdb::Arena* arena) {
    return reinterpret_cast<rocksdb::Allocator*>(arena);
}

// The comparator of the memtable's keys contains one object, whose only member is the comparator of
// the column family. Any pointer may be found there: compare it, but do not use it.
inline const rocksdb::Comparator* comparator_of(const rocksdb::MemTableRep::KeyComparator& keys) {
    struct layout {
        const void *table, *inner_table;
        const rocksdb::Comparator* comparator;
    };
    return reinterpret_cast<const layout*>(&keys)->comparator;
}

} // namespace lath_rocksdb

#endif
#endif // LATH_ROCKSDB_INSIDE_HPP
