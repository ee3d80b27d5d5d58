// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// What a map keeps over its life: after each of its keys was replaced 50 times by another random
// one, in random order, and after it shrank to a hundredth. A program gives its allocator and the
// map the occasion to return memory before the last figure.
#include "block.hpp"

#include "harness/memory.hpp"
#include "harness/timing.hpp"

#include <algorithm>
#include <chrono>
#include <malloc.h>
#include <thread>

namespace lathbench {

namespace {

constexpr std::uint64_t turnovers = 50, shrink = 100;

std::uint64_t churn_size(const options& opt) {
    std::uint64_t n = opt.quick() ? 20000 : 100000;
    return opt.n.empty() ? n : std::min(n, std::max<std::uint64_t>(opt.n.front(), shrink));
}

// Keys in the map, and one that was never there before.
struct moving_keys {
    std::vector<std::uint64_t> in;
    const key_source& source;
    std::uint64_t next, random;

    // Replaces a key at random; returns how many of both calls succeeded.
    std::uint64_t move(map_bench& map) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        std::uint64_t& key = in[(random >> 33) % in.size()];
        std::uint64_t done = map.erase(&key, 1);
        key = source.key(next++);
        return done + map.insert(&key, 1);
    }
};

// Two occasions, so that what the first one frees after a grace period is seen by the second.
void give_back(map_bench& map) {
    for (int i = 0; i < 2; i++) {
        map.trim();
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
    }
    malloc_trim(0);
}

} // namespace

void run_churn(session& s, const std::vector<std::string>& names) {
    std::uint64_t n = churn_size(s.opt()), left = n / shrink;
    auto cases = churn_cases(s.opt());
    const std::string &churn = cases[0], &full = cases[1], &shrunk = cases[2];
    if (!s.wants_any(cases))
        return;
    s.each_interleaved(s.reps(), names, [&](const std::string& name, int rep) {
        malloc_trim(0);
        auto map = find_subject(range_subjects(), name).map(false);
        if (!map->abilities().erase) {
            for (const auto& c : cases)
                s.not_available(c, name, "no safe erase");
            return;
        }
        s.progress("index: " + churn + ", repetition " + std::to_string(rep + 1) + ", " + name);
        key_source source(s.seed(800));
        moving_keys keys{std::vector<std::uint64_t>(n), source, n, s.seed(801)};
        for (std::uint64_t i = 0; i < n; i++)
            keys.in[i] = source.key(i);
        std::uint64_t before = resident_bytes();
        bool right = map->insert(keys.in.data(), n) == n;
        // sizes are taken once; a tenth is enough for one time more
        std::uint64_t moves = (rep ? turnovers / 10 : turnovers) * n, done = 0, start = cpu_ns();
        for (std::uint64_t i = 0; i < moves; i++)
            done += keys.move(*map);
        auto ns = static_cast<double>(cpu_ns() - start);
        right = right && done == 2 * moves;
        auto record = [&](const std::string& what, std::uint64_t items) {
            if (rep)
                return;
            // memory comes in pages; an allocator may have kept some from before
            std::uint64_t now = std::max(resident_bytes(), before + 4096);
            s.sample({what, n, 1, "bytes", "B"}, name,
                     static_cast<double>(now - before) / static_cast<double>(items), right);
        };
        s.sample({churn, n}, name, ns / static_cast<double>(moves), right);
        record(full, n);
        right = map->erase(keys.in.data() + left, n - left) == n - left && right;
        if (!rep)
            give_back(*map);
        record(shrunk, left);
    });
}

std::vector<std::string> churn_cases(const options& opt) {
    std::string n = std::to_string(churn_size(opt));
    return {"churn/" + n, "churn-bytes/" + n, "shrunk-bytes/" + n};
}

} // namespace lathbench
