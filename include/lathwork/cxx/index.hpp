// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// lathwork/cxx/index.hpp - the range index (lathwork/index.h) as C++20 containers.
//
//   range_map<T>                       disjoint ranges, each with a T
//   range_set                          disjoint ranges alone
//   intrusive_range_set<T, &T::slot>   the caller's objects, found through an embedded lath_slot
//
// Values. A trivially copyable T of at most 64 bytes lives in the index itself. Any other T lives
// in its own box: readers copy it out inside an RCU reader, and a box that leaves the map is
// destroyed after a grace period, so a reader never sees a dead T. The user's threads destroy it:
// in a later call that removes or replaces a value (at most 64 a call), in drain(), or with the
// map. ~T may use the map and others, and end a container of this library (a map in a map). As that
// waits for readers, remove such values outside your own sections.
//
// Threads. All const members and all members that insert, erase or replace may run at the same
// time on one container. Construction, destruction, move, swap and clear exclude all else.
// With an RCU flavour of the caller's the threads register with it as it demands.
//
// Iterators are positions, not pointers: they copy what they show, stay valid whatever happens
// to the container (but not beyond its life), and step to the next item that is there when they
// step. A loop ends at end(); one up to another iterator compares by <, `for (; it < to; ++it)`,
// since it never is == to one whose item has left. A step whose copy throws leads to end().
// Without writers they are multi-pass and bidirectional; with writers an algorithm that passes
// twice (std::ranges::to of C++23) is wrong. A step reads up to `chunk` items
// ahead and shows these as they were then (16 or 32 for values in the index, 1 for boxes and for
// the caller's objects). Forward they cost one descent a chunk, backward one a step.
//
// Errors: calls return a `result`, which is true if it was done and has the negative errno of the C
// call in `error`, and throw nothing but what T throws. A container whose memory could not be had,
// or that was moved from, is empty for readers and answers -ENOMEM to writers, one whose
// configuration is invalid -EINVAL; operator bool tells.
//
//   lathwork::range_map<std::string> owners;
//   owners.insert(4096, 8192, "journal"); // [4096, 8192)
//   if (auto who = owners.find(5000))
//       use(*who);
//   for (const auto& [where, value] : owners.overlapping(0, 1 << 20))
//       use(where.first(), where.end(), value);
//
// Cost of a boxed value: sizeof(T) + 24 bytes and one cache miss more.
#ifndef LATHWORK_CXX_INDEX_HPP
#define LATHWORK_CXX_INDEX_HPP

#include "lathwork/cxx/detail/index_base.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace lathwork {

// Ranges, each with a T. Do not destroy it in a read-side critical section: that waits for readers.
template <typename T>
class range_map : public detail::ranges<detail::value_items<T>> {
    using items = detail::value_items<T>;
    using base = detail::ranges<items>;
    using words = typename items::words;
    using word = typename items::word;
    using made = typename words::made;
    using base::h_;

public:
    using key_type = range;
    using mapped_type = T;
    using size_type = std::uint64_t;
    using difference_type = std::ptrdiff_t;
    using typename base::iterator;
    using typename base::value_type;
    // What removals hand back: true if there was a range; its value, until it is destroyed.
    using removed_value = removed<T, T, words::direct>;
    // What extract() hands back.
    using node_type = std::optional<value_type>;
    // What find() in a section returns: a pointer to the value, or a copy of one in the index.
    using held_value = std::conditional_t<words::direct, std::optional<const T>, const T*>;
    struct replace_result : result {
        removed_value old{};
    };

    range_map() : range_map(default_config()) {}
    explicit range_map(const config& how) : base(how), values_(how) {
        if (!values_.ready())
            h_.list.reset();
    }
    // These constructors and the assignments throw std::bad_alloc without memory (where exceptions
    // are off they abort), and std::system_error if two ranges overlap.
    range_map(std::initializer_list<value_type> entries, const config& how = default_config())
        : range_map(how) {
        fill(entries);
    }
    // Reads `other` as an iterator does: other threads may change it during the call.
    range_map(const range_map& other) : range_map(other.h_.how) { fill(other); }
    range_map(range_map&&) noexcept = default;
    range_map& operator=(const range_map& other) {
        if (this != &other)
            *this = range_map(other);
        return *this;
    }
    range_map& operator=(range_map&& other) noexcept {
        if (this != &other) {
            finish();
            base::operator=(std::move(other));
            values_ = std::move(other.values_);
        }
        return *this;
    }
    // Waits for the readers, and destroys every T.
    ~range_map() { finish(); }
    void swap(range_map& other) noexcept {
        std::swap(h_, other.h_);
        std::swap(values_, other.values_);
    }
    friend void swap(range_map& a, range_map& b) noexcept { a.swap(b); }

    // ---- reading: by a point, which a range covers ----

    // A copy of the value.
    std::optional<const T> find(std::uint64_t point) const {
        static_assert(
            std::is_copy_constructible_v<T>,
            "lathwork: find(point) copies; for a value that only moves say visit(point, fn) "
            "or find(section, point)");
        std::optional<const T> found;
        if constexpr (words::direct) {
            word there;
            if (h_.list && lath_index_get(h_.list, point, detail::words_of(there)))
                found.emplace(words::show(there));
        } else {
            visit(point, [&](range, const T& value) { found.emplace(value); });
        }
        return found;
    }
    // The value, in place: it stays as it is to the end of the section, whoever removes the range.
    held_value find(const read_section& /*inside*/, std::uint64_t point) const {
        detail::taken_item<word> there;
        if (!h_.list || lath_index_lookup_item_rcu(h_.list, point, &there.item) != 0)
            return {};
        if constexpr (words::direct)
            return words::show(there.value());
        else
            return std::addressof(words::show(there.value()));
    }
    // find() with the range.
    std::optional<entry<T>> find_entry(std::uint64_t point) const {
        return base::one(lath_index_lookup_item, point);
    }
    // fn(range, const T&) on the value in place, in a section: fn must not wait for a writer or for
    // a grace period. Returns whether a range covers point.
    template <typename Fn>
    bool visit(std::uint64_t point, Fn&& fn) const {
        detail::taken_item<word> there;
        read_section inside(h_.rcu());
        if (!h_.list || lath_index_lookup_item_rcu(h_.list, point, &there.item) != 0)
            return false;
        const auto& value = words::show(there.value());
        fn(range::sized(there.item.key, there.item.size), value);
        return true;
    }
    // A copy of the value. If no range covers point it throws std::out_of_range.
    const T at(std::uint64_t point) const { // NOLINT(readability-const-return-type): not to write
        return detail::found_or_throw(find(point),
                                      "lathwork::range_map::at: no range covers the key");
    }
    // Values of many points, with overlapped cache misses: out[i] belongs to points[i]. Looks up
    // min(points.size(), out.size()) points and returns how many it found.
    std::size_t find_batch(std::span<const std::uint64_t> points,
                           std::span<std::optional<T>> out) const {
        return base::look_up(points, out,
                             [](const lath_item& item) { return items::show(item).value; });
    }

    // ---- changing ----

    // 0 | -EEXIST, with one range that overlaps | -EINVAL (empty, past 2^64) | -ENOMEM
    insert_result insert(range where, T value) { return add(where, std::move(value)); }
    insert_result insert(std::uint64_t first, std::uint64_t end, T value) {
        return add(range::between(first, end), std::move(value));
    }
    insert_result insert(const value_type& e) { return add(e.where, e.value); }
    template <typename... Args>
    insert_result emplace(std::uint64_t first, std::uint64_t end, Args&&... args) {
        return add(range::between(first, end), std::forward<Args>(args)...);
    }
    // The value is made of args if no range overlaps [first, end).
    template <typename... Args>
    insert_result try_emplace(std::uint64_t first, std::uint64_t end, Args&&... args) {
        range where = range::between(first, end);
        lath_item there{};
        if (h_.list && lath_index_overlap_item(h_.list, where.key, where.size, &there) == 0)
            return {{-EEXIST}, range::sized(there.key, there.size)};
        return add(where, std::forward<Args>(args)...);
    }
    // Puts value on [first, end) whatever is there: covered ranges go, partly covered ones are cut.
    // Atomic. 0 | -EINVAL | -ENOMEM
    template <typename U = T>
    result insert_or_assign(std::uint64_t first, std::uint64_t end, const U& value) {
        static_assert(
            words::direct,
            "lathwork: both parts of a range that is cut in two keep its value, so a value "
            "in a box, which has one owner, cannot be overwritten in part: use "
            "std::uint64_t numbers of the values, or remove_covering() and insert()");
        range where = range::between(first, end);
        const word packed = detail::pack(static_cast<T>(value));
        lath_item item{where.key, where.size, detail::given(packed)};
        return {h_.list ? lath_index_store_range(h_.list, &item, nullptr, nullptr) : h_.error};
    }
    // Inserts many; results[i] as insert's error for entries[i], or none. Returns how many went in.
    std::size_t insert_batch(std::span<const entry<T>> entries, std::span<int> results = {})
        requires(words::direct)
    {
        std::array<lath_item, base::step> in;
        std::array<word, base::step> packed;
        return detail::by_parts<base::step>(
            entries.size(), results, h_.error, [&](std::size_t at, std::size_t n, int* codes) {
                for (std::size_t i = 0; i < n; i++) {
                    const entry<T>& e = entries[at + i];
                    packed[i] = detail::pack(e.value);
                    in[i] = {e.where.key, e.where.size, detail::given(packed[i])};
                }
                return h_.list ? lath_index_insert_batch(h_.list, n, in.data(), codes) : 0;
            });
    }
    // Gives the range that starts at first another value: 0 | -ENOENT | -ENOMEM
    replace_result replace(std::uint64_t first, T value) {
        replace_result done;
        detail::taken_item<word> old;
        made fresh = values_.make(std::move(value));
        done.error = h_.error;
        if (fresh && h_.list)
            done.error =
                lath_index_replace_item(h_.list, first, detail::given(fresh.word()), &old.item);
        if (done) {
            fresh.taken();
            done.old = removed_value(old.value());
        }
        return done;
    }
    // Gives the range that covers point the value that change(const T&) returns, as one step: if
    // another thread changes it first, change is called again, in a section. 0 | -ENOENT | -ENOMEM
    template <typename Fn>
    result update(std::uint64_t point, Fn&& change) {
        int error;
        do
            error = try_update(point, change);
        while (error == -EAGAIN);
        values_.destroy_some();
        return {error};
    }
    // Cut the range that covers `at`; the right part starts there and has `value`:
    // 0 | -ENOENT | -EEXIST (a range starts at `at`) | -ENOMEM
    result split(std::uint64_t at, T value) {
        made right = values_.make(std::move(value));
        if (!right || !h_.list)
            return {h_.error};
        int error = lath_index_split(h_.list, at, detail::given(right.word()));
        if (error == 0)
            right.taken();
        return {error};
    }
    // Join the range that ends right before `at` with the one that starts there: the left one
    // covers both and keeps its value. may_join(const T& left, const T& right) is asked first,
    // while the map is locked there: it must not call the map. Atomic, and never allocates. 0 |
    // -ENOENT (no two ranges meet at `at`) | -ECANCELED (may_join returned false)
    template <typename MayJoin>
    result join(std::uint64_t at, MayJoin&& may_join) {
        detail::taken_item<word> gone;
        auto ask = [&](const lath_item* left, const lath_item* right) {
            return may_join(words::show(words::in(*left)), words::show(words::in(*right)));
        };
        detail::guarded asked(ask);
        int error = h_.list ? lath_index_join(h_.list, at, asked, &asked, &gone.item) : -ENOENT;
        if (error == 0)
            values_.retire(gone.value());
        values_.destroy_some();
        asked.rethrow();
        return {error};
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
        remove_starting(at.key());
        return ++at;
    }
    // Erases what starts between them, also what other threads insert there during the call. If the
    // item of `to` has left the map, up to where it was.
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
        size_type n = base::erase_all(where, words::direct ? nullptr : retire_each, this);
        values_.destroy_some(true);
        return n;
    }
    // Removes the range that starts at first and moves its value out. If values are in boxes it
    // waits for the readers: not in a section.
    node_type extract(std::uint64_t first) {
        detail::taken_item<word> old;
        if (!h_.list || lath_index_erase_item(h_.list, first, &old.item) != 0)
            return std::nullopt;
        return value_type{range::sized(old.item.key, old.item.size),
                          removed_value(old.value()).take()};
    }
    insert_result insert(node_type&& node) {
        return node ? add(node->where, std::move(node->value)) : insert_result{};
    }
    // Copies the ranges of `other` that overlap none here, and erases them there: 0 | -ENOMEM:
    // those that were not copied are still there. No other thread changes these during the call.
    result merge(range_map& other) {
        if (this != &other)
            for (iterator at = other.begin(); at != other.end(); ++at) {
                insert_result done = insert(*at);
                if (done)
                    other.remove_starting(at.key());
                else if (done.error != -EEXIST)
                    return done;
            }
        return {};
    }
    result merge(range_map&& other) { return merge(other); }
    void clear() {
        base::erase_everything(words::direct ? nullptr : keep_each, this);
        values_.destroy_all();
    }
    // Waits for the readers and destroys every T that left the map before. Not in a section.
    void drain() { values_.drain(); }

    // While no thread changes them.
    friend bool operator==(const range_map& a, const range_map& b) {
        return std::equal(a.begin(), a.end(), b.begin(), b.end());
    }

private:
    void fill(const auto& entries) {
        if (!h_.list)
            detail::fail(h_.error);
        for (const value_type& e : entries)
            detail::must(insert(e));
    }
    template <typename... Args>
    insert_result add(range where, Args&&... args) {
        made value = values_.make(std::forward<Args>(args)...);
        if (!value || !h_.list)
            return {{h_.error}, {}};
        insert_result done = base::insert_item(where, detail::given(value.word()));
        if (done)
            value.taken();
        return done;
    }
    // -EAGAIN: another thread was faster.
    template <typename Fn>
    int try_update(std::uint64_t point, Fn& change) {
        detail::taken_item<word> old;
        read_section inside(h_.rcu()); // a box that has left is not used again before it ends
        if (!h_.list || lath_index_lookup_item_rcu(h_.list, point, &old.item) != 0)
            return h_.list ? -ENOENT : h_.error;
        made fresh = values_.make(change(words::show(old.value())));
        if (!fresh)
            return -ENOMEM;
        int error = lath_index_replace_if(h_.list, old.item.key, detail::given(old.value()),
                                          detail::given(fresh.word()), nullptr);
        if (error == 0) {
            fresh.taken();
            values_.retire(old.value());
        }
        return error == -ENOENT ? -EAGAIN : error;
    }
    removed_value take(int (*out_of)(lath_index*, std::uint64_t, lath_item*), std::uint64_t at) {
        detail::taken_item<word> old;
        if (!h_.list || out_of(h_.list, at, &old.item) != 0)
            return {};
        values_.destroy_some();
        return removed_value(old.value());
    }
    static void retire_each(void* self, const lath_item* item) {
        if constexpr (!words::direct)
            static_cast<range_map*>(self)->values_.retire(item->value);
    }
    static void keep_each(void* self, const lath_item* item) {
        if constexpr (!words::direct)
            static_cast<range_map*>(self)->values_.keep(item->value);
    }
    // The values are destroyed when the index is gone: ~T may end another one.
    void finish() {
        if (!h_.list)
            return;
        detail::uncancelled end;
        lath_index* list = h_.list.release();
        lath_index_fini(list, words::direct ? nullptr : keep_each, this);
        delete list;
        values_.drain();
    }

    words values_;
};

class range_set : public detail::ranges<detail::bare_items> {
    using base = detail::ranges<detail::bare_items>;

public:
    explicit range_set(const config& how = default_config()) : base(how) {}

    // As range_map<T>, without values.
    insert_result insert(range where) { return insert_item(where, 0); }
    insert_result insert(std::uint64_t first, std::uint64_t end) {
        return insert(range::between(first, end));
    }
    std::optional<range> find(std::uint64_t point) const {
        return one(lath_index_lookup_item, point);
    }
    std::size_t find_batch(std::span<const std::uint64_t> points,
                           std::span<std::optional<range>> out) const {
        return look_up(points, out, detail::bare_items::show);
    }
    lathwork::result insert_or_assign(std::uint64_t first, std::uint64_t end) {
        range where = range::between(first, end);
        lath_item item{where.key, where.size, 0};
        return {h_.list ? lath_index_store_range(h_.list, &item, nullptr, nullptr) : h_.error};
    }
    lathwork::result split(std::uint64_t at) {
        return {h_.list ? lath_index_split(h_.list, at, 0) : h_.error};
    }
    bool remove_starting(std::uint64_t first) {
        return h_.list && lath_index_erase_item(h_.list, first, nullptr) == 0;
    }
    bool remove_covering(std::uint64_t point) {
        return h_.list && lath_index_erase_item_at(h_.list, point, nullptr) == 0;
    }
    iterator erase(iterator at) {
        remove_starting(at.key());
        return ++at;
    }
    std::uint64_t remove_overlapping(std::uint64_t first, std::uint64_t end) {
        return remove_overlapping(range::between(first, end));
    }
    std::uint64_t remove_overlapping(range where) { return erase_all(where, nullptr, nullptr); }
    void clear() { erase_everything(nullptr, nullptr); }
};

// The caller's objects by the range in their slot. The set owns nothing: an object stays the
// caller's, who keeps it until it is erased and, if others may still look at it, for a grace
// period more (rcu()->call). Pointers that find and iterators give are good inside a reader
// (set.read()) or while nobody erases.
template <typename T, lath_slot T::* Slot>
class intrusive_range_set : public detail::ranges<detail::slot_items<T, Slot>> {
    using items = detail::slot_items<T, Slot>;
    using base = detail::ranges<items>;
    using base::h_;

public:
    // in_the_way: on -EEXIST one object whose range overlaps.
    struct inserted : lathwork::result {
        T* in_the_way = nullptr;
    };

    explicit intrusive_range_set(const config& how = default_config()) : base(how) {}

    // A reader for the length of a scope.
    read_section read() const { return read_section(h_.rcu()); }

    inserted insert(T& object) {
        std::uint64_t there = 0;
        const lath_slot& slot = object.*Slot;
        inserted done;
        done.error =
            base::insert_item(range::sized(slot.key, slot.size), items::word_of(&object), &there)
                .error;
        done.in_the_way = items::of(there);
        return done;
    }
    T* find(std::uint64_t point) const { return base::one(lath_index_lookup_item, point); }
    // The object that covers point, with a reference: pin(T&) takes it, or returns false if the
    // object is about to go; unpin(T&) gives it back if the object left since. The rules are
    // those of lath_index_lookup_pin(). nullptr: there is none, or it was refused.
    template <typename Pin, typename Unpin>
    T* find_pinned(std::uint64_t point, Pin&& pin, Unpin&& unpin) const {
        auto call = [&](bool back, const lath_item* item) {
            return back ? (unpin(*items::of(item->value)), true)
                        : bool(pin(*items::of(item->value)));
        };
        detail::guarded calls(call);
        using both = decltype(calls);
        lath_pin how{};
        how.pin = [](void* arg, const lath_item* item) {
            return static_cast<both*>(arg)->template call<int>(false, item);
        };
        how.unpin = [](void* arg, const lath_item* item) {
            static_cast<both*>(arg)->template call<void>(true, item);
        };
        how.arg = &calls;
        lath_item found;
        bool there = h_.list && lath_index_lookup_pin(h_.list, point, &how, &found) == 0;
        calls.rethrow();
        return there ? items::of(found.value) : nullptr;
    }
    // The object that left, or nullptr.
    T* remove_starting(std::uint64_t first) { return base::one(lath_index_erase_item, first); }
    T* remove_covering(std::uint64_t point) { return base::one(lath_index_erase_item_at, point); }
    // Change an object's size in the set and in its slot.
    lathwork::result resize(T& object, std::uint64_t size) {
        lathwork::result done = base::resize((object.*Slot).key, size);
        if (done)
            (object.*Slot).size = size;
        return done;
    }
    // fn(T&) on each object that overlapped where, after it left. Returns how many. The first
    // exception that fn throws leaves it after the last object.
    template <typename Fn>
    std::uint64_t remove_overlapping(range where, Fn&& fn) {
        auto left = [&](const lath_item* item) { fn(*items::of(item->value)); };
        detail::guarded each(left);
        std::uint64_t n = base::erase_all(where, each, &each);
        each.rethrow();
        return n;
    }
    // The same for all objects.
    template <typename Fn>
    void clear(Fn&& fn) {
        auto left = [&](const lath_item* item) { fn(*items::of(item->value)); };
        detail::guarded each(left);
        base::erase_everything(each, &each);
        each.rethrow();
    }
};

} // namespace lathwork

#endif // LATHWORK_CXX_INDEX_HPP
