// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "device.hpp"

#include "harness/memory.hpp"
#include "harness/random.hpp"
#include "harness/timing.hpp"

#include <algorithm>

namespace lathbench {

namespace {

using u64 = std::uint64_t;

constexpr u64 chunk = 16; // blocks: 64 KiB

class worker {
public:
    worker(const blocks_subject& subject, const block_device& device, const block_work& work,
           u64 seed)
        : work_(work), device_(device), random_(seed | 1), taken_(device.blocks) {
        taken_.set(0, device.blocks, true);
        for (const auto& run : device.free)
            taken_.set(run.first, run.blocks, false);
        // one of four places for chunks; a tenth of the runs for small requests
        most_[1] = std::max<std::size_t>(device.free.size() / 512, 1);
        most_[0] = std::max<std::size_t>(device.free.size() / 10, 1);
        for (int i : {0, 1})
            held_[i].reserve(most_[i]);
        result_.latency.reserve(work.requests);
        heap_before_ = heap_bytes();
        allocator_ = subject.make(device);
    }

    block_result run() {
        u64 room = allocator_->room(), spent = 0;
        for (u64 i = 0; i < work_.requests && !result_.cut; i++) {
            bool large = !work_.mixed || next_random(random_) % 4 == 0;
            if (held_[large].size() == most_[large])
                free_one(large);
            request(large, spent);
            result_.cut = spent > work_.ms * 1000000;
        }
        u64 bytes = allocator_->bytes(), heap = heap_bytes();
        result_.bytes = bytes ? bytes : std::max(heap, heap_before_) - heap_before_;
        for (int i : {0, 1})
            while (!held_[i].empty())
                free_one(i);
        result_.right = result_.right && allocator_->room() == room && room == free_blocks();
        auto requests = static_cast<double>(result_.latency.size());
        result_.failed = 100 * static_cast<double>(failed_) / requests;
        result_.missed = 100 * static_cast<double>(missed_) / requests;
        std::sort(result_.latency.begin(), result_.latency.end());
        return std::move(result_);
    }

private:
    void request(bool large, u64& spent) {
        u64 blocks = large ? chunk : 1 + next_random(random_) % (chunk - 1);
        u64 align = large ? chunk : 1, first = 0, begin = wall_ns();
        bool placed = allocator_->alloc(blocks, align, first);
        u64 took = wall_ns() - begin;
        spent += took;
        result_.latency.push_back(static_cast<float>(took));
        if (!placed) {
            failed_++;
            missed_ += taken_.find_clear(0, device_.blocks, blocks, align, first);
            return;
        }
        result_.right = result_.right && first % align == 0 && first + blocks <= device_.blocks &&
                        taken_.next(first, first + blocks, true) == first + blocks;
        if (!result_.right)
            return;
        taken_.set(first, blocks, true);
        held_[large].push_back({first, blocks});
    }
    void free_one(int kind) {
        auto& held = held_[kind];
        std::swap(held.back(), held[next_random(random_) % held.size()]);
        block_run r = held.back();
        held.pop_back();
        allocator_->free(r.first, r.blocks);
        taken_.set(r.first, r.blocks, false);
    }
    u64 free_blocks() const {
        u64 sum = 0;
        for (const auto& run : device_.free)
            sum += run.blocks;
        return sum;
    }

    block_work work_;
    const block_device& device_;
    u64 random_, heap_before_ = 0, failed_ = 0, missed_ = 0;
    page_bitmap taken_;
    std::vector<block_run> held_[2]; // small, large
    std::size_t most_[2];
    block_result result_;
    std::unique_ptr<block_allocator> allocator_;
};

} // namespace

block_device fragmented_device(u64 runs, u64 seed) {
    block_device device;
    device.free.reserve(runs);
    u64 random = seed | 1, at = 0;
    for (u64 i = 0; i < runs; i++) {
        at += 1 + next_random(random) % 32;
        u64 blocks = 1 + next_random(random) % (chunk - 1);
        if (i % 2) {
            at += at % chunk == 0; // there would be a chunk
            u64 most = 2 * chunk - 1 - at % chunk; // without one
            blocks = chunk + next_random(random) % (most - chunk + 1);
            if (i % 128 == 1)
                blocks = most + 1;
        }
        device.free.push_back({at, blocks});
        at += blocks;
    }
    device.blocks = at + 1;
    return device;
}

block_result work_on(const blocks_subject& subject, const block_device& device,
                     const block_work& work, u64 seed) {
    return worker(subject, device, work, seed).run();
}

} // namespace lathbench
