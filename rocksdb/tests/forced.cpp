// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// forced.cpp - in a RocksDB with forced.patch, which asks this for each skip list that it is going
// to make: memtables are lathwork's, so that RocksDB's own tests, which ask for none, run with
// them. Those of other orders and those of deleted ranges stay as they are. How many there were is
// printed at the end.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include <rocksdb/comparator.h>
#include <rocksdb/convenience.h>
#include <rocksdb/memtablerep.h>

#include "../inside.hpp"
#include "../memtable.hpp"

namespace {

struct counts {
    std::atomic<unsigned long> forced{0}, left{0};
    ~counts() {
        std::printf("memtables: %lu lathwork, %lu of other orders\n", forced.load(), left.load());
    }
} made;

} // namespace

// `by` is the factory. Returns NULL: it shall be a skip list.
rocksdb::MemTableRep* lath_rocksdb_forced(const void* by,
                                          const rocksdb::MemTableRep::KeyComparator& keys,
                                          rocksdb::Allocator* arena,
                                          const rocksdb::SliceTransform* transform,
                                          rocksdb::Logger* logger) {
    static const auto factory = [] {
        // small memtables, whose entries shall wait for others too
        if (lath_rocksdb::memtable::told_before_count && std::getenv("LATH_ROCKSDB_WAIT"))
            lath_rocksdb::memtable::least_deferred = 0;
        std::shared_ptr<rocksdb::MemTableRepFactory> of;
        const rocksdb::Status s = rocksdb::MemTableRepFactory::CreateFromString(
            rocksdb::ConfigOptions(), "lathwork", &of);
        if (!s.ok()) {
            std::fprintf(stderr, "forced: %s\n", s.ToString().c_str());
            std::abort();
        }
        return of;
    }();
    // For deleted ranges a memtable makes a factory on its stack.
    const char* const here = static_cast<const char*>(__builtin_frame_address(0));
    if (by > here && by < here + (64 << 10))
        return nullptr;
    const rocksdb::Comparator* order = lath_rocksdb::comparator_of(keys);
    if (order != rocksdb::BytewiseComparator() && order != rocksdb::ReverseBytewiseComparator()) {
        made.left++;
        return nullptr;
    }
    made.forced++;
    return factory->CreateMemTableRep(keys, arena, transform, logger);
}
