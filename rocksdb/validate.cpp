// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// validate.cpp - see validate.hpp.
#include "validate.hpp"

namespace lath_rocksdb {

namespace {

std::string text_of(const lath_bytes_key& key) {
    return rocksdb::Slice(static_cast<const char*>(key.data), key.size).ToString(true) + " @ " +
           std::to_string(key.tag);
}

} // namespace

rocksdb::Status out_of_order(const lath_bytes_key& first, const lath_bytes_key& second,
                             bool show_keys) {
    std::string message = "memtable lathwork: keys are out of order";
    if (show_keys)
        message += ": " + text_of(first) + ", then " + text_of(second);
    return rocksdb::Status::Corruption(message);
}

rocksdb::Status misplaced(const lath_bytes_key& key, bool show_keys) {
    std::string message = "memtable lathwork: an entry is not in the place of its key";
    if (show_keys)
        message += " " + text_of(key);
    return rocksdb::Status::Corruption(message);
}

} // namespace lath_rocksdb
