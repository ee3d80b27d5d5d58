// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// lathwork/cxx/detail/calls.hpp - what the classes pass to the C library: functions of the caller's
// that it calls back, and lengths of time; threads that are not cancelled in it; ends.
//
// Other headers include it; a program has no reason to do so itself.
//
//   detail::guarded each(fn);
//   lath_range_each(locks, each, &each);
//   each.rethrow();
//
// Errors: rethrow() throws what the function has thrown.
#ifndef LATHWORK_CXX_DETAIL_CALLS_HPP
#define LATHWORK_CXX_DETAIL_CALLS_HPP

#if __cplusplus <= 201703L
#error "lathwork/cxx needs C++20: compile with -std=c++20"
#endif

#include <pthread.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>

namespace lathwork::detail {

[[noreturn]] inline void stop(const char* why) {
    std::fprintf(stderr, "%s\n", why);
    std::abort();
}

// While one exists, the thread follows no pthread_cancel(). The end of a container is a
// cancellation point, and the unwinding would end the process where it came to a destructor.
class uncancelled {
public:
    uncancelled() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &was_); }
    ~uncancelled() { pthread_setcancelstate(was_, nullptr); }
    uncancelled(const uncancelled&) = delete;
    uncancelled& operator=(const uncancelled&) = delete;

private:
    int was_ = PTHREAD_CANCEL_ENABLE;
};

// A function of the caller's that the C library calls back; it converts to what C calls, with its
// own address as `arg`. No exception passes through C, which would keep its locks: C gets `failed`
// for it, and the first one waits until the library's call has returned. Nor is the thread
// cancelled.
template <typename Fn>
class guarded {
    template <typename R, typename... Args>
    using c_function = R (*)(void*, Args...);

public:
    explicit guarded(Fn& fn, int failed = 0) : fn_(fn), failed_(failed) {}
    template <typename R, typename... Args>
    operator c_function<R, Args...>() const {
        return [](void* self, Args... args) {
            return static_cast<guarded*>(self)->template call<R>(args...);
        };
    }
    template <typename R, typename... Args>
    R call(Args... args) {
        uncancelled here;
#ifdef __cpp_exceptions
        try {
            return static_cast<R>(fn_(args...));
        } catch (...) {
            if (!thrown_)
                thrown_ = std::current_exception();
            return static_cast<R>(failed_);
        }
#else
        return static_cast<R>(fn_(args...));
#endif
    }
    void rethrow() const {
        if (thrown_)
            std::rethrow_exception(thrown_);
    }

private:
    Fn& fn_;
    int failed_;
    std::exception_ptr thrown_;
};

// The same length, or the longest or the shortest that To has.
template <typename To, typename Rep, typename Period>
constexpr To saturated(std::chrono::duration<Rep, Period> time) {
    using wide = std::chrono::duration<long double, typename To::period>;
    if (wide(time) >= wide(To::max()))
        return To::max();
    return wide(time) <= wide(To::min()) ? To::min() : std::chrono::duration_cast<To>(time);
}

} // namespace lathwork::detail

#endif // LATHWORK_CXX_DETAIL_CALLS_HPP
