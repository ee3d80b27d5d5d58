// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Guests in the table sort.
#include "loaded.hpp"

#include "subjects/sort/driver.hpp"

namespace lathbench {

namespace {

struct alignas(64) guest_request {
    unsigned char hook[LATH_BENCH_HOOK];
    std::uint64_t key;
    char data[256 - LATH_BENCH_HOOK - sizeof(std::uint64_t)];
};

// The driver makes its queues from a plan alone; which guest it is goes by here.
thread_local const lath_bench_adapter* current;

class guest_queue {
public:
    using request = guest_request;
    static void set_key(request* r, std::uint64_t key) { r->key = key; }
    static std::uint64_t touch(const request* r) { return r->key; }

    guest_queue(const sort_plan&, request* pool, std::uint32_t count)
        : adapter_(*current), group_(*adapter_.sorter), pool_(pool), count_(count),
          s_(adapter_, group_, count) {}
    void push(request* r) { group_.push(s_, r, r->key); }
    request* pop() {
        auto* r = static_cast<request*>(group_.pop(s_));
        if (r < pool_ || r >= pool_ + count_)
            guest_broke(adapter_.name,
                        r ? "sorter->pop() returned what was never pushed"
                          : "sorter->pop() found nothing, though requests are queued");
        return r;
    }

private:
    const lath_bench_adapter& adapter_;
    const lath_bench_sorter& group_;
    request* pool_;
    std::uint32_t count_;
    guest_structure<lath_bench_sorter> s_;
};

} // namespace

void add_guest_sort(std::vector<sort_subject>& list) {
    for (const auto* a : guests()) {
        if (!a->sorter)
            continue;
        auto run = [a](const sort_plan& plan) {
            current = a;
            return run_sort<guest_queue>(plan);
        };
        list.push_back({a->name, a->note ? a->note : "", {}, run, {}});
    }
}

} // namespace lathbench
