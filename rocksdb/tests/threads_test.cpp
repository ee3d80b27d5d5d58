// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// threads_test.cpp - writers and readers of one memtable. What a writer has announced, a reader
// must find: by a get, by a seek, and on every walk over it.
#include "table.hpp"

#include <random>
#include <thread>

#include "entry.hpp"
#include "memtable.hpp"

using namespace lath_rocksdb;
using namespace lath_rocksdb::tests;

namespace {

constexpr uint64_t per_writer = 8000;
constexpr unsigned int writers = 5, readers = 2; // more writers than places for what waits

std::atomic<uint64_t> announced[writers]; // its entries before this one are in the table

// The i-th key of a writer: neighbours are other writers', and every fourth is a new version of
// one.
std::string key_of(unsigned int writer, uint64_t i) {
    char text[48];
    const uint64_t n = i % 4 == 3 ? i & 15 : i * 7919 % per_writer;
    std::snprintf(text, sizeof(text), "%s%08llu.%u", i % 2 ? "a common prefix of keys " : "",
                  static_cast<unsigned long long>(n), writer);
    return text;
}

uint64_t sequence_of(unsigned int writer, uint64_t i) { return 1 + i * writers + writer; }

void write(rocksdb::MemTableRep& table, unsigned int writer) {
    for (uint64_t i = 0; i < per_writer; i++) {
        EXPECT(insert(table, key_of(writer, i), sequence_of(writer, i), "value", true));
        announced[writer].store(i + 1, std::memory_order_release);
    }
}

struct wanted {
    std::string key;
    uint64_t sequence;
};

bool is_wanted(const wanted& want, const char* entry) {
    const lath_bytes_key key = key_of_entry(entry);
    return key.tag == want.sequence &&
           want.key == std::string_view(static_cast<const char*>(key.data), key.size);
}

bool before(const char* a, const char* b) {
    const lath_bytes_key x = key_of_entry(a), y = key_of_entry(b);
    const int c = rocksdb::Slice(static_cast<const char*>(x.data), x.size)
                      .compare({static_cast<const char*>(y.data), y.size});
    return c ? c < 0 : x.tag > y.tag;
}

// iterate: with an iterator too, after which no entry of the memtable waits for others.
void read(rocksdb::MemTableRep& table, unsigned int seed, bool iterate) {
    std::mt19937_64 random(seed);
    const bool back = seed % 2;
    uint64_t done = 0;
    while (done < writers * per_writer) {
        const auto writer = static_cast<unsigned int>(random() % writers);
        const uint64_t there = announced[writer].load(std::memory_order_acquire);
        done = 0;
        for (const auto& one : announced)
            done += one.load(std::memory_order_acquire);
        if (!there)
            continue;
        const uint64_t i = random() % there;
        const wanted want = {key_of(writer, i), sequence_of(writer, i)};
        bool found = false;
        struct arg {
            const wanted* want;
            bool* found;
        } arg{&want, &found};
        table.Get(lookup(want.key, want.sequence), &arg, [](void* to, const char* entry) {
            const auto* a = static_cast<struct arg*>(to);
            *a->found = is_wanted(*a->want, entry);
            return false;
        });
        EXPECT(found);
        if (!iterate)
            continue;

        const std::unique_ptr<rocksdb::MemTableRep::Iterator> it(table.GetIterator(nullptr));
        it->Seek(internal_key(want.key, want.sequence), nullptr);
        EXPECT(it->Valid() && is_wanted(want, it->key()));
        const char* last = it->key();
        for (unsigned int step = 0; step < 50; step++) {
            back ? it->Prev() : it->Next();
            if (!it->Valid())
                break;
            EXPECT(back ? before(it->key(), last) : before(last, it->key()));
            last = it->key();
        }
    }
}

// An entry that was inserted behind an iterator's place is its next one, whatever it has read
// ahead.
void check_tail() {
    blocks arena;
    const auto table = make_table(arena, false);
    for (unsigned int i = 0; i < 200; i++)
        EXPECT(insert(*table, std::to_string(1000 + i), i + 1));
    const std::unique_ptr<rocksdb::MemTableRep::Iterator> it(table->GetIterator(nullptr));
    it->SeekToFirst();
    for (unsigned int i = 0; i < 200; i++) {
        const wanted next = {std::to_string(1000 + i) + "a", 1000 + i};
        std::thread([&] { EXPECT(insert(*table, next.key, next.sequence)); }).join();
        it->Next();
        EXPECT(it->Valid() && is_wanted(next, it->key()));
        it->Next();
    }
    EXPECT(!it->Valid());
}

// Writers and readers at once.
void check_together(bool iterate) {
    blocks arena;
    const auto table = make_table(arena, false);
    std::vector<std::thread> threads;
    threads.reserve(writers + readers);
    for (auto& one : announced)
        one = 0;
    for (unsigned int i = 0; i < writers; i++)
        threads.emplace_back([&, i] { write(*table, i); });
    for (unsigned int i = 0; i < readers; i++)
        threads.emplace_back([&, i] { read(*table, i, iterate); });
    for (auto& thread : threads)
        thread.join();
    uint64_t n = 0;
    const std::unique_ptr<rocksdb::MemTableRep::Iterator> it(table->GetIterator(nullptr));
    for (it->SeekToFirst(); it->Valid(); it->Next())
        n++;
    EXPECT(n == writers * per_writer);
}

} // namespace

int main() {
    memtable::least_deferred = 0;
    check_together(false);
    check_together(true);
    check_tail();
    std::printf("3 passed, 0 failed\n");
}
