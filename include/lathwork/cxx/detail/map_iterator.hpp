// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// lathwork/cxx/detail/map_iterator.hpp - positions in a point_map, and entries in place.
//
// point_map.hpp includes it; a program has no reason to do so itself.
//
//   for (const auto& [key, value] : map.within(10, 20)) // a view_of<map_iterator>
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
#include <type_traits>
#include <utility>

namespace lathwork::detail {

// The entries that an iterator has read ahead, as the table keeps them.
template <typename K, typename V, typename Table>
class entries_ahead : public position_ahead {
public:
    entries_ahead() {} // NOLINT(modernize-use-equals-default): there is no entry yet
    entries_ahead(const entries_ahead& other) : position_ahead() { *this = other; }
    // Copies what is there.
    entries_ahead& operator=(const entries_ahead& other) {
        at_ = other.at_;
        count_ = other.count_;
        std::copy_n(other.run_.codes.begin(), count_, run_.codes.begin());
        std::copy_n(other.run_.words.begin(), count_, run_.words.begin());
        return *this;
    }
    ~entries_ahead() = default;
    // Not at the end.
    K key() const { return Table::key_of(run_.at(at_)); }
    V value() const { return Table::value_of(run_.words[at_]); }
    template <typename Code>
    void fill(const Table& from, const Code* at, bool behind, const Code* end) {
        clear();
        count_ = static_cast<std::uint32_t>(from.scan(at, behind, end, run_, Table::run::most));
    }
    void show(const typename Table::found& f) {
        run_.codes[0] = f.code;
        run_.words[0] = f.word;
        at_ = 0;
        count_ = 1;
    }

private:
    typename Table::run run_;
};

// Where values are in boxes: a copy of one entry.
template <typename K, typename V, typename Table>
    requires(!Table::direct)
class entries_ahead<K, V, Table> {
public:
    bool at_end() const { return one_.at_end(); }
    const K& key() const { return one_->first; }
    const V& value() const { return one_->second; }
    void clear() { one_.clear(); }
    bool next() { return false; }
    bool previous() { return false; }
    template <typename Code>
    void fill(const Table& from, const Code* at, bool behind, const Code* end) {
        typename Table::run run;
        clear();
        if (from.scan(at, behind, end, run, 1))
            show(run.at(0));
    }
    void show(const typename Table::found& f) {
        one_.fill(1, [&](std::size_t) {
            return std::pair<K, V>(Table::key_of(f), V(Table::value_of(f.word)));
        });
    }

private:
    read_ahead<std::pair<K, V>, 1> one_;
};

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

    reference operator*() const { return reference(ahead_.key(), ahead_.value()); }
    pointer operator->() const { return {**this}; }
    map_iterator& operator++() {
        if (ahead_.at_end())
            step_beyond_the_end();
        if (ahead_.next())
            return *this;
        const K last = key();
        ahead_.clear();
        fill(last, true);
        return *this;
    }
    map_iterator operator++(int) { return step_after(*this); }
    // Before the first entry it stays where it is.
    map_iterator& operator--() {
        if (ahead_.previous() || !table_)
            return *this;
        const std::optional<K> from = at_end() ? within_.end : std::optional<K>(key());
        found f;
        reader inside(table_->rcu());
        bool any = with_code(from, [&](auto* at) { return table_->seek(at, true, at, f); });
        if (any && (!within_.first || !before(Table::key_of(f), *within_.first)))
            ahead_.show(f);
        return *this;
    }
    map_iterator operator--(int) { return step_back_after(*this); }
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
    decltype(auto) key() const { return ahead_.key(); }
    bool at_end() const { return ahead_.at_end(); }
    // What it does not go beyond, if anything.
    const std::optional<K>& limit() const { return within_.end; }
    // Goes to the first entry within the bounds.
    void begin() { fill(within_.first, false); }
    // Goes to the first entry at or behind a key, or behind all of it.
    void fill(const std::optional<K>& from, bool behind) {
        reader inside(table_->rcu()); // boxes are copied before it ends
        with_code(from, [&](auto* at) {
            with_code(within_.end, [&](auto* end) { ahead_.fill(*table_, at, behind, end); });
        });
    }

private:
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
    const Table* table_ = nullptr;
    bounds within_;
    entries_ahead<K, V, Table> ahead_;
};

// The entries of a table between two keys, in place: values in boxes, and keys that a box has, are
// shown where they are. Good in the section that it was made in. What it has read ahead it shows as
// it was then.
template <typename K, typename V, typename Table>
class entries_in_place : public std::ranges::view_interface<entries_in_place<K, V, Table>> {
    using found = typename Table::found;
    using value = std::conditional_t<Table::direct, V, const V&>;

public:
    using entry = std::pair<decltype(Table::key_in(std::declval<found>())), value>;

    class iterator {
    public:
        using value_type = entry;
        using difference_type = std::ptrdiff_t;
        using iterator_concept = std::input_iterator_tag;

        iterator() = default;
        iterator(const iterator&) = default;
        iterator& operator=(const iterator& other) {
            if (this != &other) {
                table_ = other.table_;
                end_ = other.end_;
                at_ = other.at_;
                count_ = other.count_;
                run_ = other.run_;
                if (count_)
                    show();
            }
            return *this;
        }
        ~iterator() = default;
        // Refers to what this iterator has: until it moves.
        const entry& operator*() const { return *shown_; }
        const entry* operator->() const { return std::addressof(*shown_); }
        iterator& operator++() {
            if (at_ + 1 < count_) {
                at_++;
                show();
            } else {
                const auto last = Table::code_of(shown_->first);
                fill(&last);
            }
            return *this;
        }
        void operator++(int) { ++*this; }
        friend bool operator==(const iterator& at, std::default_sentinel_t) { return !at.count_; }

    private:
        friend entries_in_place;
        using code = typename Table::code;

        iterator(const Table* of, const std::optional<K>* first, const std::optional<K>* end)
            : table_(of), end_(end) {
            if (first && *first) {
                const code at = Table::code_of(**first);
                fill(&at, false);
            } else if (table_) {
                fill(nullptr, false);
            }
        }
        void fill(const code* from, bool behind = true) {
            if (*end_) {
                const code end = Table::code_of(**end_);
                count_ = table_->scan(from, behind, &end, run_, Table::run::most);
            } else {
                count_ = table_->scan(from, behind, nullptr, run_, Table::run::most);
            }
            if constexpr (!Table::direct)
                for (std::size_t i = 0; i < count_; i++)
                    __builtin_prefetch(reinterpret_cast<const void*>(run_.words[i]));
            at_ = 0;
            if (count_)
                show();
        }
        void show() {
            const found f = run_.at(at_);
            shown_.emplace(Table::key_in(f), Table::value_of(f.word));
        }

        const Table* table_ = nullptr;
        const std::optional<K>* end_ = nullptr; // of the view
        std::size_t at_ = 0, count_ = 0;
        std::optional<entry> shown_;
        typename Table::run run_;
    };

    entries_in_place() = default;
    entries_in_place(const Table* of, std::optional<K> first, std::optional<K> end)
        : table_(of), first_(std::move(first)), end_(std::move(end)) {}
    iterator begin() const { return table_ ? iterator(table_, &first_, &end_) : iterator(); }
    std::default_sentinel_t end() const { return {}; }

private:
    const Table* table_ = nullptr;
    std::optional<K> first_, end_;
};

} // namespace lathwork::detail

#endif // LATHWORK_CXX_DETAIL_MAP_ITERATOR_HPP
