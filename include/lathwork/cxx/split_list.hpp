// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// split_list.hpp - an intrusive queue that can be scanned as fast as an array of pointers.
//
// A run-queue needs push_back, push_front, pop_front and, now and then, a scan of everything queued.
// An intrusive list never allocates, so queueing cannot fail; but a scan of it is a chain of cache
// misses. This list is split into F lanes: the element at position p is in lane p mod F, and its
// one link points to position p + F. F = 4, positions from 6 to 15:
//
//      lane 0   first --------> [ 8] ------> [12] <------------ last
//      lane 1   first --------> [ 9] ------> [13] <------------ last
//      lane 2   first -> [ 6] ------> [10] ------> [14] <------- last
//      lane 3   first -> [ 7] ------> [11] ------> [15] <------- last
//                      ^ head = 6 (lane 2)               tail = 16 (lane 0) is the next push_back
//
// A scan visits the lanes in turn and knows F addresses at any time, so F cache misses overlap. The
// link of an element is also the jump pointer of Luk and Mowry's prefetching (ASPLOS 1996): the
// address of the element F steps ahead.
//
//   I1  head and tail count positions and wrap around; size = tail - head.
//   I2  first[l] and last[l] are the elements of lane l with the smallest and the largest position;
//       undefined if the lane is empty.
//   I3  The link of the element at p is the element at p + F when p + F < tail. No other link is
//       ever read. Nothing points into the list object: moving it is a plain copy.
//
// F must be a power of two, or the lanes would not be cyclic. doc/split-list.md says which F, and
// when to choose another container.
//
// Cost: push_back, push_front, pop_front, front, back, size, clear O(1); move, swap, splice O(F);
// unlink O(p + F), p its position; remove_and_dispose_if, clear_and_dispose O(n).
//
// An iterator (and for_each) knows the F elements ahead and where the list ended when begin() was
// called, and reads the link of an element before it hands the element out. Hence, during a scan:
//   push_back, push_front            allowed; the new elements are not visited
//   pop_front                        allowed up to and including the current element, which may
//                                    then also be freed, or queued again at either end
//   move, swap, splice               allowed; iterators continue with the same elements
//   clear                            allowed; do not free elements that are yet to be visited
//   unlink, remove_and_dispose_if,   every iterator is invalid afterwards
//   clear_and_dispose
// An iterator takes 8 F + 24 bytes.
//
// Size limit: the largest value of Policy::index_type. Threads: as a standard container. No call
// allocates or needs RTTI. The caller owns the elements; the destructor does not touch them.
//
// Errors: no call fails or throws, except what the caller's own functions throw. What a call
// expects of its caller is asserted: a list that is not empty, room for one more, an element in no
// list.
//
//     struct task {
//         virtual void run() = 0;
//         task* next;                        // need not be initialised
//     };
//     lathwork::intrusive_split_list<task, 16, &task::next> queue;
//     queue.push_back(a);
//     while (!queue.empty())
//         queue.pop_front().run();
#ifndef LATHWORK_CXX_SPLIT_LIST_HPP
#define LATHWORK_CXX_SPLIT_LIST_HPP

#if __cplusplus <= 201703L
#error "lathwork/cxx needs C++20: compile with -std=c++20"
#endif

#include <algorithm>
#include <cassert>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <functional>
#include <iterator>
#include <limits>
#include <ranges>
#include <type_traits>
#include <utility>

// Scans are inlined whatever their size: a scan that keeps the caller's variables in memory takes
// 10 % longer (clang 19). The caller's body is not forced.
#define LATH_SPLIT_LIST_INLINE [[gnu::always_inline]] inline

namespace lathwork {

// Tunable constants: derive and redefine. doc/split-list.md has what each costs.
struct split_list_policy {
    // Positions. A narrower type makes the list object a few bytes smaller and limits its size.
    using index_type = std::size_t;
    // Cache lines of an element to prefetch, F elements ahead, on every step of a scan and every
    // pop_front; 0 = none.
    static constexpr unsigned prefetch_lines = 1;
    // Of longer lists for_each prefetches into the second-level cache only, which
    // supports more overlapping misses.
    static constexpr std::size_t far_size = std::size_t{1} << 17;
};

template <class T, unsigned F, T* T::* Next, class Policy = split_list_policy>
class intrusive_split_list {
    using index_type = typename Policy::index_type;
    static constexpr std::size_t mask = std::size_t{F} - 1;
    // Steps written out one after another in a row: the offset of a cursor is then a constant.
    static constexpr unsigned unroll = F < 4 ? F : 4;

    static_assert(F != 0 && (F & (F - 1)) == 0,
                  "intrusive_split_list: F must be a power of two, or the lanes would not stay "
                  "cyclic where the position counters wrap around");
    static_assert(std::unsigned_integral<index_type>,
                  "intrusive_split_list: Policy::index_type must be unsigned, for it wraps around");
    static_assert(mask <= std::numeric_limits<index_type>::max(),
                  "intrusive_split_list: Policy::index_type cannot count F lanes");

    T* first_[F]{};
    T* last_[F]{};
    index_type head_ = 0; // position of the front
    index_type tail_ = 0; // position of the next push_back

    template <bool Const>
    class basic_iterator;

public:
    using value_type = T;
    using pointer = T*;
    using const_pointer = const T*;
    using reference = T&;
    using const_reference = const T&;
    using size_type = std::size_t;
    using difference_type = std::ptrdiff_t;
    using iterator = basic_iterator<false>;
    using const_iterator = basic_iterator<true>;

    static constexpr unsigned lanes = F;

    constexpr intrusive_split_list() noexcept = default;
    // An empty list whose first push_back gets this position: for tests of the wrap-around.
    explicit constexpr intrusive_split_list(index_type position) noexcept
        : head_(position), tail_(position) {}

    intrusive_split_list(const intrusive_split_list&) = delete;
    intrusive_split_list& operator=(const intrusive_split_list&) = delete;

    // O(F). The other list is empty afterwards.
    constexpr intrusive_split_list(intrusive_split_list&& other) noexcept { swap(other); }
    // O(F). The elements that were in *this are forgotten.
    constexpr intrusive_split_list& operator=(intrusive_split_list&& other) noexcept {
        if (this != &other) {
            clear();
            swap(other);
        }
        return *this;
    }

    constexpr void swap(intrusive_split_list& other) noexcept {
        std::swap(first_, other.first_);
        std::swap(last_, other.last_);
        std::swap(head_, other.head_);
        std::swap(tail_, other.tail_);
    }
    friend constexpr void swap(intrusive_split_list& a, intrusive_split_list& b) noexcept {
        a.swap(b);
    }

    [[nodiscard]] constexpr bool empty() const noexcept { return head_ == tail_; }
    [[nodiscard]] constexpr size_type size() const noexcept {
        return static_cast<index_type>(tail_ - head_);
    }
    [[nodiscard]] static constexpr size_type max_size() noexcept {
        return std::numeric_limits<index_type>::max();
    }

    // The list must not be empty.
    [[nodiscard]] constexpr T& front() noexcept { return *front_pointer(); }
    [[nodiscard]] constexpr const T& front() const noexcept { return *front_pointer(); }
    [[nodiscard]] constexpr T& back() noexcept { return *back_pointer(); }
    [[nodiscard]] constexpr const T& back() const noexcept { return *back_pointer(); }

    // The element must not be in a list that uses the same link.
    constexpr void push_back(T& element) noexcept {
        assert(size() < max_size());
        const std::size_t l = lane(tail_);
        set_link(size() >= F ? last_[l] : nullptr, l, &element);
        last_[l] = &element;
        ++tail_;
    }

    constexpr void push_front(T& element) noexcept {
        assert(size() < max_size());
        const bool lane_in_use = size() >= F;
        --head_;
        const std::size_t l = lane(head_);
        if (lane_in_use)
            element.*Next = first_[l];
        else
            last_[l] = &element;
        first_[l] = &element;
    }

    // The list must not be empty. Prefetches the element that F pops later will be the front.
    constexpr T& pop_front() noexcept {
        assert(!empty());
        const std::size_t l = lane(head_);
        T* const element = first_[l];
        if (size() > F)
            prefetch(first_[l] = element->*Next);
        ++head_;
        return *element;
    }

    // The inner loop of a cooperative scheduler: pops up to `budget` elements and calls body with
    // each, until the list is empty or body returns false. body may push others and its own element,
    // may free it, and may call run(). Returns how many ran. If body throws, its element has left.
    template <class Body>
        requires std::invocable<Body&, T&>
    constexpr size_type run(Body body, size_type budget = std::numeric_limits<size_type>::max()) {
        size_type ran = 0;
        while (ran < budget && !empty()) {
            T& task = pop_front();
            ++ran;
            if constexpr (std::is_void_v<std::invoke_result_t<Body&, T&>>)
                std::invoke(body, task);
            else if (!std::invoke(body, task))
                break;
        }
        return ran;
    }

    // Forgets the elements, O(1).
    constexpr void clear() noexcept { head_ = tail_; }

    // Pops each element and hands its address to dispose, which may free it.
    template <class Dispose>
        requires std::invocable<Dispose&, T*>
    constexpr void clear_and_dispose(Dispose dispose) {
        while (!empty())
            std::invoke(dispose, &pop_front());
    }

    // Appends all of other, which is empty afterwards. O(F) however long the lists are.
    constexpr void splice_back(intrusive_split_list& other) noexcept {
        assert(this != &other && other.size() <= max_size() - size());
        const size_type n = size();
        const size_type count = other.size();
        for (size_type j = 0; j < F && j < count; ++j) {
            const std::size_t to = lane(tail_ + j);
            const std::size_t from = lane(other.head_ + j);
            set_link(n + j >= F ? last_[to] : nullptr, to, other.first_[from]);
            last_[to] = other.last_[from];
        }
        tail_ = static_cast<index_type>(tail_ + count);
        other.clear();
    }
    // Puts all of other before the front. O(F).
    constexpr void splice_front(intrusive_split_list& other) noexcept {
        other.splice_back(*this);
        swap(other);
    }

    // Removes one element at any position: searches it from the front, F misses at a time, then
    // moves the lanes behind it up by one. Returns false if it is not in the list.
    constexpr bool unlink(T& element) noexcept;

    // Removes all elements that pred accepts, in one pass, and calls dispose with their addresses.
    // Returns their number. pred must not throw, and must not change this list.
    template <class Pred, class Dispose>
        requires std::predicate<Pred&, const T&> && std::invocable<Dispose&, T*>
    constexpr size_type remove_and_dispose_if(Pred pred, Dispose dispose) {
        const size_type n = size();
        size_type removed = 0;
        for (size_type i = 0; i < n; ++i) {
            T& element = pop_front();
            if (std::invoke(pred, std::as_const(element))) {
                ++removed;
                std::invoke(dispose, &element);
            } else {
                push_back(element);
            }
        }
        return removed;
    }

    // Calls f on every element, front to back: the fastest scan. The comment at the top of this
    // file says what f may do to the list.
    template <class Fn>
        requires std::invocable<Fn&, T&>
    LATH_SPLIT_LIST_INLINE constexpr void for_each(Fn f) {
        walk<T>(f);
    }
    template <class Fn>
        requires std::invocable<Fn&, const T&>
    LATH_SPLIT_LIST_INLINE constexpr void for_each(Fn f) const {
        walk<const T>(f);
    }

    [[nodiscard]] LATH_SPLIT_LIST_INLINE constexpr iterator begin() noexcept {
        return iterator(*this);
    }
    [[nodiscard]] LATH_SPLIT_LIST_INLINE constexpr const_iterator begin() const noexcept {
        return const_iterator(*this);
    }
    [[nodiscard]] constexpr const_iterator cbegin() const noexcept { return const_iterator(*this); }
    [[nodiscard]] constexpr std::default_sentinel_t end() const noexcept { return {}; }
    [[nodiscard]] constexpr std::default_sentinel_t cend() const noexcept { return {}; }

private:
    static constexpr std::size_t lane(std::size_t position) noexcept { return position & mask; }

    // Far: into the second-level cache. Always inlined: gcc 12 treats a function that only
    // prefetches as one without effect, and drops calls to it that it did not inline early.
    template <bool Far = false>
    LATH_SPLIT_LIST_INLINE static constexpr void prefetch(const T* element) noexcept {
        constexpr unsigned line = 64;
        constexpr int locality = Far ? 2 : 3;
        if (!std::is_constant_evaluated()) {
            for (unsigned i = 0; i < Policy::prefetch_lines; ++i)
                __builtin_prefetch(reinterpret_cast<const char*>(element) + i * line, 0, locality);
        }
    }

    // By eight pointers: gcc turns one whole copy into `rep movs`, which takes longer to start.
    LATH_SPLIT_LIST_INLINE static constexpr void copy_lanes(T** to, T* const* from) noexcept {
        if (std::is_constant_evaluated()) {
            std::copy(from, from + F, to);
        } else {
            constexpr unsigned part = F < 8 ? F : 8;
            for (unsigned i = 0; i < F; i += part)
                std::memcpy(to + i, from + i, part * sizeof(T*));
        }
    }

    constexpr T* front_pointer() const noexcept {
        assert(!empty());
        return first_[lane(head_)];
    }
    constexpr T* back_pointer() const noexcept {
        assert(!empty());
        return last_[lane(std::size_t{tail_} - 1)];
    }

    // element comes after before, or becomes the first of its lane.
    constexpr void set_link(T* before, std::size_t l, T* element) noexcept {
        if (before)
            before->*Next = element;
        else
            first_[l] = element;
    }

    // Moves a cursor to the next element of its lane.
    template <class Element, bool Far, class Visit>
    LATH_SPLIT_LIST_INLINE static constexpr void step(T*& cursor, Visit& visit) {
        T* const element = cursor;
        T* const ahead = element->*Next;
        prefetch<Far>(ahead);
        cursor = ahead;
        std::invoke(visit, static_cast<Element&>(*element));
    }

    // Visits all whole rows of elements that have a link; `links` is the number of the others.
    template <class Element, bool Far, class Visit, std::size_t... I>
    LATH_SPLIT_LIST_INLINE static constexpr void
    step_rows(T** cursors, size_type& links, Visit& visit, std::index_sequence<I...>) {
        for (; links >= F; links -= F)
            for (std::size_t i = 0; i < F; i += unroll)
                (step<Element, Far>(cursors[i + I], visit), ...);
    }

    // Visits the elements. The last F have no link, so their cursors are not moved.
    template <class Element, class Visit>
    LATH_SPLIT_LIST_INLINE constexpr void walk(Visit& visit) const;
};

// The queue of a scheduler: F = 32 lanes take 528 bytes; with tasks of 5 ns and more, 8 do as well.
template <class Task, Task* Task::* Next, unsigned F = 32, class Policy = split_list_policy>
using run_queue = intrusive_split_list<Task, F, Next, Policy>;

// A forward iterator one step ahead of what it shows: the cursor of the current lane has already
// been moved on, so that the element shown may be freed.
template <class T, unsigned F, T* T::* Next, class Policy>
template <bool Const>
class intrusive_split_list<T, F, Next, Policy>::basic_iterator {
    friend intrusive_split_list;
    friend basic_iterator<true>;

    T* cursors_[F];
    T* element_; // nullptr at the end
    std::size_t lane_;
    size_type rest_; // elements from this one to the end

    LATH_SPLIT_LIST_INLINE explicit constexpr basic_iterator(
        const intrusive_split_list& list) noexcept
        : element_(nullptr), lane_(lane(list.head_)), rest_(list.size()) {
        copy_lanes(cursors_, list.first_);
        fetch();
    }

    // With a null pointer for the end, the usual path has one test: the compiler knows that what
    // was dereferenced is not null. gcc 12 takes a sixth less time than with a test of rest_.
    LATH_SPLIT_LIST_INLINE constexpr void fetch() noexcept {
        if (rest_ > F) [[likely]] {
            T*& cursor = cursors_[lane_];
            element_ = cursor;
            T* const ahead = element_->*Next;
            prefetch(ahead);
            cursor = ahead;
        } else {
            element_ = rest_ == 0 ? nullptr : cursors_[lane_];
        }
    }

public:
    using iterator_concept = std::forward_iterator_tag;
    using iterator_category = std::forward_iterator_tag;
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using pointer = std::conditional_t<Const, const T*, T*>;
    using reference = std::conditional_t<Const, const T&, T&>;

    constexpr basic_iterator() noexcept : cursors_{}, element_(nullptr), lane_(0), rest_(0) {}
    constexpr basic_iterator(const basic_iterator<!Const>& other) noexcept
        requires Const
        : element_(other.element_), lane_(other.lane_), rest_(other.rest_) {
        copy_lanes(cursors_, other.cursors_);
    }

    constexpr reference operator*() const noexcept { return *element_; }
    constexpr pointer operator->() const noexcept { return element_; }

    LATH_SPLIT_LIST_INLINE constexpr basic_iterator& operator++() noexcept {
        lane_ = lane(lane_ + 1);
        --rest_;
        fetch();
        return *this;
    }
    constexpr basic_iterator operator++(int) noexcept {
        basic_iterator before = *this;
        ++*this;
        return before;
    }

    // Of iterators over one list: equal when they show the same element or both are at the end.
    friend constexpr bool operator==(const basic_iterator& a, const basic_iterator& b) noexcept {
        return a.element_ == b.element_;
    }
    friend constexpr bool operator==(const basic_iterator& a, std::default_sentinel_t) noexcept {
        return a.element_ == nullptr;
    }
    friend constexpr difference_type operator-(std::default_sentinel_t,
                                               const basic_iterator& a) noexcept {
        return static_cast<difference_type>(a.rest_);
    }
    friend constexpr difference_type operator-(const basic_iterator& a,
                                               std::default_sentinel_t) noexcept {
        return -static_cast<difference_type>(a.rest_);
    }
};

template <class T, unsigned F, T* T::* Next, class Policy>
template <class Element, class Visit>
constexpr void intrusive_split_list<T, F, Next, Policy>::walk(Visit& visit) const {
    T* cursors[F];
    const size_type n = size();
    copy_lanes(cursors, first_);

    std::size_t l = lane(head_);
    size_type links = n > F ? n - F : 0;
    // the rest of the first row
    for (; l != 0 && l < F && links != 0; ++l, --links)
        step<Element, false>(cursors[l], visit);
    l = lane(l);
    constexpr auto row = std::make_index_sequence<unroll>{};
    if (n > Policy::far_size)
        step_rows<Element, true>(cursors, links, visit, row);
    else
        step_rows<Element, false>(cursors, links, visit, row);
    for (; links != 0; ++l, --links)
        step<Element, false>(cursors[l], visit);

    for (size_type rest = n < F ? n : F; rest != 0; --rest, ++l)
        std::invoke(visit, static_cast<Element&>(*cursors[lane(l)]));
}

template <class T, unsigned F, T* T::* Next, class Policy>
constexpr bool intrusive_split_list<T, F, Next, Policy>::unlink(T& element) noexcept {
    const size_type n = size();
    T* before[F]{}; // of each lane, the last element passed
    T* cursors[F];
    copy_lanes(cursors, first_);

    size_type p = 0;
    for (; p < n; ++p) {
        T*& cursor = cursors[lane(head_ + p)];
        if (cursor == &element)
            break;
        before[lane(head_ + p)] = cursor;
        if (n - p > F)
            prefetch(cursor = cursor->*Next);
    }
    if (p == n)
        return false;

    // Each of the next F lanes continues with the elements of the lane behind it.
    for (size_type j = 0; j < F && p + j + 1 < n; ++j) {
        const std::size_t l = lane(head_ + p + j);
        T* const successor = j + 1 < F ? cursors[lane(l + 1)] : element.*Next;
        set_link(before[l], l, successor);
    }
    // So do the ends of those lanes: of the last F positions, those from p on.
    T* const back = last_[lane(head_ + n - 1)];
    size_type q = n > F ? n - 1 - F : 0;
    if (n > F && q < p)
        last_[lane(head_ + q)] = before[lane(head_ + q)];
    for (q = std::max(q, p); q + 2 < n; ++q)
        last_[lane(head_ + q)] = last_[lane(head_ + q + 1)];
    if (q + 2 == n)
        last_[lane(head_ + q)] = back;
    --tail_;
    return true;
}

} // namespace lathwork

#undef LATH_SPLIT_LIST_INLINE

// Iterators do not refer to the list, so they may outlive it.
template <class T, unsigned F, T* T::* Next, class Policy>
inline constexpr bool
    std::ranges::enable_borrowed_range<lathwork::intrusive_split_list<T, F, Next, Policy>> = true;

#endif
