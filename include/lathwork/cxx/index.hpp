// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// lathwork/cxx/index.hpp - the range index (lathwork/index.h) as a C++20 container.
//
//   range_map<T>   disjoint ranges, each with a T
//   range_set      disjoint ranges alone
//
// Objects of the caller's: range_map<T*>, whose pointers are good in a section or while nobody
// erases; references are taken by lath_index_lookup_pin() on native().
//
// Values. A trivially copyable T of at most 64 bytes lives in the index itself. Any other T lives
// in its own box: readers copy it out inside an RCU reader, and a box that leaves the map is
// destroyed when no reader can see it, by the library's thread. ~T may use the map and others, and
// end a container of this library (a map in a map).
//
// Threads. All const members and all members that insert, erase or replace may run at the same
// time on one container. Construction, destruction, move, swap and clear exclude all else.
//
// Iterators are positions, not pointers: they copy what they show, stay valid whatever happens
// to the container (but not beyond its life), and step to the next item that is there when they
// step. A loop ends at end(); one up to another iterator compares by <, `for (; it < to; ++it)`,
// since it never is == to one whose item has left. A step whose copy throws leads to end().
// Without writers they are multi-pass. A step reads up to 32 items ahead (1 if values have boxes)
// and shows these as they were then, unless its own thread has changed a container since.
//
// Errors: calls return a `result`, which is true if it was done and has the negative errno of the C
// call in `error`, and throw nothing but what T throws. A container takes memory at its first use,
// or with a configuration at once; without it it is empty for readers and answers -ENOMEM to
// writers, one whose configuration is invalid -EINVAL; operator bool tells. One that was moved from
// is empty.
//
//   lathwork::range_map<std::string> owners;
//   owners.insert(4096, 8192, "journal"); // [4096, 8192)
//   if (auto who = owners.find(5000))
//       use(*who);
//   for (const auto& [where, value] : owners.overlapping(0, 1 << 20))
//       use(where.first(), where.end(), value);
#ifndef LATHWORK_CXX_INDEX_HPP
#define LATHWORK_CXX_INDEX_HPP

#include "lathwork/cxx/detail/container.hpp"
#include "lathwork/cxx/detail/table.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <utility>

namespace lathwork {

// Ranges, each with a T. Do not destroy it in a read-side critical section: that waits for readers.
template <typename T>
class range_map : public detail::ordered<detail::range_table<T>> {
    using table = detail::range_table<T>;
    using base = detail::ordered<table>;
    using words = typename table::words;
    using word = typename table::word;
    using made = typename words::made;
    using base::changes;
    using base::get;
    using base::inserts;
    using base::look_up;
    using base::no_table;
    using typename base::found;

public:
    using key_type = range;
    using mapped_type = T;
    using typename base::iterator;
    using typename base::removed_value;
    using typename base::size_type;
    using typename base::value_type;
    using typename base::view;
    struct replace_result : result {
        removed_value old{};
    };

    range_map() noexcept : base(default_config(), false) {}
    explicit range_map(const config& how) : base(how, true) {}
    // These constructors and the assignments throw std::bad_alloc without memory (where exceptions
    // are off they abort), and std::system_error if two ranges overlap.
    range_map(std::initializer_list<value_type> entries, const config& how = default_config())
        : range_map(how) {
        fill(entries);
    }
    // Reads `other` as an iterator does: other threads may change it during the call.
    range_map(const range_map& other) : range_map(other.how_) { fill(other); }
    range_map(range_map&&) noexcept = default;
    range_map& operator=(const range_map& other) {
        if (this != &other)
            *this = range_map(other);
        return *this;
    }
    range_map& operator=(range_map&&) noexcept = default;
    ~range_map() = default;
    void swap(range_map& other) noexcept { this->exchange(other); }
    friend void swap(range_map& a, range_map& b) noexcept { a.swap(b); }

    // ---- reading: by a point, which a range covers ----

    // A copy of the value.
    std::optional<const T> find(std::uint64_t point) const {
        static_assert(
            std::is_copy_constructible_v<T>,
            "lathwork: find(point) copies; for a value that only moves say visit(point, fn) "
            "or find(section, point)");
        std::optional<const T> copy;
        if constexpr (words::direct) {
            word there;
            const table* in = get();
            if (in && lath_index_get(in->native(), point, detail::words_of(there)))
                copy.emplace(words::show(there));
        } else {
            visit(point, [&](range, const T& value) { copy.emplace(value); });
        }
        return copy;
    }
    using base::find; // in a section
    // find() with the range.
    std::optional<value_type> find_entry(std::uint64_t point) const {
        found f;
        read_section inside(this->rcu());
        return table::one(look_up(point, f), f);
    }
    // fn(range, const T&) on the value in place, in a section: fn must not wait for a writer or for
    // a grace period. Returns whether a range covers point.
    template <typename Fn>
    bool visit(std::uint64_t point, Fn&& fn) const {
        found f;
        read_section inside(this->rcu());
        if (!look_up(point, f))
            return false;
        const auto& value = words::show(f.word);
        fn(range::sized(f.code, f.size), value);
        return true;
    }
    // A copy of the value. If no range covers point it throws std::out_of_range.
    const T at(std::uint64_t point) const { // NOLINT(readability-const-return-type): not to write
        return detail::found_or_throw(find(point),
                                      "lathwork::range_map::at: no range covers the key");
    }
    // The item that covers point, if there is one: as many as count(point) says.
    std::pair<iterator, iterator> equal_range(std::uint64_t point) const {
        iterator above = this->upper_bound(point);
        found f;
        read_section inside(this->rcu());
        if (look_up(point, f))
            return {this->lower_bound(f.code), above};
        return {above, above};
    }
    // Whether a range covers point; 1 or 0.
    bool contains(std::uint64_t point) const {
        word value;
        const table* in = get();
        return in && lath_index_get(in->native(), point, detail::words_of(value)) != 0;
    }
    std::uint64_t count(std::uint64_t point) const { return contains(point) ? 1 : 0; }
    stats get_stats() const {
        stats s{};
        if (const table* in = get())
            lath_index_get_stats(in->native(), &s);
        return s;
    }
    // Items that overlap where, in order. O(log n) to begin, then as iteration.
    view overlapping(range where) const {
        found f;
        if (!overlaps(where, f))
            return {};
        std::optional<std::uint64_t> end;
        if (where.end())
            end = where.end();
        return this->template between<iterator>(true, {f.code, end});
    }
    view overlapping(std::uint64_t first, std::uint64_t end) const {
        return overlapping(range::between(first, end));
    }

    // ---- changing ----

    // 0 | -EEXIST, with one range that overlaps | -EINVAL (empty, past 2^64) | -ENOMEM
    insert_result insert(range where, T value = {}) { return add(where, std::move(value)); }
    insert_result insert(std::uint64_t first, std::uint64_t end, T value = {}) {
        return add(range::between(first, end), std::move(value));
    }
    insert_result insert(const value_type& e) { return add(e.where, e.value); }
    // The value is made of args if no range overlaps [first, end).
    template <typename... Args>
    insert_result try_emplace(std::uint64_t first, std::uint64_t end, Args&&... args) {
        range where = range::between(first, end);
        if (found there; overlaps(where, there))
            return {{-EEXIST}, range::sized(there.code, there.size)};
        return add(where, std::forward<Args>(args)...);
    }
    // Puts value on [first, end) whatever is there: covered ranges go, partly covered ones are cut.
    // Atomic. 0 | -EINVAL | -ENOMEM
    template <typename U = T>
    result insert_or_assign(std::uint64_t first, std::uint64_t end, const U& value = {}) {
        static_assert(
            words::direct,
            "lathwork: both parts of a range that is cut in two keep its value, so a value "
            "in a box, which has one owner, cannot be overwritten in part: use "
            "std::uint64_t numbers of the values, or remove_covering() and insert()");
        const range where = range::between(first, end);
        const word packed = detail::pack(static_cast<T>(value));
        lath_item item{where.key, where.size, detail::given(packed)};
        table* in = inserts();
        return {in ? lath_index_store_range(in->native(), &item, nullptr, nullptr) : no_table()};
    }
    // Gives the range that starts at first another value: 0 | -ENOENT | -ENOMEM
    replace_result replace(std::uint64_t first, T value) {
        replace_result done;
        table* in = inserts();
        made fresh = made_of(in, std::move(value));
        done.error = fresh ? 0 : no_table();
        found old;
        auto put = [&](lath_index* list, std::uint64_t key, lath_item* to) {
            return lath_index_replace_item(list, key, detail::given(fresh.word()), to);
        };
        if (done && (done.error = fresh.taken(in->item(put, first, old))) == 0)
            done.old = removed_value(old.word);
        return done;
    }
    // Cut the range that covers `at`; the right part starts there and has `value`:
    // 0 | -ENOENT | -EEXIST (a range starts at `at`) | -ENOMEM
    result split(std::uint64_t at, T value = {}) {
        table* in = inserts();
        made right = made_of(in, std::move(value));
        if (!right)
            return {no_table()};
        return {right.taken(lath_index_split(in->native(), at, detail::given(right.word())))};
    }
    // Join the range that ends right before `at` with the one that starts there: the left one
    // covers both and keeps its value. may_join(const T& left, const T& right) is asked first,
    // while the map is locked there: it must not call the map. Atomic, and never allocates. 0 |
    // -ENOENT (no two ranges meet at `at`) | -ECANCELED (may_join returned false)
    template <typename MayJoin>
    result join(std::uint64_t at, MayJoin&& may_join) {
        found gone;
        auto ask = [&](const lath_item* left, const lath_item* right) {
            return may_join(words::show(words::in(left)), words::show(words::in(right)));
        };
        detail::guarded asked(ask);
        auto both = [&](lath_index* list, std::uint64_t key, lath_item* to) {
            return lath_index_join(list, key, asked, &asked, to);
        };
        table* in = changes();
        int error = in ? in->item(both, at, gone) : -ENOENT;
        if (error == 0)
            in->values().retire(gone.word);
        asked.rethrow();
        return {error};
    }

    // Let the range that starts at first have this many keys: 0 | -ENOENT | -EEXIST | -EINVAL |
    // -ENOMEM
    result resize(std::uint64_t first, std::uint64_t size) {
        table* in = inserts();
        return {in ? lath_index_resize(in->native(), first, size) : no_table()};
    }
    // ---- removing: never allocates ----

    // The range that starts at first / that covers point.
    removed_value remove_starting(std::uint64_t first) {
        return take(lath_index_erase_item, first);
    }
    removed_value remove_covering(std::uint64_t point) {
        return take(lath_index_erase_item_at, point);
    }
    // Erases the range that the iterator shows, and returns an iterator to the next one.
    iterator erase(iterator at) {
        remove_starting(at.code_at());
        return ++at;
    }
    // Erases what starts between them, also what other threads insert there during the call. If the
    // item of `to` has left, up to where it was.
    iterator erase(iterator from, iterator to) {
        while (from < to)
            from = erase(std::move(from));
        return to;
    }

    // Erases every range that overlaps [first, end), one by one. Returns how many.
    size_type remove_overlapping(std::uint64_t first, std::uint64_t end) {
        return remove_overlapping(range::between(first, end));
    }
    size_type remove_overlapping(range where) {
        table* in = changes();
        return in && where.size ? in->erase_sized(where.key, where.size) : 0;
    }
    // Removes the range that starts at first and moves its value out. If values are in boxes it
    // waits for the readers: not in a section.
    std::optional<value_type> extract(std::uint64_t first) {
        found old;
        table* in = changes();
        if (!in || in->item(lath_index_erase_item, first, old) != 0)
            return std::nullopt;
        return value_type{range::sized(old.code, old.size), removed_value(old.word).take()};
    }
    void clear() {
        if (table* in = changes())
            in->clear();
    }

    // While no thread changes them.
    friend bool operator==(const range_map& a, const range_map& b) {
        return std::equal(a.begin(), a.end(), b.begin(), b.end());
    }

private:
    // Finds the first item that overlaps where.
    bool overlaps(range where, found& f) const {
        auto first = [&](lath_index* list, std::uint64_t key, lath_item* to) {
            return lath_index_overlap_item(list, key, where.size, to);
        };
        const table* in = get();
        return in && in->item(first, where.key, f) == 0;
    }
    void fill(const auto& entries) {
        detail::must({this->error()});
        for (const value_type& e : entries)
            detail::must(insert(e));
    }
    template <typename... Args>
    static made made_of(table* in, Args&&... args) {
        return in ? in->values().make(std::forward<Args>(args)...) : made();
    }
    template <typename... Args>
    insert_result add(range where, Args&&... args) {
        made value = made_of(inserts(), std::forward<Args>(args)...);
        if (!value)
            return {{no_table()}, {}};
        lath_item item{where.key, where.size, detail::given(value.word())};
        detail::taken_item<word> there;
        insert_result done;
        done.error = value.taken(lath_index_insert_item(get()->native(), &item, &there.item));
        if (done.error == -EEXIST)
            done.there = range::sized(there.item.key, there.item.size);
        return done;
    }
    removed_value take(int (*out_of)(lath_index*, std::uint64_t, lath_item*), std::uint64_t at) {
        found old;
        table* in = changes();
        if (!in || in->item(out_of, at, old) != 0)
            return {};
        return removed_value(old.word);
    }
};

// Ranges alone: insert(first, end), and of an entry the range.
struct no_value {
    friend bool operator==(no_value, no_value) = default;
};
using range_set = range_map<no_value>;

} // namespace lathwork

#endif // LATHWORK_CXX_INDEX_HPP
