// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// factory.hpp - the factory of memtables `lathwork`.
#ifndef LATH_ROCKSDB_FACTORY_HPP
#define LATH_ROCKSDB_FACTORY_HPP

#include <string>

#include <rocksdb/comparator.h>
#include <rocksdb/options.h>
#include <rocksdb/utilities/object_registry.h>

#include "inside.hpp"

namespace lath_rocksdb {

class factory final : public rocksdb::MemTableRepFactory {
public:
    static const char* kClassName() { return "lathwork"; }
    const char* Name() const override { return kClassName(); }

    bool IsInsertConcurrentlySupported() const override { return true; }
    bool CanHandleDuplicatedKey() const override { return true; }

    using MemTableRepFactory::CreateMemTableRep;
    // With a comparator of another order a column family has RocksDB's skip lists, and a line
    // in the log of the database says so.
    rocksdb::MemTableRep* CreateMemTableRep(const rocksdb::MemTableRep::KeyComparator& keys,
                                            rocksdb::Allocator* arena,
                                            const rocksdb::SliceTransform* transform,
                                            rocksdb::Logger* logger) override;
};

// Put the factory into a library of objects, from which options and strings of options take it.
void add_factory(rocksdb::ObjectLibrary& library);

} // namespace lath_rocksdb

#endif // LATH_ROCKSDB_FACTORY_HPP
