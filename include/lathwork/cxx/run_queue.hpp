// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// run_queue.hpp - the queue of a cooperative scheduler on one thread.
//
// Tasks are objects of any type behind one base class; the queue uses one word inside them and
// never allocates, so waking a task up cannot fail, not even in a wake-up storm or when memory is
// short. New tasks go to the back, urgent ones to the front. While one task runs, the tasks of the
// next F pops are being prefetched.
//
// run() is the scheduler's inner loop. A running task may push others and itself, may destroy
// itself, and may call run() of the same queue again. The loop ends when the queue is empty, when
// the budget is used up, or when the body returns false, e.g. to poll timers and I/O. The queue is
// consistent then; call run() again to continue.
//
// Not thread-safe: one queue per thread. Costs and limits are those of split_list.hpp.
//
// Errors: no call fails. An exception of a task's body passes through run(); the queue stays
// consistent.
//
//   struct task {
//       virtual void step() = 0;
//       task* next;
//   };
//   lathwork::run_queue<task, &task::next> queue;
//   queue.push_back(first);
//   queue.run([](task& t) { t.step(); });
#ifndef LATHWORK_CXX_RUN_QUEUE_HPP
#define LATHWORK_CXX_RUN_QUEUE_HPP

#include <lathwork/cxx/split_list.hpp>

#include <concepts>
#include <cstddef>
#include <functional>
#include <limits>
#include <type_traits>
#include <utility>

namespace lathwork {

// F = 32 lanes take 528 bytes; with tasks of 5 ns and more, 8 lanes do as well (doc/split-list.md).
template <class Task, Task* Task::* Next, unsigned F = 32, class Policy = split_list_policy>
class run_queue {
public:
    using list_type = intrusive_split_list<Task, F, Next, Policy>;
    using size_type = typename list_type::size_type;

    static constexpr size_type unlimited = std::numeric_limits<size_type>::max();

    constexpr void push_back(Task& task) noexcept { tasks_.push_back(task); }
    // For urgent tasks; of several, the last one pushed runs first.
    constexpr void push_front(Task& task) noexcept { tasks_.push_front(task); }
    // The queue must not be empty.
    constexpr Task& pop_front() noexcept { return tasks_.pop_front(); }

    [[nodiscard]] constexpr bool empty() const noexcept { return tasks_.empty(); }
    [[nodiscard]] constexpr size_type size() const noexcept { return tasks_.size(); }

    // Pops up to `budget` tasks and calls body with each. Returns how many ran, including the one
    // for which body returned false. If body throws, its task has left the queue; the others are in
    // it.
    template <class Body>
        requires std::invocable<Body&, Task&>
    constexpr size_type run(Body body, size_type budget = unlimited) {
        size_type ran = 0;
        while (ran < budget && !tasks_.empty()) {
            Task& task = tasks_.pop_front();
            ++ran;
            if constexpr (std::is_void_v<std::invoke_result_t<Body&, Task&>>)
                std::invoke(body, task);
            else if (!std::invoke(body, task))
                break;
        }
        return ran;
    }

    // Calls f on every queued task in the order in which they will run: for dumps of a queue that
    // has become too long, statistics, ageing.
    template <class Fn>
        requires std::invocable<Fn&, Task&>
    constexpr void scan(Fn f) {
        tasks_.for_each([&f](Task& task) { std::invoke(f, task); });
    }
    template <class Fn>
        requires std::invocable<Fn&, const Task&>
    constexpr void scan(Fn f) const {
        tasks_.for_each([&f](const Task& task) { std::invoke(f, task); });
    }

    // Everything else: splice, unlink, iterators.
    [[nodiscard]] constexpr list_type& tasks() noexcept { return tasks_; }
    [[nodiscard]] constexpr const list_type& tasks() const noexcept { return tasks_; }

private:
    list_type tasks_;
};

} // namespace lathwork
#endif
