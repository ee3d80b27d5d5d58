// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// lathwork/cxx/point_map.hpp - an ordered map that threads share without a lock around it.
//
//   lathwork::point_map<std::uint64_t, session> sessions;
//   lathwork::point_map<std::string, int, std::greater<>> stock; // in descending order
//
//   sessions.insert_or_assign(7, session("anna"));
//   if (auto at = sessions.find(7)) // an iterator; or: at != sessions.end()
//       use(at->second);
//   {
//       lathwork::read_section inside(sessions); // nothing found in it is destroyed before its end
//       if (auto who = sessions.find(inside, 7)) // in place
//           use(*who);
//   }
//   // find, check and change in one step
//   sessions.update(7, [](const session& s) { return s.renewed(); });
//   if (auto old = sessions.erase(7)) // what was there
//       log(*old);
//   for (const auto& [id, who] : sessions.within(100, 200))
//       use(id, who);
//
// Keys: all that have a code (lathwork/cxx/key_code.hpp), in the order of std::less or
// std::greater.
//
// A value does not change while it is in the map: update() and the assignments put another one in
// its place. So at() copies, iterators show what they have read, and m[key] is a place that is read
// by copying and written by `=` and, as one step, by `+=` and its like. What `*it` and `it->` refer
// to stays until the iterator moves, whoever erases it.
//
// Errors: calls return a result with 0 or a negative errno, and have changed nothing if it is not
// 0. Calls that return no result throw: std::bad_alloc without memory, at() std::out_of_range;
// where exceptions are off they abort.
// Threads and sections are those of index.hpp. Differences from std::map are in doc/cxx.md.
#ifndef LATHWORK_CXX_POINT_MAP_HPP
#define LATHWORK_CXX_POINT_MAP_HPP

#include "lathwork/cxx/detail/container.hpp"
#include "lathwork/cxx/detail/table.hpp"

#include <algorithm>
#include <compare>
#include <concepts>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <tuple>

namespace lathwork {

template <typename K, typename V, typename Compare = std::less<K>>
class point_map;

namespace detail {

// Where the value of a key is, or belongs: what map[key] returns. It is used at once: one that is
// kept, `auto x = map[key]`, has no use that compiles.
template <typename K, typename V, typename Compare>
class map_place {
    using Map = point_map<K, V, Compare>;
    static constexpr bool is_tested = std::is_class_v<V> && std::constructible_from<bool, V>;

public:
    map_place(const map_place&) = delete;
    // A copy of the value; V() is inserted if the key is not there. A reference into the map does
    // not exist: other threads may erase the key at any time.
    operator V() && { return read(); } // NOLINT(google-explicit-constructor): as a V& is one
    explicit operator bool() &&
        requires is_tested
    {
        return static_cast<bool>(read());
    }
    const V get() && { return read(); } // NOLINT(readability-const-return-type)
    V operator->() && { return read(); }
    decltype(auto) operator*() &&
        requires requires(V v) { *v; }
    {
        return *read();
    }
    template <typename... Args>
        requires std::invocable<const V&, Args...>
    decltype(auto) operator()(Args&&... args) && {
        const V fn = read();
        return std::invoke(fn, std::forward<Args>(args)...);
    }
    // These throw std::bad_alloc without memory.
    map_place&& operator=(V value) && {
        must(map_.insert_or_assign(key_, std::move(value)));
        return std::move(*this);
    }
    map_place&& operator=(map_place&& other) && { return std::move(*this) = other.read(); }
    ~map_place() = default;
    // One step each: of several threads that add, none is lost. A key that is not there has V().
    map_place&& operator+=(const auto& by) && { return change(std::plus<>(), by); }
    map_place&& operator-=(const auto& by) && { return change(std::minus<>(), by); }
    map_place&& operator|=(const auto& by) && { return change(std::bit_or<>(), by); }
    map_place&& operator&=(const auto& by) && { return change(std::bit_and<>(), by); }
    map_place&& operator^=(const auto& by) && { return change(std::bit_xor<>(), by); }
    map_place&& operator*=(const auto& by) && { return change(std::multiplies<>(), by); }
    map_place&& operator/=(const auto& by) && { return change(std::divides<>(), by); }
    map_place&& operator%=(const auto& by) && { return change(std::modulus<>(), by); }
    map_place&& operator<<=(const auto& by) && {
        return change([](const V& v, const auto& n) { return v << n; }, by);
    }
    map_place&& operator>>=(const auto& by) && {
        return change([](const V& v, const auto& n) { return v >> n; }, by);
    }
    map_place&& operator++() && { return change(std::plus<>(), 1); }
    map_place&& operator--() && { return change(std::minus<>(), 1); }
    // These return the value before the step.
    V operator++(int) && { return before(std::plus<>(), 1); }
    V operator--(int) && { return before(std::minus<>(), 1); }
    V exchange(const V& by) && {
        return before([](const V&, const V& next) { return next; }, by);
    }
    // Of texts and the like; numbers convert.
    template <typename U>
        requires(!std::is_arithmetic_v<V>)
    friend bool operator==(map_place&& a, U&& b) {
        return a.read() == value_of(std::forward<U>(b));
    }
    template <typename U>
        requires(std::three_way_comparable<V> && !std::is_arithmetic_v<V>)
    friend auto operator<=>(map_place&& a, U&& b) {
        return a.read() <=> value_of(std::forward<U>(b));
    }
    template <typename U>
        requires(std::is_class_v<V>)
    friend V operator+(map_place&& a, U&& b) {
        return a.read() + value_of(std::forward<U>(b));
    }
    template <typename Out>
    friend auto operator<<(Out& out, map_place&& at) -> decltype(out << std::declval<const V&>()) {
        return out << at.read();
    }
    template <typename In>
    friend auto operator>>(In& in, map_place&& at) -> decltype(in >> std::declval<V&>()) {
        V value = at.read();
        in >> value;
        std::move(at) = std::move(value);
        return in;
    }

private:
    friend Map;
    map_place(Map& map, K&& key) : map_(map), key_(std::move(key)) {}
    V read() const {
        auto in = map_.try_emplace(key_);
        if (in.error != -EEXIST)
            must(in);
        return in.first->second;
    }
    map_place&& change(auto op, const auto& by) {
        auto fn = [&](const V& v) { return static_cast<V>(op(v, by)); };
        must(map_.update(key_, fn, fn(V())));
        return std::move(*this);
    }
    // The value before the step.
    V before(auto op, const auto& by) {
        std::optional<V> old;
        auto change = [&](const V& v) { return static_cast<V>(op(old.emplace(v), by)); };
        must(map_.update_or_insert(key_, change, [&] { return change(V()); }));
        return *std::move(old);
    }
    static const auto& value_of(const auto& other) { return other; }
    static V value_of(map_place&& other) { return other.read(); }
    Map& map_;
    K key_;
};

} // namespace detail

// What an insertion did; `auto [at, fresh] = map.insert(...)`. `first` shows the entry of the key;
// it is at the end if there is an error other than -EEXIST. `second`: whether there is a new entry.
// `old`: the value that another replaced.
template <typename It, typename Old>
struct insertion : result, std::pair<It, bool> {
    Old old{};
};

// A key and a value that are in no map: what extract() hands back.
template <typename K, typename V>
class map_node {
public:
    using key_type = K;
    using mapped_type = V;
    map_node() = default;
    map_node(map_node&& other) noexcept : entry_(std::move(other.entry_)) { other.entry_.reset(); }
    map_node& operator=(map_node&& other) noexcept {
        swap(other);
        other.entry_.reset();
        return *this;
    }
    ~map_node() = default;
    bool empty() const { return !entry_; }
    explicit operator bool() const { return !empty(); }
    // Not of an empty one.
    K& key() const { return const_cast<K&>(entry_->first); }
    V& mapped() const { return const_cast<V&>(entry_->second); }
    void swap(map_node& other) noexcept { std::swap(entry_, other.entry_); }
    friend void swap(map_node& a, map_node& b) noexcept { a.swap(b); }

private:
    template <typename, typename, typename>
    friend class point_map;
    std::optional<std::pair<K, V>> entry_;
};

template <typename K, typename V, typename Compare>
class point_map
    : public detail::ordered<typename detail::table_of<K, std::remove_const_t<V>, Compare>::type> {
    using table = typename detail::table_of<K, std::remove_const_t<V>, Compare>::type;
    using base = detail::ordered<table>;
    using typename base::code;
    using typename base::found;
    using typename base::key_arg;
    using made = typename table::made;
    using in_place = detail::item_iterator<table, std::false_type>;
    using base::changes;
    using base::get;
    using base::how_;
    using base::inserts;
    using base::look_up;

public:
    using key_type = K;
    using mapped_type = V;
    using typename base::value_type;
    using key_compare = Compare;
    using base::update;
    using typename base::iterator;
    using typename base::removed_value;
    using typename base::size_type;
    using typename base::view;
    // What insertions return: `auto [at, fresh]`; error: 0 | -EEXIST: the key is there | -ENOMEM |
    // -E2BIG: a key of more than 1 GiB. Nothing is inserted unless it is 0.
    using inserted = insertion<iterator, removed_value>;
    using node_type = map_node<K, V>;
    using place = detail::map_place<K, V, Compare>;
    struct insert_return_type {
        iterator position{};
        bool inserted = false;
        node_type node{};
        explicit operator bool() const { return inserted; }
    };
    struct value_compare {
        bool operator()(const value_type& a, const value_type& b) const {
            return Compare{}(a.first, b.first);
        }
    };

    // An empty map; it takes memory at its first use, or with a configuration now: error() tells
    // whether there was any. The allocator stays where it is as long as the map.
    point_map() noexcept : base(default_config(), false) {}
    explicit point_map(const config& how) : base(how, true) {}
    // The calls below that return no result throw std::bad_alloc without memory (where exceptions
    // are off they abort): these constructors, assignments of maps, and those to places.
    point_map(std::initializer_list<value_type> entries, const config& how = default_config())
        : point_map(entries.begin(), entries.end(), how) {}
    template <std::input_iterator It, std::sentinel_for<It> End>
    point_map(It from, End to, const config& how = default_config()) : point_map(how) {
        detail::must({this->error()});
        detail::must(insert(std::move(from), std::move(to)));
    }
    // Reads `other` as an iterator does: other threads may change it during the call.
    point_map(const point_map& other) : point_map() {
        how_ = other.how_;
        const table* from = other.get();
        if (!from)
            return;
        if constexpr (table::direct) {
            this->own(new (std::nothrow) table(how_, from->native()));
            detail::must({this->error()});
        } else {
            read_section inside(other);
            for (const auto& [key, value] : other.in(inside))
                detail::must(add(key, value));
        }
    }
    // What was moved from is empty, as if it had been made with the same configuration.
    point_map(point_map&&) noexcept = default;
    point_map& operator=(const point_map& other) {
        if (this != &other)
            *this = point_map(other);
        return *this;
    }
    point_map& operator=(point_map&&) noexcept = default;
    point_map& operator=(std::initializer_list<value_type> entries) {
        return *this = point_map(entries, how_);
    }
    // Waits for the readers, and destroys every value: not in a section.
    ~point_map() = default;
    void swap(point_map& other) noexcept { this->exchange(other); }
    friend void swap(point_map& a, point_map& b) noexcept { a.swap(b); }

    key_compare key_comp() const { return {}; }
    value_compare value_comp() const { return {}; }

    // ---- reading ----

    // An iterator to the entry of the key, or end(); it converts to bool.
    iterator find(key_arg key) const {
        iterator at = this->end();
        if (const table* in = get())
            at.find(in->code_of(key));
        return at;
    }
    using base::find; // in a section
    // fn(const V&), in a section: fn must not wait for readers. Returns whether the key is there.
    template <typename Fn>
    bool visit(key_arg key, Fn&& fn) const {
        found f;
        detail::reader inside(this->rcu());
        if (!look_up(key, f))
            return false;
        const auto& value = table::value_of(f.word);
        fn(value);
        return true;
    }
    // A copy of the value. Without the key it throws std::out_of_range.
    const V at(key_arg key) const { // NOLINT(readability-const-return-type): m.at(k) = v is wrong
        static_assert(std::is_copy_constructible_v<V>,
                      "lathwork: at(key) copies; for a value that only moves say find(key)->second "
                      "or visit(key, fn)");
        std::optional<V> value;
        visit(key, [&](const V& v) { value.emplace(v); });
        return detail::found_or_throw(std::move(value), "lathwork::point_map::at: no such key");
    }
    // The place of a key. Reading it inserts V() if the key is not there, as std::map's does.
    place operator[](key_arg key) { return place(*this, K(key)); }
    bool contains(key_arg key) const {
        found f;
        detail::reader inside(this->rcu());
        return look_up(key, f);
    }
    size_type count(key_arg key) const { return contains(key) ? 1 : 0; }
    // Values of many keys, with overlapped cache misses: out[i] belongs to keys[i]. Looks up
    // min(keys.size(), out.size()) keys and returns how many it found.
    std::size_t find_batch(std::span<const K> keys, std::span<std::optional<V>> out) const {
        std::size_t n = std::min(keys.size(), out.size()), hits = 0;
        for (std::size_t at = 0; at < n; at += table::step) {
            std::size_t part = std::min(table::step, n - at);
            for (std::size_t i = 0; i < part; i++)
                out[at + i].reset();
            detail::reader inside(this->rcu());
            if (const table* in = get())
                in->get_batch(keys.subspan(at, part),
                              [&](std::size_t i, bool there, const typename table::word& word) {
                                  if (there)
                                      out[at + i].emplace(table::value_of(word));
                                  hits += there;
                              });
        }
        return hits;
    }
    std::pair<iterator, iterator> equal_range(key_arg key) const {
        return {this->lower_bound(key), this->upper_bound(key)};
    }
    // The entries with keys in [first, end), in order.
    view within(K first, K end) const {
        const bool any = Compare{}(first, end);
        return this->template between<iterator>(any, {std::move(first), std::move(end)});
    }

    // All entries / those with keys in [first, end), in order and in place: what is shown stays to
    // the end of the section. This takes less time than an iterator that keeps what it shows.
    auto in(const read_section& /*inside*/) const {
        return this->template between<in_place>(true, {});
    }
    auto in(const read_section& /*inside*/, K first, K end) const {
        const bool any = Compare{}(first, end);
        return this->template between<in_place>(any, {std::move(first), std::move(end)});
    }

    // ---- changing ----

    template <typename Pair = value_type>
        requires std::constructible_from<std::pair<K, V>, Pair&&>
    inserted insert(Pair&& entry) {
        return add(std::forward<Pair>(entry));
    }
    inserted insert(key_arg key, V value) { return try_add(key, std::move(value)); }
    // A hint saves nothing. Throws std::bad_alloc without memory.
    template <typename Pair = value_type>
        requires std::constructible_from<std::pair<K, V>, Pair&&>
    iterator insert(const iterator& hint, Pair&& entry) {
        return emplace_hint(hint, std::forward<Pair>(entry));
    }
    template <typename... Args>
    iterator emplace_hint(const iterator& /*hint*/, Args&&... args) {
        inserted done = emplace(std::forward<Args>(args)...);
        if (done.error != -EEXIST)
            detail::must(done);
        return std::move(done.first);
    }
    // Those whose keys are not there. 0 | what ended it: entries before that one are inserted.
    template <std::input_iterator It, std::sentinel_for<It> End>
    result insert(It from, End to) {
        for (; from != to; ++from) {
            result done = add(*from);
            if (!done && done.error != -EEXIST)
                return done;
        }
        return {};
    }
    result insert(std::initializer_list<value_type> entries) {
        return insert(entries.begin(), entries.end());
    }
    template <typename... Args>
    inserted emplace(Args&&... args) {
        return add(std::forward<Args>(args)...);
    }
    // The value is made of args if the key is not there. What is shown is the one step's: what was
    // there, or the new entry.
    template <typename... Args>
    inserted try_emplace(key_arg key, Args&&... args) {
        if (iterator at = find(key))
            return {{-EEXIST}, {std::move(at), false}};
        return try_add(key, std::forward<Args>(args)...);
    }
    // Gives key this value, whether it is there or not, at one moment: 0 | -ENOMEM | -E2BIG
    inserted insert_or_assign(key_arg key, V value) { return put(key, value, true); }
    // Gives a key that is there another value: 0 | -ENOENT | -ENOMEM
    inserted replace(key_arg key, V value) { return put(key, value, false); }
    // As update(key, change), but a key that is not there is inserted with the value `absent`:
    // 0 | -ENOMEM | -E2BIG
    template <typename Fn>
    result update(key_arg key, Fn&& change, const V& absent) {
        return update_or_insert(key, change, [&]() -> const V& { return absent; });
    }

    // Erases a key and hands its value back: true, and 1, if there was one. Allocates nothing.
    removed_value erase(key_arg key) {
        typename table::word old{};
        table* in = changes();
        if (!in || in->erase(in->code_of(key), old) != 0)
            return {};
        return removed_value(old);
    }
    // Erases the key that the iterator shows, and returns an iterator to the next entry.
    iterator erase(iterator at) {
        erase(K(at->first));
        return ++at;
    }
    // Erases what is between them, also what other threads insert there during the call.
    iterator erase(const iterator& from, iterator to) {
        if (from.at_end())
            return to;
        if (!to.at_end())
            erase_between(from->first, to->first);
        else
            erase_between(from->first, to.limit());
        return to;
    }
    // Erases the keys in [first, end), one by one. Returns how many.
    size_type erase_range(const K& first, const K& end) {
        return Compare{}(first, end) ? erase_between(first, end) : 0;
    }
    // Erases the entries for which gone(key, value) is true; one whose value another thread changes
    // meanwhile stays. gone runs in a section. Returns how many.
    template <typename Fn>
    size_type erase_if(Fn&& gone) {
        size_type n = 0;
        std::optional<K> from;
        while (table* in = changes())
            if (!erase_next_if(*in, from, gone, n))
                break;
        return n;
    }
    // Erases a key and moves its value out. If values are in boxes it waits for the readers: not in
    // a section.
    node_type extract(key_arg key) {
        node_type node;
        if (removed_value old = erase(key))
            node.entry_.emplace(K(key), old.take());
        return node;
    }
    // The iterator is at the end then.
    template <typename It>
        requires std::same_as<std::remove_cvref_t<It>, iterator>
    node_type extract(It&& at) {
        const K key = at->first;
        at = this->end();
        return extract(key);
    }
    insert_return_type insert(node_type&& node) {
        insert_return_type done;
        if (!node)
            return done;
        inserted in = try_emplace(node.key(), std::move(node.mapped()));
        if (in.error != -EEXIST)
            detail::must(in);
        done.position = std::move(in.first);
        done.inserted = in.second;
        if (in.second)
            node.entry_.reset();
        else
            done.node = std::move(node);
        return done;
    }
    iterator insert(const iterator& /*hint*/, node_type&& node) {
        return insert(std::move(node)).position;
    }
    // Copies the entries of `other` whose keys are not here, and erases them there: 0 | -ENOMEM:
    // those that were not copied are still there. No other thread changes these keys during the
    // call.
    template <typename Order>
    result merge(point_map<K, V, Order>& other) {
        static_assert(std::is_copy_constructible_v<V>,
                      "lathwork: readers may look at a value of `other` while it moves, so merge() "
                      "copies: a value that only moves needs extract() and insert()");
        result failed;
        other.erase_if([&](const K& key, const V& value) {
            result done = failed ? static_cast<result>(add(key, value)) : failed;
            if (!done && done.error != -EEXIST)
                failed = done;
            return static_cast<bool>(done);
        });
        return failed;
    }
    template <typename Order>
    result merge(point_map<K, V, Order>&& other) {
        return merge(other);
    }
    // Inserts many, with overlapped cache misses; results[i] is the error of entries[i], or no
    // results. Returns how many went in.
    std::size_t insert_batch(std::span<const std::pair<K, V>> entries, std::span<int> results = {})
        requires table::direct
    {
        std::array<int, table::step> codes;
        std::size_t done = 0;
        for (std::size_t at = 0; at < entries.size(); at += table::step) {
            table* to = inserts();
            const std::size_t n = std::min(table::step, entries.size() - at);
            codes.fill(this->no_table());
            if (to)
                done += to->insert_batch(entries.subspan(at, n), codes.data());
            if (at < results.size())
                std::copy_n(codes.data(), std::min(n, results.size() - at), &results[at]);
        }
        return done;
    }
    // Excludes all other calls.
    void clear() {
        if (table* in = changes())
            in->clear();
    }

    // While no thread changes them.
    friend bool operator==(const point_map& a, const point_map& b) {
        return std::equal(a.begin(), a.end(), b.begin(), b.end());
    }
    friend auto operator<=>(const point_map& a, const point_map& b)
        requires std::three_way_comparable<V> && std::three_way_comparable<K>
    {
        return std::lexicographical_compare_three_way(a.begin(), a.end(), b.begin(), b.end());
    }

private:
    friend place;
    // One step of erase_if(), at the first key behind `from`. Returns whether there is one.
    template <typename Fn>
    bool erase_next_if(table& in, std::optional<K>& from, Fn& gone, size_type& n) {
        found f;
        detail::reader inside(this->rcu());
        if (from) {
            const code behind = table::code_of(*from);
            if (!in.seek(&behind, false, true, f))
                return false;
        } else if (!in.seek(nullptr, false, false, f)) {
            return false;
        }
        const bool erases = table::with_entry(f, [&](const K& key, const V& value) {
            from.emplace(key);
            return static_cast<bool>(gone(key, value));
        });
        if (erases && in.erase_if(f) == 0) {
            in.values().retire(f.word);
            n++;
        }
        return true;
    }
    template <typename... Args>
    static made make(table& to, key_arg key, Args&&... args) {
        return to.make(std::piecewise_construct, std::forward_as_tuple(key),
                       std::forward_as_tuple(std::forward<Args>(args)...));
    }
    template <typename... Args>
    inserted try_add(key_arg key, Args&&... args) {
        return add(std::piecewise_construct, std::forward_as_tuple(key),
                   std::forward_as_tuple(std::forward<Args>(args)...));
    }
    // Of the arguments of a pair.
    template <typename... Args>
    inserted add(Args&&... args) {
        inserted done = begun();
        if (!done)
            return done;
        table& to = *get();
        made entry = to.make(std::forward<Args>(args)...);
        if (!entry) {
            done.error = -ENOMEM;
            return done;
        }
        do {
            typename table::reader inside(to.rcu()); // others may erase it at once
            done.error = to.insert(entry);
            if (done.error == 0)
                done.first.show(entry.shown());
        } while (done.error == -EEXIST && !done.first.find(table::code_in(entry.shown())));
        done.second = done.error == 0;
        return done;
    }
    inserted put(key_arg key, V& value, bool if_absent) {
        inserted done = begun();
        if (!done)
            return done;
        table& to = *get();
        made entry = make(to, key, std::move(value));
        typename table::word old{};
        {
            typename table::reader inside(to.rcu());
            do { // again if the key leaves and comes back
                done.error = !entry ? -ENOMEM : if_absent ? to.insert(entry) : -EEXIST;
                done.second = done.error == 0;
                if (done.error == -EEXIST)
                    done.error = to.replace(entry, old);
            } while (if_absent && done.error == -ENOENT);
            if (done)
                done.first.show(entry.shown());
        }
        if (done && !done.second)
            done.old = removed_value(old);
        return done;
    }
    // A change of this thread: there is a table, or an error.
    inserted begun() {
        table* to = inserts();
        return {{to ? 0 : this->no_table()}, {iterator(to, {}), false}};
    }
    template <typename Fn, typename Value>
    result update_or_insert(key_arg key, Fn&& change, Value value) {
        return this->update_entry(key, change, [&](table& to) {
            made entry = make(to, key, value());
            const int error = entry ? to.insert(entry) : -ENOMEM;
            return error == -EEXIST ? -EAGAIN : error;
        });
    }
    // Without an end: to the last one.
    size_type erase_between(const K& first, const std::optional<K>& end) {
        table* in = changes();
        if (!in)
            return 0;
        const code from = table::code_of(first);
        if (!end)
            return in->erase_range(from, nullptr);
        const code to = table::code_of(*end);
        return in->erase_range(from, &to);
    }
};

// As of std::map: point_map({std::pair{1, 2.5}}) and point_map(entries.begin(), entries.end()) need
// no types.
template <typename K, typename V>
point_map(std::initializer_list<std::pair<K, V>>) -> point_map<std::remove_const_t<K>, V>;
template <std::input_iterator It, std::sentinel_for<It> End>
point_map(It, End) -> point_map<std::remove_const_t<typename std::iter_value_t<It>::first_type>,
                                typename std::iter_value_t<It>::second_type>;

} // namespace lathwork

template <typename It, typename Old>
struct std::tuple_size<lathwork::insertion<It, Old>> : std::tuple_size<std::pair<It, bool>> {};
template <std::size_t I, typename It, typename Old>
struct std::tuple_element<I, lathwork::insertion<It, Old>>
    : std::tuple_element<I, std::pair<It, bool>> {};

namespace std { // NOLINT(cert-dcl58-cpp)

// Of places. An exchange is one step.
template <typename K, typename V, typename C>
void swap(lathwork::detail::map_place<K, V, C>&& a, lathwork::detail::map_place<K, V, C>&& b) {
    auto was = std::move(a).get();
    std::move(a) = std::move(b);
    std::move(b) = std::move(was);
}
template <typename K, typename V, typename C>
auto exchange(lathwork::detail::map_place<K, V, C>&& at, const type_identity_t<V>& by) {
    return std::move(at).exchange(by);
}
template <typename K, typename V, typename C, typename U>
V max(lathwork::detail::map_place<K, V, C>&& a, U&& b) {
    const V x = std::move(a), y = std::forward<U>(b);
    return max(x, y);
}
template <typename K, typename V, typename C, typename U>
V min(lathwork::detail::map_place<K, V, C>&& a, U&& b) {
    const V x = std::move(a), y = std::forward<U>(b);
    return min(x, y);
}

// As std::map's: gone(entry).
template <typename K, typename V, typename Compare, typename Fn>
auto erase_if(lathwork::point_map<K, V, Compare>& map, Fn gone) {
    return map.erase_if([&](const K& key, const V& value) {
        const std::pair<const K&, const V&> entry(key, value);
        return gone(entry);
    });
}

} // namespace std

#endif // LATHWORK_CXX_POINT_MAP_HPP
