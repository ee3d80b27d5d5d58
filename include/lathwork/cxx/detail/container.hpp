// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// lathwork/cxx/detail/container.hpp - what the containers have in common: the table, which is made
// when it is needed, iterators, looking.
//
// index.hpp, point_map.hpp and interval.hpp include it; a program has no reason to do so itself.
//
//   lathwork::range_set ranges;
//   for (lathwork::range where : ranges.overlapping(0, 100))
//       use(where.first(), where.end());
//
// Errors: error() says why there is no table.
#ifndef LATHWORK_CXX_DETAIL_CONTAINER_HPP
#define LATHWORK_CXX_DETAIL_CONTAINER_HPP

#include "lathwork/cxx/detail/iterator.hpp"

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <new>
#include <utility>

namespace lathwork::detail {

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
        own_changes++;
        return made_table();
    }
    Table* changes() {
        own_changes++;
        return get();
    }

    Options how_;

private:
    std::atomic<Table*> table_{nullptr};
    int error_ = 0;
};

// One whose entries have an order.
template <typename Table>
class ordered : public container<Table> {
protected:
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

#endif // LATHWORK_CXX_DETAIL_CONTAINER_HPP
