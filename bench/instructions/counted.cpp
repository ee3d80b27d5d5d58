// SPDX-License-Identifier: MIT OR GPL-2.0-only
// The calls whose instructions instructions.py counts: a function count_SUBJECT_CALL per row, which makes it COUNT times. Keys
// are random numbers of a fixed seed, so each run of a build executes the same.
#include <lathwork/bytes.h>
#include <lathwork/index.h>
#include <lathwork/interval.h>
#include <lathwork/range_lock.h>
#include <lathwork/space.h>
#include <lathwork/store.h>

#ifdef LATH_SUBJECT_ABSL
#include <absl/container/btree_map.h>
#endif
#ifdef LATH_SUBJECT_JUDY
#include <Judy.h>
#endif

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#define COUNTED(name) extern "C" __attribute__((noinline)) void count_##name()

namespace {
using word = std::uint64_t;
constexpr word COUNT = 50000;
using text = std::array<char, 20>;

word random_word() {
    static word x = 88172645463325252;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return x * 2685821657736338717;
}

std::vector<word> keys(COUNT);
std::vector<text> texts(COUNT);
word found; // so that no call is left out

// another order than that in which they came
word mixed(word i) { return i * 7919 % COUNT; }

lath_index points, ranges;
lath_bytes names;
lath_intervals intervals;
lath_range_locks locks;
lath_space* space;
lath_store* store;
std::vector<word> places(1000);

void key_of(void*, word value, lath_bytes_key* key) {
    key->data = reinterpret_cast<const text*>(value)->data();
    key->size = sizeof(text);
}

word address(const text& t) { return reinterpret_cast<word>(&t); }

void must(int ret, const char* what) {
    if (!ret)
        return;
    std::fprintf(stderr, "counted: %s: %s\n", what, std::strerror(-ret));
    std::exit(1);
}
} // namespace

COUNTED(lathwork_insert) {
    for (word i = 0; i < COUNT; i++) {
        const lath_item item = {keys[i], 1, i};
        found += static_cast<word>(lath_index_insert_item(&points, &item, nullptr));
    }
}
COUNTED(lathwork_get) {
    word value;
    for (word i = 0; i < COUNT; i++)
        found += static_cast<word>(lath_index_get(&points, keys[mixed(i)], &value));
}
COUNTED(lathwork_erase) {
    for (word i = 0; i < COUNT; i++)
        found += static_cast<word>(lath_index_erase_item(&points, keys[mixed(i)], nullptr));
}
COUNTED(lathwork_range_insert) {
    for (word i = 0; i < COUNT; i++) {
        const lath_item item = {keys[i] | 1, 1 + i % 64, i};
        found += static_cast<word>(lath_index_insert_item(&ranges, &item, nullptr) == 0);
    }
}
COUNTED(lathwork_range_lookup) {
    lath_item item;
    for (word i = 0; i < COUNT; i++)
        found += static_cast<word>(lath_index_lookup_item(&ranges, keys[mixed(i)] | 1, &item));
}
COUNTED(lathwork_text_insert) {
    for (const text& t : texts)
        found += static_cast<word>(lath_bytes_insert(&names, address(t), nullptr));
}
COUNTED(lathwork_text_get) {
    word value;
    for (word i = 0; i < COUNT; i++) {
        const lath_bytes_key key = {texts[mixed(i)].data(), sizeof(text), 0};
        found += static_cast<word>(lath_bytes_get(&names, &key, &value));
    }
}
COUNTED(lathwork_interval_insert) {
    for (word i = 0; i < COUNT; i++) {
        const word low = keys[i] >> 8;
        const lath_interval one = {low, low + 1 + (keys[mixed(i)] >> 40), i};
        found += static_cast<word>(lath_intervals_insert(&intervals, &one));
    }
}
COUNTED(lathwork_interval_stab) {
    lath_interval some[16];
    for (word i = 0; i < COUNT; i++)
        found += lath_intervals_stab(&intervals, keys[mixed(i)] >> 8, some, 16);
}
COUNTED(lathwork_range_lock) {
    lath_range_hold hold;
    for (word i = 0; i < COUNT; i++) {
        lath_range_lock(&locks, &hold, keys[i] % 1000 << 12, 4096, LATH_EXCLUSIVE_RANGE);
        lath_range_unlock(&locks, &hold);
    }
}
COUNTED(lathwork_free_alloc) {
    for (word i = 0; i < COUNT; i++) {
        word& place = places[keys[i] % places.size()];
        lath_space_free(space, place, 4096);
        found += static_cast<word>(lath_space_alloc(space, 4096, 4096, 0, &place));
    }
}
COUNTED(lathwork_store_set) {
    for (word i = 0; i < COUNT; i++)
        found += static_cast<word>(
            lath_store_set(store, lath_key_number(keys[i]), "0123456789abcdef", 16));
}
COUNTED(lathwork_store_get) {
    char value[64];
    for (word i = 0; i < COUNT; i++)
        found += static_cast<word>(
            lath_store_get(store, lath_key_number(keys[mixed(i)]), value, sizeof(value)));
}

#ifdef LATH_SUBJECT_ABSL
namespace {
absl::btree_map<word, word> btree;
absl::btree_map<std::string_view, word> text_btree;
std::string_view view(const text& t) { return {t.data(), t.size()}; }
} // namespace
COUNTED(absl_insert) {
    for (word i = 0; i < COUNT; i++)
        btree.emplace(keys[i], i);
}
COUNTED(absl_get) {
    for (word i = 0; i < COUNT; i++)
        found += btree.find(keys[mixed(i)])->second;
}
COUNTED(absl_erase) {
    for (word i = 0; i < COUNT; i++)
        found += btree.erase(keys[mixed(i)]);
}
COUNTED(absl_text_insert) {
    for (word i = 0; i < COUNT; i++)
        text_btree.emplace(view(texts[i]), i);
}
COUNTED(absl_text_get) {
    for (word i = 0; i < COUNT; i++)
        found += text_btree.find(view(texts[mixed(i)]))->second;
}
#endif

#ifdef LATH_SUBJECT_JUDY
namespace {
Pvoid_t judy = nullptr;
} // namespace
COUNTED(judy_insert) {
    for (word i = 0; i < COUNT; i++)
        *reinterpret_cast<word*>(JudyLIns(&judy, keys[i], nullptr)) = i;
}
COUNTED(judy_get) {
    for (word i = 0; i < COUNT; i++)
        found += *reinterpret_cast<word*>(JudyLGet(judy, keys[mixed(i)], nullptr));
}
COUNTED(judy_erase) {
    for (word i = 0; i < COUNT; i++)
        found += static_cast<word>(JudyLDel(&judy, keys[mixed(i)], nullptr));
}
#endif

int main() {
    for (word& key : keys)
        key = random_word();
    for (text& t : texts)
        for (char& c : t)
            c = static_cast<char>('!' + random_word() % 90);
    lath_config config = LATH_CONFIG_INIT;
    const lath_bytes_records records = {key_of, nullptr, 0};
    lath_space_config addresses = LATH_SPACE_CONFIG_INIT;
    must(lath_index_init(&ranges, &config), "ranges");
    config.layout = LATH_POINTS;
    must(lath_index_init(&points, &config), "points");
    must(lath_bytes_init(&names, &records, nullptr), "texts");
    must(lath_intervals_init(&intervals, LATH_HALF_OPEN, nullptr), "intervals");
    must(lath_range_locks_init(&locks, nullptr), "locks");
    addresses.low = addresses.unit = 4096;
    must(lath_space_create(&space, &addresses), "space");
    for (word& place : places)
        must(lath_space_alloc(space, 4096, 4096, 0, &place), "place");
    must(lath_store_open(&store, "mem:", nullptr), "store");
    count_lathwork_insert();
    count_lathwork_get();
    count_lathwork_erase();
    count_lathwork_range_insert();
    count_lathwork_range_lookup();
    count_lathwork_text_insert();
    count_lathwork_text_get();
    count_lathwork_interval_insert();
    count_lathwork_interval_stab();
    count_lathwork_range_lock();
    count_lathwork_free_alloc();
    count_lathwork_store_set();
    count_lathwork_store_get();
#ifdef LATH_SUBJECT_ABSL
    count_absl_insert();
    count_absl_get();
    count_absl_erase();
    count_absl_text_insert();
    count_absl_text_get();
#endif
#ifdef LATH_SUBJECT_JUDY
    count_judy_insert();
    count_judy_get();
    count_judy_erase();
#endif
    std::printf("%llu calls each, %llx\n", static_cast<unsigned long long>(COUNT),
                static_cast<unsigned long long>(found));
    std::_Exit(0);
}
