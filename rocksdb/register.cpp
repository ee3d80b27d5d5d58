// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// register.cpp - in the shared library: when it is loaded, the memtable gets its name in RocksDB.
#include <cstdio>

#include <rocksdb/version.h>

#include "check.hpp"
#include "factory.hpp"

namespace lath_rocksdb {

namespace {

[[gnu::constructor]] void loaded() {
    std::string wrong = check_version(rocksdb::GetRocksVersionAsString(true));
    if (wrong.empty())
        wrong = check_layout();
    if (wrong.empty())
        add_factory(*rocksdb::ObjectLibrary::Default());
    else
        std::fprintf(stderr, "lathwork: the memtable is not available: %s\n", wrong.c_str());
}

} // namespace

} // namespace lath_rocksdb
