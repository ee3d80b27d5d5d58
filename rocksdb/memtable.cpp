// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// memtable.cpp - see memtable.hpp.
#include "memtable.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <random>
#include <stdexcept>

#include "iterator.hpp"

namespace lath_rocksdb {

namespace {

// Is the entry, one of this many, in the sample, by its sequence number?
bool is_sampled(const lath_bytes_key& key, uint64_t one_in) {
    return key.tag * 0x9e3779b97f4a7c15 >> 32 & (one_in - 1) ? false : true;
}

// Has this thread looked at an entry since it was last set to false? A search for a key that looks
// at entries and does not find it is rare: they agree with it in what the index knows of them.
LATH_TLS_MODEL thread_local bool looked_at;

// Is the thread inserting what waits? It needs the keys of entries, and not their values.
LATH_TLS_MODEL thread_local bool inserting;

// The sequence number of the last entry that this thread has inserted. Of a batch numbers do not
// descend: if it has a key twice with one number, all entries between the two have it.
LATH_TLS_MODEL thread_local uint64_t last_inserted;

// Threads that have let entries wait, and which of them this one is, from 1 on: it decides where
// its entries wait.
std::atomic<unsigned int> threads{0};
LATH_TLS_MODEL thread_local unsigned int thread;

// The first eight bytes of a key as a number, with zeros behind its end.
uint64_t begin_of(const lath_bytes_key& key) {
    char bytes[8] = {};
    std::memcpy(bytes, key.data, std::min(key.size, sizeof(bytes)));
    return number_of(bytes);
}

uint16_t hash_of(const lath_bytes_key& key) {
    const auto* at = static_cast<const char*>(key.data);
    uint64_t hash = key.size, word = 0, left = key.size;
    for (; left >= 8; at += 8, left -= 8) {
        std::memcpy(&word, at, 8);
        hash = (hash ^ word) * 0x9e3779b97f4a7c15;
        hash ^= hash >> 32;
    }
    word = 0;
    std::memcpy(&word, at, left);
    return static_cast<uint16_t>((hash ^ word) * 0x9e3779b97f4a7c15 >> 48);
}

} // namespace

// Make an empty set of entries; as lath_bytes_init().
int memtable::init(memory& from, lath_bytes* set) const {
    const lath_allocator allocator = from.allocator();
    lath_config config = LATH_CONFIG_INIT;
    config.allocator = &allocator;
    // Chunks of nodes are faster, but in a small memtable the last one would be half empty.
    if (allocator_->BlockSize() <= small_block)
        config.flags |= LATH_NODE_EACH;

    // In the reverse order of bytes everything goes backwards, so that sequence numbers ascend.
    const lath_bytes_records records = {
        [](void*, uint64_t value, lath_bytes_key* key) {
            const char* const entry = entry_of(value);
            looked_at = true;
            if (!inserting) { // of a found entry RocksDB copies the value
                __builtin_prefetch(entry + 64);
                __builtin_prefetch(entry + 128);
            }
            *key = key_of_entry(entry);
        },
        nullptr, descending_ ? 0u : static_cast<unsigned int>(LATH_BYTES_DESCENDING)};
    return lath_bytes_init(set, &records, &config);
}

memtable::~memtable() {
    contents* const made = contents_.load(std::memory_order_relaxed);
    if (!made)
        return;
    lath_bytes_fini(&made->set, nullptr, nullptr);
    if (lath_bytes* const sample = made->sample.load(std::memory_order_relaxed))
        lath_bytes_fini(sample, nullptr, nullptr);
    made->~contents();
}

// Memory of the arena in lines of its own. Throws what the arena throws.
char* memtable::aligned(size_t size) {
    char* const block = allocator_->AllocateAligned(size + 64 - memory::arena_align);
    return block + (-reinterpret_cast<uintptr_t>(block) & 63);
}

// Make the contents, unless another thread has. Throws std::bad_alloc.
memtable::contents* memtable::make() {
    std::lock_guard<std::mutex> lock(making_);
    contents* made = contents_.load(std::memory_order_relaxed);
    if (made)
        return made;
    made = new (aligned(sizeof(contents))) contents(allocator_);
    if (init(made->from, &made->set))
        throw std::bad_alloc();
    contents_.store(made, std::memory_order_release);
    return made;
}

bool memtable::InsertKey(rocksdb::KeyHandle handle) {
    const auto* entry = static_cast<const char*>(handle);
    const lath_bytes_key key = key_of_entry(entry);
    const bool again = key.tag <= last_inserted;
    last_inserted = key.tag;
    contents* made = contents_.load(std::memory_order_acquire);
    if (__builtin_expect(!made, 0))
        made = make();
    waiting* const later = made->later.load(std::memory_order_acquire);
    if (later && defer(*made, *later, entry, key, again)) {
        if (memory::has_grown())
            lath_rcu_auto.drain();
        return true;
    }
    const int ret = lath_bytes_insert(&made->set, value_of(entry), nullptr);
    if (ret == -EEXIST)
        return false;
    if (ret == -E2BIG)
        throw std::length_error("memtable lathwork: a key is longer than a GiB");
    if (ret)
        throw std::bad_alloc();
    std::atomic_thread_fence(std::memory_order_seq_cst); // pairs with watch()
    if (watched_.load(std::memory_order_relaxed))
        changes_.fetch_add(1, std::memory_order_release);
    else if (!later && made->from.taken() > least_deferred)
        make_deferred(*made);
    if (is_sampled(key, sampled) && made->from.taken() > least_sampled)
        sample(*made, value_of(entry));
    if (memory::has_grown()) // not in the insert, which is a section
        lath_rcu_auto.drain();
    return true;
}

// Allocates `later`, the buffer of entries that are not inserted yet. Allocates nothing if there is
// no memory or an iterator has read the memtable: then each entry is inserted at once.
void memtable::make_deferred(contents& of) {
    std::lock_guard<std::mutex> lock(making_);
    if (of.later.load(std::memory_order_relaxed) || watched_.load(std::memory_order_relaxed))
        return;
    try {
        of.later.store(new (aligned(sizeof(waiting))) waiting, std::memory_order_release);
    } catch (const std::bad_alloc&) {
        return;
    }
}

// Note that this entry came; without the lock. Returns whether entries come in the order of their
// keys: they have no cache misses to overlap. So it is with a memtable that RocksDB fills from
// others (mempurge), whose memory it counts without telling it that it is full.
bool memtable::comes_in_order(deferred& later, const char* entry, const lath_bytes_key& key) const {
    // acquire: what another thread has written into its entry before
    const char* const last = later.last.load(std::memory_order_acquire);
    const uint64_t slice = begin_of(key), before = later.slice.load(std::memory_order_relaxed);
    bool ordered = !last || (slice > before) != descending_;
    if (last && slice == before) {
        const lath_bytes_key other = key_of_entry(last);
        const int bytes = std::memcmp(other.data, key.data, std::min(other.size, key.size));
        const bool above = bytes ? bytes > 0 : other.size > key.size;
        const bool below = bytes ? bytes < 0 : other.size < key.size;
        ordered = descending_ ? !below : !above;
    }
    const unsigned int run = later.run.load(std::memory_order_relaxed);
    const unsigned int now = ordered ? std::min(run + 1, deferred::in_order) : 0;
    later.slice.store(slice, std::memory_order_relaxed);
    later.last.store(entry, std::memory_order_release);
    later.run.store(now, std::memory_order_relaxed);
    return now == deferred::in_order;
}

// Let an entry wait for others. Returns false if it has to be inserted at once: another thread lets
// entries wait in the same place or inserts them, or the entry belongs into the sample.
// again: the sequence number is none that is new to the thread, so the key may be one that it has
// inserted; if that waits it is inserted, for the second one to be refused.
bool memtable::defer(contents& of, waiting& all, const char* entry, const lath_bytes_key& key,
                     bool again) {
    if (__builtin_expect(!thread, 0))
        thread = 1 + threads.fetch_add(1, std::memory_order_relaxed);
    deferred& later = all[thread % all.size()];
    if (again)
        settle_with(key);
    if (comes_in_order(later, entry, key) || again || is_sampled(key, sampled) ||
        key.size > LATH_BYTES_SIZE_MAX)
        return false;
    std::unique_lock<std::mutex> lock(later.lock, std::try_to_lock);
    if (!lock || watched_.load(std::memory_order_relaxed))
        return false;
    unsigned int used = later.used.load(std::memory_order_relaxed);
    if (used == deferred::most) { // there was no memory
        if (!settle(of, later))
            return false;
        used = 0;
    }
    later.entry[used] = entry;
    // release: a lookup that finds it in the place of an earlier one finds that one in the index
    later.hash[used].store(hash_of(key), std::memory_order_release);
    later.used.store(used + 1, std::memory_order_release); // pairs with settle_with()
    if (used + 1 == deferred::most)
        settle(of, later);
    return true;
}

// Insert the entries that wait. The caller holds later.lock. Returns false if there was no memory:
// then all entries stay in `later`, and the next call finds that some of them are in the set
// already (-EEXIST).
bool memtable::settle(contents& of, deferred& later) {
    const unsigned int used = later.used.load(std::memory_order_relaxed);
    uint64_t values[deferred::most] = {};
    int results[deferred::most];
    bool all = true;
    for (unsigned int i = 0; i < used; i++)
        values[i] = value_of(later.entry[i]);
    inserting = true;
    lath_bytes_insert_batch(&of.set, used, values, results);
    inserting = false;
    for (unsigned int i = 0; i < used; i++)
        all &= !results[i] || results[i] == -EEXIST;
    if (all)
        later.used.store(0, std::memory_order_release); // pairs with settle_with()
    return all;
}

// What waits; NULL: entries do not wait yet.
memtable::waiting* memtable::what_waits() const {
    contents* const made = contents_.load(std::memory_order_acquire);
    return made ? made->later.load(std::memory_order_acquire) : nullptr;
}

// Insert the entries that wait, for a call that reads others than one key. Throws std::bad_alloc.
void memtable::settle_all() const {
    waiting* const all = what_waits();
    if (!all)
        return;
    for (deferred& later : *all) {
        if (!later.used.load(std::memory_order_acquire))
            continue;
        std::lock_guard<std::mutex> lock(later.lock);
        if (!settle(*contents_.load(std::memory_order_relaxed), later))
            throw std::bad_alloc();
    }
}

// Insert the entries that wait if one of them seems to have the user key. Throws std::bad_alloc.
void memtable::settle_with(const lath_bytes_key& key) const {
    waiting* const all = what_waits();
    if (!all)
        return;
    const uint16_t hash = hash_of(key);
    for (deferred& later : *all) {
        const unsigned int used = later.used.load(std::memory_order_acquire);
        for (unsigned int i = 0; i < used; i++)
            if (later.hash[i].load(std::memory_order_acquire) == hash)
                return settle_all();
    }
}

// After it RocksDB counts the memory of this memtable, and takes the same off at its end. If there
// is none for the last entries they are inserted later in memory of the heap.
void memtable::MarkReadOnly() {
    try {
        settle_all();
    } catch (const std::bad_alloc&) { // who reads it tries again
        contents_.load(std::memory_order_acquire)->from.leave_arena();
    }
}

uint64_t memtable::watch() {
    if (watched_.load(std::memory_order_acquire))
        return changes();
    std::lock_guard<std::mutex> making(making_);
    std::array<std::unique_lock<std::mutex>, std::tuple_size<waiting>::value> locks;
    if (waiting* const all = what_waits())
        for (size_t i = 0; i < all->size(); i++) {
            locks[i] = std::unique_lock<std::mutex>((*all)[i].lock);
            if (!settle(*contents_.load(std::memory_order_relaxed), (*all)[i]))
                throw std::bad_alloc();
        }
    watched_.store(true, std::memory_order_release);
    std::atomic_thread_fence(std::memory_order_seq_cst); // pairs with InsertKey()
    return changes();
}

bool memtable::Contains(const char* entry) const {
    const lath_bytes_key key = key_of_entry(entry);
    settle_with(key);
    uint64_t value;
    lath_bytes* const set = all();
    return set && lath_bytes_get(set, &key, &value);
}

size_t memtable::scan(lath_bytes* set, const lath_bytes_key* from, bool back, bool beside,
                      uint64_t* values, size_t most, unsigned int flags) const {
    if (!set)
        return 0;
    if (back != descending_)
        flags |= LATH_BYTES_BACK;
    if (beside)
        flags |= LATH_BYTES_BEHIND;
    return lath_bytes_scan(set, from, flags, values, most);
}

void memtable::Get(const rocksdb::LookupKey& key, void* arg,
                   bool (*each)(void* arg, const char* entry)) {
    const lath_bytes_key wanted = key_of_internal(key.internal_key());
    uint64_t first;

    settle_with(wanted);
    if (scan(all(), &wanted, false, false, &first, 1, LATH_BYTES_SAME))
        look_up(first, arg, each);
}

// Offer the versions of a user key, from the first one that was found. What has another user key is
// not offered: `each` would refuse it. Most often the first entry is the only one that is wanted.
void memtable::look_up(uint64_t first, void* arg, bool (*each)(void* arg, const char* entry)) {
    uint64_t entries[8] = {first};
    size_t n = 1, i = 0;

    while (n && each(arg, entry_of(entries[i]))) {
        if (++i < n)
            continue;
        const lath_bytes_key key = key_of_entry(entry_of(entries[n - 1]));
        n = scan(all(), &key, false, true, entries, 8, LATH_BYTES_SAME);
        i = 0;
    }
}

rocksdb::Status memtable::check_place(const char* entry, bool show_keys) const {
    const lath_bytes_key key = key_of_entry(entry);

    for (const bool back : {false, true}) {
        uint64_t found;
        if (!scan(all(), &key, back, false, &found, 1) || found != value_of(entry))
            return misplaced(key, show_keys);
    }
    return rocksdb::Status::OK();
}

rocksdb::Status memtable::check_around(const lath_bytes_key& key, const checks& with) const {
    for (const bool before : {true, false}) {
        uint64_t found;
        if (!scan(all(), &key, before, before, &found, 1))
            continue;
        const char* const entry = entry_of(found);
        rocksdb::Status s;
        if (with.valid)
            s = with.valid(entry, with.show_keys);
        if (s.ok() && with.order)
            s = check_place(entry, with.show_keys);
        if (!s.ok())
            return s;
    }
    return rocksdb::Status::OK();
}

void memtable::before_search() { looked_at = false; }

rocksdb::Status memtable::check_search(const lath_bytes_key& key, const char* found,
                                       const checks& with) const {
    if (with.valid)
        return check_around(key, with);
    if (!with.order)
        return rocksdb::Status::OK();
    if (found) {
        const lath_bytes_key there = key_of_entry(found);
        if (comes_before(there, key, descending_))
            return out_of_order(key, there, with.show_keys);
        if (there.size == key.size && !std::memcmp(there.data, key.data, key.size))
            return rocksdb::Status::OK();
    }
    return looked_at ? check_around(key, with) : rocksdb::Status::OK();
}

// Get() with checks, in reads of one entry.
rocksdb::Status memtable::look_up_checked(lath_bytes_key key, void* arg,
                                          bool (*each)(void* arg, const char* entry),
                                          const checks& with) const {
    const char* last = nullptr;
    uint64_t found;

    before_search();
    while (scan(all(), &key, false, last != nullptr, &found, 1, LATH_BYTES_SAME)) {
        const char* const entry = entry_of(found);
        rocksdb::Status s;
        if (with.order && last)
            s = check_order(last, entry, with.show_keys);
        else if (with.valid && !last) // even so: a newer version may have been missed
            s = check_around(key, with);
        if (s.ok() && with.valid)
            s = with.valid(entry, with.show_keys);
        if (!s.ok() || !each(arg, entry))
            return s;
        last = entry;
        key = key_of_entry(entry);
    }
    return last ? rocksdb::Status::OK() : check_search(key, nullptr, with);
}

rocksdb::Status memtable::GetAndValidate(const rocksdb::LookupKey& key, void* arg,
                                         bool (*each)(void* arg, const char* entry), bool show_keys,
                                         bool order, const validator& valid) {
    settle_all();
    return look_up_checked(key_of_internal(key.internal_key()), arg, each,
                           {order, show_keys, valid});
}

rocksdb::Status memtable::MultiGet(size_t n, const char* const* keys, void** args,
                                   bool (*each)(void* arg, const char* entry), bool show_keys,
                                   bool order, const validator& valid) {
    constexpr size_t at_once = 32; // which is what RocksDB asks for at most
    lath_bytes_key wanted[at_once];
    uint64_t found[at_once];
    const checks with = {order, show_keys, valid};
    lath_bytes* const set = all();

    if (!set)
        return rocksdb::Status::OK();
    if (order || valid)
        settle_all();
    for (size_t begin = 0; begin < n; begin += at_once) {
        const size_t m = std::min(n - begin, at_once);
        for (size_t i = 0; i < m; i++) {
            wanted[i] = key_of_entry(keys[begin + i]);
            settle_with(wanted[i]);
        }
        // the lookups with checks find them again, in the cache
        lath_bytes_first_batch(set, m, wanted, descending_ ? LATH_BYTES_BACK : 0, found);
        for (size_t i = 0; i < m; i++) {
            if (!order && !valid) {
                if (found[i])
                    look_up(found[i], args[begin + i], each);
                continue;
            }
            const rocksdb::Status s = look_up_checked(wanted[i], args[begin + i], each, with);
            if (!s.ok())
                return s;
        }
    }
    return rocksdb::Status::OK();
}

// Make the sample, unless another thread has. Returns NULL: no memory.
lath_bytes* memtable::make_sample(contents& of) {
    std::lock_guard<std::mutex> lock(making_);
    lath_bytes* set = of.sample.load(std::memory_order_relaxed);
    if (set)
        return set;
    try {
        set = new (aligned(sizeof(lath_bytes))) lath_bytes;
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
    if (init(of.from, set))
        return nullptr;
    // those that came before
    uint64_t values[most_scanned];
    size_t n = scan(&of.set, nullptr, false, false, values, most_scanned);
    while (n) {
        lath_bytes_key key = {};
        for (size_t i = 0; i < n; i++) {
            key = key_of_entry(entry_of(values[i]));
            if (is_sampled(key, sampled))
                lath_bytes_insert(set, values[i], nullptr);
        }
        n = scan(&of.set, &key, false, true, values, most_scanned);
    }
    of.sample.store(set, std::memory_order_release);
    return set;
}

// An entry that cannot be sampled makes estimates worse, and nothing else.
void memtable::sample(contents& of, uint64_t value) {
    lath_bytes* set = of.sample.load(std::memory_order_acquire);
    if (!set)
        set = make_sample(of);
    if (set)
        lath_bytes_insert(set, value, nullptr);
}

// Count the entries from one key to before another one, up to `most` or a few more.
uint64_t memtable::count(lath_bytes* set, const lath_bytes_key& from, const lath_bytes_key& to,
                         uint64_t most) const {
    uint64_t values[most_scanned], end = 0, counted = 0;
    size_t n = scan(set, &from, false, false, values, most_scanned);

    scan(set, &to, false, false, &end, 1);
    while (n && counted < most) {
        const auto* const found = std::find(values, values + n, end);
        counted += static_cast<uint64_t>(found - values);
        if (found < values + n || n < most_scanned)
            break;
        const lath_bytes_key last = key_of_entry(entry_of(values[n - 1]));
        n = scan(set, &last, false, true, values, most_scanned);
    }
    return counted;
}

uint64_t memtable::ApproximateNumEntries(const rocksdb::Slice& from, const rocksdb::Slice& to) {
    constexpr uint64_t exactly = 512;
    const lath_bytes_key first = key_of_internal(from), last = key_of_internal(to);
    const int order = rocksdb::Slice(static_cast<const char*>(first.data), first.size)
                          .compare({static_cast<const char*>(last.data), last.size});
    if (order ? (order > 0) != descending_ : first.tag <= last.tag)
        return 0;
    contents* const made = contents_.load(std::memory_order_acquire);
    if (!made)
        return 0;
    settle_all();
    lath_bytes* const sample = made->sample.load(std::memory_order_acquire);
    const uint64_t few = count(&made->set, first, last, sample ? exactly : ~uint64_t{0});
    if (few < exactly || !sample)
        return few;
    return std::max(few, sampled * count(sample, first, last, ~uint64_t{0}));
}

void memtable::UniqueRandomSample(const uint64_t entries, const uint64_t wanted,
                                  std::unordered_set<const char*>* sample) {
    const uint64_t step = wanted && wanted < entries ? entries / wanted : 1;
    uint64_t ahead[most_scanned];
    uint64_t i = 0, take = 0;
    settle_all();
    size_t n = scan(nullptr, false, false, ahead, most_scanned);

    std::minstd_rand random(std::random_device{}());
    for (take = random() % step; n && sample->size() < wanted; i++) {
        if (i == take) {
            sample->insert(entry_of(ahead[i % most_scanned]));
            take = (i / step + 1) * step + random() % step; // one in each stretch of `step`
        }
        if (i % most_scanned + 1 < n)
            continue;
        const lath_bytes_key last = key_of_entry(entry_of(ahead[n - 1]));
        n = n < most_scanned ? 0 : scan(&last, false, true, ahead, most_scanned);
    }
}

rocksdb::MemTableRep::Iterator* memtable::GetIterator(rocksdb::Arena* arena) {
    if (!arena)
        return new iterator(this);
    return new (allocator_of(arena)->AllocateAligned(sizeof(iterator))) iterator(this);
}

} // namespace lath_rocksdb
