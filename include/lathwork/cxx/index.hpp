// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// lathwork/cxx/index.hpp - the range index (lathwork/index.h) as C++20 containers.
//
//   range_map<T>                       disjoint ranges, each with a T
//   range_set                          disjoint ranges alone
//   intrusive_range_set<T, &T::slot>   the caller's objects, found through an embedded lath_slot
//
// Values. A trivially copyable T of at most 8 bytes lives in the index itself. Any other T lives
// in a box of its own: readers copy it out inside an RCU reader, and a box that leaves the map is
// destroyed after a grace period, so a reader never sees a dead T. The user's threads destroy it:
// in a later call that removes or replaces a value (at most 64 a call), in drain(), or with the
// map. ~T may use the map and others, and end a container of this library (a map in a map). As that
// waits for readers, remove such values outside sections of your own.
//
// Threads. All const members and all members that insert, erase or replace may run at the same
// time on one container. Construction, destruction, move, swap and clear exclude all else.
// With an RCU flavour of the caller's the threads register with it as it demands.
//
// Iterators are positions, not pointers: they copy what they show, stay valid whatever happens
// to the container (but not beyond its life), and step to the next item that is there when they
// step. Without writers they are multi-pass and bidirectional. A step reads up to `chunk` items
// ahead and shows these as they were then (16 for values in the index, 1 for boxes and for the
// caller's objects). Forward they cost one descent a chunk, backward one a step.
//
// Errors: calls return 0 or a negative errno, as in C, and throw nothing but what T throws. A
// container whose memory could not be had, or that was moved from, is empty for readers and answers
// -ENOMEM to writers, one whose configuration is invalid -EINVAL; operator bool tells.
//
//   lathwork::range_map<std::string> owners;
//   owners.insert({4096, 8192}, "journal");
//   if (auto who = owners.find(5000))
//       use(*who);
//   for (const auto& [where, value] : owners.overlapping(0, 1 << 20))
//       use(where.key, where.size, value);
//
// Cost of a boxed value: sizeof(T) + 24 bytes and one cache miss more.
#ifndef LATHWORK_CXX_INDEX_HPP
#define LATHWORK_CXX_INDEX_HPP

#if __cplusplus <= 201703L
#error "lathwork/cxx needs C++20: compile with -std=c++20"
#endif

#include "lathwork/cxx/items.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
#include <new>
#include <optional>
#include <ranges>
#include <span>
#include <type_traits>
#include <utility>

namespace lathwork {

namespace detail {

// The list with what its members need of the configuration.
struct handle {
    lath_index* list = nullptr;
    const lath_rcu* rcu = nullptr;
    const lath_allocator* allocator = nullptr;
    int error = -ENOMEM; // why there is no list, or no memory for a value

    explicit handle(const config& how)
        : list(new(std::nothrow) lath_index), rcu(how.rcu ? how.rcu : &lath_rcu_auto),
          allocator(how.allocator) {
        int ret = list ? lath_index_init(list, &how) : -ENOMEM;
        if (ret) {
            delete list;
            list = nullptr;
            error = ret;
        }
    }
    handle(handle&& other) noexcept
        : list(std::exchange(other.list, nullptr)), rcu(other.rcu), allocator(other.allocator),
          error(other.error) {}
    handle& operator=(handle&& other) noexcept {
        std::swap(list, other.list);
        std::swap(rcu, other.rcu);
        std::swap(allocator, other.allocator);
        std::swap(error, other.error);
        return *this;
    }
};

// A position among the items that start in [first, last].
template <typename Items>
class item_iterator {
public:
    using value_type = typename Items::value_type;
    using reference = typename Items::reference;
    using difference_type = std::ptrdiff_t;
    using iterator_concept = std::bidirectional_iterator_tag;
    using iterator_category = std::input_iterator_tag; // its references may be values

    struct arrow {
        reference shown;
        auto* operator->() { return std::addressof(shown); }
    };

    item_iterator() = default;
    // The end of [first, last].
    item_iterator(const handle& of, std::uint64_t first, std::uint64_t last)
        : list_(of.list), rcu_(of.rcu), first_(first), last_(last) {}

    reference operator*() const {
        return Items::give(*ahead_[at_]); // NOLINT(bugprone-unchecked-optional-access): not the end
    }
    arrow operator->() const { return {**this}; }
    item_iterator& operator++() {
        std::uint64_t shown = keys_[at_];
        if (++at_ < count_)
            return *this;
        if (shown >= last_)
            count_ = at_ = 0;
        else
            fill(shown + 1);
        return *this;
    }
    item_iterator operator++(int) {
        item_iterator old = *this;
        ++*this;
        return old;
    }
    // Before the first item it stays where it is.
    item_iterator& operator--() {
        if (at_ < count_ && at_ > 0) {
            --at_;
            return *this;
        }
        if (!list_ || (at_ < count_ && keys_[at_] == 0))
            return *this;
        std::uint64_t from = at_ < count_ ? keys_[at_] - 1 : last_;
        lath_item item;
        reader inside(rcu_);
        if (lath_index_floor_item(list_, from, &item) == 0 && item.key >= first_)
            take(&item, 1);
        return *this;
    }
    item_iterator operator--(int) {
        item_iterator old = *this;
        --*this;
        return old;
    }
    friend bool operator==(const item_iterator& a, const item_iterator& b) {
        bool a_ends = a.at_ >= a.count_, b_ends = b.at_ >= b.count_;
        return a_ends || b_ends ? a_ends == b_ends : a.keys_[a.at_] == b.keys_[b.at_];
    }

    // Where the item starts. Not at the end.
    std::uint64_t key() const { return keys_[at_]; }
    // Go to the first item that starts at or after key.
    void fill(std::uint64_t key) {
        std::array<lath_item, Items::chunk> items;
        std::uint64_t next;
        reader inside(rcu_); // boxes are copied before it ends
        take(items.data(), lath_index_scan(list_, key, last_, items.data(), items.size(), &next));
    }

private:
    void take(const lath_item* items, std::size_t n) {
        for (std::size_t i = 0; i < n; i++) {
            keys_[i] = items[i].key;
            ahead_[i].emplace(Items::show(items[i]));
        }
        count_ = static_cast<std::uint32_t>(n);
        at_ = 0;
    }

    lath_index* list_ = nullptr;
    const lath_rcu* rcu_ = nullptr;
    std::uint64_t first_ = 0, last_ = 0;
    std::uint32_t at_ = 0, count_ = 0; // the end: at_ == count_
    std::array<std::uint64_t, Items::chunk> keys_{};
    std::array<std::optional<typename Items::shown>, Items::chunk> ahead_{};
};

// The items that start in [first, last], as a view.
template <typename Items>
class item_view : public std::ranges::view_interface<item_view<Items>> {
public:
    using iterator = item_iterator<Items>;
    item_view() = default;
    item_view(const handle& of, std::uint64_t first, std::uint64_t last)
        : end_(of, first, last), first_(first), any_(of.list && first <= last) {}
    iterator begin() const {
        iterator it = end_;
        if (any_)
            it.fill(first_);
        return it;
    }
    iterator end() const { return end_; }

private:
    iterator end_;
    std::uint64_t first_ = 0;
    bool any_ = false;
};

// What all containers share: looking, stepping, counting.
template <typename Items>
class index {
public:
    using value_type = typename Items::value_type;
    using result =
        typename Items::result; // std::optional<value_type>; T* where objects are the caller's
    using iterator = item_iterator<Items>;
    using const_iterator = iterator;
    using view = item_view<Items>;

    explicit operator bool() const { return h_.list != nullptr; }
    lath_index* native() const { return h_.list; }
    const lath_rcu* rcu() const { return h_.rcu; }
    std::uint64_t size() const { return h_.list ? lath_index_count(h_.list) : 0; }
    bool empty() const { return size() == 0; }

    iterator begin() const { return view(h_, 0, UINT64_MAX).begin(); }
    iterator end() const { return view(h_, 0, UINT64_MAX).end(); }
    // The first item that starts at a key >= key / > key, or end().
    iterator lower_bound(std::uint64_t key) const {
        iterator at = end();
        if (h_.list)
            at.fill(key);
        return at;
    }
    iterator upper_bound(std::uint64_t key) const {
        return key == UINT64_MAX ? end() : lower_bound(key + 1);
    }

    // The item with the lowest key >= key, and the one with the highest key <= key.
    result ceiling(std::uint64_t key) const { return one(lath_index_ceiling_item, key); }
    result floor(std::uint64_t key) const { return one(lath_index_floor_item, key); }
    result first() const { return ceiling(0); }
    result last() const { return floor(UINT64_MAX); }

    // Order statistics, with config.flags LATH_RANKS (else -EINVAL, and no item): how many items
    // start below key, and how many in `keys`; the item that has so many items before it.
    std::int64_t rank(std::uint64_t key) const {
        return h_.list ? lath_index_rank(h_.list, key) : 0;
    }
    std::int64_t count(range keys) const {
        return h_.list && keys.size ? lath_index_count_range(h_.list, keys.key, keys.last()) : 0;
    }
    result select(std::uint64_t rank) const { return one(lath_index_select, rank); }
    bool contains(std::uint64_t point) const {
        std::uint64_t value;
        return h_.list && lath_index_get(h_.list, point, &value) != 0;
    }
    stats get_stats() const {
        stats s{};
        if (h_.list)
            lath_index_get_stats(h_.list, &s);
        return s;
    }
    // 0 or the number of the broken invariant. No writer may be at work.
    int verify(int level) const {
        return h_.list ? lath_index_verify(h_.list, level, nullptr, 0) : 0;
    }

protected:
    explicit index(const config& how) : h_(how) {}
    index(index&&) noexcept = default;
    index& operator=(index&&) noexcept = default;
    ~index() = default;

    static constexpr std::size_t step = 256; // elements of a batch per call of the index
    // out[i] = show(the item that covers points[i]), or nothing. Returns how many there were.
    template <typename Out, typename Show>
    std::size_t look_up(std::span<const std::uint64_t> points, std::span<std::optional<Out>> out,
                        Show show) const {
        std::array<lath_item, step> found;
        std::size_t n = std::min(points.size(), out.size()), hits = 0;
        for (std::size_t at = 0; at < n; at += step) {
            std::size_t part = std::min(step, n - at);
            reader inside(h_.rcu);
            if (h_.list)
                hits += lath_index_lookup_batch(h_.list, part, &points[at], found.data());
            for (std::size_t i = 0; i < part; i++) {
                out[at + i].reset();
                if (h_.list && found[i].size)
                    out[at + i].emplace(show(found[i]));
            }
        }
        return hits;
    }
    using finder = int (*)(lath_index*, std::uint64_t, lath_item*);
    result one(finder find, std::uint64_t at) const {
        lath_item item;
        reader inside(h_.rcu);
        if (!h_.list || find(h_.list, at, &item) != 0)
            return result{};
        return Items::show(item);
    }
    insert_result insert_item(range where, std::uint64_t value,
                              std::uint64_t* in_the_way = nullptr) {
        lath_item item{where.key, where.size, value}, there{};
        insert_result done;
        done.error = h_.list ? lath_index_insert_item(h_.list, &item, &there) : h_.error;
        if (done.error == -EEXIST) {
            done.there = {there.key, there.size};
            if (in_the_way)
                *in_the_way = there.value;
        }
        return done;
    }
    // Erase all that overlaps where, each()'d. Returns how many, or -EINVAL.
    std::int64_t erase_all(range where, lath_item_fn each, void* arg) {
        if (!h_.list)
            return where.size ? 0 : -EINVAL;
        return lath_index_erase_range(h_.list, where.key, where.size, each, arg);
    }
    void destroy(lath_item_fn each, void* arg) {
        if (h_.list)
            lath_index_fini(h_.list, each, arg);
        delete std::exchange(h_.list, nullptr);
    }
    void erase_everything(lath_item_fn each, void* arg) {
        if (h_.list)
            lath_index_clear(h_.list, each, arg);
    }

    handle h_;
};

// What the containers of ranges share.
template <typename Items>
class ranges : public index<Items> {
public:
    using typename index<Items>::view;

    // Items that overlap where, in order. O(log n) to begin, then as iteration.
    view overlapping(range where) const {
        lath_item item;
        if (!h_.list || lath_index_overlap_item(h_.list, where.key, where.size, &item) != 0)
            return {};
        return view(h_, item.key, where.last());
    }
    view overlapping(std::uint64_t first, std::uint64_t end) const {
        return overlapping(range::between(first, end));
    }
    // Change the size of the range that starts at key: 0 | -ENOENT | -EEXIST | -EINVAL | -ENOMEM
    int resize(std::uint64_t key, std::uint64_t size) {
        return h_.list ? lath_index_resize(h_.list, key, size) : h_.error;
    }

protected:
    using index<Items>::h_;
    explicit ranges(const config& how) : index<Items>(how) {}
};

template <typename T, typename Place>
using value_items =
    std::conditional_t<stored_directly<T>, direct_items<T, Place>, boxed_items<T, Place>>;

// What the maps share: they own values, in the index itself or in boxes. Base: index or ranges.
template <typename T, typename Base, typename Items>
class values : public Base {
protected:
    static constexpr bool direct = stored_directly<T>;
    using Base::step;
    using items = Items;
    using place = typename Items::place;
    using entry_type = typename place::entry_type;
    using Base::h_;

public:
    // A copy of the value of the entry that covers point.
    std::optional<T> find(std::uint64_t point) const {
        if constexpr (direct) {
            std::uint64_t word;
            if (!h_.list || !lath_index_get(h_.list, point, &word))
                return std::nullopt;
            return items::unpack(word);
        } else {
            std::optional<T> found;
            visit(point, [&](typename place::shown_as, const T& value) { found.emplace(value); });
            return found;
        }
    }
    // fn(range or key, const T&) on the value in place, in an RCU read-side critical section: fn
    // must not wait for a writer or for a grace period. Returns whether an entry covers point.
    template <typename Fn>
    bool visit(std::uint64_t point, Fn&& fn) const {
        lath_item item;
        reader inside(h_.rcu);
        if (!h_.list || lath_index_lookup_item_rcu(h_.list, point, &item) != 0)
            return false;
        if constexpr (direct) {
            const T value = items::unpack(item.value);
            fn(place::of(item), value);
        } else {
            fn(place::of(item), std::as_const(items::of(item.value)->value));
        }
        return true;
    }
    // Values of many points, with overlapped cache misses: out[i] belongs to points[i]. Looks up
    // min(points.size(), out.size()) points and returns how many it found.
    std::size_t find_batch(std::span<const std::uint64_t> points,
                           std::span<std::optional<T>> out) const {
        return Base::look_up(points, out,
                             [](const lath_item& item) { return items::show(item).value; });
    }
    // Inserts many; results[i] as insert's error for entries[i], or none. Returns how many went in.
    std::size_t insert_batch(std::span<const entry_type> entries, std::span<int> results = {})
        requires stored_directly<T>
    {
        std::array<lath_item, step> in;
        std::array<int, step> codes;
        std::size_t done = 0;
        for (std::size_t at = 0; at < entries.size(); at += step) {
            std::size_t part = std::min(step, entries.size() - at);
            for (std::size_t i = 0; i < part; i++) {
                range r = place::extent(entries[at + i]);
                in[i] = {r.key, r.size, items::pack(entries[at + i].value)};
            }
            codes.fill(h_.error);
            if (h_.list)
                done += lath_index_insert_batch(h_.list, part, in.data(), codes.data());
            for (std::size_t i = 0; i < part && at + i < results.size(); i++)
                results[at + i] = codes[i];
        }
        return done;
    }
    // Replaces the value of the entry that starts at key: 0 | -ENOENT | -ENOMEM
    int replace(std::uint64_t key, T value) {
        word_of made(*this, std::move(value));
        int error = made ? replace_word(key, made) : h_.error;
        destroy_some();
        return error;
    }
    // Erases the entry that starts at key. Returns whether there was one. Never allocates.
    bool erase(std::uint64_t key) { return gone(lath_index_erase_item, key); }
    // Erases what starts where the iterator is, and returns an iterator to the next entry.
    typename Base::iterator erase(typename Base::iterator at) {
        erase(at.key());
        return ++at;
    }
    // Erases every entry that overlaps where, one by one. Returns how many, or -EINVAL.
    std::int64_t erase_range(range where) {
        std::int64_t n = Base::erase_all(where, direct ? nullptr : retire_each, this);
        destroy_some();
        return n;
    }
    void clear() {
        Base::erase_everything(direct ? nullptr : keep_each, this);
        if constexpr (!direct)
            if (removed_)
                removed_->destroy_all();
    }
    // Waits for the readers and destroys every T that left the map before. Not in a section.
    void drain() {
        if constexpr (!direct) {
            if (!removed_)
                return;
            h_.rcu->drain();
            removed_->destroy_all();
        }
    }

protected:
    explicit values(const config& how) : Base(how) {
        if constexpr (!direct) {
            if (h_.list)
                removed_.reset(new (std::nothrow) removed_values<T>(how.allocator));
            if (!removed_)
                Base::destroy(nullptr, nullptr);
        }
    }
    values(values&&) noexcept = default;
    values& operator=(values&& other) noexcept {
        if (this != &other) {
            finish();
            Base::operator=(std::move(other));
            removed_ = std::move(other.removed_);
        }
        return *this;
    }
    // Waits for the readers, and destroys every T.
    ~values() { finish(); }

    // A value as the index's word. Owns its box until the index has it. False: no memory.
    class word_of {
    public:
        word_of(const values& of, T&& value) {
            if constexpr (direct)
                word_ = items::pack(value);
            else
                box_ = of.removed_ ? of.removed_->make(std::move(value)) : nullptr;
            usable_ = of.h_.list && (direct || box_);
        }
        ~word_of() {
            if (box_)
                box_->owner->destroy(box_);
        }
        word_of(const word_of&) = delete;
        word_of& operator=(const word_of&) = delete;
        explicit operator bool() const { return usable_; }
        std::uint64_t get() const {
            if constexpr (direct)
                return word_;
            else
                return items::word(box_);
        }
        // Returns `error`; if it is 0 the index has the word.
        int taken_if(int error) {
            if (error == 0)
                box_ = nullptr;
            return error;
        }

    private:
        box<T>* box_ = nullptr;
        std::uint64_t word_ = 0;
        bool usable_ = false;
    };

    insert_result insert_value(range where, T value) {
        word_of made(*this, std::move(value));
        return made ? insert_word(where, made) : insert_result{h_.error, {}};
    }
    insert_result insert_word(range where, word_of& made) {
        insert_result done = Base::insert_item(where, made.get());
        made.taken_if(done.error);
        return done;
    }
    int replace_word(std::uint64_t key, word_of& made) {
        lath_item old;
        int error = made.taken_if(
            lath_index_replace_item(h_.list, key, made.get(), direct ? nullptr : &old));
        if (!direct && error == 0)
            retire(old);
        return error;
    }
    bool gone(int (*take)(lath_index*, std::uint64_t, lath_item*), std::uint64_t at) {
        lath_item old;
        if (!h_.list || take(h_.list, at, &old) != 0)
            return false;
        retire(old);
        destroy_some();
        return true;
    }

    void retire(const lath_item& item) {
        if constexpr (!direct)
            removed_->retire(h_.rcu, items::of(item.value));
    }
    // A call that may retire a value ends with this, outside sections.
    void destroy_some() {
        if constexpr (!direct)
            if (removed_)
                removed_->destroy_some();
    }

private:
    static void retire_each(void* self, const lath_item* item) {
        static_cast<values*>(self)->retire(*item);
    }
    static void keep_each(void* self, const lath_item* item) {
        if constexpr (!direct)
            static_cast<values*>(self)->removed_->keep(items::of(item->value));
    }
    // The values are destroyed when the index is gone: ~T may end another one.
    void finish() {
        if (!h_.list)
            return;
        Base::destroy(direct ? nullptr : keep_each, this);
        if constexpr (!direct) {
            h_.rcu->drain();
            removed_.reset();
        }
    }

    boxes_of<T> removed_;
};

} // namespace detail

// Ranges, each with a T. Do not destroy it in a read-side critical section: that waits for readers.
template <typename T>
class range_map
    : public detail::values<T, detail::ranges<detail::value_items<T, detail::at_range<T>>>,
                            detail::value_items<T, detail::at_range<T>>> {
    using base = typename range_map::values;
    using items = typename base::items;
    using base::h_;

public:
    explicit range_map(const config& how = default_config()) : base(how) {}

    // 0 | -EEXIST, with one range that overlaps | -EINVAL (size 0, past 2^64) | -ENOMEM
    insert_result insert(range where, T value) {
        return base::insert_value(where, std::move(value));
    }
    // find() with the range.
    std::optional<entry<T>> find_entry(std::uint64_t point) const {
        return base::one(lath_index_lookup_item, point);
    }
    // Cut the range that covers `at`; the right part starts there and has `value`:
    // 0 | -ENOENT | -EEXIST (a range starts at `at`) | -ENOMEM
    int split(std::uint64_t at, T value) {
        typename base::word_of made(*this, std::move(value));
        return made ? made.taken_if(lath_index_split(h_.list, at, made.get())) : h_.error;
    }
    // Join the range that ends right before `at` with the one that starts there: the left one
    // covers both and keeps its value. may_join(const T& left, const T& right) is asked first,
    // while the map is locked there: it must not call the map. Atomic, and never allocates. 0 |
    // -ENOENT (no two ranges meet at `at`) | -ECANCELED (may_join returned false)
    template <typename MayJoin>
    int join(std::uint64_t at, MayJoin&& may_join) {
        lath_item gone;
        int error = h_.list ? lath_index_join(h_.list, at, asked<MayJoin>, address(may_join), &gone)
                            : -ENOENT;
        if (error == 0)
            base::retire(gone);
        base::destroy_some();
        return error;
    }
    // Put value on `where` whatever is there: covered ranges go, partly covered ones are cut.
    // Atomic. 0 | -EINVAL | -ENOMEM. (Both parts of a range cut in two keep its value, so boxes,
    // which have one owner, have no such call.)
    int store_range(range where, const T& value)
        requires stored_directly<T>
    {
        lath_item item{where.key, where.size, items::pack(value)};
        return h_.list ? lath_index_store_range(h_.list, &item, nullptr, nullptr) : h_.error;
    }
    // Erase the range that covers point. Never allocates.
    bool erase_at(std::uint64_t point) { return base::gone(lath_index_erase_item_at, point); }

private:
    template <typename Fn>
    static void* address(Fn& fn) {
        return const_cast<void*>(static_cast<const void*>(std::addressof(fn)));
    }
    template <typename Fn>
    static int asked(void* fn, const lath_item* left, const lath_item* right) {
        auto& may_join = *static_cast<std::remove_reference_t<Fn>*>(fn);
        if constexpr (base::direct)
            return may_join(items::unpack(left->value), items::unpack(right->value)) ? 1 : 0;
        else
            return may_join(std::as_const(items::of(left->value)->value),
                            std::as_const(items::of(right->value)->value))
                       ? 1
                       : 0;
    }
};

class range_set : public detail::ranges<detail::bare_items> {
    using base = detail::ranges<detail::bare_items>;

public:
    explicit range_set(const config& how = default_config()) : base(how) {}
    range_set(range_set&&) noexcept = default;
    range_set& operator=(range_set&& other) noexcept {
        if (this != &other) {
            destroy(nullptr, nullptr);
            base::operator=(std::move(other));
        }
        return *this;
    }
    ~range_set() { destroy(nullptr, nullptr); }

    // As range_map<T>, without values.
    insert_result insert(range where) { return insert_item(where, 0); }
    std::optional<range> find(std::uint64_t point) const {
        return one(lath_index_lookup_item, point);
    }
    std::size_t find_batch(std::span<const std::uint64_t> points,
                           std::span<std::optional<range>> out) const {
        return look_up(points, out, detail::bare_items::show);
    }
    int store_range(range where) {
        lath_item item{where.key, where.size, 0};
        return h_.list ? lath_index_store_range(h_.list, &item, nullptr, nullptr) : h_.error;
    }
    int split(std::uint64_t at) { return h_.list ? lath_index_split(h_.list, at, 0) : h_.error; }
    bool erase(std::uint64_t key) {
        return h_.list && lath_index_erase_item(h_.list, key, nullptr) == 0;
    }
    iterator erase(iterator at) {
        erase(at.key());
        return ++at;
    }
    bool erase_at(std::uint64_t point) {
        return h_.list && lath_index_erase_item_at(h_.list, point, nullptr) == 0;
    }
    std::int64_t erase_range(range where) { return erase_all(where, nullptr, nullptr); }
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
    struct inserted {
        int error = 0;
        T* in_the_way = nullptr;
        explicit operator bool() const { return error == 0; }
    };

    explicit intrusive_range_set(const config& how = default_config()) : base(how) {}
    intrusive_range_set(intrusive_range_set&&) noexcept = default;
    intrusive_range_set& operator=(intrusive_range_set&& other) noexcept {
        if (this != &other) {
            base::destroy(nullptr, nullptr);
            base::operator=(std::move(other));
        }
        return *this;
    }
    ~intrusive_range_set() { base::destroy(nullptr, nullptr); }

    // A reader for the length of a scope.
    detail::reader read() const { return detail::reader(h_.rcu); }

    inserted insert(T& object) {
        std::uint64_t there = 0;
        const lath_slot& slot = object.*Slot;
        inserted done;
        done.error = base::insert_item({slot.key, slot.size}, items::word(&object), &there).error;
        done.in_the_way = items::of(there);
        return done;
    }
    T* find(std::uint64_t point) const { return base::one(lath_index_lookup_item, point); }
    // The object that covers point, with a reference: pin(T&) takes it, or returns false if the
    // object is about to go; unpin(T&) gives it back if the object left meanwhile. The rules are
    // those of lath_index_lookup_pin(). nullptr: there is none, or it was refused.
    template <typename Pin, typename Unpin>
    T* find_pinned(std::uint64_t point, Pin&& pin, Unpin&& unpin) const {
        std::pair<std::remove_reference_t<Pin>*, std::remove_reference_t<Unpin>*> calls{
            std::addressof(pin), std::addressof(unpin)};
        using pair = decltype(calls);
        lath_pin how{};
        how.pin = [](void* arg, const lath_item* item) -> int {
            return (*static_cast<pair*>(arg)->first)(*items::of(item->value)) ? 1 : 0;
        };
        how.unpin = [](void* arg, const lath_item* item) {
            (*static_cast<pair*>(arg)->second)(*items::of(item->value));
        };
        how.arg = &calls;
        lath_item found;
        bool there = h_.list && lath_index_lookup_pin(h_.list, point, &how, &found) == 0;
        return there ? items::of(found.value) : nullptr;
    }
    // The object that left, or nullptr.
    T* erase(std::uint64_t key) { return base::one(lath_index_erase_item, key); }
    T* erase_at(std::uint64_t point) { return base::one(lath_index_erase_item_at, point); }
    // Change an object's size in the set and in its slot.
    int resize(T& object, std::uint64_t size) {
        int error = base::resize((object.*Slot).key, size);
        if (error == 0)
            (object.*Slot).size = size;
        return error;
    }
    // fn(T&) on each object that overlapped where, after it left. Returns how many, or -EINVAL.
    template <typename Fn>
    std::int64_t erase_range(range where, Fn&& fn) {
        return base::erase_all(where, each<Fn>, address(fn));
    }
    // fn(T&) on each object, after it left.
    template <typename Fn>
    void clear(Fn&& fn) {
        base::erase_everything(each<Fn>, address(fn));
    }

private:
    template <typename Fn>
    static void* address(Fn& fn) {
        return const_cast<void*>(static_cast<const void*>(std::addressof(fn)));
    }
    template <typename Fn>
    static void each(void* fn, const lath_item* item) {
        (*static_cast<std::remove_reference_t<Fn>*>(fn))(*items::of(item->value));
    }
};

} // namespace lathwork

template <typename Items>
inline constexpr bool std::ranges::enable_borrowed_range<lathwork::detail::item_view<Items>> = true;

#endif // LATHWORK_CXX_INDEX_HPP
