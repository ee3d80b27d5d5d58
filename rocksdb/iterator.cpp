// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// iterator.cpp - see iterator.hpp.
#include "iterator.hpp"

#include <algorithm>

namespace lath_rocksdb {

// Read ahead from a key.
void iterator::look(const lath_bytes_key* key, bool back, bool beside) {
    seen_ = table_->watch();
    back_ = back;
    i_ = 0;
    n_ = static_cast<uint32_t>(table_->scan(key, back, beside, ahead_, ask_));
    for (uint32_t i = 0; i < std::min(n_, early); i++)
        __builtin_prefetch(entry_of(ahead_[i]));
}

// Go on from the entry it stands on, of which the neighbours are not known.
void iterator::go_on(bool back) {
    const lath_bytes_key key = key_of_entry(entry_of(ahead_[i_]));
    const bool used_up = back == back_ && i_ + 1 == n_;
    if (!used_up) {
        ask_ = least;
    } else if (n_ < ask_ && table_->changes() == seen_) { // these were all
        i_ = n_;
        return;
    } else {
        ask_ = std::min(ask_ * 4, most);
    }
    look(&key, back, true);
}

} // namespace lath_rocksdb
