// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// lathwork/cxx/point_map.hpp - an ordered map of 64-bit keys: range_map without sizes.
//
// Values, threads, iterators and errors are those of lathwork/cxx/index.hpp.
//
// Errors: calls return 0 or a negative errno, as in C, and throw nothing but what T throws.
//
//   lathwork::point_map<std::uint64_t> offset_at;
//   offset_at.insert(1700000000, 4096);
//   for (const auto& [time, offset] : offset_at.within(1600000000, 1800000000))
//       use(time, offset);
#ifndef LATHWORK_CXX_POINT_MAP_HPP
#define LATHWORK_CXX_POINT_MAP_HPP

#include "lathwork/cxx/index.hpp"

namespace lathwork {

// 64-bit keys, each with a T, in order. As range_map without sizes: a third less memory per entry.
// The layout that `how` names is not used.
template <typename T>
class point_map
    : public detail::values<T, detail::index<detail::value_items<T, detail::at_point<T>>>,
                            detail::value_items<T, detail::at_point<T>>> {
    using base = typename point_map::values;
    using base::h_;

public:
    using typename base::iterator;
    using typename base::view;

    explicit point_map(config how = default_config()) : base(points(how)) {}

    // 0 | -EEXIST (there: the key) | -ENOMEM
    insert_result insert(std::uint64_t key, T value) {
        return base::insert_value({key, 1}, std::move(value));
    }
    // Gives key this value, whether it is there or not, at one moment: 1 (inserted) | 0 (its value
    // was replaced) | -ENOMEM
    int insert_or_assign(std::uint64_t key, T value) {
        typename base::word_of made(*this, std::move(value));
        if (!made)
            return base::h_.error;
        for (;;) { // again only if other threads erased the key and inserted it in between
            int error = base::insert_word({key, 1}, made).error;
            if (error != -EEXIST)
                return error ? error : 1;
            error = base::replace_word(key, made);
            if (error != -ENOENT) {
                base::destroy_some();
                return error;
            }
        }
    }
    // The entries with keys in `keys`, or in [first, end), in order.
    view within(range keys) const { return keys.size ? view(h_, keys.key, keys.last()) : view(); }
    view within(std::uint64_t first, std::uint64_t end) const {
        return within(range::between(first, end));
    }
    // Erases many keys; results[i] is 0 or -ENOENT for keys[i], or no results. Returns how many it
    // erased.
    std::size_t erase_batch(std::span<const std::uint64_t> keys, std::span<int> results = {})
        requires stored_directly<T>
    {
        std::array<int, base::step> codes;
        std::size_t done = 0;
        for (std::size_t at = 0; at < keys.size(); at += base::step) {
            std::size_t part = std::min(base::step, keys.size() - at);
            codes.fill(-ENOENT);
            if (h_.list)
                done += lath_index_erase_batch(h_.list, part, &keys[at], codes.data());
            for (std::size_t i = 0; i < part && at + i < results.size(); i++)
                results[at + i] = codes[i];
        }
        return done;
    }

private:
    static config points(config how) {
        how.layout = LATH_POINTS;
        return how;
    }
};

} // namespace lathwork

#endif // LATHWORK_CXX_POINT_MAP_HPP
