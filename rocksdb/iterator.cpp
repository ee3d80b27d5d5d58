// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// iterator.cpp - see iterator.hpp.
#include "iterator.hpp"

#include <algorithm>

namespace lath_rocksdb {

// Read ahead from a key.
void iterator::look(const lath_bytes_key* key, bool back) {
    seen_ = table_->watch();
    const auto n = static_cast<uint32_t>(table_->scan(key, back, false, ahead_, ask_));
    for (uint32_t i = 0; i < n; i++)
        ahead_[i] = reinterpret_cast<uintptr_t>(entry_of(ahead_[i]));
    std::fill_n(ahead_ + n, early, n ? ahead_[n - 1] : 0);
    for (uint32_t i = 0; i < early; i++)
        __builtin_prefetch(ahead(i));
    for (uint32_t i = 0; i < soon; i++)
        prefetch_rest(ahead_[i]);
    ends_[back] = n;
    ends_[!back] = 0;
    i_ = 1;
    at_ = n ? ahead(0) : nullptr;
}

// Go on from the entry it is at, of which the neighbours are not known: the search begins at this
// entry, and finds it first unless its key has changed. Returns whether it did; if not it is at
// what was found.
bool iterator::go_on(bool back) {
    const char* const last = at_;
    const bool used_up = i_ == ends_[back];
    if (used_up && i_ < ask_ && table_->changes() == seen_) { // these were all
        at_ = nullptr;
        return true;
    }
    ask_ = used_up ? std::min(ask_ * 4, most) : least;
    const lath_bytes_key key = key_of_entry(last);
    look(&key, back);
    if (__builtin_expect(at_ != last, 0))
        return false;
    at_ = i_ < ends_[back] ? ahead(i_++) : nullptr;
    return true;
}

} // namespace lath_rocksdb
