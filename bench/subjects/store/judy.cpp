// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "store_subject.hpp"

#include <Judy.h>

#include <cstdlib>

namespace lathbench {

namespace {

struct judy {
    static constexpr bool is_ordered = true;

    void set(std::uint64_t key, const char* value, int size) {
        char* copy = static_cast<char*>(std::malloc(static_cast<std::size_t>(size)));
        std::memcpy(copy, value, static_cast<std::size_t>(size));
        lock.write();
        *reinterpret_cast<char**>(JudyLIns(&array, key, nullptr)) = copy;
        lock.done();
    }
    const char* find(std::uint64_t key) {
        auto** value = reinterpret_cast<char**>(JudyLGet(array, key, nullptr));
        return value ? *value : nullptr;
    }
    std::uint64_t get(std::uint64_t key) {
        lock.read();
        const char* value = find(key);
        std::uint64_t first = value ? static_cast<unsigned char>(*value) : 0;
        lock.done();
        return first;
    }
    scan_result scan() {
        scan_result r;
        Word_t key = 0;
        for (void** v = JudyLFirst(array, &key, nullptr); v; v = JudyLNext(array, &key, nullptr)) {
            r.sum += key + static_cast<unsigned char>(**reinterpret_cast<char**>(v));
            ++r.count;
        }
        return r;
    }
    std::string value(std::uint64_t key, int size) {
        const char* value = find(key);
        return value ? std::string(value, static_cast<std::size_t>(size)) : "";
    }

    Pvoid_t array = nullptr;
    one_lock lock;
};

} // namespace

std::unique_ptr<store_bench> make_judy_store() { return std::make_unique<store_bench_of<judy>>(); }

} // namespace lathbench
