// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The subjects of table `scan`: containers that queue objects in an order, and queues of tasks.
//
// To add one: a class with push_back(E&) and scan(f), a queue also with push_front(E&), E&
// pop_front() and empty(); a line in the list of lathwork.cpp, pointers.cpp or lists.cpp. The timed
// loops are templates over these classes.
#pragma once

#include "element.hpp"

#include "harness/subject.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace lathbench {

// The timed loops over one container. One thread uses it.
template <class E>
class scan_bench {
public:
    virtual ~scan_bench() = default;
    virtual void push_back(E& e) = 0;
    // Scans all elements `rounds` times. Returns the sum of the results; each scan starts
    // with 1.
    virtual std::uint64_t scan(scan_work work, std::uint64_t rounds) const = 0;
    virtual bool is_queue() const = 0;
    // Takes `turns` turns of a workload of queues with the elements that were pushed; the
    // workload burst uses those of `order` and begins and ends with an empty queue. Returns the
    // result, or 0 if this is not a queue.
    virtual std::uint64_t turn(queue_kind kind, std::uint64_t turns,
                               const std::vector<E*>& order) = 0;
};

template <class C>
concept queue_like = requires(C c) {
    c.pop_front();
    c.empty();
};

// Each turn pops a task, runs it and queues it again: with Mix, every sixteenth at the front.
template <scan_work Work, bool Mix, class Queue>
std::uint64_t turn_queue(Queue& queue, std::uint64_t turns) {
    std::uint64_t a = 1;
    for (std::uint64_t i = 0; i < turns; ++i) {
        auto& e = queue.pop_front();
        a = scan_body<Work>(a, e);
        if (Mix && i % 16 == 15)
            queue.push_front(e);
        else
            queue.push_back(e);
    }
    return a;
}

template <class Queue, class E>
std::uint64_t burst_queue(Queue& queue, std::uint64_t turns, const std::vector<E*>& order) {
    std::uint64_t a = 1;
    for (std::uint64_t i = 0; i < turns; i += order.size()) {
        for (E* e : order)
            queue.push_back(*e);
        while (!queue.empty())
            a = scan_body<scan_work::order>(a, queue.pop_front());
    }
    return a;
}

template <class Queue, class E>
std::uint64_t run_queue_kind(Queue& queue, queue_kind kind, std::uint64_t turns,
                             const std::vector<E*>& order) {
    switch (kind) {
    case queue_kind::steady:
        return turn_queue<scan_work::order, false>(queue, turns);
    case queue_kind::types16:
        return turn_queue<scan_work::virtual_call, false>(queue, turns);
    case queue_kind::work20:
        return turn_queue<scan_work::ns20, false>(queue, turns);
    case queue_kind::work100:
        return turn_queue<scan_work::ns100, false>(queue, turns);
    case queue_kind::mix:
        return turn_queue<scan_work::virtual_call, true>(queue, turns);
    default:
        return burst_queue(queue, turns, order);
    }
}

template <class E, class Container>
class scan_bench_of final : public scan_bench<E> {
public:
    template <class... A>
    explicit scan_bench_of(A&&... arguments) : container_(std::forward<A>(arguments)...) {}
    void push_back(E& e) override { container_.push_back(e); }

    std::uint64_t scan(scan_work work, std::uint64_t rounds) const override {
        switch (work) {
        case scan_work::sum:
            return scans<scan_work::sum>(rounds);
        case scan_work::ns5:
            return scans<scan_work::ns5>(rounds);
        case scan_work::ns20:
            return scans<scan_work::ns20>(rounds);
        case scan_work::ns100:
            return scans<scan_work::ns100>(rounds);
        case scan_work::virtual_call:
            return scans<scan_work::virtual_call>(rounds);
        case scan_work::second_line:
            return scans<scan_work::second_line>(rounds);
        default:
            return scans<scan_work::order>(rounds);
        }
    }

    bool is_queue() const override { return queue_like<Container>; }

    std::uint64_t turn(queue_kind kind, std::uint64_t turns,
                       const std::vector<E*>& order) override {
        if constexpr (queue_like<Container>)
            return run_queue_kind(container_, kind, turns, order);
        else
            return 0;
    }

private:
    template <scan_work Work>
    [[gnu::noinline]] std::uint64_t scans(std::uint64_t rounds) const {
        std::uint64_t total = 0;
        for (std::uint64_t r = 0; r < rounds; ++r) {
            std::uint64_t a = 1;
            container_.scan([&a](const E& e) { a = scan_body<Work>(a, e); });
            asm volatile("" : "+r"(a)::"memory"); // the next scan reads memory again
            total += a;
        }
        return total;
    }

    Container container_;
};

template <class E>
struct scan_subject : subject {
    std::function<std::unique_ptr<scan_bench<E>>()> make;
    bool variant = false; // measured with --full or by name only
};

template <class E, class Container>
scan_subject<E> scan_subject_of(const char* name, const char* note = "", bool variant = false) {
    return {
        {name, note, ""}, [] { return std::make_unique<scan_bench_of<E, Container>>(); }, variant};
}

// All functions below exist for elements of one and of two cache lines.
// Ours (lathwork.cpp), containers of pointers (pointers.cpp), intrusive lists (lists.cpp).
template <class E>
std::vector<scan_subject<E>> scan_ours();
template <class E>
std::vector<scan_subject<E>> scan_pointers();
template <class E>
std::vector<scan_subject<E>> scan_lists();

// All of them, ours first; they are made once and never change.
template <class E>
const std::vector<scan_subject<E>>& scan_subjects();

} // namespace lathbench
