// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// lathwork/cxx/items.hpp - what the containers of index.hpp and point_map.hpp show and keep:
// ranges, entries, results; values in the index itself or in boxes.
//
// index.hpp includes it; a program has no reason to do so itself.
//
//   lathwork::range where = lathwork::range::between(4096, 8192); // [4096, 8192)
//   if (where.contains(5000) && where.last() == 8191)
//       use(where.key, where.size);
//
// Errors: insert_result has 0 or a negative errno, as the calls of index.hpp say.
#ifndef LATHWORK_CXX_ITEMS_HPP
#define LATHWORK_CXX_ITEMS_HPP

#if __cplusplus <= 201703L
#error "lathwork/cxx needs C++20: compile with -std=c++20"
#endif

#include "lathwork/index.h"

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>

#if defined(__SANITIZE_THREAD__)
#define LATHWORK_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define LATHWORK_TSAN 1
#endif
#endif
#ifdef LATHWORK_TSAN
extern "C" void __tsan_acquire(void* address);
extern "C" void __tsan_release(void* address);
#endif

namespace lathwork {

using config = lath_config;
using stats = lath_index_stats;

// The defaults: ranges, memory from anonymous pages, threads register by themselves.
inline config default_config() { return LATH_CONFIG_INIT; }

// [key, key + size). size 0 is no range; key + size may be 2^64 and no more.
struct range {
    std::uint64_t key = 0;
    std::uint64_t size = 0;

    // [first, end)
    static constexpr range between(std::uint64_t first, std::uint64_t end) {
        return {first, end > first ? end - first : 0};
    }

    constexpr std::uint64_t last() const { return key + (size - 1); }
    constexpr bool contains(std::uint64_t point) const { return point - key < size; }
    constexpr bool overlaps(const range& other) const {
        return contains(other.key) || other.contains(key);
    }
    friend constexpr bool operator==(const range&, const range&) = default;
};

// What a range_map shows: `auto [where, value] = ...`
template <typename T>
struct entry {
    range where;
    T value;
};

// What a point_map shows: `auto [key, value] = ...`
template <typename T>
struct point_entry {
    std::uint64_t key;
    T value;
};

// What insert did. there: on -EEXIST one range that is in the way.
struct insert_result {
    int error = 0;
    range there{};
    explicit operator bool() const { return error == 0; }
};

template <typename T>
concept stored_directly = std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(std::uint64_t);

namespace detail {

// An RCU reader of a flavour for the length of a scope.
class reader {
public:
    explicit reader(const lath_rcu* rcu) : rcu_(rcu) {
        if (rcu_->read_lock)
            rcu_->read_lock();
    }
    ~reader() {
#ifdef LATHWORK_TSAN
        __tsan_release(&grace_period); // pairs with retired(): liburcu is not instrumented
#endif
        if (rcu_->read_unlock)
            rcu_->read_unlock();
    }
    reader(const reader&) = delete;
    reader& operator=(const reader&) = delete;

    // fn(head) after a grace period; its first statement is retired().
    static void retire(const lath_rcu* rcu, lath_rcu_head* head, void (*fn)(lath_rcu_head*)) {
#ifdef LATHWORK_TSAN
        __tsan_release(&grace_period);
#endif
        rcu->call(head, fn);
    }
    static void retired() {
#ifdef LATHWORK_TSAN
        __tsan_acquire(&grace_period);
#endif
    }

private:
    static inline char grace_period = 0;
    const lath_rcu* rcu_;
};

template <typename T>
class removed_values;

// A T on its own. While the container has it, readers reach it; after retire() it is in one list of
// its removed_values, or on its way there.
template <typename T>
struct box {
    lath_rcu_head head; // first: a callback gets its address
    removed_values<T>* owner;
    T value;
};

// The boxes of one container. A value is destroyed by a thread of the user's, in a later call that
// removes one, in drain() or with the container; never in a callback of the RCU flavour, where ~T
// could not wait for readers, as the end of a map within a map does.
//
// Threads: make() and retire() may run beside all but the destructor; destroy_some() too, but not
// in a section of the caller's if ~T waits for readers.
template <typename T>
class removed_values {
    using box = detail::box<T>;

public:
    explicit removed_values(const lath_allocator* allocator) : allocator_(allocator) {}
    // Callbacks of retired boxes have run (the flavour's drain), and nothing else uses it.
    ~removed_values() { destroy_all(); }
    removed_values(const removed_values&) = delete;
    removed_values& operator=(const removed_values&) = delete;

    template <typename... Args>
    box* make(Args&&... args) {
        void* memory =
            allocator_ ? allocator_->alloc(allocator_->ctx, sizeof(box), alignof(box))
                       : ::operator new(sizeof(box), std::align_val_t(alignof(box)), std::nothrow);
        if (!memory)
            return nullptr;
        struct guard { // T's constructor may throw
            removed_values* to;
            void* memory;
            ~guard() {
                if (memory)
                    to->give_back(memory);
            }
        } hold{this, memory};
        box* made = new (memory) box{{}, this, T(std::forward<Args>(args)...)};
        hold.memory = nullptr;
        return made;
    }
    // At once: no reader can have found it.
    void destroy(box* b) {
        b->~box();
        give_back(b);
    }
    // The container does not have b any more, but readers may have found it.
    void retire(const lath_rcu* rcu, box* b) { reader::retire(rcu, &b->head, after_grace_period); }
    // No reader can find b any more: a later call destroys it.
    void keep(box* b) {
        lath_rcu_head* newest = unseen_.load(std::memory_order_relaxed);
        do
            b->head.next = newest;
        while (!unseen_.compare_exchange_weak(newest, &b->head, std::memory_order_release,
                                              std::memory_order_relaxed));
    }

    // Destroys some of the values that no reader looks at any more: more than one call removes, so
    // they do not pile up, and few enough that the call's time has a bound. One thread at a time
    // does so; the others need not wait for it, as the next call goes on.
    void destroy_some() {
        if (!unseen_.load(std::memory_order_relaxed) && !list_.load(std::memory_order_relaxed))
            return;
        if (depth < deepest && !taken_.exchange(true, std::memory_order_acquire))
            destroy_each(take(at_once));
    }
    // Destroys all that no reader looks at any more.
    void destroy_all() {
        for (;;) {
            while (taken_.exchange(true, std::memory_order_acquire))
                std::this_thread::yield();
            lath_rcu_head* first = take(SIZE_MAX);
            if (!first)
                return;
            destroy_each(first);
        }
    }

private:
    static constexpr std::size_t at_once = 64;
    // destroy_some() does nothing within so many others of its thread: a chain of values that
    // remove one another would use up the stack.
    static constexpr unsigned deepest = 8;
    static inline thread_local unsigned depth = 0;

    static box* of(lath_rcu_head* head) { return reinterpret_cast<box*>(head); }
    static void after_grace_period(lath_rcu_head* head) {
        reader::retired();
        of(head)->owner->keep(of(head)); // the flavour does not use the head any more
    }
    // The first boxes, at most so many. `taken_` is held before, and not after.
    lath_rcu_head* take(std::size_t most) {
        lath_rcu_head *rest = list_.load(std::memory_order_relaxed), *last = nullptr;
        if (!rest)
            rest = unseen_.exchange(nullptr, std::memory_order_acquire);
        lath_rcu_head* first = rest;
        for (std::size_t n = 0; n < most && rest; ++n) {
            last = rest;
            rest = rest->next;
        }
        if (last)
            last->next = nullptr;
        list_.store(rest, std::memory_order_relaxed);
        taken_.store(false, std::memory_order_release);
        return first;
    }
    // `taken_` is free: the destructor of a value may call the container.
    void destroy_each(lath_rcu_head* first) {
        ++depth;
        for (lath_rcu_head* next; first; first = next) {
            next = first->next;
            destroy(of(first));
        }
        --depth;
    }
    void give_back(void* memory) {
        if (allocator_)
            allocator_->free(allocator_->ctx, memory, sizeof(box));
        else
            ::operator delete(memory, std::align_val_t(alignof(box)), std::nothrow);
    }

    const lath_allocator* allocator_;
    std::atomic<lath_rcu_head*> unseen_{nullptr}; // a stack; callbacks push
    std::atomic<lath_rcu_head*> list_{nullptr}; // taken out of unseen_; `taken_` held to change it
    std::atomic<bool> taken_{false}; // a thread takes boxes out of list_
};

// What a container of Ts has for its boxes: nothing if the values are in the index itself.
struct no_boxes {};
template <typename T>
using boxes_of =
    std::conditional_t<stored_directly<T>, no_boxes, std::unique_ptr<removed_values<T>>>;

// Where an entry of a map lies, as its user says it: a range, or a key alone.
template <typename T>
struct at_range {
    using entry_type = entry<T>;
    using shown_as = range;
    static range of(const lath_item& item) { return {item.key, item.size}; }
    static range extent(const entry_type& e) { return e.where; }
};

template <typename T>
struct at_point {
    using entry_type = point_entry<T>;
    using shown_as = std::uint64_t;
    static std::uint64_t of(const lath_item& item) { return item.key; }
    static range extent(const entry_type& e) { return {e.key, 1}; }
};

// How an item of the index becomes what a container shows. chunk: items read ahead by an iterator.
template <typename T, typename Place>
struct direct_items {
    using place = Place;
    using shown = typename Place::entry_type;
    using value_type = shown;
    using reference = shown;
    using result = std::optional<shown>;
    static constexpr std::size_t chunk = 16;
    static std::uint64_t pack(const T& value) {
        std::uint64_t word = 0;
        std::memcpy(&word, &value, sizeof value);
        return word;
    }
    static T unpack(std::uint64_t word) {
        std::array<unsigned char, sizeof(T)> bytes;
        std::memcpy(bytes.data(), &word, sizeof(T));
        return std::bit_cast<T>(bytes);
    }
    static shown show(const lath_item& item) { return {Place::of(item), unpack(item.value)}; }
    static reference give(const shown& e) { return e; }
};

template <typename T, typename Place>
struct boxed_items {
    using place = Place;
    using shown = typename Place::entry_type;
    using value_type = shown;
    using reference = shown;
    using result = std::optional<shown>;
    static constexpr std::size_t chunk = 1; // copied inside the reader that found it
    static box<T>* of(std::uint64_t word) {
        return reinterpret_cast<box<T>*>(static_cast<std::uintptr_t>(word));
    }
    static std::uint64_t word(box<T>* b) { return reinterpret_cast<std::uintptr_t>(b); }
    static shown show(const lath_item& item) { return {Place::of(item), of(item.value)->value}; }
    static reference give(const shown& e) { return e; }
};

struct bare_items {
    using shown = range;
    using value_type = range;
    using reference = range;
    using result = std::optional<range>;
    static constexpr std::size_t chunk = 16;
    static shown show(const lath_item& item) { return {item.key, item.size}; }
    static reference give(const shown& r) { return r; }
};

template <typename T, lath_slot T::* Slot>
struct slot_items {
    using shown = T*;
    using value_type = T;
    using reference = T&;
    using result = T*;
    static constexpr std::size_t chunk = 1; // an object erased behind us is never shown
    static T* of(std::uint64_t word) {
        return reinterpret_cast<T*>(static_cast<std::uintptr_t>(word));
    }
    static std::uint64_t word(T* object) { return reinterpret_cast<std::uintptr_t>(object); }
    static shown show(const lath_item& item) { return of(item.value); }
    static reference give(shown object) { return *object; }
};

} // namespace detail

} // namespace lathwork

#endif // LATHWORK_CXX_ITEMS_HPP
