// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// entry.hpp - the entries of a memtable as records of an index.
//
// RocksDB writes an entry as: varint32 (length of the next two), user key, 8 bytes (sequence
// number << 8 | type, little-endian), varint32, value. User keys are in order of their bytes, and
// equal ones in descending order of their sequence numbers; the type is not compared.
//
// Entries are not aligned, and the index wants multiples of 4: the two lowest bits of an address go
// to the top.
#ifndef LATH_ROCKSDB_ENTRY_HPP
#define LATH_ROCKSDB_ENTRY_HPP

#include <cstdint>
#include <cstring>

#include <rocksdb/slice.h>

#include "lathwork/bytes.h"

namespace lath_rocksdb {

inline uint64_t value_of(const char* entry) {
    const auto address = reinterpret_cast<uintptr_t>(entry);
    return (address & ~uint64_t{3}) | address << 62;
}

inline const char* entry_of(uint64_t value) {
    return reinterpret_cast<const char*>((value & ~uint64_t{0} >> 2) | value >> 62);
}

// The key of an entry whose first 8 + size bytes are at `data`.
inline lath_bytes_key key_of_internal(const char* data, size_t size) {
    uint64_t tag;
    std::memcpy(&tag, data + size - 8, 8); // not byte by byte: gcc 12 makes that a loop
    if constexpr (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
        tag = __builtin_bswap64(tag);
    return {data, size - 8, tag >> 8};
}

inline lath_bytes_key key_of_internal(const rocksdb::Slice& key) {
    return key_of_internal(key.data(), key.size());
}

// The key of an entry.
inline lath_bytes_key key_of_entry(const char* entry) {
    const auto* at = reinterpret_cast<const unsigned char*>(entry);
    uint32_t size = *at++;
    if (size >= 128) {
        size &= 127;
        for (unsigned int shift = 7;; shift += 7) {
            size |= uint32_t{*at & 127u} << shift;
            if (*at++ < 128)
                break;
        }
    }
    return key_of_internal(reinterpret_cast<const char*>(at), size);
}

// Bytes as a number in whose order bytes are.
inline uint64_t number_of(const char* bytes) {
    uint64_t word;
    std::memcpy(&word, bytes, 8);
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? __builtin_bswap64(word) : word;
}

} // namespace lath_rocksdb

#endif // LATH_ROCKSDB_ENTRY_HPP
