// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "store/session.hpp"

#include "base/numbers.hpp"
#include "base/output.hpp"
#include "base/status_line.hpp"
#include "base/stop_on_signal.hpp"
#include "base/usage.hpp"
#include "store/text.hpp"

#include "lathwork/error.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>

namespace lathcli {

std::string progress_text(const std::string& what, std::uint64_t items, std::uint64_t bytes,
                          std::uint64_t of) {
    std::string text = what + ": " + std::to_string(items) + " entries";
    if (!of)
        return text;
    return text + ", " + std::to_string(std::min<std::uint64_t>(100, bytes * 100 / of)) + " %";
}

namespace {

[[noreturn]] void fail(const std::string& what) { throw std::runtime_error(what); }

[[noreturn]] void fail_status(const std::string& what, std::int64_t status) {
    fail(what + ": " + lath_strerror(static_cast<int>(status)));
}

std::string_view view(const lath_store_ref& ref) {
    return {static_cast<const char*>(ref.data), ref.size};
}

void need(const std::vector<std::string>& words, std::size_t least, std::size_t most) {
    if (words.size() - 1 >= least && words.size() - 1 <= most)
        return;
    for (const auto& c : store_session::commands())
        if (words[0] == c.name)
            throw usage_error("usage: " + words[0] + (*c.arguments ? " " : "") + c.arguments +
                              (*c.arguments ? "" : " (it takes no words)"));
}

// A number among the words of a command.
std::uint64_t number_word(const std::string& what, const std::string& text,
                          std::uint64_t most = UINT64_MAX) {
    return number_of(what + " " + text, text, 0, most);
}

constexpr std::uint64_t longest_ttl = 1ull << 40; // seconds

} // namespace

const std::vector<store_command>& store_session::commands() {
    constexpr std::size_t every = SIZE_MAX;
    static const std::vector<store_command> all = {
        {"get", "KEY...", "print values, one per line", false, every},
        {"set", "KEY VALUE [ttl SECONDS]", "put", true, 1},
        {"add", "KEY VALUE", "put, if the key is not there", true, 1},
        {"replace", "KEY VALUE", "put, if the key is there", true, 1},
        {"append", "KEY VALUE", "put behind what is there; prints the length", true, 1},
        {"cas", "KEY EXPECTED VALUE", "put, if the value is the expected one", true, 1},
        {"incr", "KEY [BY]", "add to a decimal number; prints it", true, 1},
        {"decr", "KEY [BY]", "subtract", true, 1},
        {"min", "KEY NUMBER", "lower to at most", true, 1},
        {"max", "KEY NUMBER", "raise to at least", true, 1},
        {"del", "KEY...", "delete", true, every},
        {"expire", "KEY SECONDS", "end it in this many seconds; 0: never", true, 1},
        {"scan", "[from KEY] [to KEY] [prefix TEXT] [reverse] [limit N]",
         "keys and values in order; to is not included", false, every},
        {"count", "[from KEY] [to KEY] [prefix TEXT]", "how many", false, every},
        {"rank", "KEY", "how many are before", false, every},
        {"load", "FILE [tsv|jsonl]", "put entries of a file (- is standard input)", true, every},
        {"dump", "[FILE] [tsv|jsonl]", "write all entries as text", false, every},
        {"save", "FILE", "write a snapshot", false, every},
        {"restore", "FILE", "read a snapshot into the empty store", true, every},
        {"stats", "", "figures", false, every},
        {"sweep", "", "remove expired entries", true, every},
        {"compact", "", "give memory back", false, every},
        {"bench", "[ITEMS [THREADS]]", "set and get, in its own store", false, 0},
        {"help", "", "this", false, every},
        {"quit", "", "leave", false, every},
    };
    return all;
}

lath_store_key store_session::key(const std::string& text) const {
    if (lath_store_kind(store_) == LATH_STORE_BYTES) {
        if (text.size() > 65535)
            throw usage_error("key of " + std::to_string(text.size()) + " bytes: at most 65535");
        return lath_key_bytes(text.data(), text.size());
    }
    auto n = parse_digits<std::uint64_t>(text);
    if (!n)
        throw usage_error("key '" + printable(text) + "': this store has numbers, 0 to 2^64 - 1");
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
                       : status == -EAGAIN ? "its value is not the expected one"
                       : status == -EINVAL ? "is not a decimal number"
                       : status == -ERANGE ? "would leave 64 bits"
                                           : nullptr;
    if (!what)
        fail_status("key '" + printable(key) + "'", status);
    message(printable(key) + ": " + what);
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
        else if (raw_values)
            std::fwrite(value.data(), 1, value.size(), stdout);
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
        if (words.size() != 5 || words[3] != "ttl")
            need(words, SIZE_MAX, 0);
        entry.expires = lath_store_now() + number_word("ttl", words[4], longest_ttl) * 1000;
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
    auto by = words.size() > 2 ? parse_digits<std::int64_t>(words[2]) : 1;
    if (!by || (what == "decr" && *by == INT64_MIN))
        throw usage_error(what + " " + words[1] + ": '" + words[2] +
                          "' is not a whole number of 64 bits");
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
    std::uint64_t seconds = number_word("expire", words[2], longest_ttl);
    return answer(
        lath_store_expire(store_, key(words[1]), seconds ? lath_store_now() + seconds * 1000 : 0),
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
                throw usage_error("prefix: this store has numbers");
            prefix = words[++i];
            prefix_key = key(prefix);
            range.prefix = &prefix_key;
        } else if (words[i] == "limit" && more && !counting) {
            limit = number_word("limit", words[++i]);
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
        if (stop_asked)
            return outcome::done;
        if (std::ferror(stdout))
            check_standard_output();
    }
    if (ret < 0)
        fail_status("scan", ret);
    return outcome::done;
}

namespace {

// The format named at the end of the words, or by the path.
text_format format_word(const std::vector<std::string>& words, std::size_t at,
                        const std::string& path) {
    if (words.size() <= at)
        return format_of(path);
    if (words[at] != "tsv" && words[at] != "jsonl")
        need(words, SIZE_MAX, 0);
    return words[at] == "jsonl" ? text_format::jsonl : text_format::tsv;
}

} // namespace

// Entries of a file, 64 at a time.
class store_session::loader {
public:
    loader(const store_session& session, std::string path, text_format format)
        : session_(session), path_(std::move(path)), format_(format), waiting_(group) {}

    // True when it was the last of a group.
    bool line(const std::string& text) {
        ++number_;
        if (text.empty() || text == "\r")
            return false;
        text_entry& entry = waiting_[entries_.size()];
        if (auto error = parse_entry(text, format_, entry)) {
            complain(error->column, error->what);
            return false;
        }
        try {
            entries_.push_back(
                {session_.key(entry.key), entry.value.data(), entry.value.size(), entry.expires});
        } catch (const usage_error& e) {
            complain(1, e.what());
            return false;
        }
        lines_[entries_.size() - 1] = number_;
        if (entries_.size() < group)
            return false;
        flush();
        return true;
    }
    void flush() {
        std::array<int, group> results{};
        lath_store_mset(session_.store_, entries_.size(), entries_.data(), results.data());
        for (std::size_t i = 0; i < entries_.size(); ++i) {
            if (results[i])
                fail_status(path_ + ":" + std::to_string(lines_[i]) + ": cannot put the entry (" +
                                std::to_string(good_) + " before it are in)",
                            results[i]);
            ++good_;
        }
        entries_.clear();
    }
    std::uint64_t good() const { return good_; }
    std::uint64_t bad() const { return bad_; }
    std::uint64_t number() const { return number_; }

private:
    static constexpr std::size_t group = 64;
    void complain(std::size_t column, const std::string& what) {
        if (++bad_ <= 10)
            message(path_ + ":" + std::to_string(number_) + ":" + std::to_string(column) + ": " +
                    what);
    }

    const store_session& session_;
    std::string path_;
    text_format format_;
    std::vector<text_entry> waiting_; // what the entries point at
    std::array<std::uint64_t, group> lines_{};
    std::vector<lath_store_entry> entries_;
    std::uint64_t number_ = 0, good_ = 0, bad_ = 0;
};

store_session::outcome store_session::load(arguments words) {
    need(words, 1, 2);
    const std::string& path = words[1];
    std::optional<line_reader> file;
    if (path != "-")
        file.emplace(path);
    line_reader& in = file ? *file : standard_input();
    loader into(*this, path, format_word(words, 2, path));
    status_line status;
    std::uint64_t bytes = 0;
    for (std::string line; in.next(line);) {
        bytes += line.size() + 1;
        if (into.line(line) && status.due())
            status.show(progress_text("load " + path, into.good(), bytes, in.size()));
        if (stop_asked)
            break;
    }
    into.flush();
    std::string lines = stop_asked ? " of " + std::to_string(into.number()) + " lines" : "";
    message(path + ": " + std::to_string(into.good()) + " entries" + lines);
    if (into.bad())
        fail(path + ": " + std::to_string(into.bad()) + " bad lines left out");
    return outcome::done;
}

store_session::outcome store_session::dump(arguments words) {
    need(words, 0, 2);
    std::string path = words.size() > 1 ? words[1] : "-";
    bool only_format = words.size() == 2 && (path == "tsv" || path == "jsonl");
    text_format format = format_word(words, only_format ? 1 : 2, path);
    if (only_format)
        path = "-";
    output out(path, {file_of(spec_)});
    status_line status(!out.standard());
    lath_store_iter* raw = nullptr;
    if (int ret = lath_store_iter_begin(store_, nullptr, &raw))
        fail_status("dump", ret);
    std::unique_ptr<lath_store_iter, iter_closer> iter(raw);
    lath_store_key k;
    lath_store_ref value;
    std::uint64_t n = 0;
    int ret = 0;
    while ((ret = lath_store_iter_next(raw, &k, &value)) == 1 && out.stream()) {
        out.stream() << format_entry({text(k), std::string(view(value)), value.expires}, format)
                     << '\n';
        if (++n % 1000)
            continue;
        if (stop_asked)
            fail("dump: " + (out.standard() ? "it is incomplete" : path + " is as it was"));
        if (status.due())
            status.show(progress_text("dump", n, 0, 0));
    }
    if (ret < 0)
        fail_status("dump", ret);
    out.commit();
    return outcome::done;
}

store_session::outcome store_session::stats() {
    lath_store_stats s;
    int ret = lath_store_get_stats(store_, &s);
    if (!ret)
        ret = lath_store_get_pages(store_, &s);
    if (ret)
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
        std::printf("%-14s %14.1f\n", "bytes per item",
                    static_cast<double>(s.index_bytes + s.record_bytes) /
                        static_cast<double>(s.items));
    std::printf("%-14s %14" PRIu64 "\n%-14s %14" PRIu64 "\n%-14s %14" PRIu64 "\n", "layers",
                s.layers, "evicted", s.evicted, "expired", s.expired);
    return outcome::done;
}

store_session::outcome store_session::bench(arguments words) {
    need(words, 0, 2);
    std::uint64_t items =
        words.size() > 1 ? number_of("bench: ITEMS", words[1], 1, 1ull << 36) : 1000000;
    auto threads = static_cast<unsigned>(
        words.size() > 2 ? number_of("bench: THREADS", words[2], 1, 1024) : 1);
    bench_store(lath_store_kind(store_), items, threads);
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

void store_session::take_marks(std::vector<std::string>& words, std::size_t names) {
    bool keyed = words[0] == "scan" || words[0] == "count";
    for (std::size_t i = 1; i < words.size(); ++i) {
        if (words[i] == "--") { // what follows stands for itself
            words.erase(words.begin() + static_cast<std::ptrdiff_t>(i));
            return;
        }
        bool number = keyed && words[i - 1] == "limit";
        if (i <= names && !number && is_option_like(words[i]))
            throw usage_error(words[0] + ": '" + printable(words[i]) +
                              "' looks like an option, and those of lath store stand before the "
                              "command; a key or file that begins so goes behind --: " +
                              words[0] + " -- " + printable(words[i]));
    }
}

const store_command* store_session::allow(const std::string& what) {
    auto c = std::find_if(commands().begin(), commands().end(),
                          [&](const store_command& each) { return what == each.name; });
    if (c == commands().end()) {
        if (what == "exit")
            return nullptr;
        std::vector<std::string> names;
        for (const auto& each : commands())
            names.emplace_back(each.name);
        throw usage_error(no_such("command", what, names));
    }
    may_have_changed_ |= c->changes;
    if (c->changes && !may_write_ && spec_.starts_with("file:")) {
        check_replaceable(file_of(spec_));
        may_write_ = true;
    }
    return &*c;
}

std::string store_session::file_of(const std::string& spec) {
    auto colon = spec.find(':');
    std::string kind = spec.substr(0, colon),
                name = colon == std::string::npos ? "" : spec.substr(colon + 1);
    return kind == "shm" ? "/dev/shm/" + name : kind == "mem" ? "" : name;
}

line_reader& store_session::standard_input() {
    static line_reader lines("-");
    return lines;
}

store_session::outcome store_session::rank(arguments words) {
    need(words, 1, 1);
    std::int64_t n = lath_store_rank(store_, key(words[1]));
    if (n < 0)
        fail_status("rank", n);
    std::printf("%" PRId64 "\n", n);
    return outcome::done;
}

store_session::outcome store_session::snapshot(arguments words) {
    const std::string& what = words[0];
    need(words, 1, 1);
    std::pair<status_line, std::string> status(true, what + " " + words[1]);
    auto progress = [](void* arg, std::uint64_t items, std::uint64_t) {
        auto& [line, text] = *static_cast<std::pair<status_line, std::string>*>(arg);
        if (line.due())
            line.show(progress_text(text, items, 0, 0));
        return stop_asked ? 1 : 0;
    };
    bool saving = what == "save";
    int ret =
        (saving ? lath_store_save : lath_store_load)(store_, words[1].c_str(), progress, &status);
    if (ret)
        fail(lath_store_reason());
    return outcome::done;
}

store_session::outcome store_session::run(std::vector<std::string> words) {
    const std::string what = words[0];
    const store_command* command = allow(what);
    take_marks(words, command ? command->names : SIZE_MAX);
    if (!command || !*command->arguments) // "exit" is another "quit"
        need(words, 0, 0);
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
    if (what == "rank")
        return rank(words);
    if (is({"save", "restore"}))
        return snapshot(words);
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
    return outcome::quit; // quit, exit: the others are not allowed
}

} // namespace lathcli
