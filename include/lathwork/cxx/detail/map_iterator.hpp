// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// lathwork/cxx/detail/map_iterator.hpp - positions and views of a point_map.
//
// point_map.hpp includes it; a program has no reason to do so itself.
//
//   for (const auto& [key, value] : map.within(10, 20)) // a map_view of map_iterators
//       use(key, value);
//
// Errors: none.
#ifndef LATHWORK_CXX_DETAIL_MAP_ITERATOR_HPP
#define LATHWORK_CXX_DETAIL_MAP_ITERATOR_HPP

#include "lathwork/cxx/items.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <ranges>
#include <utility>

namespace lathwork::detail {

// A position among the entries of a table that are at or behind `first` and before `end`.
template <typename K, typename V, typename Table>
class map_iterator {
    using found = typename Table::found;

public:
    using value_type = std::pair<const K, V>;
    using reference = const value_type; // const: it->second = x would change a copy
    using difference_type = std::ptrdiff_t;
    using iterator_concept = std::bidirectional_iterator_tag;
    using iterator_category = std::input_iterator_tag; // its references are values

    struct pointer {
        value_type shown;
        const value_type* operator->() const { return std::addressof(shown); }
    };
    struct bounds {
        std::optional<K> first, end;
    };

    map_iterator() = default;
    // The end.
    map_iterator(const Table* of, bounds within) : table_(of), within_(std::move(within)) {}

    reference operator*() const {
        const shown& e = *ahead_[at_]; // NOLINT(bugprone-unchecked-optional-access): not the end
        return reference(e.key, e.value);
    }
    pointer operator->() const { return {**this}; }
    map_iterator& operator++() {
        if (++at_ < count_)
            return *this;
        if (!count_)
            step_beyond_the_end();
        K last = std::move(ahead_[at_ - 1]->key); // NOLINT(bugprone-unchecked-optional-access)
        fill(last, true);
        return *this;
    }
    map_iterator operator++(int) {
        map_iterator old = *this;
        ++*this;
        return old;
    }
    // Before the first entry it stays where it is.
    map_iterator& operator--() {
        if (at_ < count_ && at_ > 0) {
            --at_;
            return *this;
        }
        const std::optional<K>& from = at_ < count_ ? std::optional<K>(key()) : within_.end;
        found f;
        if (!table_)
            return *this;
        reader inside(table_->rcu());
        bool any = with_code(from, [&](auto* at) { return table_->seek(at, true, at, f); });
        if (any && (!within_.first || !before(Table::key_of(f), *within_.first)))
            take(&f, 1);
        return *this;
    }
    map_iterator operator--(int) {
        map_iterator old = *this;
        --*this;
        return old;
    }
    friend bool operator==(const map_iterator& a, const map_iterator& b) {
        bool a_ends = a.at_ >= a.count_, b_ends = b.at_ >= b.count_;
        return a_ends || b_ends ? a_ends == b_ends : a.key() == b.key();
    }

    // Not at the end.
    const K& key() const { return ahead_[at_]->key; }
    bool at_end() const { return at_ >= count_; }
    // What it does not go beyond, if anything.
    const std::optional<K>& limit() const { return within_.end; }
    // Goes to the first entry within the bounds.
    void begin() { fill(within_.first, false); }
    // Goes to the first entry at or behind a key, or behind all of it.
    void fill(const std::optional<K>& from, bool behind) {
        std::array<found, Table::chunk> entries;
        reader inside(table_->rcu()); // boxes are copied before it ends
        std::size_t n = with_code(from, [&](auto* at) {
            return with_code(within_.end, [&](auto* end) {
                return table_->scan(at, behind, end, entries.data(), entries.size());
            });
        });
        take(entries.data(), n);
    }

private:
    struct shown {
        K key;
        V value;
    };

    template <typename Fn>
    static auto with_code(const std::optional<K>& key, Fn fn) {
        using code = typename Table::code;
        if (!key)
            return fn(static_cast<const code*>(nullptr));
        const code at = Table::code_of(*key);
        return fn(&at);
    }
    // In the order of the table.
    static bool before(const K& a, const K& b) { return Table::precedes(a, b); }
    void take(const found* entries, std::size_t n) {
        for (std::size_t i = 0; i < n; i++)
            ahead_[i].emplace(
                shown{Table::key_of(entries[i]), V(Table::value_of(entries[i].word))});
        count_ = static_cast<std::uint32_t>(n);
        at_ = 0;
    }

    const Table* table_ = nullptr;
    bounds within_;
    std::uint32_t at_ = 0, count_ = 0; // the end: at_ == count_
    std::array<std::optional<shown>, Table::chunk> ahead_{};
};

// The entries between two keys, as a view.
template <typename Iterator, typename Table>
class map_view : public std::ranges::view_interface<map_view<Iterator, Table>> {
public:
    using iterator = Iterator;
    map_view() = default;
    map_view(const Table* of, typename Iterator::bounds within)
        : end_(of, std::move(within)), any_(of) {}
    iterator begin() const {
        iterator it = end_;
        if (any_)
            it.begin();
        return it;
    }
    iterator end() const { return end_; }

private:
    iterator end_;
    bool any_ = false;
};

} // namespace lathwork::detail

#endif // LATHWORK_CXX_DETAIL_MAP_ITERATOR_HPP
