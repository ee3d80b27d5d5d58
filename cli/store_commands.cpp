// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "store_commands.hpp"

#include "stop_on_signal.hpp"
#include "store_text.hpp"

#include "lathwork/error.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <unistd.h>

namespace lathcli {

namespace {

[[noreturn]] void fail(const std::string& what) { throw std::runtime_error(what); }

[[noreturn]] void fail_status(const std::string& what, std::int64_t status) {
    fail(what + ": " + lath_strerror(static_cast<int>(status)));
}

void stop_if_interrupted(const std::string& what) {
    if (stop_asked)
        fail("interrupted: " + what);
}

// One changing line on a terminal, now and then.
class progress_line {
public:
    explicit progress_line(std::string what)
        : what_(std::move(what)), on_(isatty(STDERR_FILENO) == 1) {}
    ~progress_line() {
        if (shown_)
            std::fprintf(stderr, "\r\033[K");
    }
    void at(std::uint64_t items, std::uint64_t bytes, std::uint64_t of) {
        auto now = std::chrono::steady_clock::now();
        if (!on_ || now - last_ < std::chrono::milliseconds(200))
            return;
        last_ = now;
        shown_ = true;
        std::fprintf(stderr, "\r\033[K%s: %" PRIu64 " entries", what_.c_str(), items);
        if (of)
            std::fprintf(stderr, ", %.0f %%",
                         100.0 * static_cast<double>(bytes) / static_cast<double>(of));
        std::fflush(stderr);
    }

private:
    std::string what_;
    bool on_, shown_ = false;
    std::chrono::steady_clock::time_point last_{};
};

std::string human(std::uint64_t bytes) {
    static const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double n = static_cast<double>(bytes);
    std::size_t u = 0;
    for (; n >= 1024 && u < 4; ++u)
        n /= 1024;
    char buf[32];
    std::snprintf(buf, sizeof buf, u ? "%.1f %s" : "%.0f %s", n, units[u]);
    return buf;
}

struct iter_closer {
    void operator()(lath_store_iter* i) const { lath_store_iter_end(i); }
};

std::string_view view(const lath_store_ref& ref) {
    return {static_cast<const char*>(ref.data), ref.size};
}

void need(const std::vector<std::string>& words, std::size_t least, std::size_t most) {
    if (words.size() - 1 >= least && words.size() - 1 <= most)
        return;
    for (const auto& c : store_session::commands())
        if (words[0] == c.name)
            fail("usage: " + words[0] + " " + c.arguments);
}

} // namespace

const std::vector<store_command>& store_session::commands() {
    static const std::vector<store_command> all = {
        {"get", "KEY...", "print values, one a line"},
        {"set", "KEY VALUE [ttl SECONDS]", "put"},
        {"add", "KEY VALUE", "put, if the key is not there"},
        {"replace", "KEY VALUE", "put, if the key is there"},
        {"append", "KEY VALUE", "put behind what is there; prints the length"},
        {"cas", "KEY EXPECTED VALUE", "put, if the value is the expected one"},
        {"incr", "KEY [BY]", "add to a decimal number; prints it"},
        {"decr", "KEY [BY]", "subtract"},
        {"min", "KEY NUMBER", "lower to at most"},
        {"max", "KEY NUMBER", "raise to at least"},
        {"del", "KEY...", "delete"},
        {"expire", "KEY SECONDS", "end it in so many seconds; 0: never"},
        {"scan", "[from KEY] [to KEY] [prefix TEXT] [reverse] [limit N]",
         "keys and values in order; to is not included"},
        {"count", "[from KEY] [to KEY] [prefix TEXT]", "how many"},
        {"rank", "KEY", "how many are before"},
        {"load", "FILE [tsv|jsonl]", "put entries of a file (- is standard input)"},
        {"dump", "[FILE] [tsv|jsonl]", "write all entries as text"},
        {"save", "FILE", "write a snapshot"},
        {"restore", "FILE", "read a snapshot into the empty store"},
        {"stats", "", "figures"},
        {"sweep", "", "remove expired entries"},
        {"compact", "", "give memory back"},
        {"bench", "[ITEMS [THREADS]]", "set and get, in a store of its own"},
        {"help", "", "this"},
        {"quit", "", "leave"},
    };
    return all;
}

lath_store_key store_session::key(const std::string& text) const {
    if (lath_store_kind(store_) == LATH_STORE_BYTES) {
        if (text.size() > 65535)
            fail("key of " + std::to_string(text.size()) + " bytes: at most 65535");
        return lath_key_bytes(text.data(), text.size());
    }
    auto n = parse_unsigned(text);
    if (!n)
        fail("key '" + text + "': this store has numbers, 0 to 2^64 - 1");
    return lath_key_number(*n);
}

std::string store_session::text(const lath_store_key& key) const {
    return key.data ? std::string(static_cast<const char*>(key.data), key.n)
                    : std::to_string(key.n);
}

store_session::outcome store_session::answer(int status, const std::string& key) const {
    if (!status)
        return outcome::done;
    const char* what = status == -ENOENT   ? "no such key"
                       : status == -EEXIST ? "is there already"
                       : status == -EAGAIN ? "has another value"
                       : status == -EINVAL ? "is no decimal number"
                       : status == -ERANGE ? "would leave 64 bits"
                                           : nullptr;
    if (!what)
        fail_status("key '" + printable(key) + "'", status);
    std::fprintf(stderr, "%s: %s\n", printable(key).c_str(), what);
    return outcome::negative;
}

store_session::outcome store_session::get(arguments words) {
    need(words, 1, SIZE_MAX);
    outcome all = outcome::done;
    for (std::size_t i = 1; i < words.size(); ++i) {
        lath_store_ref ref;
        std::string value;
        lath_store_key k = key(words[i]);
        lath_store_read_begin(store_);
        int ret = lath_store_get_ref(store_, k, &ref);
        if (!ret)
            value = view(ref);
        lath_store_read_end(store_);
        if (ret)
            all = answer(ret, words[i]);
        else
            std::printf("%s\n", printable(value).c_str());
    }
    return all;
}

store_session::outcome store_session::put(arguments words) {
    const std::string& what = words[0];
    need(words, 2, what == "set" ? 4 : 2);
    lath_store_key k = key(words[1]);
    const std::string& v = words[2];
    if (what == "append") {
        std::int64_t n = lath_store_append(store_, k, v.data(), v.size());
        if (n >= 0)
            std::printf("%" PRId64 "\n", n);
        return answer(n < 0 ? static_cast<int>(n) : 0, words[1]);
    }
    if (what == "add")
        return answer(lath_store_add(store_, k, v.data(), v.size()), words[1]);
    if (what == "replace")
        return answer(lath_store_replace(store_, k, v.data(), v.size()), words[1]);
    lath_store_entry entry{k, v.data(), v.size(), 0};
    if (words.size() > 3) {
        auto seconds =
            words.size() == 5 && words[3] == "ttl" ? parse_unsigned(words[4]) : std::nullopt;
        if (!seconds || *seconds > 1ull << 40)
            fail("usage: set KEY VALUE [ttl SECONDS]");
        entry.expires = lath_store_now() + *seconds * 1000;
    }
    int ret = 0;
    lath_store_mset(store_, 1, &entry, &ret);
    return answer(ret, words[1]);
}

store_session::outcome store_session::remove(arguments words) {
    need(words, 1, SIZE_MAX);
    outcome all = outcome::done;
    for (std::size_t i = 1; i < words.size(); ++i)
        if (answer(lath_store_delete(store_, key(words[i])), words[i]) == outcome::negative)
            all = outcome::negative;
    return all;
}

store_session::outcome store_session::number(arguments words) {
    const std::string& what = words[0];
    need(words, what == "min" || what == "max" ? 2 : 1, 2);
    auto by = words.size() > 2 ? parse_signed(words[2]) : 1;
    if (!by || (what == "decr" && *by == INT64_MIN))
        fail("'" + words[2] + "' is no number of 64 bits");
    std::int64_t now = 0;
    lath_store_key k = key(words[1]);
    int ret = what == "min"   ? lath_store_min(store_, k, *by, &now)
              : what == "max" ? lath_store_max(store_, k, *by, &now)
                              : lath_store_incr(store_, k, what == "decr" ? -*by : *by, &now);
    if (!ret)
        std::printf("%" PRId64 "\n", now);
    return answer(ret, words[1]);
}

store_session::outcome store_session::cas(arguments words) {
    need(words, 3, 3);
    return answer(lath_store_cas(store_, key(words[1]), words[2].data(), words[2].size(),
                                 words[3].data(), words[3].size()),
                  words[1]);
}

store_session::outcome store_session::expire(arguments words) {
    need(words, 2, 2);
    auto seconds = parse_unsigned(words[2]);
    if (!seconds || *seconds > 1ull << 40)
        fail("'" + words[2] + "' is no number of seconds");
    return answer(
        lath_store_expire(store_, key(words[1]), *seconds ? lath_store_now() + *seconds * 1000 : 0),
        words[1]);
}

store_session::outcome store_session::scan(arguments words) {
    bool counting = words[0] == "count";
    std::string from, to, prefix;
    std::uint64_t limit = UINT64_MAX;
    lath_store_key from_key, to_key, prefix_key;
    lath_store_range range{};
    for (std::size_t i = 1; i < words.size(); ++i) {
        bool more = i + 1 < words.size();
        if (words[i] == "reverse" && !counting) {
            range.backward = 1;
        } else if (words[i] == "from" && more) {
            from = words[++i];
            from_key = key(from);
            range.from = &from_key;
        } else if (words[i] == "to" && more) {
            to = words[++i];
            to_key = key(to);
            range.to = &to_key;
        } else if (words[i] == "prefix" && more) {
            if (lath_store_kind(store_) != LATH_STORE_BYTES)
                fail("prefix: this store has numbers");
            prefix = words[++i];
            prefix_key = key(prefix);
            range.prefix = &prefix_key;
        } else if (words[i] == "limit" && more && !counting) {
            auto n = parse_unsigned(words[++i]);
            if (!n)
                fail("limit '" + words[i] + "': not a number");
            limit = *n;
        } else {
            need(words, SIZE_MAX, 0);
        }
    }
    if (counting) {
        std::int64_t n = lath_store_count(store_, &range);
        if (n < 0)
            fail_status("count", n);
        std::printf("%" PRId64 "\n", n);
        return outcome::done;
    }
    lath_store_iter* raw = nullptr;
    if (int ret = lath_store_iter_begin(store_, &range, &raw))
        fail_status("scan", ret);
    std::unique_ptr<lath_store_iter, iter_closer> iter(raw);
    lath_store_key k;
    lath_store_ref value;
    int ret = 0;
    while (limit-- && (ret = lath_store_iter_next(raw, &k, &value)) == 1) {
        std::printf("%s\t%s\n", printable(text(k)).c_str(), printable(view(value)).c_str());
        stop_if_interrupted("scan");
    }
    if (ret < 0)
        fail_status("scan", ret);
    return outcome::done;
}

store_session::outcome store_session::load(arguments words) {
    need(words, 1, 2);
    const std::string& path = words[1];
    text_format format = format_of(path);
    if (words.size() > 2) {
        if (words[2] != "tsv" && words[2] != "jsonl")
            need(words, SIZE_MAX, 0);
        format = words[2] == "jsonl" ? text_format::jsonl : text_format::tsv;
    }
    std::ifstream file;
    if (path != "-")
        file.open(path, std::ios::binary | std::ios::ate);
    std::istream& in = path == "-" ? std::cin : file;
    if (!in)
        fail(path + ": " + std::strerror(errno));
    std::uint64_t size = 0;
    if (path != "-") {
        auto end = file.tellg();
        size = end > 0 ? static_cast<std::uint64_t>(end) : 0;
        file.seekg(0);
    }
    progress_line progress("load " + path);
    constexpr std::size_t group = 64;
    std::vector<text_entry> waiting(group);
    std::vector<std::uint64_t> lines(group);
    std::vector<lath_store_entry> entries;
    std::uint64_t number = 0, bytes = 0, good = 0, bad = 0;
    auto complain = [&](std::size_t column, const std::string& what) {
        if (++bad <= 10)
            std::fprintf(stderr, "%s:%" PRIu64 ":%zu: %s\n", path.c_str(), number, column,
                         what.c_str());
    };
    auto flush = [&] {
        int results[group];
        lath_store_mset(store_, entries.size(), entries.data(), results);
        for (std::size_t i = 0; i < entries.size(); ++i) {
            if (results[i])
                fail_status(path + ":" + std::to_string(lines[i]) + ": cannot put the entry (" +
                                std::to_string(good) + " before it are in)",
                            results[i]);
            ++good;
        }
        entries.clear();
    };
    std::string line;
    while (std::getline(in, line)) {
        ++number;
        bytes += line.size() + 1;
        if (line.empty() || line == "\r")
            continue;
        text_entry& entry = waiting[entries.size()];
        if (auto error = parse_entry(line, format, entry)) {
            complain(error->column, error->what);
            continue;
        }
        lath_store_key k;
        try {
            k = key(entry.key);
        } catch (const std::runtime_error& e) {
            complain(1, e.what());
            continue;
        }
        lines[entries.size()] = number;
        entries.push_back({k, entry.value.data(), entry.value.size(), entry.expires});
        if (entries.size() == group) {
            flush();
            progress.at(good, bytes, size);
            stop_if_interrupted("load " + path + " after line " + std::to_string(number) + "; " +
                                std::to_string(good) + " entries are in");
        }
    }
    flush();
    if (in.bad())
        fail(path + ": reading failed after line " + std::to_string(number));
    std::fprintf(stderr, "%s: %" PRIu64 " entries\n", path.c_str(), good);
    if (bad)
        fail(path + ": " + std::to_string(bad) + " bad lines left out");
    return outcome::done;
}

store_session::outcome store_session::dump(arguments words) {
    need(words, 0, 2);
    std::string path = words.size() > 1 ? words[1] : "-";
    text_format format = format_of(path);
    if (words.back() == "tsv" || words.back() == "jsonl") {
        format = words.back() == "jsonl" ? text_format::jsonl : text_format::tsv;
        if (words.size() == 2)
            path = "-";
    }
    std::ofstream file;
    if (path != "-") {
        file.open(path, std::ios::binary | std::ios::trunc);
        if (!file)
            fail(path + ": " + std::strerror(errno));
    }
    std::ostream& out = path == "-" ? std::cout : file;
    progress_line progress("dump");
    lath_store_iter* raw = nullptr;
    if (int ret = lath_store_iter_begin(store_, nullptr, &raw))
        fail_status("dump", ret);
    std::unique_ptr<lath_store_iter, iter_closer> iter(raw);
    lath_store_key k;
    lath_store_ref value;
    std::uint64_t n = 0;
    int ret = 0;
    while ((ret = lath_store_iter_next(raw, &k, &value)) == 1) {
        out << format_entry({text(k), std::string(view(value)), value.expires}, format) << '\n';
        if (++n % 1000 == 0) {
            progress.at(n, 0, 0);
            stop_if_interrupted("dump; " + path + " is incomplete");
        }
    }
    out.flush();
    if (ret < 0)
        fail_status("dump", ret);
    if (!out)
        fail(path + ": writing failed");
    return outcome::done;
}

store_session::outcome store_session::stats() {
    lath_store_stats s;
    if (int ret = lath_store_get_stats(store_, &s))
        fail_status("stats", ret);
    auto row = [](const char* name, std::uint64_t bytes) {
        std::printf("%-14s %14" PRIu64 "  %s\n", name, bytes, human(bytes).c_str());
    };
    std::printf("%-14s %14" PRIu64 "\n", "items", s.items);
    row("committed", s.committed);
    row("  index", s.index_bytes);
    row("  records", s.record_bytes);
    row("  free", s.free_bytes);
    row("  retired", s.pending_bytes);
    row("resident", s.resident);
    row("  huge pages", s.huge);
    std::printf("%-14s %13.1f%%\n", "fragmentation",
                static_cast<double>(s.fragmentation_permille) / 10);
    if (s.items)
        std::printf("%-14s %14.1f\n", "bytes an item",
                    static_cast<double>(s.index_bytes + s.record_bytes) /
                        static_cast<double>(s.items));
    std::printf("%-14s %14" PRIu64 "\n%-14s %14" PRIu64 "\n%-14s %14" PRIu64 "\n", "layers",
                s.layers, "evicted", s.evicted, "expired", s.expired);
    return outcome::done;
}

namespace {

// Operations a second of all threads together.
template <class Body>
double rate(unsigned threads, std::uint64_t items, Body body) {
    auto start = std::chrono::steady_clock::now();
    std::vector<std::thread> all;
    all.reserve(static_cast<std::size_t>(threads));
    for (unsigned t = 0; t < threads; ++t)
        all.emplace_back([&, t] { body(items * t / threads, items * (t + 1) / threads); });
    for (auto& t : all)
        t.join();
    std::chrono::duration<double> s = std::chrono::steady_clock::now() - start;
    return static_cast<double>(items) / s.count();
}

} // namespace

store_session::outcome store_session::bench(arguments words) {
    need(words, 0, 2);
    auto items = words.size() > 1 ? parse_bytes(words[1]) : 1000000,
         wanted = words.size() > 2 ? parse_unsigned(words[2]) : 1;
    if (!items || !*items || *items > 1ull << 36)
        fail("bench: '" + words[1] + "' is no number of items");
    if (!wanted || !*wanted || *wanted > 1024)
        fail("bench: '" + words[2] + "' is no number of threads (1 to 1024)");
    lath_store_options options = LATH_STORE_OPTIONS_INIT;
    lath_store* raw = nullptr;
    if (int ret = lath_store_open(&raw, "mem:", &options))
        fail_status("bench", ret);
    std::unique_ptr<lath_store, int (*)(lath_store*)> store(raw, lath_store_close);
    auto threads = static_cast<unsigned>(*wanted);
    std::atomic<std::uint64_t> wrong{0};
    auto mixed = [](std::uint64_t x) { return x * 0x9e3779b97f4a7c15ull; };
    auto print = [](const char* name, double r) {
        std::printf("%-6s %10.2f million a second\n", name, r / 1e6);
    };
    constexpr std::uint64_t group = 64;
    auto value = [](std::uint64_t i, char* buf) {
        return static_cast<std::size_t>(std::snprintf(buf, 24, "%" PRIu64, i));
    };
    print("set", rate(threads, *items, [&](std::uint64_t from, std::uint64_t to) {
              char buf[24];
              for (std::uint64_t i = from; i < to; ++i) {
                  std::size_t n = value(i, buf);
                  wrong += lath_store_set(raw, lath_key_number(mixed(i)), buf, n) != 0;
              }
          }));
    print("get", rate(threads, *items, [&](std::uint64_t from, std::uint64_t to) {
              char buf[24];
              for (std::uint64_t i = from; i < to; ++i)
                  wrong += lath_store_get(raw, lath_key_number(mixed(i)), buf, sizeof buf) <= 0;
          }));
    print("mget", rate(threads, *items, [&](std::uint64_t from, std::uint64_t to) {
              std::uint64_t keys[group];
              lath_store_ref refs[group];
              for (std::uint64_t i = from; i < to; i += group) {
                  std::uint64_t n = std::min(group, to - i);
                  for (std::uint64_t j = 0; j < n; ++j)
                      keys[j] = mixed(i + j);
                  lath_store_read_begin(raw);
                  wrong += n - lath_store_mget_numbers(raw, n, keys, refs);
                  lath_store_read_end(raw);
              }
          }));
    print("scan", rate(1, *items, [&](std::uint64_t, std::uint64_t) {
              wrong += lath_store_count(raw, nullptr) != static_cast<std::int64_t>(*items);
          }));
    if (wrong)
        fail("bench: " + std::to_string(wrong) + " wrong answers");
    return outcome::done;
}

std::vector<std::string> store_session::keys_like(const std::string& prefix,
                                                  std::size_t max) const {
    std::vector<std::string> keys;
    if (lath_store_kind(store_) != LATH_STORE_BYTES)
        return keys;
    lath_store_key p = lath_key_bytes(prefix.data(), prefix.size());
    lath_store_range range{nullptr, nullptr, &p, 0};
    lath_store_iter* raw = nullptr;
    if (lath_store_iter_begin(store_, &range, &raw))
        return keys;
    std::unique_ptr<lath_store_iter, iter_closer> iter(raw);
    lath_store_key k;
    lath_store_ref value;
    while (keys.size() < max && lath_store_iter_next(raw, &k, &value) == 1)
        keys.push_back(text(k));
    return keys;
}

store_session::outcome store_session::run(arguments words) {
    const std::string& what = words[0];
    auto is = [&](std::initializer_list<const char*> names) {
        return std::any_of(names.begin(), names.end(), [&](const char* n) { return what == n; });
    };
    if (what == "get")
        return get(words);
    if (is({"set", "add", "replace", "append"}))
        return put(words);
    if (what == "del")
        return remove(words);
    if (is({"incr", "decr", "min", "max"}))
        return number(words);
    if (what == "cas")
        return cas(words);
    if (what == "expire")
        return expire(words);
    if (is({"scan", "count"}))
        return scan(words);
    if (what == "load")
        return load(words);
    if (what == "dump")
        return dump(words);
    if (what == "stats")
        return stats();
    if (what == "bench")
        return bench(words);
    if (what == "rank") {
        need(words, 1, 1);
        std::int64_t n = lath_store_rank(store_, key(words[1]));
        if (n < 0)
            fail_status("rank", n);
        std::printf("%" PRId64 "\n", n);
        return outcome::done;
    }
    if (is({"save", "restore"})) {
        need(words, 1, 1);
        progress_line line(what + " " + words[1]);
        auto progress = [](void* arg, std::uint64_t items, std::uint64_t bytes) {
            static_cast<progress_line*>(arg)->at(items, bytes, 0);
            return stop_asked ? 1 : 0;
        };
        int ret = (what == "save" ? lath_store_save : lath_store_load)(store_, words[1].c_str(),
                                                                       progress, &line);
        if (ret)
            fail_status(words[1], ret);
        return outcome::done;
    }
    if (is({"sweep", "compact"})) {
        std::int64_t n = what == "sweep" ? lath_store_sweep(store_) : lath_store_compact(store_);
        if (n < 0)
            fail_status(what, n);
        std::printf("%" PRId64 "\n", n);
        return outcome::done;
    }
    if (what == "help") {
        for (const auto& c : commands())
            std::printf("  %-8s %-56s %s\n", c.name, c.arguments, c.summary);
        return outcome::done;
    }
    if (is({"quit", "exit"}))
        return outcome::quit;
    fail("no command '" + what + "' (help names them)");
}

} // namespace lathcli
