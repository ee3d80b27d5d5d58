// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "store_subject.hpp"

#include "lathwork/store.h"

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <unistd.h>

namespace lathbench {

namespace {

constexpr std::size_t group = 64;
constexpr std::uint64_t room =
    128; // bytes, enough for an item: a record and its entry in the index

class lathwork_bench : public store_bench {
public:
    lathwork_bench(lath_store_pages pages, unsigned flags, const std::string& spec = "mem:") {
        lath_store_options options = LATH_STORE_OPTIONS_INIT;
        char why[200] = "";
        options.pages = pages;
        options.flags = flags;
        options.limit = spec == "mem:" ? 0 : std::uint64_t{64} << 30;
        options.why = why;
        options.why_size = sizeof why;
        if (lath_store_open(&store_, spec.c_str(), &options))
            throw std::runtime_error(spec + ": " + why);
    }
    ~lathwork_bench() override { lath_store_close(store_); }

    void fill(std::uint64_t first, std::uint64_t last, const item_kind& kind) override {
        mset(first, last, kind);
    }
    void set(std::uint64_t first, std::uint64_t last, const item_kind& kind) override {
        item it;
        for (std::uint64_t i = first; i < last; ++i) {
            kind.make(i, it);
            if (lath_store_set(store_, lath_key_number(it.key), it.value,
                               static_cast<std::size_t>(it.size)))
                throw std::runtime_error("lathwork: set failed");
        }
    }
    std::uint64_t get(std::uint64_t first, std::uint64_t last, const item_kind& kind) override {
        std::uint64_t sum = 0;
        char buf[sizeof item::value] = {};
        for (std::uint64_t i = first; i < last; ++i)
            if (lath_store_get(store_, lath_key_number(kind.key(i)), buf, sizeof buf) > 0)
                sum += static_cast<unsigned char>(buf[0]);
        return sum;
    }
    void prepare(std::uint64_t items) override {
        if (lath_store_prefault(store_, items * room) == -ENOMEM)
            throw std::runtime_error("lathwork: no memory");
    }
    bool batched() const override { return true; }
    void mset(std::uint64_t first, std::uint64_t last, const item_kind& kind) override {
        item items[group];
        lath_store_entry entries[group];
        for (std::uint64_t i = first; i < last; i += group) {
            std::size_t n = static_cast<std::size_t>(std::min<std::uint64_t>(last - i, group));
            for (std::size_t j = 0; j < n; ++j) {
                kind.make(i + j, items[j]);
                entries[j] = {lath_key_number(items[j].key), items[j].value,
                              static_cast<std::uint64_t>(items[j].size), 0};
            }
            if (lath_store_mset(store_, n, entries, nullptr) != n)
                throw std::runtime_error("lathwork: mset failed");
        }
    }
    std::uint64_t mget(std::uint64_t first, std::uint64_t last, const item_kind& kind) override {
        std::uint64_t sum = 0, wanted[group];
        lath_store_ref refs[group];
        for (std::uint64_t i = first; i < last; i += group) {
            std::size_t n = static_cast<std::size_t>(std::min<std::uint64_t>(last - i, group));
            for (std::size_t j = 0; j < n; ++j)
                wanted[j] = kind.key(i + j);
            lath_store_read_begin(store_);
            lath_store_mget_numbers(store_, n, wanted, refs);
            for (std::size_t j = 0; j < n; ++j)
                if (refs[j].data)
                    sum += *static_cast<const unsigned char*>(refs[j].data);
            lath_store_read_end(store_);
        }
        return sum;
    }
    bool counts() const override { return true; }
    void incr(std::uint64_t key, std::uint64_t times) override {
        while (times--)
            if (lath_store_incr(store_, lath_key_number(key), 1, nullptr))
                throw std::runtime_error("lathwork: incr failed");
    }
    std::int64_t take_count(std::uint64_t key) override {
        std::int64_t now = 0;
        if (lath_store_incr(store_, lath_key_number(key), 0, &now) ||
            lath_store_delete(store_, lath_key_number(key)))
            throw std::runtime_error("lathwork: incr failed");
        return now;
    }
    scan_result scan() override {
        scan_result r;
        std::uint64_t keys[256], from = 0, before = 0;
        lath_store_ref refs[256];
        do {
            lath_store_read_begin(store_);
            std::size_t n = lath_store_scan_numbers(store_, from, ~0ull, keys, refs, 256, &from);
            for (std::size_t i = 0; i < n; ++i) {
                r.sum += keys[i] + *static_cast<const unsigned char*>(refs[i].data);
                r.ordered &= keys[i] >= before;
                before = keys[i];
            }
            lath_store_read_end(store_);
            r.count += n;
        } while (from);
        return r;
    }
    std::string value(std::uint64_t key, int) override {
        std::string v(64, '\0');
        std::int64_t n = lath_store_get(store_, lath_key_number(key), v.data(), v.size());
        v.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
        return v;
    }

private:
    lath_store* store_ = nullptr;
};

} // namespace

std::unique_ptr<store_bench> make_lathwork_store() {
    return std::make_unique<lathwork_bench>(LATH_PAGES_HUGE, 0);
}
std::unique_ptr<store_bench> make_lathwork_store_4k() {
    return std::make_unique<lathwork_bench>(LATH_PAGES_SMALL, 0);
}
std::unique_ptr<store_bench> make_lathwork_store_records() {
    return std::make_unique<lathwork_bench>(LATH_PAGES_HUGE, LATH_STORE_VERSIONS);
}
// Removes the name of the object at once, so that the system frees it when the process ends.
std::unique_ptr<store_bench> make_lathwork_store_shm() {
    std::string spec = "shm:lath-bench-" + std::to_string(getpid());
    auto store = std::make_unique<lathwork_bench>(LATH_PAGES_HUGE, 0, spec);
    lath_store_remove(spec.c_str(), nullptr, 0);
    return store;
}

} // namespace lathbench
