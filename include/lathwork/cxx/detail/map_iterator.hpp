// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// lathwork/cxx/detail/map_iterator.hpp - positions in a point_map, and what its insertions return.
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

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

namespace lathwork::detail {

// Calls of this thread that changed a map: an iterator that has read ahead before reads again.
inline constinit thread_local std::uint64_t own_changes = 0;

// The entries that an iterator has read ahead. Those in boxes are shown in place; Holding: they
// stay while it has them. Of others there is a copy of the one that is shown.
template <typename Table, typename Holding>
class entries_ahead : public position_ahead {
    using entry = typename Table::entry;
    using code = typename Table::code;
    static constexpr bool holds = Holding::value && !Table::direct;

public:
    static constexpr std::size_t most = Table::run::most;

    entries_ahead() {} // NOLINT(modernize-use-equals-default): there is no entry yet
    entries_ahead(const entries_ahead& other) : position_ahead() { *this = other; }
    entries_ahead(entries_ahead&& other) noexcept : position_ahead() { *this = std::move(other); }
    // Copies the one that is shown.
    entries_ahead& operator=(const entries_ahead& other) {
        if (this != &other) {
            clear();
            if (!other.at_end())
                show(other.run_.at(other.at_));
        }
        return *this;
    }
    entries_ahead& operator=(entries_ahead&& other) noexcept {
        if (this != &other) {
            clear();
            run_.copy(other.run_, other.count_);
            at_ = other.at_;
            count_ = std::exchange(other.count_, 0);
            other.at_ = 0;
            arrive();
        }
        return *this;
    }
    ~entries_ahead() { clear(); }

    // Not at the end; until it moves.
    const entry& shown() const {
        if constexpr (Table::direct)
            return *copy_;
        else
            return Table::entry_of(run_.at(at_));
    }
    void clear() {
        if constexpr (holds)
            for (std::uint32_t i = 0; i < count_; i++)
                Table::release(run_.words[i]);
        count_ = at_ = 0;
    }
    bool next() { return position_ahead::next() && arrive(); }
    bool previous() { return position_ahead::previous() && arrive(); }
    // In a section: as scan() of the table; shows the one that is next to `at`.
    void fill(const Table& from, const code* at, bool back, bool behind, const code* stop,
              std::size_t n) {
        clear();
        count_ = static_cast<std::uint32_t>(from.scan(at, back, behind, stop, run_, n));
        if constexpr (!Table::direct)
            for (std::uint32_t i = 0; i < count_; i++)
                Table::prefetch(run_.words[i]);
        if constexpr (holds)
            for (std::uint32_t i = 0; i < count_; i++)
                Table::hold(run_.words[i]);
        at_ = back && count_ ? count_ - 1 : 0;
        arrive();
    }
    // In a section, or where another holds it.
    void show(const typename Table::found& f) {
        clear();
        run_.put(f);
        count_ = 1;
        if constexpr (holds)
            Table::hold(f.word);
        arrive();
    }

private:
    bool arrive() {
        if constexpr (Table::direct)
            if (!at_end())
                Table::copy_entry(run_.at(at_), copy_);
        return true;
    }

    typename Table::run run_;
    struct none {};
    [[no_unique_address]] std::conditional_t<Table::direct, std::optional<entry>, none> copy_;
};

// A position among the entries of a table that are at or behind `first` and before `end`. It shows
// an entry as it was when it was read; what its own thread has changed since, it sees at the next
// step. Holding: std::true_type: what it shows stays until it moves, whoever erases it; false_type:
// to the end of the section that it was made in.
template <typename Table, typename Holding>
class map_iterator {
    using K = typename Table::key_type;
    using code = typename Table::code;
    using ahead = entries_ahead<Table, Holding>;

public:
    using value_type = typename Table::entry;
    // Of what it has copied a copy, as it may be a temporary; const: it->second = x is wrong.
    using reference = std::conditional_t<Table::direct, const value_type, const value_type&>;
    using pointer = const value_type*;
    using difference_type = std::ptrdiff_t;
    using iterator_concept = std::bidirectional_iterator_tag;
    using iterator_category = older_category;
    struct bounds {
        std::optional<K> first, end;
    };

    map_iterator() {} // NOLINT(modernize-use-equals-default): `{}` would clear what is unused
    // The end.
    map_iterator(const Table* of, bounds within) : table_(of), within_(std::move(within)) {}

    reference operator*() const { return ahead_.shown(); }
    pointer operator->() const { return std::addressof(ahead_.shown()); }
    // Whether it shows an entry.
    explicit operator bool() const { return !at_end(); }
    map_iterator& operator++() {
        if (at_end())
            step_beyond_the_end();
        if (is_fresh() && ahead_.next())
            return *this;
        const K last = key();
        const code at = Table::code_of(last);
        fill(&at, true);
        return *this;
    }
    map_iterator operator++(int) { return step_after(*this); }
    // Before the first entry it stays where it is.
    map_iterator& operator--() {
        step_back();
        return *this;
    }
    // Returns whether there was an entry before.
    bool step_back() {
        if ((is_fresh() && ahead_.previous()) || !table_)
            return table_ != nullptr;
        const std::optional<K> from = at_end() ? within_.end : std::optional<K>(key());
        ahead before;
        with_code(from, [&](auto* at) {
            with_code(within_.first, [&](auto* first) {
                reader inside(table_->rcu());
                before.fill(*table_, at, true, true, first, grown());
            });
        });
        const bool any = !before.at_end();
        if (any)
            ahead_ = std::move(before);
        return any;
    }
    map_iterator operator--(int) { return step_back_after(*this); }
    // Of positions: two entries with one key are equal.
    friend bool operator==(const map_iterator& a, const map_iterator& b) {
        return a.at_end() || b.at_end() ? a.at_end() == b.at_end() : a.key() == b.key();
    }
    // Whether a shows an entry before the position of b; the entry of b may have left.
    friend bool operator<(const map_iterator& a, const map_iterator& b) {
        const std::optional<K>& end = b.limit();
        return !a.at_end() && (b.at_end() ? !end || Table::precedes(a.key(), *end)
                                          : Table::precedes(a.key(), b.key()));
    }

    // Not at the end.
    const K& key() const { return ahead_.shown().first; }
    bool at_end() const { return ahead_.at_end(); }
    // What it does not go beyond, if anything.
    const std::optional<K>& limit() const { return within_.end; }
    // Goes to the first entry within the bounds.
    void begin() {
        with_code(within_.first, [&](auto* at) { fill(at, false); });
    }
    // Goes to the first entry at or behind a key.
    void fill(const code* from, bool behind) {
        with_code(within_.end, [&](auto* end) {
            reader inside(table_->rcu());
            ahead_.fill(*table_, from, false, behind, end, grown());
        });
    }
    // Goes to the entry of a key, if there is one; returns whether.
    bool find(const code& at) {
        typename Table::found f;
        typename Table::reader inside(table_->rcu());
        if (!table_->get(at, f))
            return false;
        show(f);
        return true;
    }
    void show(const typename Table::found& f) { ahead_.show(f); }

private:
    template <typename Fn>
    static void with_code(const std::optional<K>& key, Fn fn) {
        if (!key)
            return fn(static_cast<const code*>(nullptr));
        const code at = Table::code_of(*key);
        fn(&at);
    }
    bool is_fresh() const { return !Holding::value || changes_ == own_changes; }
    // How many to read: one at first, as many programs look no further, more with each time.
    std::size_t grown() {
        if (!is_fresh())
            length_ = 0;
        changes_ = own_changes;
        length_ = length_ || !Holding::value ? ahead::most : 1;
        return length_;
    }

    const Table* table_ = nullptr;
    bounds within_;
    std::uint64_t changes_ = own_changes;
    std::size_t length_ = 0;
    ahead ahead_;
};

} // namespace lathwork::detail

namespace lathwork {

// What an insertion did; `auto [at, fresh] = map.insert(...)`. `first` shows the entry of the key;
// it is at the end if there is an error other than -EEXIST. `old`: the value that another replaced.
template <typename It, typename Old>
struct insertion : result {
    It first{};
    bool second = false; // whether there is a new entry
    Old old{};
    operator std::pair<It, bool>() const { return {first, second}; } // NOLINT(google-explicit-*)
    template <std::size_t I>
    std::tuple_element_t<I, std::pair<It, bool>>& get() & {
        return std::get<I>(std::tie(first, second));
    }
    template <std::size_t I>
    std::tuple_element_t<I, std::pair<It, bool>> get() && {
        return std::move(std::get<I>(std::tie(first, second)));
    }
    template <std::size_t I>
    const std::tuple_element_t<I, std::pair<It, bool>>& get() const& {
        return std::get<I>(std::tie(first, second));
    }
};

} // namespace lathwork

template <typename It, typename Old>
struct std::tuple_size<lathwork::insertion<It, Old>> : std::integral_constant<std::size_t, 2> {};
template <std::size_t I, typename It, typename Old>
struct std::tuple_element<I, lathwork::insertion<It, Old>>
    : std::tuple_element<I, std::pair<It, bool>> {};

#endif // LATHWORK_CXX_DETAIL_MAP_ITERATOR_HPP
