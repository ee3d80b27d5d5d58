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
    using iterator_category = older_category;

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

    reference operator*() const { return reference(ahead_->key, ahead_->value); }
    pointer operator->() const { return {**this}; }
    map_iterator& operator++() {
        if (ahead_.at_end())
            step_beyond_the_end();
        if (ahead_.next())
            return *this;
        K last = std::move(ahead_->key);
        ahead_.clear();
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
        if (ahead_.previous() || !table_)
            return *this;
        const std::optional<K> from = at_end() ? within_.end : std::optional<K>(key());
        found f;
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
    // Of positions: two entries with one key are equal.
    friend bool operator==(const map_iterator& a, const map_iterator& b) {
        return a.at_end() || b.at_end() ? a.at_end() == b.at_end() : a.key() == b.key();
    }
    // Whether a shows an entry before the position of b; the entry of b may have left.
    friend bool operator<(const map_iterator& a, const map_iterator& b) {
        const std::optional<K>& end = b.limit();
        return !a.at_end() &&
               (b.at_end() ? !end || before(a.key(), *end) : before(a.key(), b.key()));
    }

    // Not at the end.
    const K& key() const { return ahead_->key; }
    bool at_end() const { return ahead_.at_end(); }
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
        ahead_.fill(n, [&](std::size_t i) {
            return shown{Table::key_of(entries[i]), V(Table::value_of(entries[i].word))};
        });
    }

    const Table* table_ = nullptr;
    bounds within_;
    read_ahead<shown, Table::chunk> ahead_;
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
