// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// factory.cpp - see factory.hpp.
#include "factory.hpp"

#include <memory>

#include <rocksdb/env.h>

#include "memtable.hpp"

namespace lath_rocksdb {

rocksdb::MemTableRep* factory::CreateMemTableRep(const rocksdb::MemTableRep::KeyComparator& keys,
                                                 rocksdb::Allocator* arena,
                                                 const rocksdb::SliceTransform* transform,
                                                 rocksdb::Logger* logger) {
    const rocksdb::Comparator* order = comparator_of(keys);
    if (order == rocksdb::BytewiseComparator())
        return new memtable(arena, false);
    if (order == rocksdb::ReverseBytewiseComparator())
        return new memtable(arena, true);
    rocksdb::Warn(logger, "memtable lathwork: the comparator of a column family is neither "
                          "leveldb.BytewiseComparator nor rocksdb.ReverseBytewiseComparator; the "
                          "family has skip lists");
    return rocksdb::SkipListFactory().CreateMemTableRep(keys, arena, transform, logger);
}

void add_factory(rocksdb::ObjectLibrary& library) {
    library.AddFactory<rocksdb::MemTableRepFactory>(
        factory::kClassName(),
        [](const std::string&, std::unique_ptr<rocksdb::MemTableRepFactory>* guard, std::string*) {
            guard->reset(new factory());
            return guard->get();
        });
}

} // namespace lath_rocksdb
