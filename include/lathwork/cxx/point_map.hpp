// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// lathwork/cxx/point_map.hpp - an ordered map that threads share without a lock around it.
//
//   lathwork::point_map<std::uint64_t, session> sessions;
//   lathwork::point_map<std::string, int, std::greater<>> stock; // in descending order
//
//   sessions.insert_or_assign(7, session("anna"));
//   if (auto who = sessions.find(7)) // a copy
//       use(*who);
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
// std::greater. A key whose code is a word lies in an index (lathwork/index.h), with a value that
// is trivially copyable and has up to 64 bytes; others lie with their values in boxes of a set of
// byte strings (lathwork/bytes.h), up to 1 GiB long.
//
// Errors: calls return a result with 0 or a negative errno, and have changed nothing if it is not
// 0. Calls that return no result throw: std::bad_alloc without memory, at() std::out_of_range;
// where exceptions are off they abort.
//
// Values, threads and iterators are those of lathwork/cxx/index.hpp. A value does not
// change while it is in the map: update() and the assignments put another one in its place. So no
// call returns a reference into the map: find(), at() and iterators copy, and m[key] is a place
// that is read by copying and written by `=` and, as one step, by `+=` and its like.
//
// Differences from std::map, each with its reason, are in doc/cxx.md.
#ifndef LATHWORK_CXX_POINT_MAP_HPP
#define LATHWORK_CXX_POINT_MAP_HPP

#include "lathwork/cxx/detail/map_iterator.hpp"
#include "lathwork/cxx/detail/table.hpp"

#include <algorithm>
#include <compare>
#include <concepts>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <ranges>
#include <stdexcept>
#include <tuple>

namespace lathwork {

namespace detail {

template <typename T>
inline constexpr bool is_optional = false;
template <typename T>
inline constexpr bool is_optional<std::optional<T>> = true;

} // namespace detail

template <typename K, typename V, typename Compare = std::less<K>>
class point_map {
    static_assert(map_key<K>,
                  "lathwork: this key type has no code: specialise lathwork::key_code<K> "
                  "(lathwork/cxx/key_code.hpp)");
    static_assert(
        detail::ascending<Compare, K> || detail::descending<Compare, K>,
        "lathwork: keys are ordered by their codes: Compare is std::less or std::greater; "
        "for another order specialise lathwork::key_code<K>");
    static_assert(std::is_object_v<V> && !std::is_const_v<V>,
                  "lathwork: a value is an object that is not const; for references use pointers");

    using table = detail::table_of<K, V, detail::descending<Compare, K>>;
    using code = typename table::code;
    using found = typename table::found;
    using made = typename table::made;
    using key_arg = typename table::key_arg;
    using in_place = detail::entries_in_place<K, V, table>;

public:
    using key_type = K;
    using mapped_type = V;
    using value_type = std::pair<const K, V>;
    using key_compare = Compare;
    using size_type = std::uint64_t;
    using difference_type = std::ptrdiff_t;
    using iterator = detail::map_iterator<K, V, table>;
    using const_iterator = iterator;
    using reverse_iterator = detail::reversed<iterator>;
    using const_reverse_iterator = reverse_iterator;
    using reference = typename iterator::reference;
    using const_reference = reference;
    using view = detail::view_of<iterator>;
    // What erase() hands back: true if the key was there; the value, until it is destroyed.
    using removed_value = typename table::gone;
    // What extract() hands back.
    using node_type = std::optional<std::pair<K, V>>;
    // What find() in a section returns: a pointer to the value, or a copy of one that lies in the
    // index.
    using held_value = std::conditional_t<table::direct, std::optional<V>, const V*>;
    // What insert_or_assign() did; if it replaced a value, that one.
    struct assign_result : result {
        bool inserted = false;
        removed_value old{};
    };
    struct value_compare {
        bool operator()(const value_type& a, const value_type& b) const {
            return Compare{}(a.first, b.first);
        }
    };
    class place;

    // An empty map; error() tells whether there was memory for it. The layout that `how` names is
    // not used; the allocator stays where it is as long as the map.
    point_map() : point_map(default_config()) {}
    explicit point_map(const config& how) : how_(how) { own(new (std::nothrow) table(how)); }
    // The calls below that return no result throw std::bad_alloc without memory (where exceptions
    // are off they abort): these constructors, assignments of maps, and those to places.
    point_map(std::initializer_list<value_type> entries, const config& how = default_config())
        : point_map(entries.begin(), entries.end(), how) {}
    template <std::input_iterator It, std::sentinel_for<It> End>
    point_map(It from, End to, const config& how = default_config()) : point_map(how) {
        detail::must({error_});
        detail::must(insert(std::move(from), std::move(to)));
    }
    // Reads `other` as an iterator does: other threads may change it during the call.
    point_map(const point_map& other) : how_(other.how_) {
        if constexpr (table::direct) {
            own(other.table_ ? new (std::nothrow) table(*other.table_, how_)
                             : new (std::nothrow) table(how_));
            detail::must({error_});
        } else {
            own(new (std::nothrow) table(how_));
            detail::must({error_});
            read_section inside(other);
            for (const auto& [key, value] : other.in(inside))
                detail::must(add(key, value));
        }
    }
    point_map(point_map&& other) noexcept
        : table_(std::move(other.table_)), how_(other.how_),
          error_(std::exchange(other.error_, -ENOMEM)) {}
    point_map& operator=(const point_map& other) {
        if (this != &other)
            *this = point_map(other);
        return *this;
    }
    point_map& operator=(point_map&& other) noexcept {
        if (this != &other) {
            table_ = std::move(other.table_);
            how_ = other.how_;
            error_ = std::exchange(other.error_, -ENOMEM);
        }
        return *this;
    }
    point_map& operator=(std::initializer_list<value_type> entries) {
        return *this = point_map(entries, how_);
    }
    // Waits for the readers, and destroys every value: not in a section.
    ~point_map() = default;
    void swap(point_map& other) noexcept {
        std::swap(table_, other.table_);
        std::swap(how_, other.how_);
        std::swap(error_, other.error_);
    }
    friend void swap(point_map& a, point_map& b) noexcept { a.swap(b); }

    // 0 | -EINVAL: the configuration | -ENOMEM, also of a map that was moved from. Unless it is 0
    // the map is empty for readers, and writers get this error.
    int error() const { return error_; }
    explicit operator bool() const { return !error_; }
    // For the C calls: lath_index, or lath_bytes if keys are bytes. nullptr if error().
    auto* native() const { return table_ ? table_->native() : nullptr; }
    const lath_rcu* rcu() const { return table_ ? table_->rcu() : &lath_rcu_auto; }
    const config& get_config() const { return how_; }
    key_compare key_comp() const { return {}; }
    value_compare value_comp() const { return {}; }

    // ---- reading ----

    // A copy of the value.
    std::optional<V> find(key_arg key) const {
        static_assert(std::is_copy_constructible_v<V>,
                      "lathwork: find(key) copies; for a value that only moves say visit(key, fn) "
                      "or find(section, key)");
        std::optional<V> value;
        visit(key, [&](const V& v) { value.emplace(v); });
        return value;
    }
    // The value, in place: it stays as it is to the end of the section, whoever erases the key.
    held_value find(const read_section& /*inside*/, key_arg key) const {
        typename table::word word;
        if (!table_ || !table_->get(table::code_of(key), word))
            return {};
        if constexpr (table::direct)
            return table::value_of(word);
        else
            return std::addressof(table::value_of(word));
    }
    // fn(const V&), in a section: fn must not wait for readers. Returns whether the key is there.
    template <typename Fn>
    bool visit(key_arg key, Fn&& fn) const {
        typename table::word word;
        if constexpr (table::direct) {
            if (!table_ || !table_->get(table::code_of(key), word))
                return false;
            const V value = table::value_of(word);
            fn(value);
        } else {
            detail::reader inside(rcu());
            if (!table_ || !table_->get(table::code_of(key), word))
                return false;
            fn(table::value_of(word));
        }
        return true;
    }
    // A copy of the value. Without the key it throws std::out_of_range.
    V at(key_arg key) const {
        return detail::found_or_throw(find(key), "lathwork::point_map::at: no such key");
    }
    // The place of a key. Reading it does not insert the key, unlike std::map's.
    place operator[](const K& key) { return place(*this, key); }
    bool contains(key_arg key) const {
        return visit(key, [](const V&) {});
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
            detail::reader inside(rcu());
            if (table_)
                table_->get_batch(keys.subspan(at, part),
                                  [&](std::size_t i, bool there, const typename table::word& word) {
                                      if (there)
                                          out[at + i].emplace(table::value_of(word));
                                      hits += there;
                                  });
        }
        return hits;
    }
    // The entry of the first key at or behind / the last one at or before a key / of all.
    std::optional<value_type> ceiling(key_arg key) const { return seek(key, false); }
    std::optional<value_type> floor(key_arg key) const { return seek(key, true); }
    std::optional<value_type> first() const { return seek_end(false); }
    std::optional<value_type> last() const { return seek_end(true); }

    // O(n), or O(log n) with LATH_RANKS.
    size_type size() const { return table_ ? table_->count() : 0; }
    bool empty() const {
        found f;
        detail::reader inside(rcu());
        return !table_ || !table_->seek(nullptr, false, false, f);
    }
    size_type max_size() const { return std::numeric_limits<std::ptrdiff_t>::max(); }
    // With config.flags LATH_RANKS (else -EINVAL, and no entry): how many keys are before this
    // one; the entry that has this many before it.
    std::int64_t rank(key_arg key) const { return table_ ? table_->rank(table::code_of(key)) : 0; }
    std::optional<value_type> select(size_type rank) const {
        found f;
        detail::reader inside(this->rcu());
        return shown(table_ && table_->select(rank, f), f);
    }

    // ---- iterators ----

    iterator begin() const { return all().begin(); }
    iterator end() const { return all().end(); }
    iterator cbegin() const { return begin(); }
    iterator cend() const { return end(); }
    reverse_iterator rbegin() const { return reverse_iterator(end()); }
    reverse_iterator rend() const { return reverse_iterator(begin()); }
    reverse_iterator crbegin() const { return rbegin(); }
    reverse_iterator crend() const { return rend(); }
    iterator lower_bound(const K& key) const { return iterator_at(key, false); }
    iterator upper_bound(const K& key) const { return iterator_at(key, true); }
    std::pair<iterator, iterator> equal_range(const K& key) const {
        return {lower_bound(key), upper_bound(key)};
    }
    // The entries with keys in [first, end), in order.
    view within(K first, K end) const {
        if (!Compare{}(first, end))
            return view();
        return view(iterator(table_.get(), {std::move(first), std::move(end)}), bool(table_));
    }

    // All entries / those with keys in [first, end), in order and in place: what it refers to stays
    // to the end of the section. No value is copied, but those that lie in the index.
    //
    //     lathwork::read_section inside(map);
    //     for (const auto& [key, value] : map.in(inside))
    auto in(const read_section& /*inside*/) const { return in_place(table_.get(), {}, {}); }
    auto in(const read_section& /*inside*/, K first, K end) const {
        const bool any = Compare{}(first, end);
        return in_place(any ? table_.get() : nullptr, std::move(first), std::move(end));
    }

    // ---- changing ----

    // 0 | -EEXIST: the key is there | -ENOMEM | -E2BIG: a key of more than 1 GiB. Likewise for all
    // that insert.
    result insert(key_arg key, V value) { return add(key, std::move(value)); }
    result insert(const value_type& entry) { return add(entry.first, entry.second); }
    result insert(value_type&& entry) { return add(entry.first, std::move(entry.second)); }
    // For std::inserter. Throws std::bad_alloc without memory.
    iterator insert(const iterator& /*hint*/, const value_type& entry) {
        result done = insert(entry);
        if (done.error != -EEXIST)
            detail::must(done);
        return lower_bound(entry.first);
    }
    // Those whose keys are not there. 0 | what ended it: entries before that one are inserted.
    template <std::input_iterator It, std::sentinel_for<It> End>
    result insert(It from, End to) {
        for (; from != to; ++from) {
            auto&& entry = *from;
            result done = add(entry.first, std::get<1>(std::forward<decltype(entry)>(entry)));
            if (!done && done.error != -EEXIST)
                return done;
        }
        return {};
    }
    result insert(std::initializer_list<value_type> entries) {
        return insert(entries.begin(), entries.end());
    }
    template <typename... Args>
    result emplace(Args&&... args) {
        std::pair<K, V> entry(std::forward<Args>(args)...);
        return add(entry.first, std::move(entry.second));
    }
    // The value is made of args if the key is not there.
    template <typename... Args>
    result try_emplace(key_arg key, Args&&... args) {
        return contains(key) ? result{-EEXIST} : add(key, std::forward<Args>(args)...);
    }
    // Gives key this value, whether it is there or not, at one moment: 0 | -ENOMEM | -E2BIG
    assign_result insert_or_assign(key_arg key, V value) {
        assign_result done;
        done.error = error_;
        if (!table_)
            return done;
        made value_made = table_->make(key, std::move(value));
        done.error = value_made ? put(table::code_of(key), value_made, done) : -ENOMEM;
        table_->values().destroy_some();
        return done;
    }
    // Gives a key that is there another value: 0 | -ENOENT | -ENOMEM
    assign_result replace(key_arg key, V value) {
        assign_result done;
        done.error = error_;
        if (!table_)
            return done;
        made value_made = table_->make(key, std::move(value));
        typename table::word old;
        done.error = value_made ? table_->replace(table::code_of(key), value_made, old) : -ENOMEM;
        if (done) {
            value_made.taken();
            done.old = removed_value(old);
        }
        return done;
    }
    // Gives key the value that change(const V&) returns, as one step: if another thread changes it
    // first, change is called again. It may return a std::optional<V>: none erases the key. change
    // runs in a section. 0 | -ENOENT | -ENOMEM
    template <typename Fn>
    result update(key_arg key, Fn&& change) {
        return update_entry(key, change, [] { return made(); }, -ENOENT);
    }
    // As update(key, change), but a key that is not there is inserted with the value `absent`:
    // 0 | -ENOMEM | -E2BIG
    template <typename Fn>
    result update(key_arg key, Fn&& change, const V& absent) {
        return update_entry(key, change, [&] { return table_->make(key, absent); }, -ENOMEM);
    }

    // Erases a key and hands its value back. Allocates nothing.
    removed_value erase(key_arg key) {
        typename table::word old;
        if (!table_ || table_->erase(table::code_of(key), old) != 0)
            return {};
        table_->values().destroy_some();
        return removed_value(old);
    }
    // Erases the key that the iterator shows, and returns an iterator to the next entry.
    iterator erase(iterator at) {
        erase(at.key());
        return ++at;
    }
    // Erases what is between them, also what other threads insert there during the call.
    iterator erase(const iterator& from, iterator to) {
        if (from.at_end())
            return to;
        if (!to.at_end())
            erase_between(from.key(), to.key());
        else if (to.limit())
            erase_between(from.key(), *to.limit());
        else
            erase_between(from.key(), std::nullopt);
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
        if (!table_)
            return n;
        std::optional<K> from;
        while (erase_next_if(from, gone, n))
            table_->values().destroy_some();
        return n;
    }
    template <typename Fn>
    friend size_type erase_if(point_map& map, Fn gone) {
        return map.erase_if([&](const K& key, const V& value) {
            return gone(std::pair<const K&, const V&>(key, value));
        });
    }
    // Erases a key and moves its value out. If values are in boxes it waits for the readers: not in
    // a section.
    node_type extract(key_arg key) {
        removed_value old = erase(key);
        if (!old)
            return std::nullopt;
        return node_type(std::in_place, K(key), old.take());
    }
    // A template, so that a pair is not converted to a node.
    template <std::same_as<node_type> Node>
    result insert(Node&& node) {
        return node ? add(node->first, std::move(node->second)) : result{};
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
            result done = failed ? add(key, value) : failed;
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
        return detail::by_parts<table::step>(
            entries.size(), results, error_, [&](std::size_t at, std::size_t n, int* codes) {
                return table_ ? table_->insert_batch(entries.subspan(at, n), codes) : 0;
            });
    }
    // Erases many keys; results[i] is 0 or -ENOENT for keys[i], or no results. Returns how many it
    // erased.
    std::size_t erase_batch(std::span<const K> keys, std::span<int> results = {})
        requires table::direct
    {
        return detail::by_parts<table::step>(
            keys.size(), results, -ENOENT, [&](std::size_t at, std::size_t n, int* codes) {
                return table_ ? table_->erase_batch(keys.subspan(at, n), codes) : 0;
            });
    }
    // Excludes all other calls.
    void clear() {
        if (table_)
            table_->clear();
    }
    // Waits for the readers and destroys every value that left the map before. Not in a section.
    void drain() {
        if (table_)
            table_->values().drain();
    }
    // 0 or the number of the broken invariant. No writer may be at work.
    int verify() const { return table_ ? table_->verify() : 0; }

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
    void own(table* fresh) {
        table_.reset(fresh);
        error_ = fresh ? fresh->error() : -ENOMEM;
        if (error_)
            table_.reset();
    }
    view all() const { return view(iterator(table_.get(), {}), bool(table_)); }
    iterator iterator_at(const K& key, bool behind) const {
        iterator at = end();
        if (table_)
            at.fill(key, behind);
        return at;
    }
    static std::optional<value_type> shown(bool any, const found& f) {
        if (!any)
            return std::nullopt;
        return std::optional<value_type>(std::in_place, table::key_of(f), table::value_of(f.word));
    }
    std::optional<value_type> seek(key_arg key, bool back) const {
        found f;
        const code at = table::code_of(key);
        detail::reader inside(rcu());
        return shown(table_ && table_->seek(&at, back, false, f), f);
    }
    std::optional<value_type> seek_end(bool back) const {
        found f;
        detail::reader inside(rcu());
        return shown(table_ && table_->seek(nullptr, back, false, f), f);
    }
    // The first entry behind a key, or of all.
    bool next(const std::optional<K>& from, found& f) const {
        if (!from)
            return table_->seek(nullptr, false, false, f);
        const code at = table::code_of(*from);
        return table_->seek(&at, false, true, f);
    }
    // One step of erase_if(), at the first key behind `from`. Returns whether there is one.
    template <typename Fn>
    bool erase_next_if(std::optional<K>& from, Fn& gone, size_type& n) {
        found f;
        detail::reader inside(rcu());
        if (!next(from, f))
            return false;
        from.emplace(table::key_of(f));
        if (gone(std::as_const(*from), table::value_of(f.word)) &&
            table_->erase_if(table::code_of(*from), f.word) == 0) {
            table_->values().retire(f.word);
            n++;
        }
        return true;
    }
    template <typename... Args>
    result add(key_arg key, Args&&... args) {
        if (!table_)
            return {error_};
        made value = table_->make(key, std::forward<Args>(args)...);
        if (!value)
            return {-ENOMEM};
        int error = table_->insert(table::code_of(key), value);
        if (error == 0)
            value.taken();
        return {error};
    }
    int put(const code& at, made& value, assign_result& done) {
        for (;;) { // again only if other threads erased the key and inserted it in between
            int error = table_->insert(at, value);
            done.inserted = error == 0;
            if (error == -EEXIST) {
                typename table::word old;
                error = table_->replace(at, value, old);
                if (error == 0)
                    done.old = removed_value(old);
            }
            if (error == 0)
                value.taken();
            if (error != -ENOENT)
                return error;
        }
    }
    // One try of update_entry(): -EAGAIN: another thread was faster.
    template <typename Fn, typename Absent>
    int try_update(const code& at, key_arg key, Fn& change, Absent& absent, int no_value) {
        typename table::word old;
        detail::reader inside(rcu()); // a box that has left is not used again before it ends
        if (!table_->get(at, old)) {
            made value = absent();
            int error = value ? table_->insert(at, value) : no_value;
            if (error == 0)
                value.taken();
            return error == -EEXIST ? -EAGAIN : error;
        }
        auto changed = change(table::value_of(old));
        int error;
        if constexpr (detail::is_optional<decltype(changed)> && !detail::is_optional<V>) {
            error =
                changed ? swap_in(at, key, old, *std::move(changed)) : table_->erase_if(at, old);
        } else {
            error = swap_in(at, key, old, std::move(changed));
        }
        if (error == 0)
            table_->values().retire(old);
        return error == -ENOENT ? -EAGAIN : error;
    }
    template <typename T>
    int swap_in(const code& at, key_arg key, const typename table::word& old, T&& changed) {
        made value = table_->make(key, std::forward<T>(changed));
        int error = value ? table_->replace_if(at, old, value) : -ENOMEM;
        if (error == 0)
            value.taken();
        return error;
    }
    template <typename Fn, typename Absent>
    result update_entry(key_arg key, Fn& change, Absent absent, int no_value) {
        if (!table_)
            return {error_};
        const code at = table::code_of(key);
        int error;
        do
            error = try_update(at, key, change, absent, no_value);
        while (error == -EAGAIN);
        table_->values().destroy_some();
        return {error};
    }
    // Without an end: to the last one.
    size_type erase_between(const K& first, const std::optional<K>& end) {
        if (!table_)
            return 0;
        size_type n;
        const code from = table::code_of(first);
        if (end) {
            const code to = table::code_of(*end);
            n = table_->erase_range(from, &to);
        } else {
            n = table_->erase_range(from, nullptr);
        }
        table_->values().destroy_some();
        return n;
    }

    std::unique_ptr<table> table_;
    config how_;
    int error_ = 0;
};

// As of std::map: point_map({std::pair{1, 2.5}}) and point_map(entries.begin(), entries.end()) need
// no types.
template <typename K, typename V>
point_map(std::initializer_list<std::pair<K, V>>) -> point_map<std::remove_const_t<K>, V>;
template <std::input_iterator It, std::sentinel_for<It> End>
point_map(It, End) -> point_map<std::remove_const_t<typename std::iter_value_t<It>::first_type>,
                                typename std::iter_value_t<It>::second_type>;

// Where the value of a key is, or belongs: what map[key] returns. It does not outlive the map.
template <typename K, typename V, typename Compare>
class point_map<K, V, Compare>::place {
public:
    place(const place&) = default;
    // A copy of the value, or V() if the key is not there. A reference into the map does not exist:
    // other threads may erase the key at any time.
    operator V() const { return get(); } // NOLINT(google-explicit-constructor): as a V& is one
    V get() const {
        std::optional<V> value = map_.find(key_);
        return value ? *std::move(value) : V();
    }
    // These throw std::bad_alloc without memory.
    place& operator=(V value) {
        detail::must(map_.insert_or_assign(key_, std::move(value)));
        return *this;
    }
    place& operator=(const place& other) { // NOLINT(bugprone-unhandled-self-assignment)
        return *this = other.get();
    }
    ~place() = default;
    // One step each: of several threads that add, none is lost. A key that is not there has V().
    place& operator+=(const auto& by) { return change(std::plus<>(), by); }
    place& operator-=(const auto& by) { return change(std::minus<>(), by); }
    place& operator|=(const auto& by) { return change(std::bit_or<>(), by); }
    place& operator&=(const auto& by) { return change(std::bit_and<>(), by); }
    place& operator^=(const auto& by) { return change(std::bit_xor<>(), by); }
    place& operator*=(const auto& by) { return change(std::multiplies<>(), by); }
    place& operator/=(const auto& by) { return change(std::divides<>(), by); }
    place& operator%=(const auto& by) { return change(std::modulus<>(), by); }
    place& operator++()
        requires requires(V v) { v + 1; }
    {
        return *this += 1;
    }
    place& operator--()
        requires requires(V v) { v - 1; }
    {
        return *this -= 1;
    }
    // These return the value before the step.
    V operator++(int)
        requires requires(V v) { v + 1; }
    {
        return before([](const V& v) { return static_cast<V>(v + 1); });
    }
    V operator--(int)
        requires requires(V v) { v - 1; }
    {
        return before([](const V& v) { return static_cast<V>(v - 1); });
    }
    friend bool operator==(const place& a, const V& b) { return a.get() == b; }
    template <typename Out>
    friend auto operator<<(Out& out, const place& at) -> decltype(out << std::declval<const V&>()) {
        return out << at.get();
    }

private:
    friend point_map;
    place(point_map& map, const K& key) : map_(map), key_(key) {}
    place& change(auto op, const auto& by) {
        auto fn = [&](const V& v) { return static_cast<V>(op(v, by)); };
        detail::must(map_.update(key_, fn, fn(V())));
        return *this;
    }
    // The value before fn changed it. With the key absent, fn(V()) is inserted.
    template <typename Fn>
    V before(Fn fn) {
        for (;;) {
            V old{};
            result done = map_.update(key_, [&](const V& v) {
                old = v;
                return fn(v);
            });
            if (done.error == -ENOENT) {
                old = V();
                done = map_.insert(key_, fn(old));
            }
            if (done.error == -EEXIST)
                continue; // another thread has inserted it
            detail::must(done);
            return old;
        }
    }
    point_map& map_;
    K key_;
};

} // namespace lathwork

#endif // LATHWORK_CXX_POINT_MAP_HPP
