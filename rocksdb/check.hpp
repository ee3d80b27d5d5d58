// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// check.hpp - whether the RocksDB of this process is the one that this library was built for.
#ifndef LATH_ROCKSDB_CHECK_HPP
#define LATH_ROCKSDB_CHECK_HPP

#include <string>

namespace lath_rocksdb {

// Returns what is wrong with RocksDB `version`, such as "7.8.3"; empty: nothing.
std::string check_version(const std::string& version);
// The same for what inside.hpp says of RocksDB's classes, by calls of RocksDB's own that use them.
std::string check_layout();

} // namespace lath_rocksdb

#endif // LATH_ROCKSDB_CHECK_HPP
