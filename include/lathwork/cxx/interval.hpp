// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// lathwork/cxx/interval.hpp - intervals that may overlap (lathwork/interval.h) as a C++20
// container.
//
//   interval_map<T>   any number of intervals, each with a T
//
// Values and threads are as in lathwork/cxx/index.hpp: a trivially copyable T of at most 8
// bytes lives in the set itself, any other T in a box, which a later call that erases destroys,
// after a grace period. All const members, insert and erase may run at the same time on one
// container.
//
// A view (stab, overlapping, within, or the map itself) has single-pass iterators. They copy what
// they show, up to 16 intervals ahead (one if values have boxes), and stay valid whatever happens
// to the container, but not beyond its life. The order is that of lathwork/interval.h.
//
// Errors: insert returns a result; calls throw nothing but what T throws. A
// container whose memory could not be had, or that was moved from, is empty for readers and answers
// -ENOMEM to insert, one whose configuration is invalid -EINVAL; operator bool tells.
//
//   lathwork::interval_map<std::string> rooms; // half-open: [first, end)
//   rooms.insert(900, 1030, "standup");
//   rooms.insert(1000, 1200, "review");
//   for (const auto& [first, end, value] : rooms.stab(1015))
//       use(first, end, value);
#ifndef LATHWORK_CXX_INTERVAL_HPP
#define LATHWORK_CXX_INTERVAL_HPP

#include "lathwork/cxx/index.hpp"
#include "lathwork/interval.h"

namespace lathwork {

using interval_stats = lath_intervals_stats;

// What an interval_map shows: `auto [first, end, value] = ...`
template <typename T>
struct interval_entry {
    std::uint64_t first;
    std::uint64_t end;
    T value;
};

// What a search of an interval_map finds; begin() starts the search.
template <typename T>
class interval_view : public std::ranges::view_interface<interval_view<T>> {
    using words = detail::value_words<T, stored_directly<T>>;
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
        const value_type& operator*() const { return *ahead_.operator->(); }
        const value_type* operator->() const { return &**this; }
        iterator& operator++() {
            if (!ahead_.next())
                fill();
            return *this;
        }
        void operator++(int) { ++*this; }
        friend bool operator==(const iterator& i, std::default_sentinel_t) {
            return i.ahead_.at_end();
        }

    private:
        void fill() {
            std::array<lath_interval, chunk> items;
            detail::reader inside(rcu_); // boxes are copied before it ends
            std::size_t n = lath_interval_next_batch(&search_, items.data(), items.size());
            ahead_.fill(n, [&](std::size_t i) {
                return value_type{items[i].first, items[i].end, words::show(items[i].value)};
            });
        }

        lath_interval_iter search_{};
        const lath_rcu* rcu_ = nullptr;
        detail::read_ahead<value_type, chunk> ahead_;
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
class interval_map {
    using words = detail::value_words<T, stored_directly<T>>;

public:
    using value_type = interval_entry<T>;
    using view = interval_view<T>;

    explicit interval_map(lath_bounds bounds = LATH_HALF_OPEN, const config& how = default_config())
        : values_(how), set_(new(std::nothrow) lath_intervals), closed_(bounds == LATH_CLOSED),
          rcu_(how.rcu ? how.rcu : &lath_rcu_auto) {
        if (!values_.ready())
            set_.reset();
        if (set_ && (error_ = lath_intervals_init(set_.get(), bounds, &how)) != 0)
            set_.reset();
    }
    interval_map(interval_map&&) noexcept = default;
    interval_map& operator=(interval_map&& other) noexcept {
        std::swap(set_, other.set_);
        std::swap(error_, other.error_);
        std::swap(closed_, other.closed_);
        std::swap(rcu_, other.rcu_);
        std::swap(values_, other.values_);
        return *this;
    }
    // Waits for the readers, and destroys every T.
    ~interval_map() {
        if (!set_)
            return;
        detail::uncancelled end;
        lath_intervals_fini(set_.get(), words::direct ? nullptr : keep, this);
        values_.drain();
    }
    // Whether there is a set: its memory could be had, and it was not moved away.
    explicit operator bool() const { return static_cast<bool>(set_); }

    // 0 | -EINVAL: empty | -ENOMEM
    template <typename... Args>
    result insert(std::uint64_t first, std::uint64_t end, Args&&... args) {
        if (!set_)
            return {error_ ? error_ : -ENOMEM};
        typename words::made value = values_.make(std::forward<Args>(args)...);
        if (!value)
            return {-ENOMEM};
        lath_interval item{first, end, value.word()};
        int error = lath_intervals_insert(set_.get(), &item);
        if (error == 0)
            value.taken();
        return {error};
    }
    // A range is half-open: with LATH_CLOSED its last key is the bound.
    template <typename... Args>
    result insert(range where, Args&&... args) {
        if (!where.size)
            return {-EINVAL};
        return insert(where.first(), closed_ ? where.end() - 1 : where.end(),
                      std::forward<Args>(args)...);
    }
    // Erases one interval with these bounds and an equal value. Returns whether there was one.
    bool erase(std::uint64_t first, std::uint64_t end, const T& value) {
        if (!set_)
            return false;
        if constexpr (words::direct) {
            lath_interval item{first, end, detail::pack(value)};
            return lath_intervals_erase(set_.get(), &item) == 0;
        } else {
            bool found = erase_boxed(first, end, value);
            values_.destroy_some();
            return found;
        }
    }
    // As lath_intervals_clear(): those that other threads insert meanwhile may stay. Returns the
    // number of those that it erased.
    std::uint64_t clear() {
        if (!set_)
            return 0;
        std::uint64_t n = lath_intervals_clear(set_.get(), words::direct ? nullptr : retire, this);
        values_.destroy_some();
        return n;
    }
    // Waits for the readers and destroys every T that left the map before. Not in a section.
    void drain() { values_.drain(); }

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
        return set_ && lath_intervals_stab(set_.get(), point, &item, 1) == 1;
    }

    // One that covers point, or else a nearest one.
    std::optional<value_type> nearest(std::uint64_t point) const {
        lath_interval item;
        detail::reader inside(rcu_);
        if (!set_ || lath_intervals_nearest(set_.get(), point, &item) != 0)
            return std::nullopt;
        return value_type{item.first, item.end, words::show(item.value)};
    }
    std::uint64_t count_overlapping(std::uint64_t first, std::uint64_t end) const {
        return set_ ? lath_intervals_count_overlap(set_.get(), first, end) : 0;
    }
    // Reads every leaf.
    std::uint64_t size() const { return set_ ? lath_intervals_count(set_.get()) : 0; }
    bool empty() const { return begin() == end(); }
    bool closed() const { return closed_; }
    interval_stats stats() const {
        interval_stats s{};
        if (set_)
            lath_intervals_get_stats(set_.get(), &s);
        return s;
    }
    // For the C calls; nullptr if there is no set.
    lath_intervals* native() const { return set_.get(); }

private:
    view search(auto start, auto... keys) const {
        lath_interval_iter from{};
        if (set_)
            start(&from, set_.get(), keys...);
        return {from, rcu_};
    }
    bool erase_boxed(std::uint64_t first, std::uint64_t end, const T& value) {
        detail::reader inside(rcu_);
        lath_interval_iter search;
        lath_interval item;
        lath_interval_iter_within(&search, set_.get(), first, end);
        search.first_high = first;
        search.last_low = search.last_high;
        while (lath_interval_next(&search, &item)) {
            // another thread may be faster
            if (words::show(item.value) == value && lath_intervals_erase(set_.get(), &item) == 0) {
                values_.retire(item.value);
                return true;
            }
        }
        return false;
    }
    static void retire(void* self, const lath_interval* item) {
        static_cast<interval_map*>(self)->values_.retire(item->value);
    }
    static void keep(void* self, const lath_interval* item) {
        static_cast<interval_map*>(self)->values_.keep(item->value);
    }

    words values_; // before set_: the values are destroyed last
    std::unique_ptr<lath_intervals> set_;
    int error_ = 0; // of the configuration
    bool closed_;
    const lath_rcu* rcu_;
};

} // namespace lathwork

#endif
