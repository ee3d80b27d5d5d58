// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// lathwork/cxx/detail/steps.hpp - what the iterators have in common: entries that are read ahead,
// views, steps back.
//
// items.hpp includes it; a program has no reason to do so itself.
//
//   auto last = std::prev(map.end());
//
// Errors: none.
#ifndef LATHWORK_CXX_DETAIL_STEPS_HPP
#define LATHWORK_CXX_DETAIL_STEPS_HPP

#if __cplusplus <= 201703L
#error "lathwork/cxx needs C++20: compile with -std=c++20"
#endif

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <optional>
#include <ranges>
#include <utility>

namespace lathwork::detail {

[[noreturn]] inline void stop(const char* why) {
    std::fprintf(stderr, "%s\n", why);
    std::abort();
}
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

// Which of the entries that an iterator has read ahead it shows.
class position_ahead {
public:
    bool at_end() const { return at_ >= count_; }
    void clear() { count_ = at_ = 0; }
    // Steps within what was read; returns whether it could.
    bool next() {
        bool more = at_ + 1 < count_;
        at_ += more;
        return more;
    }
    bool previous() {
        bool more = at_ < count_ && at_;
        at_ -= more;
        return more;
    }

protected:
    std::uint32_t at_ = 0, count_ = 0; // the end: at_ == count_
};

// What an iterator has read ahead, at most N entries, and which of them it shows. If the copy or
// the move of one throws, it is at the end.
template <typename Shown, std::size_t N>
class read_ahead : public position_ahead {
public:
    read_ahead() = default;
    read_ahead(const read_ahead&) = default;
    read_ahead(read_ahead&&) = default;
    read_ahead& operator=(read_ahead other) {
        clear();
        all_ = std::move(other.all_);
        at_ = other.at_;
        count_ = other.count_;
        return *this;
    }
    ~read_ahead() = default;
    // Not at the end.
    const Shown* operator->() const { return std::addressof(*all_[at_]); }
    Shown* operator->() { return std::addressof(*all_[at_]); }
    // Shows make(0), and has those up to make(n - 1).
    template <typename Make>
    void fill(std::size_t n, Make make) {
        clear();
        for (std::size_t i = 0; i < n; i++)
            all_[i].emplace(make(i));
        count_ = static_cast<std::uint32_t>(n);
    }

private:
    std::array<std::optional<Shown>, N> all_{};
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

#endif // LATHWORK_CXX_DETAIL_STEPS_HPP
