// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// lathwork/cxx/detail/container.hpp - what the containers have in common: iterators, views, the table,
// which is made when it is needed, looking.
//
// index.hpp, point_map.hpp and interval.hpp include it; a program has no reason to do so itself.
//
//   for (const auto& [key, value] : map.within(10, 20)) // a view_of<item_iterator>
//       use(key, value);
//   auto last = std::prev(map.end());
//
// Errors: error() says why there is no table.
#ifndef LATHWORK_CXX_DETAIL_CONTAINER_HPP
#define LATHWORK_CXX_DETAIL_CONTAINER_HPP

#include "lathwork/cxx/items.hpp"

#include <atomic>
#include <cerrno>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <ranges>
#include <type_traits>
#include <utility>

namespace lathwork::detail {

[[noreturn]] inline void step_beyond_the_end() { stop("lathwork: ++ of an iterator at the end"); }

// it++ and it--.
template <typename It>
It step_after(It& it) {
    It old = it;
    ++it;
    return old;
}
template <typename It>
It step_back_after(It& it) {
    It old = it;
    --it;
    return old;
}

// To algorithms older than std::ranges the iterators are input iterators: a second pass may see
// other entries, and a vector that counts them first would not have room for all. For them there is
// std::prev() and the like at the end of this file; what calls the library's own inside would do
// nothing in libc++, so there it does not compile.
#ifdef _LIBCPP_VERSION
struct older_category : std::input_iterator_tag {
    older_category() = delete;
};
#else
using older_category = std::input_iterator_tag;
#endif

// Iterators that show what they have read, and so are not copied to look at another entry.
template <typename It>
concept reads_ahead = requires(It at) {
    { at.step_back() } -> std::same_as<bool>;
};

// Calls of this thread that changed a container: an iterator that has read ahead before reads
// again.
inline constinit thread_local std::uint64_t own_changes = 0;

// The entries that an iterator has read ahead, and which of them it shows: in place, or, if the
// table says so, a copy. Holding: those in boxes stay while it has them. If the copy of an entry
// throws, it is at the end.
template <typename Table, typename Holding>
class entries_ahead {
    using entry = typename Table::entry;
    using code = typename Table::code;
    static constexpr bool copies = Table::copies;
    static constexpr bool holds = Holding::value && Table::in_boxes && !copies;

public:
    static constexpr std::size_t most = Table::run::most;

    entries_ahead() {} // NOLINT(modernize-use-equals-default): there is no entry yet
    entries_ahead(const entries_ahead& other) { *this = other; }
    entries_ahead(entries_ahead&& other) { // NOLINT(performance-noexcept-move-constructor)
        *this = std::move(other);
    }
    // Copies the one that is shown.
    entries_ahead& operator=(const entries_ahead& other) {
        if (this == &other)
            return *this;
        clear();
        if (other.at_end())
            return *this;
        run_.put(0, other.run_.at(other.at_));
        if constexpr (copies)
            copy_.emplace(*other.copy_);
        became(1, 0);
        return *this;
    }
    entries_ahead& operator=(entries_ahead&& other) { // NOLINT(performance-noexcept-move*)
        if (this == &other)
            return *this;
        clear();
        if constexpr (copies)
            if (!other.at_end())
                copy_.emplace(std::move(*other.copy_));
        run_.copy(other.run_, other.count_);
        at_ = std::exchange(other.at_, 0);
        count_ = std::exchange(other.count_, 0);
        return *this;
    }
    ~entries_ahead() { clear(); }

    bool at_end() const { return at_ >= count_; }
    // Not at the end; until it moves.
    auto& shown() const {
        if constexpr (copies)
            return *copy_;
        else
            return Table::entry_of(run_.at(at_));
    }
    decltype(auto) shown_code() const { return Table::code_in(run_.at(at_)); }
    void clear() {
        if constexpr (holds)
            for (std::uint32_t i = 0; i < count_; i++)
                Table::release(run_.words[i]);
        count_ = at_ = 0;
    }
    // Steps within what was read; returns whether it could.
    bool next() {
        const bool more = at_ + 1 < count_;
        at_ += more;
        return more && copied();
    }
    bool previous() {
        const bool more = at_ < count_ && at_;
        at_ -= more;
        return more && copied();
    }
    // In a section: as scan() of the table; shows the one that is next to `at`.
    void fill(const Table& from, const code* at, bool back, bool behind, const code* stop,
              std::size_t n) {
        clear();
        n = from.scan(at, back, behind, stop, run_, n);
        if (!n)
            return;
        if constexpr (Table::in_boxes)
            for (std::size_t i = 0; i < n; i++)
                Table::prefetch(run_.words[i]);
        at_ = back ? static_cast<std::uint32_t>(n - 1) : 0;
        copied();
        became(static_cast<std::uint32_t>(n), at_);
    }
    // In a section, or where another holds it.
    void show(const typename Table::found& f) {
        clear();
        run_.put(0, f);
        copied();
        became(1, 0);
    }

private:
    bool copied() {
        if constexpr (copies)
            Table::copy_entry(run_.at(at_), copy_);
        return true;
    }
    void became(std::uint32_t count, std::uint32_t at) {
        if constexpr (holds)
            for (std::uint32_t i = 0; i < count; i++)
                Table::hold(run_.words[i]);
        count_ = count;
        at_ = at;
    }

    typename Table::run run_;
    struct none {};
    [[no_unique_address]] std::conditional_t<copies, std::optional<entry>, none> copy_;
    std::uint32_t at_ = 0, count_ = 0; // the end: at_ == count_
};

// A position among the entries of a table that are at or behind `first` and before `end`. It shows
// an entry as it was when it was read; what its own thread has changed since, it sees at the next
// step. Holding: std::true_type: what it shows stays until it moves, whoever erases it; false_type:
// to the end of the section that it was made in.
template <typename Table, typename Holding>
class item_iterator {
    using K = typename Table::key_type;
    using code = typename Table::code;
    using ahead = entries_ahead<Table, Holding>;

public:
    using value_type = std::remove_const_t<typename Table::entry>;
    using reference = typename Table::reference;
    using pointer = decltype(std::addressof(std::declval<const ahead&>().shown()));
    using difference_type = std::ptrdiff_t;
    using iterator_concept = std::bidirectional_iterator_tag;
    using iterator_category = older_category;
    struct bounds {
        std::optional<K> first, end;
    };

    item_iterator() {} // NOLINT(modernize-use-equals-default): `{}` would clear what is unused
    // The end.
    item_iterator(const Table* of, bounds within) : table_(of), within_(std::move(within)) {}

    reference operator*() const { return ahead_.shown(); }
    pointer operator->() const { return std::addressof(ahead_.shown()); }
    // Whether it shows an entry.
    explicit operator bool() const { return !at_end(); }
    item_iterator& operator++() {
        if (at_end())
            step_beyond_the_end();
        if (is_fresh() && ahead_.next())
            return *this;
        if constexpr (std::is_same_v<code, std::uint64_t>) {
            const code at = ahead_.shown_code();
            fill(&at, true);
        } else {
            const ahead before = std::move(ahead_); // which holds the code
            const code& at = before.shown_code();
            fill(&at, true);
        }
        return *this;
    }
    item_iterator operator++(int) { return step_after(*this); }
    // Before the first entry it stays where it is.
    item_iterator& operator--() {
        step_back();
        return *this;
    }
    // Returns whether there was an entry before.
    bool step_back() {
        if ((is_fresh() && ahead_.previous()) || !table_)
            return table_ != nullptr;
        ahead before;
        auto look = [&](auto* at) {
            with_code(within_.first, [&](auto* first) {
                reader inside(table_->rcu());
                before.fill(*table_, at, true, true, first, grown());
            });
        };
        if (at_end()) {
            with_code(within_.end, look);
        } else {
            const code& at = ahead_.shown_code();
            look(&at);
        }
        const bool any = !before.at_end();
        if (any)
            ahead_ = std::move(before);
        return any;
    }
    item_iterator operator--(int) { return step_back_after(*this); }
    // Of positions: two entries with one key are equal.
    friend bool operator==(const item_iterator& a, const item_iterator& b) {
        return a.at_end() || b.at_end() ? a.at_end() == b.at_end() : a.code_at() == b.code_at();
    }
    // Whether a shows an entry before the position of b; the entry of b may have left.
    friend bool operator<(const item_iterator& a, const item_iterator& b) {
        const std::optional<K>& end = b.limit();
        return !a.at_end() &&
               (b.at_end() ? !end || Table::precedes(a.code_at(), Table::code_of(*end))
                           : Table::precedes(a.code_at(), b.code_at()));
    }

    // The code of the key: of a range where it starts. Not at the end.
    decltype(auto) code_at() const { return ahead_.shown_code(); }
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
    // In a section, or where another holds it.
    void show(const typename Table::found& f) { ahead_.show(f); }

private:
    static void with_code(const std::optional<K>& key, auto fn) {
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

// The entries within the bounds of an iterator that is at their end, as a view.
template <typename Iterator>
class view_of : public std::ranges::view_interface<view_of<Iterator>> {
public:
    using iterator = Iterator;
    view_of() = default;
    view_of(Iterator end, bool any) : end_(std::move(end)), any_(any) {}
    iterator begin() const {
        iterator it = end_;
        if (any_)
            it.begin();
        return it;
    }
    iterator end() const { return end_; }

private:
    iterator end_;
    bool any_ = false;
};

// Owns a table, which is made at its first use, or with a configuration at once.
template <typename Table, typename Options = config>
class container {
public:
    // 0 | -EINVAL: the configuration | -ENOMEM. Unless it is 0 the container is empty for readers,
    // and writers get this error.
    int error() const { return error_; }
    explicit operator bool() const { return !error_; }
    // For the C calls; nullptr if error().
    auto* native() const {
        const Table* of = made_table();
        return of ? of->native() : nullptr;
    }
    const lath_rcu* rcu() const { return how_.rcu ? how_.rcu : &lath_rcu_auto; }
    const config& get_config() const { return how_; }
    // Waits for the readers and destroys every value that left before. Not in a section.
    void drain() {
        if (Table* of = get())
            of->values().drain();
    }

protected:
    explicit container(const Options& how, bool now) : how_(how) {
        if (now)
            made_table();
    }
    container(container&& other) noexcept
        : how_(other.how_), table_(other.table_.exchange(nullptr)), error_(other.error_) {}
    container& operator=(container&& other) noexcept {
        if (this != &other) {
            delete table_.exchange(other.table_.exchange(nullptr));
            how_ = other.how_;
            error_ = other.error_;
        }
        return *this;
    }
    // Waits for the readers, and destroys every value.
    ~container() { delete get(); }
    void exchange(container& other) noexcept {
        table_ = other.table_.exchange(table_);
        std::swap(how_, other.how_);
        std::swap(error_, other.error_);
    }

    Table* get() const { return table_.load(std::memory_order_acquire); }
    // The table, or nullptr: no_table() says why.
    Table* made_table() const {
        Table* of = get();
        if (of || error_)
            return of;
        return const_cast<container*>(this)->own(new (std::nothrow) Table(how_));
    }
    int no_table() const { return error_ ? error_ : -ENOMEM; }
    Table* own(Table* fresh) {
        std::unique_ptr<Table> hold(fresh);
        const int error = fresh ? fresh->error() : -ENOMEM;
        Table* other = nullptr;
        if (error)
            error_ = error;
        else if (table_.compare_exchange_strong(other, fresh))
            return hold.release();
        return other;
    }
    // Of a call that inserts, and of one that only removes or changes.
    Table* inserts() {
        made_table();
        return changes();
    }
    Table* changes() {
        own_changes++;
        Table* of = get();
        if (of)
            of->values().destroy_some();
        return of;
    }

    Options how_;

private:
    std::atomic<Table*> table_{nullptr};
    int error_ = 0;
};

template <typename T>
inline constexpr bool is_optional = false;
template <typename T>
inline constexpr bool is_optional<std::optional<T>> = true;

// One whose entries have an order.
template <typename Table>
class ordered : public container<Table> {
protected:
    using V = typename Table::mapped_type;
    using key_arg = typename Table::key_arg;
    using code = typename Table::code;
    using found = typename Table::found;
    using container<Table>::get;
    using container<Table>::made_table;

public:
    using size_type = std::uint64_t;
    using difference_type = std::ptrdiff_t;
    using iterator = item_iterator<Table, std::true_type>;
    using const_iterator = iterator;
    using reverse_iterator = std::reverse_iterator<iterator>;
    using const_reverse_iterator = reverse_iterator;
    using reference = typename iterator::reference;
    using const_reference = reference;
    using view = view_of<iterator>;
    using value_type = typename Table::entry;
    // What removals hand back: true if there was something; its value, until it is destroyed.
    using removed_value = typename Table::gone;
    // What find() in a section returns: a pointer to the value, or a copy of one that lies in the
    // index.
    using held_value = std::conditional_t<Table::direct, std::optional<const V>, const V*>;

    // The value, in place: it stays as it is to the end of the section, whoever erases the key.
    held_value find(const read_section& /*inside*/, key_arg key) const {
        found f;
        if (!look_up(key, f))
            return {};
        if constexpr (Table::direct)
            return Table::value_of(f.word);
        else
            return std::addressof(Table::value_of(f.word));
    }
    // Gives what is at a key the value that change(const V&) returns, as one step: if another
    // thread changes it first, change is called again. It may return a std::optional<V>: none
    // erases the entry. change runs in a section. 0 | -ENOENT | -ENOMEM
    template <typename Fn>
    result update(key_arg key, Fn&& change) {
        return update_entry(key, change, [](Table&) { return -ENOENT; });
    }

    iterator begin() const { return between<iterator>(true, {}).begin(); }
    iterator end() const { return iterator(made_table(), {}); }
    iterator cbegin() const { return begin(); }
    iterator cend() const { return end(); }
    reverse_iterator rbegin() const { return reverse_iterator(end()); }
    reverse_iterator rend() const { return {end(), std::default_sentinel}; }
    reverse_iterator crbegin() const { return rbegin(); }
    reverse_iterator crend() const { return rend(); }
    // The first entry at or behind / behind a key (a range is where it starts), or end().
    iterator lower_bound(key_arg key) const { return iterator_at(key, false); }
    iterator upper_bound(key_arg key) const { return iterator_at(key, true); }

    // The first entry at or behind / the last one at or before a key / of all.
    std::optional<value_type> ceiling(key_arg key) const { return one(key, false); }
    std::optional<value_type> floor(key_arg key) const { return one(key, true); }
    std::optional<value_type> first() const { return edge(false); }
    std::optional<value_type> last() const { return edge(true); }

    // O(n), or O(log n) with LATH_RANKS.
    size_type size() const {
        const Table* of = get();
        return of ? of->count() : 0;
    }
    size_type max_size() const { return std::numeric_limits<std::ptrdiff_t>::max(); }
    bool empty() const {
        found f;
        const Table* of = get();
        reader inside(this->rcu());
        return !of || !of->seek(nullptr, false, false, f);
    }
    // With config.flags LATH_RANKS (else -EINVAL, and no entry): how many entries are before this
    // key; the entry that has this many before it.
    std::int64_t rank(key_arg key) const {
        const Table* in = made_table();
        return in ? in->rank(Table::code_of(key)) : 0;
    }
    std::optional<value_type> select(size_type rank) const {
        found f;
        const Table* in = get();
        reader inside(this->rcu());
        return Table::one(in && in->select(rank, f), f);
    }
    // 0 or the number of the broken invariant. No writer may be at work.
    int verify() const { return get() ? get()->verify() : 0; }

protected:
    using container<Table>::container;

    bool look_up(key_arg key, found& f) const {
        const Table* in = get();
        return in && in->get(Table::code_of(key), f);
    }
    // absent(table) inserts an entry, if there is none: 0 or an error.
    template <typename Fn, typename Absent>
    result update_entry(key_arg key, Fn& change, Absent absent) {
        Table* in = this->inserts();
        if (!in)
            return {this->no_table()};
        const code at = Table::code_of(key);
        for (found old;;) {
            reader inside(this->rcu()); // a box that has left is not used again before it ends
            const int error = in->get(at, old) ? change_entry(*in, old, change) : absent(*in);
            if (error != -EAGAIN)
                return {error};
        }
    }
    template <typename It>
    view_of<It> between(bool any, typename It::bounds within) const {
        const Table* of = made_table();
        return {It(of, std::move(within)), any && of};
    }
    iterator iterator_at(key_arg key, bool behind) const {
        iterator at = end();
        if (get()) {
            const code from = Table::code_of(key);
            at.fill(&from, behind);
        }
        return at;
    }

private:
    // -EAGAIN: another thread was faster.
    template <typename Fn>
    static int change_entry(Table& in, const found& old, Fn& change) {
        auto by = change(Table::value_of(old.word));
        auto put = [&](auto&& value) {
            auto fresh = in.remake(old, std::forward<decltype(value)>(value));
            return fresh ? in.replace_if(old, fresh) : -ENOMEM;
        };
        int error;
        if constexpr (is_optional<decltype(by)> && !is_optional<V>)
            error = by ? put(*std::move(by)) : in.erase_if(old);
        else
            error = put(std::move(by));
        if (error == 0)
            in.values().retire(old.word);
        return error == -ENOENT ? -EAGAIN : error;
    }
    std::optional<value_type> one(key_arg key, bool back) const {
        found f;
        const code at = Table::code_of(key);
        const Table* in = get();
        reader inside(this->rcu());
        return Table::one(in && in->seek(&at, back, false, f), f);
    }
    std::optional<value_type> edge(bool back) const {
        found f;
        const Table* in = get();
        reader inside(this->rcu());
        return Table::one(in && in->seek(nullptr, back, false, f), f);
    }
};

} // namespace lathwork::detail

template <typename Iterator>
inline constexpr bool std::ranges::enable_borrowed_range<lathwork::detail::view_of<Iterator>> =
    true;

// It has the iterator that shows the entry; the primary one would show what a temporary has read.
template <typename It>
    requires lathwork::detail::reads_ahead<It>
class std::reverse_iterator<It> {
public:
    using iterator_type = It;
    using value_type = typename It::value_type;
    using reference = typename It::reference;
    using pointer = typename It::pointer;
    using difference_type = std::ptrdiff_t;
    using iterator_concept = std::bidirectional_iterator_tag;
    using iterator_category = typename It::iterator_category;

    reverse_iterator() = default;
    explicit reverse_iterator(It base) : shown_(std::move(base)), end_(!shown_.step_back()) {}
    // Behind the first entry: `any` has its bounds.
    reverse_iterator(It any, std::default_sentinel_t /*end*/) : shown_(std::move(any)) {}
    It base() const {
        It at = shown_;
        if (end_)
            at.begin();
        else
            ++at;
        return at;
    }
    reference operator*() const { return *shown_; }
    pointer operator->() const { return shown_.operator->(); }
    reverse_iterator& operator++() {
        end_ = !shown_.step_back();
        return *this;
    }
    reverse_iterator operator++(int) { return lathwork::detail::step_after(*this); }
    reverse_iterator& operator--() {
        if (std::exchange(end_, false))
            shown_.begin();
        else
            ++shown_;
        return *this;
    }
    reverse_iterator operator--(int) { return lathwork::detail::step_back_after(*this); }
    friend bool operator==(const reverse_iterator& a, const reverse_iterator& b) {
        return a.end_ == b.end_ && (a.end_ || a.shown_ == b.shown_);
    }

private:
    It shown_{};
    bool end_ = true;
};

// For iterators that read ahead, whose category says less than they can.
namespace std { // NOLINT(cert-dcl58-cpp)

template <template <typename...> class At, typename... Of, typename N>
    requires lathwork::detail::reads_ahead<At<Of...>>
void advance(At<Of...>& at, N n) {
    ranges::advance(at, static_cast<ptrdiff_t>(n));
}
template <template <typename...> class At, typename... Of>
    requires lathwork::detail::reads_ahead<At<Of...>>
At<Of...> next(At<Of...> at, ptrdiff_t n = 1) {
    ranges::advance(at, n);
    return at;
}
template <template <typename...> class At, typename... Of>
    requires lathwork::detail::reads_ahead<At<Of...>>
At<Of...> prev(At<Of...> at, ptrdiff_t n = 1) {
    ranges::advance(at, -n);
    return at;
}
template <template <typename...> class At, typename... Of>
    requires lathwork::detail::reads_ahead<At<Of...>>
ptrdiff_t distance(At<Of...> from, At<Of...> to) {
    return ranges::distance(std::move(from), std::move(to));
}

} // namespace std

#endif // LATHWORK_CXX_DETAIL_CONTAINER_HPP
