// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// conflicts - which cache lines do two calls of the index both touch, and at least one of them
// writes?
//
// Both calls of a pair run one after the other, in fibers that have used the index before, in six
// relations of their keys, on three kinds of index. A pair commutes if both orders have the same
// results and leave the same items. Commuting calls that touch no common line of which one writes
// scale on any machine with coherent caches (Clements et al., "The scalable commutativity rule",
// SOSP 2013).
#include "inspect.h"
#include "program.hpp"
#include "runtime.h"

#include "lathwork/cursor.h"
#include "lathwork/hole.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <unistd.h>

using namespace schedtest;

namespace {

constexpr std::uint64_t stride = 16; // items [i * 16, + 8)
constexpr unsigned items_in_all = 4096;

// A number that tells results apart.
std::uint64_t sum(std::uint64_t ret, const lath_item* it = nullptr, std::size_t n = 1) {
    std::uint64_t s = ret * 0x9e3779b97f4a7c15ull + 1;
    for (std::size_t i = 0; it && i < n; i++)
        s = (s ^ it[i].key) * 0xbf58476d1ce4e5b9ull + it[i].value * 31 + it[i].size;
    return s;
}

std::uint64_t sum_if(int ret, const lath_item& it) {
    return sum(static_cast<std::uint64_t>(ret), ret ? nullptr : &it);
}

// Makes a call about the item that starts at `key` and the free space behind it.
using call_fn = std::uint64_t (*)(lath_index* index, std::uint64_t key);

struct call {
    const char* name;
    call_fn make;
    unsigned needs; // LATH_HOLES, LATH_RANKS or 0
};

std::uint64_t hole(lath_index* index, std::uint64_t key, bool insert) {
    lath_hole_request want{};
    std::uint64_t at = 0;
    want.size = 4;
    want.hint = key;
    want.policy = LATH_HOLE_NEAR;
    int ret = insert ? lath_index_insert_hole(index, &want, 9, &at)
                     : lath_index_find_hole(index, &want, &at);
    return sum(static_cast<std::uint64_t>(ret)) + at;
}

const std::array calls = std::to_array<call>({
    {"insert",
     [](lath_index* index, std::uint64_t key) {
         lath_item it{key + 8, 4, key};
         return sum(static_cast<std::uint64_t>(lath_index_insert_item(index, &it, nullptr)));
     },
     0},
    {"insert_batch",
     [](lath_index* index, std::uint64_t key) {
         std::array<lath_item, 2> items{{{key + 8, 2, key}, {key + 12, 2, key}}};
         return sum(lath_index_insert_batch(index, 2, items.data(), nullptr));
     },
     0},
    {"erase",
     [](lath_index* index, std::uint64_t key) {
         lath_item it{};
         return sum_if(lath_index_erase_item(index, key, &it), it);
     },
     0},
    {"erase_if",
     [](lath_index* index, std::uint64_t key) {
         lath_item it{};
         return sum_if(lath_index_erase_if(index, key, key, &it), it);
     },
     0},
    {"erase_sized",
     [](lath_index* index, std::uint64_t key) {
         lath_item it{};
         return sum_if(lath_index_erase_sized(index, key, 4, &it), it);
     },
     0},
    {"erase_range",
     [](lath_index* index, std::uint64_t key) {
         return sum(static_cast<std::uint64_t>(
             lath_index_erase_range(index, key, 8, nullptr, nullptr)));
     },
     0},
    {"replace",
     [](lath_index* index, std::uint64_t key) {
         lath_item it{};
         return sum_if(lath_index_replace_item(index, key, 7, &it), it);
     },
     0},
    {"resize",
     [](lath_index* index, std::uint64_t key) {
         return sum(static_cast<std::uint64_t>(lath_index_resize(index, key, 4)));
     },
     0},
    {"split",
     [](lath_index* index, std::uint64_t key) {
         return sum(static_cast<std::uint64_t>(lath_index_split(index, key + 4, 5)));
     },
     0},
    {"store_range",
     [](lath_index* index, std::uint64_t key) {
         lath_item it{key, 8, 11};
         return sum(
             static_cast<std::uint64_t>(lath_index_store_range(index, &it, nullptr, nullptr)));
     },
     0},
    {"erase, absent",
     [](lath_index* index, std::uint64_t key) {
         return sum(static_cast<std::uint64_t>(lath_index_erase_item(index, key + 9, nullptr)));
     },
     0},
    {"lookup",
     [](lath_index* index, std::uint64_t key) {
         lath_item it{};
         return sum_if(lath_index_lookup_item(index, key, &it), it);
     },
     0},
    {"lookup, absent",
     [](lath_index* index, std::uint64_t key) {
         lath_item it{};
         return sum_if(lath_index_lookup_item(index, key + 15, &it), it);
     },
     0},
    {"get",
     [](lath_index* index, std::uint64_t key) {
         std::uint64_t value = 0;
         int hit = lath_index_get(index, key, &value);
         return sum(static_cast<std::uint64_t>(hit)) + value;
     },
     0},
    {"get_batch",
     [](lath_index* index, std::uint64_t key) {
         std::array<std::uint64_t, 2> keys{key, key + 1}, values{};
         std::array<std::uint8_t, 2> hits{};
         return sum(lath_index_get_batch(index, 2, keys.data(), values.data(), hits.data())) +
                values[0] + values[1];
     },
     0},
    {"overlap",
     [](lath_index* index, std::uint64_t key) {
         lath_item it{};
         return sum_if(lath_index_overlap_item(index, key, 8, &it), it);
     },
     0},
    {"floor",
     [](lath_index* index, std::uint64_t key) {
         lath_item it{};
         return sum_if(lath_index_floor_item(index, key, &it), it);
     },
     0},
    {"ceiling",
     [](lath_index* index, std::uint64_t key) {
         lath_item it{};
         return sum_if(lath_index_ceiling_item(index, key, &it), it);
     },
     0},
    {"first",
     [](lath_index* index, std::uint64_t) {
         lath_item it{};
         return sum_if(lath_index_ceiling_item(index, 0, &it), it);
     },
     0},
    {"last",
     [](lath_index* index, std::uint64_t) {
         lath_item it{};
         return sum_if(lath_index_floor_item(index, ~0ull, &it), it);
     },
     0},
    {"cursor",
     [](lath_index* index, std::uint64_t key) {
         std::array<lath_item, 2> it{};
         lath_cursor cursor;
         lath_cursor_init(&cursor, index);
         int a = lath_cursor_seek(&cursor, key, it.data());
         int b = lath_cursor_prev(&cursor, &it[1]);
         return sum(static_cast<std::uint64_t>(a * 2 + b), it.data(), 2);
     },
     0},
    {"scan",
     [](lath_index* index, std::uint64_t key) {
         std::array<lath_item, 4> it{};
         std::size_t n = lath_index_scan(index, key, key + 63, it.data(), it.size(), nullptr);
         return sum(n, it.data(), n);
     },
     0},
    {"insert_hole",
     [](lath_index* index, std::uint64_t key) { return hole(index, key, true); }, LATH_HOLES},
    {"find_hole",
     [](lath_index* index, std::uint64_t key) { return hole(index, key, false); }, LATH_HOLES},
    {"rank",
     [](lath_index* index, std::uint64_t key) {
         return sum(static_cast<std::uint64_t>(lath_index_rank(index, key)));
     },
     LATH_RANKS},
    {"count_range",
     [](lath_index* index, std::uint64_t key) {
         return sum(static_cast<std::uint64_t>(lath_index_count_range(index, key, key + 63)));
     },
     LATH_RANKS},
});

enum relation { far_keys, same_leaf, neighbours, full_leaf, sparse_leaf, across_fence, relations };
constexpr std::array<const char*, relations> relation_names = {
    "far keys", "same leaf", "neighbours", "full leaf", "sparse leaf", "across a fence"};

struct kind {
    const char* name;
    unsigned flags;
};
constexpr std::array<kind, 3> kinds = {
    {{"plain", 0}, {"holes", LATH_HOLES}, {"ranks", LATH_RANKS}}};

lath_index* list;
std::array<std::uint64_t, 2> keys;
std::array<const call*, 2> pair_of;
std::array<std::uint64_t, 2> results;
std::array<std::map<std::uintptr_t, bool>, 2> lines; // line -> written
bool recording;

void on_access(std::uintptr_t address, std::size_t size, bool write) {
    int self = sched_self();
    if (!recording || self > 1)
        return;
    for (std::uintptr_t line = address / 64; line <= (address + size - 1) / 64; line++)
        lines[static_cast<unsigned>(self)][line] |= write;
}

// The fiber has used the index before, elsewhere: what belongs to a thread is there.
void body(void*, unsigned fiber) {
    std::uint64_t place = (fiber ? 1600 : 2400) * stride;
    lath_item it{place + 8, 2, 1};
    lath_index_insert_item(list, &it, nullptr);
    lath_index_erase_item(list, it.key, nullptr);
    lath_index_lookup_item(list, keys[fiber] + stride, &it);
    recording = true;
    results[fiber] = pair_of[fiber]->make(list, keys[fiber]);
    recording = false;
}

std::uint64_t key_in(unsigned leaf, unsigned item, bool from_the_end = false) {
    std::uint64_t low, last;
    unsigned n;
    if (!sched_leaf(list, leaf, &low, &last, &n))
        sched_fail("no such leaf", nullptr, nullptr);
    std::uint64_t first = (low + stride - 1) / stride, end = last / stride;
    return (from_the_end ? end - item : first + item) * stride;
}

// Makes an index with this relation between keys[0] and keys[1].
void build(relation how, unsigned flags) {
    lath_config config = LATH_CONFIG_INIT;
    config.flags = flags;
    sched_heap_clear();
    list = static_cast<lath_index*>(sched_alloc(sizeof(lath_index), 64, 0));
    if (lath_index_init(list, &config))
        sched_fail("lath_index_init failed", nullptr, nullptr);
    random_source random{7};
    std::vector<unsigned> order(items_in_all);
    for (unsigned i = 0; i < items_in_all; i++)
        order[i] = i;
    for (unsigned i = items_in_all - 1; i > 0; i--)
        std::swap(order[i], order[random.below(i + 1)]);
    for (unsigned i : order) {
        lath_item it{i * stride, 8, i * stride};
        lath_index_insert_item(list, &it, nullptr);
    }
    if (flags & LATH_RANKS)
        lath_index_rank(list, ~0ull);
    std::uint64_t low, last;
    unsigned n;
    keys = {key_in(10, 5), key_in(50, 5)};
    switch (how) {
    case same_leaf:
        keys[1] = key_in(10, 25);
        break;
    case neighbours:
        keys[1] = key_in(11, 25);
        keys[0] = key_in(10, 15);
        break;
    case across_fence:
        keys[0] = key_in(10, 0, true);
        keys[1] = key_in(11, 0);
        break;
    case full_leaf: {
        keys = {key_in(10, 5), key_in(20, 5)};
        for (std::uint64_t key = key_in(10, 6) + 8;
             sched_leaf(list, 10, &low, &last, &n) && n < 64 && key < last; key += stride) {
            lath_item it{key, 4, key};
            lath_index_insert_item(list, &it, nullptr);
        }
        break;
    }
    case sparse_leaf:
        keys = {key_in(10, 5), key_in(20, 5)};
        for (std::uint64_t key = key_in(10, 6);
             sched_leaf(list, 10, &low, &last, &n) && n > 17 && key <= last; key += stride)
            lath_index_erase_item(list, key, nullptr);
        break;
    default:
        break;
    }
    for (unsigned i : {3000, 3500, 3000, 3500}) { // the leaves that a thread remembers are others
        lath_item it{i * stride + 8, 2, 1};
        lath_index_insert_item(list, &it, nullptr);
        lath_index_erase_item(list, it.key, nullptr);
    }
    sched_heap_keep();
}

struct outcome {
    std::array<std::uint64_t, 2> results;
    std::uint64_t content;
    std::set<std::string> conflicts;
};

// A number that two contents hardly share.
std::uint64_t digest() {
    std::array<lath_item, 256> items;
    std::uint64_t sum = 0, from = 0;
    std::size_t n;
    do {
        n = lath_index_scan(list, from, UINT64_MAX, items.data(), items.size(), &from);
        for (std::size_t i = 0; i < n; i++)
            for (std::uint64_t word : {items[i].key, items[i].size, items[i].value})
                sum = (sum ^ word) * 0x9e3779b97f4a7c15u, sum ^= sum >> 29;
    } while (n == items.size() && from);
    return sum;
}

outcome run(unsigned first) {
    std::array<int, 2> priority{first ? 1 : 2, first ? 2 : 1};
    sched_heap_restore();
    for (auto& l : lines)
        l.clear();
    sched_plan plan{2, priority.data(), 0, nullptr, 0};
    sched_run(&plan, body, nullptr);
    outcome o{results, digest(), {}};
    for (auto [line, written] : lines[0]) {
        auto other = lines[1].find(line);
        std::array<char, 100> name;
        if (other == lines[1].end() || !(written || other->second))
            continue;
        sched_name_line(list, line * 64, name.data(), name.size());
        o.conflicts.insert(name.data());
    }
    return o;
}

struct tally {
    unsigned pairs = 0, commute = 0, free = 0;
};

} // namespace

int main(int argc, char** argv) {
    bool all = argc > 1 && !std::strcmp(argv[1], "--all");
    std::map<std::string, std::map<std::string, unsigned>> reasons; // relation -> lines -> pairs
    std::array<std::array<tally, relations>, kinds.size()> tallies;
    sched_init(2);
    sched_on_access = on_access;
    for (unsigned i = 0; i < kinds.size(); i++)
        for (unsigned r = 0; r < relations; r++) {
            const kind& k = kinds[i];
            build(static_cast<relation>(r), k.flags);
            for (const call& a : calls)
                for (const call& b : calls) {
                    if ((a.needs & ~k.flags) || (b.needs & ~k.flags))
                        continue;
                    // one order of two calls is enough where the places are alike
                    if (r != full_leaf && r != sparse_leaf && &b < &a)
                        continue;
                    pair_of = {&a, &b};
                    outcome one = run(0), other = run(1);
                    tally& t = tallies[i][r];
                    t.pairs++;
                    if (one.results != other.results || one.content != other.content)
                        continue;
                    t.commute++;
                    one.conflicts.insert(other.conflicts.begin(), other.conflicts.end());
                    t.free += one.conflicts.empty();
                    std::string text;
                    for (const std::string& c : one.conflicts)
                        text += (text.empty() ? "" : "; ") + c;
                    if (text.empty())
                        continue;
                    reasons[std::string(k.name) + ", " + relation_names[r]][text]++;
                    if (all)
                        std::printf("%s, %s: %s + %s: %s\n", k.name, relation_names[r], a.name,
                                    b.name, text.c_str());
                }
        }
    std::printf("%-8s %-16s %7s %9s %14s\n", "index", "relation", "pairs", "commute",
                "conflict-free");
    tally whole;
    std::array<tally, kinds.size()> apart; // in different leaves
    for (unsigned i = 0; i < kinds.size(); i++)
        for (unsigned r = 0; r < relations; r++) {
            const tally& t = tallies[i][r];
            std::printf("%-8s %-16s %7u %9u %8u %5.1f\n", kinds[i].name, relation_names[r], t.pairs,
                        t.commute, t.free, 100.0 * t.free / t.commute);
            whole.commute += t.commute, whole.free += t.free;
            if (r != same_leaf)
                apart[i].commute += t.commute, apart[i].free += t.free;
        }
    for (auto& [relation, texts] : reasons)
        for (auto& [text, n] : texts)
            std::printf("%-24s %5u  %s\n", relation.c_str(), n, text.c_str());
    unsigned wrong = tallies[0][far_keys].commute - tallies[0][far_keys].free;
    std::printf("proof: %u pairs commute, %u conflict-free; of those in different leaves of an "
                "index without options %u of %u\n",
                whole.commute, whole.free, apart[0].free, apart[0].commute);
    std::printf("%u passed, %u failed\n", whole.commute - wrong, wrong);
    return wrong != 0;
}
