// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// validate.hpp - what the calls of RocksDB 11 that validate look for: with the option
// paranoid_memory_checks entries that are not in order, with
// memtable_verify_per_key_checksum_on_seek entries that differ from their checksums.
#ifndef LATH_ROCKSDB_VALIDATE_HPP
#define LATH_ROCKSDB_VALIDATE_HPP

#include <functional>

#include <rocksdb/status.h>
#include <rocksdb/version.h>

#include "entry.hpp"

// Of calls that memtables have since RocksDB 11.8. Before it nothing calls them.
#if ROCKSDB_MAJOR > 11 || (ROCKSDB_MAJOR == 11 && ROCKSDB_MINOR >= 8)
#define LATH_SINCE_11_8 override
#else
#define LATH_SINCE_11_8
#endif

namespace lath_rocksdb {

// Compares an entry with its checksum. The second argument: a message may contain the key.
using validator = std::function<rocksdb::Status(const char* entry, bool show_keys)>;

struct checks {
    bool order; // find entries that are not in order
    bool show_keys;
    const validator& valid; // may be empty
};

// Does one key come before another one in a memtable?
inline bool comes_before(const lath_bytes_key& a, const lath_bytes_key& b, bool descending) {
    const uint64_t both = a.size < b.size ? a.size : b.size;
    const int order = both ? std::memcmp(a.data, b.data, both) : 0;

    if (order)
        return (order < 0) != descending;
    if (a.size != b.size)
        return (a.size < b.size) != descending;
    return a.tag > b.tag;
}

// Returns the error for two keys that follow each other and are not in order.
rocksdb::Status out_of_order(const lath_bytes_key& first, const lath_bytes_key& second,
                             bool show_keys);
// Returns the error for an entry that the index does not find by the entry's key.
rocksdb::Status misplaced(const lath_bytes_key& key, bool show_keys);

} // namespace lath_rocksdb

#endif // LATH_ROCKSDB_VALIDATE_HPP
