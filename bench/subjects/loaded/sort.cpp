// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Loaded subjects in table `sort`.
#include "loaded.hpp"

#include "subjects/sort/driver.hpp"

namespace lathbench {

namespace {

struct alignas(64) loaded_request {
    unsigned char hook[LATH_BENCH_HOOK];
    std::uint64_t key;
    char data[256 - LATH_BENCH_HOOK - sizeof(std::uint64_t)];
};

class loaded_sorter {
public:
    using request = loaded_request;
    static void set_key(request* r, std::uint64_t key) { r->key = key; }
    static std::uint64_t touch(const request* r) { return r->key; }

    loaded_sorter(const sort_plan&, request* pool, std::uint32_t count,
                  const lath_bench_subject& loaded)
        : name_(loaded.name), group_(*loaded.sorter), pool_(pool), count_(count),
          s_(name_, group_, count) {}
    void push(request* r) { group_.push(s_, r, r->key); }
    request* pop() {
        auto* r = static_cast<request*>(group_.pop(s_));
        if (r < pool_ || r >= pool_ + count_)
            fail_loaded(name_, r ? "sorter->pop() returned what was never pushed"
                                 : "sorter->pop() found nothing, though requests are queued");
        return r;
    }

private:
    const char* name_;
    const lath_bench_sorter& group_;
    request* pool_;
    std::uint32_t count_;
    loaded_structure<lath_bench_sorter> s_;
};

} // namespace

std::vector<sort_subject> loaded_sort() {
    std::vector<sort_subject> list;
    for (const auto* loaded : loaded_subjects()) {
        if (!loaded->sorter)
            continue;
        auto run = [loaded](const sort_plan& plan) {
            return run_sort<loaded_sorter>(plan, *loaded);
        };
        list.push_back({describe(*loaded), run, {}});
    }
    return list;
}

} // namespace lathbench
