// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The peers of table `scan`: containers of pointers and intrusive lists.
#pragma once

#include "element.hpp"

#include <array>
#include <cstddef>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

namespace lathbench {

// How many elements ahead of the current one a variant prefetches.
inline constexpr std::size_t prefetch_distance = 16;
inline constexpr std::size_t far_distance = 32;

enum class prefetching { none, near, far }; // far: into the second-level cache

template <prefetching Into = prefetching::near, class E>
[[gnu::always_inline]] inline void prefetch_element(const E* e) {
    for (unsigned i = 0; i < E::lines; ++i)
        __builtin_prefetch(reinterpret_cast<const char*>(e) + 64 * i, 0,
                           Into == prefetching::far ? 2 : 3);
}

// The elements themselves in an array. A scan goes through memory from front to back, whatever
// order was asked for, and shows what a scan costs at least.
template <class E>
class element_array {
public:
    void push_back(E& e) {
        first_ = !first_ || &e < first_ ? &e : first_;
        ++size_;
    }
    template <class Fn>
    void scan(Fn f) const {
        for (const E *e = first_, *end = e + size_; e != end; ++e)
            f(*e);
    }

private:
    const E* first_ = nullptr;
    std::size_t size_ = 0;
};

template <class E, prefetching Prefetch>
class pointer_vector {
public:
    void push_back(E& e) { v_.push_back(&e); }
    template <class Fn>
    void scan(Fn f) const {
        std::size_t i = 0;
        if constexpr (Prefetch != prefetching::none) {
            constexpr std::size_t distance =
                Prefetch == prefetching::far ? far_distance : prefetch_distance;
            for (; i + distance < v_.size(); ++i) {
                prefetch_element<Prefetch>(v_[i + distance]);
                f(*v_[i]);
            }
            for (; i < v_.size(); ++i)
                f(*v_[i]);
        } else {
            for (const E* e : v_)
                f(*e);
        }
    }

private:
    std::vector<E*> v_;
};

// A ring of pointers, as Seastar's task queue is. Its size is a power of two and doubles when the
// ring is full.
template <class E, bool Prefetch>
class circular {
public:
    bool empty() const { return begin_ == end_; }
    void push_back(E& e) {
        reserve_one();
        slots_[end_++ & mask_] = &e;
    }
    void push_front(E& e) {
        reserve_one();
        slots_[--begin_ & mask_] = &e;
    }
    E& pop_front() {
        if constexpr (Prefetch) // behind the end it prefetches an old pointer, which is harmless
            prefetch_element(slots_[(begin_ + prefetch_distance) & mask_]);
        return *slots_[begin_++ & mask_];
    }
    template <class Fn>
    void scan(Fn f) const {
        std::size_t i = begin_;
        if constexpr (Prefetch) {
            for (; i + prefetch_distance < end_; ++i) {
                prefetch_element(slots_[(i + prefetch_distance) & mask_]);
                f(*slots_[i & mask_]);
            }
        }
        for (; i != end_; ++i)
            f(*slots_[i & mask_]);
    }

private:
    void reserve_one() {
        if (end_ - begin_ == capacity_) [[unlikely]]
            grow();
    }
    [[gnu::noinline]] void grow() {
        std::size_t wanted = capacity_ ? 2 * capacity_ : 16;
        auto fresh = std::make_unique<E*[]>(wanted);
        std::size_t n = end_ - begin_;
        for (std::size_t i = 0; i < n; ++i)
            fresh[i] = slots_[(begin_ + i) & mask_];
        slots_ = std::move(fresh);
        capacity_ = wanted;
        mask_ = wanted - 1;
        // far above 0, which push_front must not reach
        begin_ = std::size_t{1} << 40;
        end_ = begin_ + n;
    }

    std::unique_ptr<E*[]> slots_;
    std::size_t capacity_ = 0, mask_ = 0, begin_ = 0, end_ = 0;
};

// A chain of chunks of 128 pointers. Each chunk is a ring and is freed when its last element
// leaves. One free chunk is kept, so that a short queue does not allocate with every turn.
template <class E>
class chunked_fifo {
public:
    static constexpr unsigned per_chunk = 128;

    chunked_fifo() = default;
    chunked_fifo(const chunked_fifo&) = delete;
    chunked_fifo& operator=(const chunked_fifo&) = delete;
    ~chunked_fifo() {
        while (front_)
            delete std::exchange(front_, front_->next);
        delete spare_;
    }

    bool empty() const { return !front_; }
    void push_back(E& e) {
        if (!back_ || back_->size() == per_chunk) [[unlikely]] {
            chunk* c = take();
            (back_ ? back_->next : front_) = c;
            back_ = c;
        }
        back_->at(back_->end++) = &e;
    }
    // The original has no push_front, so a run-queue with urgent tasks could not use it.
    void push_front(E& e) {
        if (!front_ || front_->size() == per_chunk) [[unlikely]] {
            chunk* c = take();
            c->next = front_;
            front_ = c;
            if (!back_)
                back_ = c;
        }
        front_->at(--front_->begin) = &e;
    }
    E& pop_front() {
        E* e = front_->at(front_->begin++);
        if (front_->begin == front_->end) [[unlikely]]
            drop_front();
        return *e;
    }
    template <class Fn>
    void scan(Fn f) const {
        for (chunk* c = front_; c; c = c->next)
            for (unsigned i = c->begin; i != c->end; ++i)
                f(*c->at(i));
    }

private:
    struct chunk {
        E* slots[per_chunk];
        chunk* next;
        unsigned begin, end;
        unsigned size() const { return end - begin; }
        E*& at(unsigned i) { return slots[i % per_chunk]; }
    };
    chunk* take() {
        chunk* c = spare_ ? std::exchange(spare_, nullptr) : new chunk;
        c->next = nullptr;
        c->begin = c->end = 0;
        return c;
    }
    void drop_front() {
        chunk* c = std::exchange(front_, front_->next);
        if (!front_)
            back_ = nullptr;
        delete std::exchange(spare_, c);
    }

    chunk *front_ = nullptr, *back_ = nullptr, *spare_ = nullptr;
};

template <class E>
class pointer_deque {
public:
    bool empty() const { return d_.empty(); }
    void push_back(E& e) { d_.push_back(&e); }
    void push_front(E& e) { d_.push_front(&e); }
    E& pop_front() {
        E* e = d_.front();
        d_.pop_front();
        return *e;
    }
    template <class Fn>
    void scan(Fn f) const {
        for (const E* e : d_)
            f(*e);
    }

private:
    std::deque<E*> d_;
};

template <class List, class E>
class boost_queue {
public:
    ~boost_queue() { list_.clear(); }
    bool empty() const { return list_.empty(); }
    void push_back(E& e) { list_.push_back(e); }
    void push_front(E& e) { list_.push_front(e); }
    E& pop_front() {
        E& e = list_.front();
        list_.pop_front();
        return e;
    }
    template <class Fn>
    void scan(Fn f) const {
        for (const E& e : list_)
            f(e);
    }

private:
    List list_;
};

template <class E>
using boost_list =
    boost_queue<boost::intrusive::list<
                    E, boost::intrusive::constant_time_size<false>,
                    boost::intrusive::member_hook<
                        E, boost::intrusive::list_member_hook<typename E::normal>, &E::list_hook>>,
                E>;
template <class E>
using boost_slist = boost_queue<
    boost::intrusive::slist<
        E, boost::intrusive::constant_time_size<false>, boost::intrusive::cache_last<true>,
        boost::intrusive::member_hook<E, boost::intrusive::slist_member_hook<typename E::normal>,
                                      &E::slist_hook>>,
    E>;

// The split list as its proposal describes it: F lists that end with a null pointer, the address of
// the last link of each, and an iterator of F cursors that reads a link after the body of the loop.
// It does not prefetch. F need not be a power of two, to show what a division costs.
template <class E, unsigned F>
class seed_split_list {
public:
    seed_split_list() {
        for (unsigned i = 0; i < F; ++i)
            last_[i] = &first_[i];
    }
    seed_split_list(const seed_split_list&) = delete;
    seed_split_list& operator=(const seed_split_list&) = delete;

    bool empty() const { return head_ == tail_; }
    void push_back(E& e) {
        unsigned i = tail_++ % F;
        e.next = nullptr;
        *last_[i] = &e;
        last_[i] = &e.next;
    }
    void push_front(E& e) {
        unsigned i = --head_ % F;
        e.next = first_[i];
        if (!first_[i])
            last_[i] = &e.next;
        first_[i] = &e;
    }
    E& pop_front() {
        unsigned i = head_++ % F;
        E* e = first_[i];
        first_[i] = e->next;
        if (!first_[i])
            last_[i] = &first_[i];
        return *e;
    }
    template <class Fn>
    void scan(Fn f) const {
        std::array<E*, F> cursors = first_;
        for (unsigned i = head_; i != tail_; ++i) {
            E*& cursor = cursors[i % F];
            f(static_cast<const E&>(*cursor));
            cursor = cursor->next;
        }
    }

private:
    std::array<E*, F> first_{};
    std::array<E**, F> last_;
    unsigned tail_ = 0, head_ = 0;
};

} // namespace lathbench
