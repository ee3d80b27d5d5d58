// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// lathwork/cxx/interval.hpp - intervals that may overlap (lathwork/interval.h) as a C++20
// container.
//
//   interval_map<T>   any number of intervals, each with a T
//
// Values, threads and errors are as in lathwork/cxx/index.hpp, but only a T of at most 8 bytes lives
// in the set itself.
//
// A view (stab, overlapping, within, or the map itself) has single-pass iterators. They copy what
// they show, up to 16 intervals ahead (one if values have boxes), and stay valid whatever happens
// to the container, but not beyond its life. The order is that of lathwork/interval.h.
//
// Errors: insert returns a result; calls throw what T throws.
//
//   lathwork::interval_map<std::string> rooms; // half-open: [first, end)
//   rooms.insert(900, 1030, "standup");
//   rooms.insert(1000, 1200, "review");
//   for (const auto& [first, end, value] : rooms.stab(1015))
//       use(first, end, value);
#ifndef LATHWORK_CXX_INTERVAL_HPP
#define LATHWORK_CXX_INTERVAL_HPP

#include "lathwork/cxx/detail/container.hpp"
#include "lathwork/cxx/detail/table.hpp"
#include "lathwork/interval.h"

#include <array>

namespace lathwork {

// What an interval_map shows: `auto [first, end, value] = ...`
template <typename T>
struct interval_entry {
    std::uint64_t first;
    std::uint64_t end;
    T value;
};

namespace detail {

template <typename T>
using interval_words = value_words<T, stored_directly<T>>;

struct interval_config : config {
    lath_bounds bounds;
};

template <typename T>
class interval_table : public table_base<interval_words<T>> {
    using base = table_base<interval_words<T>>;
    using base::error_;
    using base::values_;

public:
    explicit interval_table(const interval_config& how) : base(how) {
        if (values_.ready())
            error_ = lath_intervals_init(native(), how.bounds, &how);
    }
    ~interval_table() {
        this->finish([&] { lath_intervals_fini(native(), on_each<&words::end>, &values_); });
    }
    lath_intervals* native() const { return &set_; }
    // Returns how many there were.
    std::uint64_t clear() {
        return lath_intervals_clear(native(), on_each<&words::retire>, &values_);
    }

private:
    using words = interval_words<T>;
    template <void (words::*Call)(const std::uint64_t&)>
    static constexpr auto on_each = base::template on_each<Call, const lath_interval*>;
    mutable lath_intervals set_;
};

} // namespace detail

// What a search of an interval_map finds; begin() starts the search.
template <typename T>
class interval_view : public std::ranges::view_interface<interval_view<T>> {
    using words = detail::interval_words<T>;
    static constexpr std::size_t chunk = words::direct ? 16 : 1; // boxes are copied in the section

public:
    class iterator {
    public:
        using value_type = interval_entry<T>;
        using difference_type = std::ptrdiff_t;
        using iterator_concept = std::input_iterator_tag;

        iterator() = default;
        iterator(const lath_interval_iter& from, const lath_rcu* rcu) : search_(from), rcu_(rcu) {
            fill();
        }
        const value_type& operator*() const { return *shown_; }
        const value_type* operator->() const { return &*shown_; }
        iterator& operator++() {
            if (++at_ < count_)
                show();
            else
                fill();
            return *this;
        }
        void operator++(int) { ++*this; }
        friend bool operator==(const iterator& i, std::default_sentinel_t) { return !i.shown_; }

    private:
        void show() {
            const lath_interval& item = ahead_[at_];
            shown_.reset(); // if the copy throws it is at the end
            shown_.emplace(value_type{item.first, item.end, words::show(item.value)});
        }
        void fill() {
            detail::reader inside(rcu_); // boxes are copied before it ends
            count_ = lath_interval_next_batch(&search_, ahead_.data(), chunk);
            at_ = 0;
            if (count_)
                show();
            else
                shown_.reset();
        }

        lath_interval_iter search_{};
        const lath_rcu* rcu_ = nullptr;
        std::array<lath_interval, chunk> ahead_{};
        std::size_t at_ = 0, count_ = 0;
        std::optional<value_type> shown_;
    };

    interval_view() = default;
    interval_view(const lath_interval_iter& search, const lath_rcu* rcu)
        : search_(search), rcu_(rcu) {}
    iterator begin() const { return search_.set ? iterator(search_, rcu_) : iterator(); }
    std::default_sentinel_t end() const { return {}; }

private:
    lath_interval_iter search_{};
    const lath_rcu* rcu_ = nullptr;
};

template <typename T>
class interval_map : public detail::container<detail::interval_table<T>, detail::interval_config> {
    using words = detail::interval_words<T>;
    using table = detail::interval_table<T>;
    using base = detail::container<table, detail::interval_config>;
    using base::changes;
    using base::get;
    using base::how_;
    using base::inserts;

public:
    using value_type = interval_entry<T>;
    using view = interval_view<T>;

    explicit interval_map(lath_bounds bounds = LATH_HALF_OPEN, const config& how = default_config())
        : base({how, bounds}, true) {}

    // 0 | -EINVAL: empty | -ENOMEM
    template <typename... Args>
    result insert(std::uint64_t first, std::uint64_t end, Args&&... args) {
        table* in = inserts();
        if (!in)
            return {base::no_table()};
        typename words::made value = in->values().make(std::forward<Args>(args)...);
        if (!value)
            return {-ENOMEM};
        lath_interval item{first, end, value.word()};
        return {value.taken(lath_intervals_insert(in->native(), &item))};
    }
    // A range is half-open: with LATH_CLOSED its last key is the bound.
    template <typename... Args>
    result insert(range where, Args&&... args) {
        if (!where.size)
            return {-EINVAL};
        return insert(where.first(), closed() ? where.end() - 1 : where.end(),
                      std::forward<Args>(args)...);
    }
    // Erases one interval with these bounds and an equal value. Returns whether there was one.
    bool erase(std::uint64_t first, std::uint64_t end, const T& value) {
        table* in = changes();
        if (!in)
            return false;
        if constexpr (words::direct) {
            lath_interval item{first, end, detail::pack(value)};
            return lath_intervals_erase(in->native(), &item) == 0;
        } else {
            return erase_boxed(*in, first, end, value);
        }
    }
    // As lath_intervals_clear(): those that other threads insert meanwhile may stay. Returns the
    // number of those that it erased.
    std::uint64_t clear() {
        table* in = changes();
        return in ? in->clear() : 0;
    }

    // The intervals that cover a point / have a key in common with a range / lie within it.
    view stab(std::uint64_t point) const { return search(lath_interval_iter_stab, point); }
    view overlapping(std::uint64_t first, std::uint64_t end) const {
        return search(lath_interval_iter_overlap, first, end);
    }
    view within(std::uint64_t first, std::uint64_t end) const {
        return search(lath_interval_iter_within, first, end);
    }
    auto begin() const { return search(lath_interval_iter_all).begin(); }
    std::default_sentinel_t end() const { return {}; }

    // Whether an interval covers point.
    bool contains(std::uint64_t point) const {
        lath_interval item;
        const table* in = get();
        return in && lath_intervals_stab(in->native(), point, &item, 1) == 1;
    }

    // One that covers point, or else a nearest one.
    std::optional<value_type> nearest(std::uint64_t point) const {
        lath_interval item;
        const table* in = get();
        detail::reader inside(this->rcu());
        if (!in || lath_intervals_nearest(in->native(), point, &item) != 0)
            return std::nullopt;
        return value_type{item.first, item.end, words::show(item.value)};
    }
    std::uint64_t count_overlapping(std::uint64_t first, std::uint64_t end) const {
        const table* in = get();
        return in ? lath_intervals_count_overlap(in->native(), first, end) : 0;
    }
    // Reads every leaf.
    std::uint64_t size() const { return get() ? lath_intervals_count(get()->native()) : 0; }
    bool empty() const { return begin() == end(); }
    bool closed() const { return how_.bounds == LATH_CLOSED; }

private:
    view search(auto start, auto... keys) const {
        lath_interval_iter from{};
        if (const table* in = get())
            start(&from, in->native(), keys...);
        return {from, this->rcu()};
    }
    bool erase_boxed(table& in, std::uint64_t first, std::uint64_t end, const T& value) {
        detail::reader inside(this->rcu());
        lath_interval_iter search;
        lath_interval item;
        lath_interval_iter_within(&search, in.native(), first, end);
        search.first_high = first;
        search.last_low = search.last_high;
        while (lath_interval_next(&search, &item)) {
            // another thread may be faster
            if (words::show(item.value) == value && lath_intervals_erase(in.native(), &item) == 0) {
                in.values().retire(item.value);
                return true;
            }
        }
        return false;
    }
};

} // namespace lathwork

#endif
