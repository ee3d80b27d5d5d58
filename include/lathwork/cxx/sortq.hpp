// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// lathwork/cxx/sortq.hpp - the sorted request queue for C++: typed, over a member hook.
//
//   struct request {
//       lathwork::sort_hook hook;
//       ...
//   };
//   std::vector<request> pool(256);
//   lathwork::sort_queue<request, &request::hook> queue(pool);
//   pool[7].hook.sector = 4096;
//   queue.insert(pool[7]);
//   request* next = queue.dispatch();
//
// The pool belongs to the caller and outlives the queue. Queues that share requests share a
// request_pool. Only the constructor allocates. Threads and costs as in lathwork/sortq.h.
//
// Errors: constructors throw std::invalid_argument (a bad number of requests, bad options),
// std::runtime_error (this processor lacks the vector form that was asked for) and std::bad_alloc.
// All other calls are noexcept.
#pragma once

#if __cplusplus <= 201703L
#error "lathwork/cxx needs C++20: compile with -std=c++20"
#endif

#include "lathwork/sortq.h"

#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>

namespace lathwork {

using sort_hook = ::lath_request;

// The options of a queue: the fields of lath_sortq_config by name.
struct sort_options {
    lath_sortq_engine engine = LATH_SORTQ_HYBRID;
    unsigned flags = 0; // LATH_SORTQ_LOWEST, _AGES, _MERGES
    lath_simd simd = LATH_SIMD_BEST;
};

template <class T, sort_hook T::* Hook>
class request_pool {
public:
    // Throws std::invalid_argument if there are no requests or more than 2^20 - 1.
    explicit request_pool(std::span<T> requests) {
        if (requests.empty() || requests.size() > LATH_SORTQ_MAX_REQUESTS ||
            lath_request_pool_init(&pool_, &(requests[0].*Hook), sizeof(T),
                                   static_cast<uint32_t>(requests.size())) != 0)
            throw std::invalid_argument("lathwork::request_pool: bad number of requests");
        first_ = requests.data();
    }
    T* item(lath_request* hook) const { return hook ? first_ + hook->tag : nullptr; }
    lath_request_pool* get() { return &pool_; }

private:
    lath_request_pool pool_{};
    T* first_ = nullptr;
};

template <class T, sort_hook T::* Hook>
class sort_queue {
public:
    using pool_type = request_pool<T, Hook>;

    // The result of a lookup; back and front are requests that [start, end) may be merged into.
    struct merge {
        T* back = nullptr;
        T* front = nullptr;
        lath_sortq_merge raw{};
    };

    explicit sort_queue(std::span<T> requests, sort_options options = {})
        : sort_queue(std::make_shared<pool_type>(requests), options) {}

    explicit sort_queue(std::shared_ptr<pool_type> pool, sort_options options = {})
        : pool_(std::move(pool)) {
        lath_sortq_config wanted = LATH_SORTQ_CONFIG_INIT;
        wanted.engine = options.engine;
        wanted.flags = options.flags;
        wanted.simd = options.simd;
        std::size_t bytes = lath_sortq_memsize(&wanted, pool_->get());
        if (bytes == 0)
            throw std::invalid_argument("lathwork::sort_queue: bad options");
        memory_.reset(::operator new(bytes, std::align_val_t{64}));
        if (lath_sortq_init(&queue_, &wanted, pool_->get(), memory_.get()) != 0)
            throw std::runtime_error("lathwork::sort_queue: this processor lacks the vector form");
    }

    sort_queue(const sort_queue&) = delete;
    sort_queue& operator=(const sort_queue&) = delete;

    // Returns false, with nothing changed, if refused: see "Misuse" in lathwork/sortq.h.
    bool insert(T& r) noexcept { return lath_sortq_insert(&queue_, &(r.*Hook)) == 0; }
    // flags: LATH_SORTQ_LOOK_ALL, LATH_SORTQ_LOOK_FRONT
    merge lookup(uint64_t start, uint64_t end, unsigned flags = 0) noexcept {
        merge m;
        lath_sortq_lookup(&queue_, start, end, flags, &m.raw);
        m.back = pool_->item(m.raw.back);
        m.front = pool_->item(m.raw.front);
        return m;
    }
    // As insert, with the result of a lookup on the unchanged queue.
    bool insert_at(const merge& m, T& r) noexcept {
        return lath_sortq_insert_at(&queue_, &m.raw, &(r.*Hook)) == 0;
    }
    // r grows by `sectors` at its end, or at its start to new_sector. False, nothing changed: r is
    // not in this queue, or new_sector lies behind its start.
    bool merge_back(T& r, uint32_t sectors) noexcept {
        (r.*Hook).sectors += sectors;
        if (lath_sortq_back_merged(&queue_, &(r.*Hook)) == 0)
            return true;
        (r.*Hook).sectors -= sectors;
        return false;
    }
    bool merge_front(T& r, uint64_t new_sector) noexcept {
        return lath_sortq_front_merged(&queue_, &(r.*Hook), new_sector) == 0;
    }
    // Returns false if r is not in this queue.
    bool remove(T& r) noexcept { return lath_sortq_remove(&queue_, &(r.*Hook)) == 0; }

    T* first() noexcept { return pool_->item(lath_sortq_first(&queue_)); }
    T* dispatch() noexcept { return pool_->item(lath_sortq_dispatch(&queue_)); }
    T* first_from(uint64_t sector) noexcept {
        return pool_->item(lath_sortq_first_from(&queue_, sector));
    }
    T* next(T& r) noexcept { return pool_->item(lath_sortq_next(&queue_, &(r.*Hook))); }
    T* prev(T& r) noexcept { return pool_->item(lath_sortq_prev(&queue_, &(r.*Hook))); }

    // Returns false if the queue dispatches the lowest sector first, or if the sector is too large.
    bool set_head(uint64_t sector) noexcept { return lath_sortq_set_head(&queue_, sector) == 0; }
    T* oldest() noexcept { return pool_->item(lath_sortq_oldest(&queue_)); }
    T* expired(uint64_t now) noexcept { return pool_->item(lath_sortq_expired(&queue_, now)); }
    void barrier() noexcept { lath_sortq_barrier(&queue_); }

    std::size_t size() const noexcept { return lath_sortq_count(&queue_); }
    bool empty() const noexcept { return size() == 0; }
    int verify() noexcept { return lath_sortq_verify(&queue_); }
    // For the other calls of lathwork/sortq.h: batches, zones.
    ::lath_sortq* get() noexcept { return &queue_; }

private:
    struct release {
        void operator()(void* p) const { ::operator delete(p, std::align_val_t{64}); }
    };
    std::shared_ptr<pool_type> pool_;
    std::unique_ptr<void, release> memory_;
    ::lath_sortq queue_{};
};

} // namespace lathwork
