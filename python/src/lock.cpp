// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// What RangeLocks and Hold are built on: lathwork/range_lock.h. A call that waits releases the GIL.
#include "object.hpp"

#include <lathwork/range_lock.h>

#include <atomic>
#include <cerrno>
#include <new>
#include <vector>

namespace lathpy {

namespace {

PyObject* deadlock; // lathwork.Deadlock

// Whether the call of this thread that waits is to look for signals.
thread_local bool for_signals;

// What a call that waits does in the meantime: on the main thread it runs handlers of signals. What
// they raise ends the wait.
uint64_t look(void*) noexcept {
    if (!for_signals)
        return UINT64_MAX;
    nb::gil_scoped_acquire mine;
    bool raised = PyErr_CheckSignals();
    for_signals = true; // a handler may have waited
    return raised ? 0 : 200'000'000; // another thread may get the signal: nothing wakes this one
}

class Locks : Pinned {
public:
    Locks(uint64_t usual, bool deadlocks) {
        lath_range_config config = LATH_RANGE_CONFIG_INIT;

        config.usual = usual;
        config.flags = deadlocks ? LATH_RANGE_DEADLOCKS : 0;
        config.look = look;
        must(LATH_CORE(lath_range_locks_init(&locks, &config)), "RangeLocks");
    }
    ~Locks() { lath_range_locks_fini(&locks); } // each hold has a reference

    // Tuples (start, stop, shared, waits), in no order.
    nb::list ranges() {
        std::vector<lath_range_info> found;

        {
            nb::gil_scoped_release others;
            // what an exception would leave locked is not told instead
            lath_range_each(
                &locks,
                [](void* all, const lath_range_info* info) noexcept {
                    try {
                        static_cast<std::vector<lath_range_info>*>(all)->push_back(*info);
                    } catch (const std::bad_alloc&) {
                    }
                },
                &found);
        }
        nb::list list;
        for (const lath_range_info& info : found)
            list.append(nb::make_tuple(number_of_key(info.first),
                                       stop_of({info.first, info.last - info.first + 1, 0}),
                                       info.mode == LATH_SHARED_RANGE, info.waits != 0));
        return list;
    }

    lath_range_locks locks;
};

// A range that is held. Its calls are made by one thread at a time: a second one is refused.
class Hold : Pinned {
public:
    Hold(nb::pointer_and_handle<Locks> of, nb::handle start, nb::handle stop, bool shared)
        : shared(shared), owner(nb::borrow(of.h)), locks(&of.p->locks),
          range(any_range_of(start, stop)) {}
    ~Hold() {
        if (state.load(std::memory_order_relaxed) == State::held)
            lath_range_unlock(locks, &hold);
    }

    // Waits this many nanoseconds at most; UINT64_MAX: as long as it takes. Returns whether the
    // range is held now. Throws Deadlock, and on the main thread what a handler of a signal raised.
    bool lock(uint64_t nanoseconds, bool on_main) {
        Changing change(*this, State::free);
        int ret;

        {
            nb::gil_scoped_release others;
            for_signals = on_main;
            ret = LATH_CORE(lath_range_lock_for(locks, &hold, range.first, range.last,
                                                shared ? LATH_SHARED_RANGE : LATH_EXCLUSIVE_RANGE,
                                                nanoseconds, 0));
        }
        if (ret != -ETIMEDOUT && ret != -EBUSY)
            told(ret, "lock");
        change.to = ret ? State::free : State::held;
        return !ret;
    }
    void unlock() {
        Changing change(*this, State::held);

        lath_range_unlock(locks, &hold);
        change.to = State::free;
    }
    void downgrade() {
        Changing change(*this, State::held);

        lath_range_downgrade(locks, &hold);
        shared = true;
    }
    void resize(nb::handle start, nb::handle stop, bool on_main) {
        Range to = any_range_of(start, stop);
        Changing change(*this, State::held);
        int ret = -EINVAL;

        if (to.first <= range.last && to.last >= range.first && to.size()) {
            nb::gil_scoped_release others;
            for_signals = on_main;
            ret = LATH_CORE(lath_range_resize(locks, &hold, to.first, to.size()));
        }
        told(ret, "resize");
        range = to;
    }
    bool held() const { return state.load(std::memory_order_acquire) == State::held; }
    nb::object start() const { return number_of_key(range.first); }
    nb::object stop() const { return stop_of({range.first, range.size(), 0}); }

    std::atomic<bool> shared;

private:
    enum class State { free, held, changing };

    // A call that changes a hold which is in this state, and leaves it in the state `to`.
    class Changing : Pinned {
    public:
        Changing(Hold& hold, State from) : to(from), hold(hold) {
            State now = from;
            if (!hold.state.compare_exchange_strong(now, State::changing))
                raise(PyExc_RuntimeError, now == State::changing
                                              ? "another thread is in a call of this hold"
                                          : from == State::held ? "the range is not held"
                                                                : "the range is held already");
        }
        ~Changing() { hold.state.store(to, std::memory_order_release); }

        State to;

    private:
        Hold& hold;
    };

    static void told(int ret, const char* where) {
        if (ret == -EINTR && PyErr_Occurred())
            throw nb::python_error();
        must(ret, where,
             {{EDEADLK, deadlock, "this thread would wait for itself, through others"},
              {EBUSY, PyExc_BlockingIOError,
               "keys that the range would gain are held or waited for"},
              {EINVAL, PyExc_ValueError, "the new range has no key of the old one, or all 2**64"}});
    }

    nb::object owner;
    lath_range_locks* locks;
    Range range;
    std::atomic<State> state = State::free;
    lath_range_hold hold;
};

} // namespace

void bind_locks(nb::module_& module) {
    const auto any = nb::arg().none();

    deadlock = PyErr_NewExceptionWithDoc("lathwork.Deadlock",
                                         "The thread would wait for itself, through others.",
                                         PyExc_RuntimeError, nullptr);
    module.attr("Deadlock") = nb::handle(deadlock);
    nb::class_<Locks>(module, "Locks", nb::is_weak_referenceable())
        .def(
            "__init__",
            [](nb::pointer_and_handle<Locks> self, nb::handle usual, bool deadlocks) {
                uint64_t size = uint64_of(usual, "the usual size");
                once(self.h);
                new (self.p) Locks(size, deadlocks);
            },
            any, nb::arg())
        .def("_ranges", &Locks::ranges);
    nb::class_<Hold>(module, "Held", nb::is_weak_referenceable())
        .def(
            "__init__",
            [](nb::pointer_and_handle<Hold> self, nb::pointer_and_handle<Locks> locks,
               nb::handle start, nb::handle stop, bool shared) {
                once(self.h);
                new (self.p) Hold(locks, start, stop, shared);
            },
            any, any, any, nb::arg())
        .def("_unlock", &Hold::unlock)
        .def("_downgrade", &Hold::downgrade)
        .def("_lock", &Hold::lock)
        .def("_resize", &Hold::resize, any, any, nb::arg())
        .def_prop_ro("held", &Hold::held, "Whether the range is held.")
        .def_prop_ro(
            "shared", [](const Hold& self) { return self.shared.load(); },
            "Whether others may share it.")
        .def_prop_ro("start", &Hold::start, "The first key.")
        .def_prop_ro("stop", &Hold::stop, "The key behind the last one.");
}

} // namespace lathpy
