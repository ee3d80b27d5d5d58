// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// run_queue.hpp - the queue of a cooperative scheduler on one thread: a split list
// (lathwork/cxx/split_list.hpp) with the scheduler's inner loop, run().
//
// A running task may push others and itself, may destroy itself, and may call run() of the same
// queue again. While one task runs, the tasks of the next F pops are being prefetched. Not
// thread-safe: one queue per thread.
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

namespace lathwork {

// F = 32 lanes take 528 bytes; with tasks of 5 ns and more, 8 lanes do as well (doc/split-list.md).
template <class Task, Task* Task::* Next, unsigned F = 32, class Policy = split_list_policy>
class run_queue : public intrusive_split_list<Task, F, Next, Policy> {
public:
    using typename intrusive_split_list<Task, F, Next, Policy>::size_type;

    // Pops up to `budget` tasks and calls body with each, until the queue is empty or body returns
    // false. Returns how many ran. If body throws, its task has left the queue.
    template <class Body>
        requires std::invocable<Body&, Task&>
    constexpr size_type run(Body body, size_type budget = std::numeric_limits<size_type>::max()) {
        size_type ran = 0;
        while (ran < budget && !this->empty()) {
            Task& task = this->pop_front();
            ++ran;
            if constexpr (std::is_void_v<std::invoke_result_t<Body&, Task&>>)
                std::invoke(body, task);
            else if (!std::invoke(body, task))
                break;
        }
        return ran;
    }
};

} // namespace lathwork
#endif
