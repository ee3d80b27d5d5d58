// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The command bench of `lath store`.
#include "base/numbers.hpp"
#include "base/status_line.hpp"
#include "base/stop_on_signal.hpp"
#include "store/session.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

namespace lathcli {

namespace {

// The keys of the measurement, of the kind that the store has: numbers in no order, or their eight
// bytes from the highest on.
class bench_keys {
public:
    static constexpr std::size_t bytes = 8;

    explicit bench_keys(lath_store_keys kind) : numbers_(kind == LATH_STORE_NUMBERS) {}
    bool numbers() const { return numbers_; }
    const char* name() const { return numbers_ ? "numbers" : "byte keys"; }
    static std::uint64_t number(std::uint64_t i) { return i * 0x9e3779b97f4a7c15ull; }
    // `to` has the bytes, as long as the key is used.
    lath_store_key operator()(std::uint64_t i, char* to) const {
        std::uint64_t n = number(i);
        if (numbers_)
            return lath_key_number(n);
        for (std::size_t b = 0; b < bytes; b++)
            to[b] = static_cast<char>(n >> (56 - 8 * b));
        return lath_key_bytes(to, bytes);
    }

private:
    bool numbers_;
};

// Prints the operations per second of all threads together. body(from, to) does a part of them;
// each thread calls its own copy, which ends with the thread. Between two parts a signal ends
// the measurement, and the progress is shown. Returns false, and prints nothing, if a signal came.
template <class Body>
bool measure(const bench_keys& keys, const char* name, unsigned threads, std::uint64_t items,
             Body body) {
    constexpr std::uint64_t part = 16384;
    status_line status;
    std::atomic<std::uint64_t> done{0};
    auto work = [&](unsigned thread) {
        auto mine = body;
        std::uint64_t to = items * (thread + 1) / threads;
        for (std::uint64_t at = items * thread / threads; at < to && !stop_asked;) {
            std::uint64_t end = std::min(at + part, to);
            mine(at, end);
            done += end - at;
            at = end;
            if (thread == 0 && status.due())
                status.show(progress_text(std::string("bench: ") + name, done, done, items));
        }
    };
    auto start = std::chrono::steady_clock::now();
    std::vector<std::thread> all;
    all.reserve(static_cast<std::size_t>(threads));
    for (unsigned t = 0; t < threads; ++t)
        all.emplace_back(work, t);
    for (auto& t : all)
        t.join();
    std::chrono::duration<double> s = std::chrono::steady_clock::now() - start;
    status_line::clear();
    if (stop_asked)
        return false;
    std::printf("%-6s %10.2f million %s a second\n", name,
                static_cast<double>(items) / s.count() / 1e6, keys.name());
    std::fflush(stdout);
    return true;
}

// The refs of n keys from the i-th on, n at most `group`. Returns how many were found.
constexpr std::uint64_t group = 64;
std::uint64_t get_many(lath_store* store, const bench_keys& key, std::uint64_t i, std::uint64_t n) {
    std::uint64_t numbers[group];
    char bytes[group][bench_keys::bytes];
    lath_store_key keys[group];
    lath_store_ref refs[group];
    for (std::uint64_t j = 0; j < n; ++j)
        if (key.numbers())
            numbers[j] = bench_keys::number(i + j);
        else
            keys[j] = key(i + j, bytes[j]);
    lath_store_read_begin(store);
    std::uint64_t found = key.numbers() ? lath_store_mget_numbers(store, n, numbers, refs)
                                        : lath_store_mget(store, n, keys, refs);
    lath_store_read_end(store);
    return found;
}

} // namespace

void bench_store(lath_store_keys kind, std::uint64_t items, unsigned threads) {
    lath_store_options options = LATH_STORE_OPTIONS_INIT;
    options.keys = kind;
    lath_store* raw = nullptr;
    if (lath_store_open(&raw, "mem:", &options))
        throw std::runtime_error(std::string("bench: ") + lath_store_reason());
    std::unique_ptr<lath_store, int (*)(lath_store*)> store(raw, lath_store_close);
    std::atomic<std::uint64_t> wrong{0};
    const bench_keys key(kind);
    auto value = [](std::uint64_t i, char* buf) {
        return static_cast<std::size_t>(std::snprintf(buf, 24, "%" PRIu64, i));
    };
    auto set = [&](std::uint64_t from, std::uint64_t to) {
        char buf[24], bytes[bench_keys::bytes];
        for (std::uint64_t i = from; i < to; ++i) {
            std::size_t n = value(i, buf);
            wrong += lath_store_set(raw, key(i, bytes), buf, n) != 0;
        }
    };
    auto get = [&](std::uint64_t from, std::uint64_t to) {
        char buf[24], bytes[bench_keys::bytes];
        for (std::uint64_t i = from; i < to; ++i)
            wrong += lath_store_get(raw, key(i, bytes), buf, sizeof buf) <= 0;
    };
    auto mget = [&](std::uint64_t from, std::uint64_t to) {
        for (std::uint64_t i = from; i < to; i += group) {
            std::uint64_t n = std::min(group, to - i);
            wrong += n - get_many(raw, key, i, n);
        }
    };
    // One iterator for all parts; it belongs to the thread that calls the copy of scan.
    std::shared_ptr<lath_store_iter> none;
    auto scan = [&wrong, raw, iter = none](std::uint64_t from, std::uint64_t to) mutable {
        lath_store_iter* begun = nullptr;
        if (!iter && lath_store_iter_begin(raw, nullptr, &begun) == 0)
            iter.reset(begun, iter_closer());
        lath_store_key k;
        lath_store_ref ref;
        for (std::uint64_t i = from; i < to; ++i)
            wrong += !iter || lath_store_iter_next(iter.get(), &k, &ref) != 1;
    };
    bool whole = measure(key, "set", threads, items, set) &&
                 measure(key, "get", threads, items, get) &&
                 measure(key, "mget", threads, items, mget) && measure(key, "scan", 1, items, scan);
    if (whole && wrong)
        throw std::runtime_error("bench: " + std::to_string(wrong) + " wrong answers");
}

} // namespace lathcli
