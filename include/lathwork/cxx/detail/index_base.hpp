// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// lathwork/cxx/detail/index_base.hpp - what the containers of index.hpp have in common: the index,
// its iterators and views, looking and stepping.
//
// index.hpp includes it; a program has no reason to do so itself.
//
//   lathwork::range_set ranges;
//   for (lathwork::range where : ranges.overlapping(0, 100))
//       use(where.first(), where.end());
//
// Errors: calls return a result or nothing.
#ifndef LATHWORK_CXX_DETAIL_INDEX_BASE_HPP
#define LATHWORK_CXX_DETAIL_INDEX_BASE_HPP

#include "lathwork/cxx/items.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <utility>

namespace lathwork {

namespace detail {

struct list_end {
    void operator()(lath_index* list) const {
        uncancelled end;
        lath_index_fini(list, nullptr, nullptr);
        delete list;
    }
};
// Owns a list, and is a pointer to it for the C calls.
struct list_owner : std::unique_ptr<lath_index, list_end> {
    operator lath_index*() const { return get(); }
};

// The list with what its members need of the configuration.
struct handle {
    list_owner list;
    config how;
    int error = -ENOMEM; // why there is no list, or no memory for a value

    handle(const config& with, std::size_t value_size) : how(with) {
        how.value_size = value_size;
        std::unique_ptr<lath_index> made(new (std::nothrow) lath_index);
        int ret = made ? lath_index_init(made.get(), &how) : -ENOMEM;
        if (ret)
            error = ret;
        else
            list.reset(made.release());
    }
    const lath_rcu* rcu() const { return how.rcu ? how.rcu : &lath_rcu_auto; }
};

// A position among the items that start in [first, last].
template <typename Items>
class item_iterator {
public:
    using value_type = typename Items::value_type;
    using reference = typename Items::reference;
    using difference_type = std::ptrdiff_t;
    using iterator_concept = std::bidirectional_iterator_tag;
    using iterator_category = older_category;

    using pointer = decltype(Items::address(std::declval<const typename Items::shown&>()));

    item_iterator() = default;
    // The end of [first, last].
    item_iterator(const handle& of, std::uint64_t first, std::uint64_t last)
        : list_(of.list), rcu_(of.rcu()), first_(first), last_(last) {}

    reference operator*() const { return Items::give(ahead_->item); }
    pointer operator->() const { return Items::address(ahead_->item); }
    item_iterator& operator++() {
        if (ahead_.at_end())
            step_beyond_the_end();
        std::uint64_t shown = key();
        if (ahead_.next())
            return *this;
        ahead_.clear();
        if (shown < last_)
            fill(shown + 1);
        return *this;
    }
    item_iterator operator++(int) { return step_after(*this); }
    // Before the first item it stays where it is.
    item_iterator& operator--() {
        step_back();
        return *this;
    }
    // Returns whether there was an item before.
    bool step_back() {
        if (ahead_.previous())
            return true;
        if (!list_ || (!ahead_.at_end() && key() == 0))
            return false;
        std::uint64_t from = ahead_.at_end() ? last_ : key() - 1;
        taken_item<typename Items::word> to;
        reader inside(rcu_);
        const bool any = lath_index_floor_item(list_, from, &to.item) == 0 && to.item.key >= first_;
        if (any)
            take(&to.item, 1);
        return any;
    }
    item_iterator operator--(int) { return step_back_after(*this); }
    // Of positions: two items with one key are equal.
    friend bool operator==(const item_iterator& a, const item_iterator& b) {
        bool a_ends = a.ahead_.at_end(), b_ends = b.ahead_.at_end();
        return a_ends || b_ends ? a_ends == b_ends : a.key() == b.key();
    }
    // Whether a shows an item before the position of b; the item of b may have left.
    friend bool operator<(const item_iterator& a, const item_iterator& b) {
        return !a.ahead_.at_end() && (b.ahead_.at_end() ? a.key() <= b.last_ : a.key() < b.key());
    }

    // Where the item starts. Not at the end.
    std::uint64_t key() const { return ahead_->key; }
    // Go to the first item.
    void begin() { fill(first_); }
    // Go to the first item that starts at or after key.
    void fill(std::uint64_t key) {
        taken_items<typename Items::word, Items::chunk> to;
        std::uint64_t next;
        reader inside(rcu_); // boxes are copied before it ends
        take(to.items.data(),
             lath_index_scan(list_, key, last_, to.items.data(), to.items.size(), &next));
    }

private:
    struct kept {
        std::uint64_t key;
        typename Items::shown item;
    };
    void take(const lath_item* items, std::size_t n) {
        ahead_.fill(n, [&](std::size_t i) { return kept{items[i].key, Items::show(items[i])}; });
    }

    lath_index* list_ = nullptr;
    const lath_rcu* rcu_ = nullptr;
    std::uint64_t first_ = 0, last_ = 0;
    read_ahead<kept, Items::chunk> ahead_;
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
    using reverse_iterator = std::reverse_iterator<iterator>;
    using const_reverse_iterator = reverse_iterator;
    using view = view_of<iterator>;

    // 0 | -EINVAL: the configuration | -ENOMEM, also of a container that was moved from. Unless it
    // is 0 the container is empty for readers, and writers get this error.
    int error() const { return h_.list ? 0 : h_.error; }
    explicit operator bool() const { return h_.list != nullptr; }
    lath_index* native() const { return h_.list; }
    const lath_rcu* rcu() const { return h_.rcu(); }
    const config& get_config() const { return h_.how; }
    std::uint64_t size() const { return h_.list ? lath_index_count(h_.list) : 0; }
    bool empty() const { return size() == 0; }

    iterator begin() const { return between(0, UINT64_MAX).begin(); }
    iterator end() const { return iterator(h_, 0, UINT64_MAX); }
    iterator cbegin() const { return begin(); }
    iterator cend() const { return end(); }
    reverse_iterator rbegin() const { return reverse_iterator(end()); }
    reverse_iterator rend() const { return {end(), std::default_sentinel}; }
    reverse_iterator crbegin() const { return rbegin(); }
    reverse_iterator crend() const { return rend(); }
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
    // The item that covers key, if there is one: as many as count(key) says.
    std::pair<iterator, iterator> equal_range(std::uint64_t key) const {
        iterator above = upper_bound(key);
        lath_item item{};
        if (h_.list && lath_index_lookup_item(h_.list, key, &item) == 0)
            return {lower_bound(item.key), above};
        return {above, above};
    }

    // The item with the lowest key >= key, and the one with the highest key <= key.
    result ceiling(std::uint64_t key) const { return one(lath_index_ceiling_item, key); }
    result floor(std::uint64_t key) const { return one(lath_index_floor_item, key); }
    result first() const { return ceiling(0); }
    result last() const { return floor(UINT64_MAX); }

    // Order statistics, with config.flags LATH_RANKS (else -EINVAL, and no item): how many items
    // start below key, and how many in `keys`; the item that has this many items before it.
    std::int64_t rank(std::uint64_t key) const {
        return h_.list ? lath_index_rank(h_.list, key) : 0;
    }
    std::int64_t count(range keys) const {
        return h_.list && keys.size ? lath_index_count_range(h_.list, keys.key, keys.last()) : 0;
    }
    result select(std::uint64_t rank) const { return one(lath_index_select, rank); }
    // Whether a range covers point; 1 or 0.
    std::uint64_t count(std::uint64_t point) const { return contains(point) ? 1 : 0; }
    bool contains(std::uint64_t point) const {
        typename Items::word value;
        return h_.list && lath_index_get(h_.list, point, words_of(value)) != 0;
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
    explicit index(const config& how) : h_(how, sizeof(typename Items::word)) {}
    index(index&&) noexcept = default;
    index& operator=(index&&) noexcept = default;
    ~index() = default;

    // The items that start in [first, last].
    view between(std::uint64_t first, std::uint64_t last) const {
        return {iterator(h_, first, last), h_.list && first <= last};
    }
    static constexpr std::size_t step = 256; // elements of a batch per call of the index
    // out[i] = show(the item that covers points[i]), or nothing. Returns how many there were.
    template <typename Out, typename Show>
    std::size_t look_up(std::span<const std::uint64_t> points, std::span<std::optional<Out>> out,
                        Show show) const {
        taken_items<typename Items::word, step> to;
        auto& found = to.items;
        std::size_t n = std::min(points.size(), out.size()), hits = 0;
        for (std::size_t at = 0; at < n; at += step) {
            std::size_t part = std::min(step, n - at);
            reader inside(h_.rcu());
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
        taken_item<typename Items::word> to;
        reader inside(h_.rcu());
        if (!h_.list || find(h_.list, at, &to.item) != 0)
            return result{};
        return Items::show(to.item);
    }
    insert_result insert_item(range where, std::uint64_t value,
                              std::uint64_t* in_the_way = nullptr) {
        lath_item item{where.key, where.size, value}, there{};
        insert_result done;
        done.error = h_.list ? lath_index_insert_item(h_.list, &item, &there) : h_.error;
        if (done.error == -EEXIST) {
            done.there = range::sized(there.key, there.size);
            if (in_the_way)
                *in_the_way = there.value;
        }
        return done;
    }
    // Erase all that overlaps where, each()'d. Returns how many.
    std::uint64_t erase_all(range where, lath_item_fn each, void* arg) {
        if (!h_.list || where.size == 0)
            return 0;
        return static_cast<std::uint64_t>(
            lath_index_erase_range(h_.list, where.key, where.size, each, arg));
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
        lath_item item{};
        if (!h_.list || lath_index_overlap_item(h_.list, where.key, where.size, &item) != 0)
            return {};
        return this->between(item.key, where.last());
    }
    view overlapping(std::uint64_t first, std::uint64_t end) const {
        return overlapping(range::between(first, end));
    }
    // Let the range that starts at first have this many keys: 0 | -ENOENT | -EEXIST | -EINVAL |
    // -ENOMEM
    lathwork::result resize(std::uint64_t first, std::uint64_t size) {
        return {h_.list ? lath_index_resize(h_.list, first, size) : h_.error};
    }

protected:
    using index<Items>::h_;
    explicit ranges(const config& how) : index<Items>(how) {}
};

} // namespace detail

} // namespace lathwork

#endif // LATHWORK_CXX_DETAIL_INDEX_BASE_HPP
