// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Locks of objects where Python has no GIL.
//
// A call on a container holds the lock of its object (nb::lock_self(), Locked): a critical section
// of Python's. The lock is given up where the GIL would be: while the call waits, and where code of
// the caller's runs that waits. So what holds for calls with the GIL holds for calls on one object
// here, and calls on different objects run at the same time.
//
// A lookup by key takes no lock. It is a visit: it says in a slot of its thread which container it
// looks at, and takes references to what it found before it leaves. A call that took something out
// of the container waits for the visits that may have seen it (await_visits()) before it drops
// references and frees blocks. A visit runs no code of Python's and waits for nothing.
//
// With a GIL all of this is empty: a visit holds the GIL.
#pragma once

#include "error.hpp"

#include <sched.h>

#include <atomic>
#include <utility>

namespace lathpy {

using Locked = nanobind::ft_object_guard;
using BothLocked = nanobind::ft_object2_guard;

// A class of nanobind's each method of which holds the lock of its object.
template <class T, class... Bases>
class LockedClass : public nanobind::class_<T, Bases...> {
    using Class = nanobind::class_<T, Bases...>;

public:
    using Class::Class;

    template <class Function, class... Extra>
    LockedClass& def(const char* name, Function&& function, const Extra&... extra) {
        Class::def(name, std::forward<Function>(function), nanobind::lock_self(), extra...);
        return *this;
    }
    template <class... Args, class... Extra>
    LockedClass& def(nanobind::init<Args...>&& init, const Extra&... extra) {
        Class::def(std::move(init), extra...); // no other thread has the object
        return *this;
    }
    // A method that takes the lock itself, if it needs it.
    template <class Function, class... Extra>
    LockedClass& def_unlocked(const char* name, Function&& function, const Extra&... extra) {
        Class::def(name, std::forward<Function>(function), extra...);
        return *this;
    }
    template <class Getter>
    LockedClass& def_prop_ro(const char* name, Getter&& getter) {
        Class::def_prop_ro(name, std::forward<Getter>(getter), nanobind::lock_self());
        return *this;
    }
};

#ifdef Py_GIL_DISABLED

class Visit : Pinned {
public:
    explicit Visit(const void* container) : slot(own_slot()) {
        if (!slot)
            return;
        slot->container.store(container, std::memory_order_relaxed);
        full_barrier(); // pairs with await_visits(): it sees the slot, or the visit sees its change
    }
    ~Visit() {
        if (slot)
            slot->container.store(nullptr, std::memory_order_release);
    }
    // Whether it is one: there are slots for `most` threads. Another thread takes the lock.
    explicit operator bool() const { return slot != nullptr; }

    // Waits until no visit is left that may have seen what the caller took out of the container.
    static void await(const void* container) {
        full_barrier(); // pairs with Visit()
        unsigned n = used.load(std::memory_order_acquire);
        for (unsigned i = 0; i < n; i++)
            for (unsigned looks = 1;
                 slots[i].container.load(std::memory_order_acquire) == container; looks++)
                if (looks % 128 == 0) // the system may have stopped the thread
                    sched_yield();
    }

    // In the child of a fork: of the threads with slots there is only the calling one.
    static void forget_threads() {
        for (Slot& slot : slots) {
            slot.container.store(nullptr, std::memory_order_relaxed);
            slot.taken.store(&slot == holder.slot, std::memory_order_relaxed);
        }
    }

private:
    struct alignas(64) Slot {
        std::atomic<const void*> container; // NULL: between visits
        std::atomic<bool> taken;
    };
    struct Holder { // gives the slot back when the thread ends
        Slot* slot;
        ~Holder() {
            if (slot)
                slot->taken.store(false, std::memory_order_release);
        }
    };
    static constexpr unsigned most = 256;

    static void full_barrier() {
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wtsan" // it orders, but publishes nothing
#endif
        std::atomic_thread_fence(std::memory_order_seq_cst);
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
    }

    static Slot* own_slot() {
        if (__builtin_expect(!holder.slot, 0))
            holder.slot = take_slot();
        return holder.slot;
    }
    static Slot* take_slot() {
        for (unsigned i = 0; i < most; i++) {
            bool taken = false;
            if (!slots[i].taken.compare_exchange_strong(taken, true))
                continue;
            for (unsigned n = used; n < i + 1 && !used.compare_exchange_weak(n, i + 1);)
                ;
            return &slots[i];
        }
        return nullptr;
    }

    static inline Slot slots[most];
    static inline std::atomic<unsigned> used = 0; // slots below this have been taken
    static inline thread_local Holder holder;

    Slot* slot;
};

#else

class Visit {
public:
    explicit Visit(const void*) {}
    explicit operator bool() const { return true; }
    static void await(const void*) {}
    static void forget_threads() {}
};

#endif

inline void await_visits(const void* container) { Visit::await(container); }

} // namespace lathpy
