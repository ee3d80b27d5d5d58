// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// store_calls.hpp - a store (lathwork/store.h) described once (base/calls.hpp), in each place that
// it may have. The model is a sorted array of keys with values and times of expiry.
#pragma once

#include "store_keys.hpp"

#include <fstream>
#include <iterator>

namespace calls {

// ---- many keys ----

// In some batches one entry has a value that is too large (63), but for the kernel's limit, in
// others a key of the other kind (62).
inline unsigned spoilt(const store_call& c, std::size_t i) {
    if (c.of->together || i != 3)
        return 0;
    return c.how % 16 == 1 && c.of->where != place::dev ? 63 : c.how % 16 == 2 ? 62 : 0;
}
inline void mset(store_calls& it, store_call& c) {
    std::vector<lath_store_entry> entries;
    std::vector<int> results(c.batch.size() + 1, 7);
    for (std::size_t i = 0; i < c.batch.size(); i++) {
        const stored& one = c.batch[i];
        entries.push_back({it.key(one.key), one.value.data(), one.value.size(), one.expires});
        if (spoilt(c, i) == 63)
            entries[i].size = word{1} << 40;
        if (spoilt(c, i) == 62)
            entries[i].key = c.of->bytes() ? lath_key_number(5) : lath_key_bytes("k", 1);
    }
    std::size_t n = lath_store_mset(it.store(), entries.size(), entries.data(), results.data());
    c.rets.assign(results.begin(), results.end() - 1);
    n -= static_cast<std::size_t>(std::count(c.rets.begin(), c.rets.end(), 0));
    c.ret = n || results.back() != 7 ? -EFAULT : 0;
}
// One after another, until the index has more than one node.
inline void fill(store_calls& it, store_call& c) {
    const std::string value(100, 'v');
    for (word i = 0; i < 150; i++) {
        c.batch.push_back({storetest::number_text(i), value, 0});
        c.rets.push_back(
            lath_store_set(it.store(), it.key(c.batch[i].key), value.data(), value.size()));
    }
}
inline void mset_steps(const store_call& c, std::vector<store_call>& steps) {
    for (std::size_t i = 0; i < c.batch.size(); i++) {
        steps.push_back(step_of(c, "set_at", c.batch[i].key, c.ret ? c.ret : c.rets[i]));
        steps.back().value = c.batch[i].value;
        steps.back().number = c.batch[i].expires;
        steps.back().how = spoilt(c, i);
    }
}
inline void mdel(store_calls& it, store_call& c) {
    std::vector<lath_store_key> keys;
    std::vector<int> results(c.batch.size() + 1, 7);
    for (const stored& s : c.batch)
        keys.push_back(it.key(s.key));
    std::size_t n = lath_store_mdel(it.store(), keys.size(), keys.data(), results.data());
    c.rets.assign(results.begin(), results.end() - 1);
    n -= static_cast<std::size_t>(std::count(c.rets.begin(), c.rets.end(), 0));
    c.ret = n || results.back() != 7 ? -EFAULT : 0;
}
inline void mdel_steps(const store_call& c, std::vector<store_call>& steps) {
    for (std::size_t i = 0; i < c.batch.size(); i++)
        steps.push_back(step_of(c, "delete", c.batch[i].key, c.ret ? c.ret : c.rets[i]));
}

// A shared store that lacks memory for copies finds less.
inline void mget(store_calls& it, store_call& c) {
    const store_calls::quiet now(it);
    std::vector<lath_store_key> keys;
    std::vector<word> numbers;
    std::vector<lath_store_ref> refs(c.batch.size() + 1);
    for (const stored& s : c.batch) {
        keys.push_back(it.key(s.key));
        numbers.push_back(keys.back().n);
    }
    const store_section inside(it);
    std::size_t n =
        c.how % 2 && !c.of->bytes()
            ? lath_store_mget_numbers(it.store(), keys.size(), numbers.data(), refs.data())
            : lath_store_mget(it.store(), keys.size(), keys.data(), refs.data());
    for (std::size_t i = 0; i < keys.size(); i++) {
        c.rets.push_back(refs[i].data ? 1 : 0);
        c.items.push_back({c.batch[i].key,
                           refs[i].data ? std::string(storetest::view(refs[i])) : "",
                           refs[i].data ? refs[i].expires : 0});
        n -= refs[i].data != nullptr;
    }
    c.ret = n ? -EFAULT : 0;
}
inline void mget_steps(const store_call& c, std::vector<store_call>& steps) {
    for (std::size_t i = 0; i < c.items.size(); i++) {
        steps.push_back(look_step(c, c.items[i].key, c.rets[i], c.items[i].value));
        steps.back().number = c.items[i].expires;
        steps.back().ret = c.ret ? c.ret : steps.back().ret;
    }
}

// ---- in order ----

inline void iterate(store_calls& it, store_call& c) {
    const lath_store_key from = it.key(c.key), to = it.key(c.other), prefix = it.key(c.value);
    const lath_store_range range{c.how & 1 ? &from : nullptr, c.how & 2 ? &to : nullptr,
                                 c.how & 4 && c.of->bytes() ? &prefix : nullptr, c.how & 8 ? 1 : 0};
    lath_store_iter* iter = nullptr;
    lath_store_key key;
    lath_store_ref ref;
    c.ret = lath_store_iter_begin(it.store(), c.how & 15 ? &range : nullptr, &iter);
    if (c.ret)
        return;
    int got = 1;
    while (c.items.size() < c.many && (got = lath_store_iter_next(iter, &key, &ref)) == 1)
        c.items.push_back({it.text(key), std::string(storetest::view(ref)), ref.expires});
    if (!got && lath_store_iter_next(iter, &key, &ref))
        got = -EFAULT;
    lath_store_iter_end(iter);
    c.ret = got < 0 ? got : 0;
    if (!c.of->together && !c.ret) {
        c.now = lath_store_count(it.store(), &range);
        c.ret = c.now == -ENOMEM ? -ENOMEM : 0;
    }
}
inline bool iterate_agrees(store_model& m, const store_call& c) {
    std::vector<stored> want;
    for (const stored& s : m.items)
        if ((!(c.how & 1) || s.key >= c.key) && (!(c.how & 2) || s.key < c.other) &&
            (!(c.how & 4) || !c.of->bytes() || s.key.starts_with(c.value)))
            want.push_back(s);
    const bool right = m.counts(c.now, want.size());
    if (c.how & 8)
        std::reverse(want.begin(), want.end());
    want.resize(std::min<std::size_t>(want.size(), c.many));
    return right && c.items == want;
}
inline void all_steps(const store_call& c, std::vector<store_call>& steps) {
    for (const std::string& key : c.ret < 0 ? std::vector<std::string>() : c.of->known) {
        const auto at = std::find_if(c.items.begin(), c.items.end(),
                                     [&](const stored& s) { return s.key == key; });
        const bool found = at != c.items.end();
        steps.push_back(look_step(c, key, found, found ? at->value : ""));
    }
}

inline void scan_numbers(store_calls& it, store_call& c) {
    const store_calls::quiet now(it);
    const word from = c.of->together ? 0 : storetest::text_number(c.key);
    const word last = c.how / 16 % 4 ? ~word{0} : storetest::text_number(c.other);
    const std::size_t most = c.of->bytes() ? 5 : std::min(c.many, 3000u);
    std::vector<word> keys(most + 1);
    std::vector<lath_store_ref> refs(most + 1);
    word next = 7;
    const store_section inside(it);
    const std::size_t n =
        lath_store_scan_numbers(it.store(), from, last, keys.data(), refs.data(), most, &next);
    for (std::size_t i = 0; i < n; i++)
        c.items.push_back({storetest::number_text(keys[i]), std::string(storetest::view(refs[i])),
                           refs[i].expires});
    c.number = next;
    c.many = static_cast<unsigned>(most);
}
inline bool scan_agrees(store_model& m, const store_call& c) {
    const std::string last = c.how / 16 % 4 ? std::string(8, '\xff') : c.other;
    std::vector<stored> want;
    for (const stored& s : m.items)
        if (!c.of->bytes() && s.key >= c.key && s.key <= last)
            want.push_back(s);
    if (c.of->bytes())
        return c.items.empty() && !c.number;
    const std::size_t n = c.items.size();
    const std::string next = storetest::number_text(c.number);
    if (n > want.size() || !std::equal(c.items.begin(), c.items.end(), want.begin()))
        return false;
    if (!c.many)
        return c.number == storetest::text_number(c.key);
    return !c.number ? n == want.size()
                     : n == want.size() || (next <= want[n].key && (!n || next > want[n - 1].key));
}

inline void counts(store_calls& it, store_call& c) {
    lath_store_stats stats;
    c.ret = lath_store_rank(it.store(), it.key(c.key));
    c.now = c.ret == -ENOMEM ? 0 : lath_store_count(it.store(), nullptr);
    c.ret = c.now == -ENOMEM ? -ENOMEM : c.ret;
    lath_store_get_stats(it.store(), &stats);
    c.number = stats.items;
    c.found = lath_store_items(it.store()) == static_cast<std::int64_t>(stats.items) &&
              (!at_home(*c.of) || stats.committed >= stats.index_bytes + stats.record_bytes) &&
              lath_store_now() > far_off / 1000; // in this century
}
inline bool counts_agree(store_model& m, const store_call& c) {
    return c.found && m.counts(c.ret, m.place(c.key)) && m.counts(c.now, m.items.size()) &&
           m.counts(static_cast<std::int64_t>(c.number), m.items.size());
}

// ---- the whole ----

inline void sweep(store_calls& it, store_call& c) {
    c.by = lath_store_items(it.store());
    c.ret = lath_store_sweep(it.store());
    c.now = lath_store_items(it.store());
}
inline bool sweep_agrees(store_model& m, const store_call& c) {
    m.gone.clear();
    return c.now == static_cast<std::int64_t>(m.items.size()) && c.ret == c.by - c.now;
}

inline int stop(void*, std::uint64_t, std::uint64_t) { return 1; }

inline std::string snapshot_of(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}
// A snapshot into another store: as it was saved (0), damaged (1, 2), into one that is not empty
// (3), into one with keys of the other kind (4), stopped (5, 6), without a file (7), into one with
// a limit (8).
inline void load(store_calls& it, store_call& c) {
    const std::string path = it.path("copy");
    lath_store* other = nullptr;
    lath_store_options options = it.of().options;
    c.by = c.how % 16 > 8 ? 0 : c.how % 16;
    bool big = c.by == 5 || c.by == 8; // more than a limit, and than is saved at once
    if (big && it.failing() && c.how / 16 % 4) // whose pages take most of the time of such runs
        c.by = big = 0;
    const std::string large(big ? 9u << 20 : 0, 'l');
    const std::string unused = storetest::number_text(0x123456789abcdef0);
    if (big) // it is gone again below
        c.ret = lath_store_set(it.store(), it.key(unused), large.data(), large.size());
    if (!c.ret)
        c.ret = lath_store_save(it.store(), path.c_str(), c.by == 5 ? stop : nullptr, nullptr);
    if (big)
        lath_store_delete(it.store(), it.key(unused));
    if (c.ret || c.by == 5)
        return;
    if (c.by == 1 || c.by == 2) {
        std::string bytes = snapshot_of(path);
        if (c.by == 1)
            bytes[c.many % bytes.size()] ^= static_cast<char>(1 + c.how / 16);
        else
            bytes.resize(c.many % bytes.size());
        std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
    }
    options.keys = (c.by == 4) != it.of().bytes() ? LATH_STORE_BYTES : LATH_STORE_NUMBERS;
    options.flags = 0;
    options.limit = c.by == 8 ? 8 << 20 : 0;
    c.ret = lath_store_open(&other, "mem:", &options);
    if (c.ret)
        return;
    if (c.by == 3)
        c.ret = lath_store_set(other, it.key(c.key), "x", 1);
    if (!c.ret)
        c.ret = lath_store_load(other, c.by == 7 ? it.path("none").c_str() : path.c_str(),
                                c.by == 6 ? stop : nullptr, nullptr);
    const store_calls::quiet now(it);
    c.found = lath_store_items(other) == (c.by == 3);
    c.items = c.ret ? std::vector<stored>() : it.read(other);
    lath_store_close(other);
}
inline bool load_agrees(store_model& m, const store_call& c) {
    static constexpr int want[] = {0,     EBADMSG, EBADMSG, ENOTEMPTY, EINVAL,
                                   EINTR, EINTR,   ENOENT,  ENOSPC};
    if (c.ret || (c.by && (c.by != 6 || !m.items.empty())))
        return c.ret == -want[c.by] && (c.by == 5 || c.found);
    return c.items == m.items;
}

inline void reopen(store_calls& it, store_call& c) { c.ret = it.again(); }
inline bool reopen_agrees(store_model& m, const store_call& c) {
    if (c.of->where == place::mem)
        m.items.clear();
    if (c.of->where != place::shm)
        m.gone.clear();
    return !c.ret;
}

// ---- what is refused ----

using attempt = std::int64_t (*)(lath_store*, lath_store_key);

// Each would change an entry with the value "5", or add one.
inline constexpr attempt writes[] = {
    [](lath_store* s, lath_store_key k) -> std::int64_t { return lath_store_set(s, k, "x", 1); },
    [](lath_store* s, lath_store_key k) -> std::int64_t { return lath_store_add(s, k, "x", 1); },
    [](lath_store* s, lath_store_key k) -> std::int64_t {
        return lath_store_replace(s, k, "x", 1);
    },
    [](lath_store* s, lath_store_key k) -> std::int64_t { return lath_store_delete(s, k); },
    [](lath_store* s, lath_store_key k) -> std::int64_t {
        return lath_store_cas(s, k, "5", 1, "x", 1);
    },
    [](lath_store* s, lath_store_key k) -> std::int64_t {
        return lath_store_incr(s, k, 1, nullptr);
    },
    [](lath_store* s, lath_store_key k) -> std::int64_t {
        return lath_store_min(s, k, 1, nullptr);
    },
    [](lath_store* s, lath_store_key k) -> std::int64_t {
        return lath_store_max(s, k, 7, nullptr);
    },
    [](lath_store* s, lath_store_key k) { return lath_store_append(s, k, "x", 1); },
    [](lath_store* s, lath_store_key k) -> std::int64_t { return lath_store_expire(s, k, 1); },
    [](lath_store* s, lath_store_key k) -> std::int64_t {
        return lath_store_update(
            s, k,
            [](void*, const lath_store_ref*, lath_store_change* change) {
                change->action = LATH_STORE_PUT;
                return 0;
            },
            nullptr);
    },
    [](lath_store* s, lath_store_key k) -> std::int64_t {
        const lath_store_entry entry{k, "x", 1, 0};
        int ret = 7;
        return lath_store_mset(s, 1, &entry, &ret) ? -EFAULT : ret;
    },
    [](lath_store* s, lath_store_key k) -> std::int64_t {
        int ret = 7;
        return lath_store_mdel(s, 1, &k, &ret) ? -EFAULT : ret;
    },
};
inline std::int64_t begin_range(lath_store* s, const lath_store_range& range) {
    lath_store_iter* iter = nullptr;
    const int ret = lath_store_iter_begin(s, &range, &iter);
    lath_store_iter_end(iter);
    return ret;
}
inline constexpr attempt reads[] = {
    [](lath_store* s, lath_store_key k) { return lath_store_get(s, k, nullptr, 0); },
    [](lath_store* s, lath_store_key k) -> std::int64_t {
        lath_store_ref ref;
        lath_store_read_begin(s);
        const int ret = lath_store_get_ref(s, k, &ref);
        lath_store_read_end(s);
        return ret;
    },
    [](lath_store* s, lath_store_key k) { return lath_store_rank(s, k); },
    [](lath_store* s, lath_store_key k) { return begin_range(s, {&k, nullptr, nullptr, 0}); },
    [](lath_store* s, lath_store_key k) { return begin_range(s, {nullptr, &k, nullptr, 1}); },
    [](lath_store* s, lath_store_key k) { return begin_range(s, {nullptr, nullptr, &k, 0}); },
    [](lath_store* s, lath_store_key k) {
        const lath_store_range range{nullptr, &k, nullptr, 0};
        return lath_store_count(s, &range);
    },
};

// A key of the other kind, or one that is too long.
inline void wrong_key(store_calls& it, store_call& c) {
    static const std::string longest(65536, 'k');
    const store_calls::quiet now(it);
    const unsigned form = c.how % 3;
    const lath_store_key key = form == 1         ? lath_store_key{longest.data(), 65536}
                               : form == 2       ? lath_store_key{longest.data(), ~word{0}}
                               : it.of().bytes() ? lath_key_number(5)
                                                 : lath_key_bytes("k", 1);
    lath_store_ref ref{};
    for (const attempt call : writes)
        c.rets.push_back(call(it.store(), key));
    for (const attempt call : reads)
        c.rets.push_back(call(it.store(), key));
    if (it.of().versions())
        c.rets.push_back(lath_store_set_if(it.store(), key, 5, "x", 1));
    const store_section inside(it);
    c.found = lath_store_mget(it.store(), 1, &key, &ref) || ref.data;
    c.ret = c.rets[0];
    c.many = form && it.of().bytes() ? E2BIG : EINVAL;
}
inline bool wrong_key_agrees(store_model&, const store_call& c) {
    return !c.found && std::all_of(c.rets.begin(), c.rets.end(), [&](std::int64_t ret) {
        return ret == -static_cast<std::int64_t>(c.many);
    });
}

// A handle that is read only has what was synced, and all that writes is refused.
inline void read_only(store_calls& it, store_call& c) {
    lath_store* reader = nullptr;
    lath_store_options options = it.of().options;
    options.flags = LATH_STORE_READ_ONLY;
    c.ret = lath_store_sync(it.store());
    if (c.ret)
        return;
    c.ret = lath_store_open(&reader, it.spec().c_str(), &options);
    c.found = c.ret == -ENOENT; // nothing has been saved
    c.ret = c.found ? -EROFS : c.ret;
    if (!reader)
        return;
    const store_calls::quiet now(it);
    c.by = it.of().where == place::mem; // another, empty store
    for (const attempt call : writes)
        c.rets.push_back(call(reader, it.key(c.key)));
    c.rets.push_back(lath_store_sweep(reader));
    c.rets.push_back(lath_store_sync(reader));
    c.rets.push_back(lath_store_load(reader, it.path("none").c_str(), nullptr, nullptr));
    c.items = it.read(reader);
    c.rets.push_back(lath_store_close(reader) ? 0 : -EROFS);
    c.ret = c.rets[0];
}
inline bool read_only_agrees(store_model& m, const store_call& c) {
    return (c.found ? m.items.empty() && c.of->where == place::file
                    : c.items == (c.by ? std::vector<stored>() : m.items)) &&
           std::all_of(c.rets.begin(), c.rets.end(),
                       [](std::int64_t ret) { return ret == -EROFS; });
}

// An open that fails: the store, and what is wrong. "*": this store; "!": a file that is damaged.
struct wrong_open {
    const char* spec;
    int error;
    void (*spoil)(lath_store_options&) = nullptr;
};
inline constexpr wrong_open wrong_opens[] = {
    {"mem:", EINVAL, [](lath_store_options& o) { o.size = 0; }},
    {"mem:", EINVAL,
     [](lath_store_options& o) { o.size = offsetof(lath_store_options, pages) - 1; }},
    {"mem:", EINVAL, [](lath_store_options& o) { o.size++; }},
    {"mem:", EINVAL, [](lath_store_options& o) { std::memset(&o.keys, 2, 4); }},
    {"mem:", EINVAL, [](lath_store_options& o) { std::memset(&o.pages, 3, 4); }},
    {"mem:", EINVAL, [](lath_store_options& o) { o.flags = 32; }},
    {"mem:", EINVAL, [](lath_store_options& o) { o.flags = 1u << 31; }},
    {"mem:", EINVAL, [](lath_store_options& o) { o.limit = (8 << 20) - 1; }},
    {"mem:", EINVAL, [](lath_store_options& o) { o.limit = 1; }},
    {"mem:", EINVAL, [](lath_store_options& o) { o.flags = LATH_STORE_EVICT; }},
    {"mem:", EINVAL, [](lath_store_options& o) { o.numa = "nowhere"; }},
    {"mem:", EINVAL, [](lath_store_options& o) { o.numa = ""; }},
    {"mem:", EINVAL, [](lath_store_options& o) { o.numa = "bind:1023,18446744073709551616"; }},
    {"mem:", ENOSPC, [](lath_store_options& o) { o.limit = 8 << 20, o.prefault = o.limit + 1; }},
    {"mem:", ENOMEM, [](lath_store_options& o) { o.prefault = ~word{0}; }},
    {"nothing", EINVAL},
    {"mem:x", EINVAL},
    {"file:", EINVAL},
    {"file:/", EINVAL},
    {"shm:", EINVAL},
    {"shm:a/b", EINVAL},
    {"shm:..", EINVAL},
    {"shm:lath-none", ENOENT, [](lath_store_options& o) { o.flags = LATH_STORE_EXISTING; }},
    {"shm:x", EOPNOTSUPP, [](lath_store_options& o) { o.pages = LATH_PAGES_HUGETLB; }},
    {"shm:x", EOPNOTSUPP,
     [](lath_store_options& o) {
         static const lath_rcu own = lath_rcu_auto;
         o.rcu = &own;
     }},
    {"dev:/no/such/device", ENODEV},
    {"dev:/no", EOPNOTSUPP, [](lath_store_options& o) { o.keys = LATH_STORE_BYTES; }},
    {"dev:/no", EOPNOTSUPP,
     [](lath_store_options& o) { o.flags = LATH_STORE_EVICT, o.limit = 8 << 20; }},
    {"file:/no/such/store", ENOENT},
    {"!", EBADMSG},
    {"*", 0},
};

inline void open_wrong(store_calls& it, store_call& c) {
    const store_calls::quiet now(it);
    const wrong_open& wrong = wrong_opens[c.many % std::size(wrong_opens)];
    lath_store* other = nullptr;
    char why[200] = "";
    lath_store_options options = LATH_STORE_OPTIONS_INIT;
    options.why = why;
    options.why_size = sizeof(why);
    if (wrong.spoil)
        wrong.spoil(options);
    std::string spec = wrong.spec;
    c.number = static_cast<word>(wrong.error);
    if (spec == "!") {
        std::ofstream(it.path("damaged")) << std::string(200, 'x');
        spec = "file:" + it.path("damaged");
    } else if (spec == "*" && it.of().where == place::mem) {
        spec = "mem:x", c.number = EINVAL;
    } else if (spec == "*") { // a second writer, or a store of the other kind
        spec = it.spec();
        options.keys = it.of().bytes() ? LATH_STORE_NUMBERS : LATH_STORE_BYTES;
        c.number = it.of().where == place::file ? EBUSY : EINVAL;
    }
    c.ret = lath_store_open(&other, spec.c_str(), &options);
    c.found = !other && (std::strlen(why) > 8 || options.size != sizeof(options)) &&
              std::strlen(lath_store_reason()) > 8;
    if (c.ret == -ENOMEM)
        c.ret = c.number == ENOMEM ? 0 : -EFAULT;
    c.number = c.number == ENOMEM ? 0 : c.number;
}
inline bool as_wanted(store_model&, const store_call& c) {
    return c.found && c.ret == -static_cast<std::int64_t>(c.number);
}

// Names that cannot be removed; paths that cannot be saved to; memory that there is not.
inline void refuse_whole(store_calls& it, store_call& c, std::int64_t ret, int want) {
    c.found = std::strlen(lath_store_reason()) > 8 || !want;
    c.ret = ret == -ENOMEM && want == ENOMEM ? 0 : ret;
    c.number = static_cast<word>(want == ENOMEM ? 0 : want);
    static_cast<void>(it);
}
inline void remove_wrong(store_calls& it, store_call& c) {
    static constexpr const char* names[] = {"mem:", "", "shm:", "shm:a/b", "shm:lath-none"};
    refuse_whole(it, c, lath_store_remove(names[c.many % 5], nullptr, 0),
                 c.many % 5 == 4 ? ENOENT : EINVAL);
}
inline void save_wrong(store_calls& it, store_call& c) {
    const store_calls::quiet now(it);
    const std::string longest(5000, 'p');
    const struct {
        std::string path;
        int error;
    } all[] = {{"", EINVAL},
               {"/", EINVAL},
               {"/dev/null", EINVAL},
               {"/no/such/dir/s", ENOENT},
               {it.path("") + longest.substr(0, 245), ENAMETOOLONG},
               {longest, ENAMETOOLONG},
               {it.path("held"), EBUSY}};
    const auto& a = all[c.many % std::size(all)];
    lath_store* held = nullptr;
    if (a.error == EBUSY)
        lath_store_open(&held, ("file:" + it.path("held")).c_str(), nullptr);
    refuse_whole(it, c, lath_store_save(it.store(), a.path.c_str(), nullptr, nullptr), a.error);
    lath_store_close(held);
}
inline void prefault(store_calls& it, store_call& c) {
    const store_calls::quiet now(it);
    lath_store* limited = nullptr;
    lath_store_options options = it.of().options;
    options.limit = 8 << 20;
    if (c.many % 4 == 0)
        lath_store_open(&limited, "mem:", &options);
    refuse_whole(it, c,
                 limited           ? lath_store_prefault(limited, (8 << 20) + 1)
                 : c.many % 4 == 1 ? lath_store_prefault(it.store(), 0)
                                   : lath_store_prefault(it.store(), ~word{0}),
                 limited                       ? ENOSPC
                 : it.of().where == place::shm ? EOPNOTSUPP
                 : c.many % 4 == 1             ? 0
                                               : ENOMEM);
    lath_store_close(limited);
}

// ---- the table ----

using store_draw = void (*)(store_setup&, source&, store_call&);
using store_make = void (*)(store_calls&, store_call&);
using store_agrees = bool (*)(store_model&, const store_call&);
using store_steps = void (*)(const store_call&, std::vector<store_call>&);

// Takes effect at one moment.
inline described<store_calls> once(const char* name, unsigned weight, std::vector<int> errors,
                                   store_draw draw, store_make make, store_agrees agrees) {
    errors.push_back(ENOMEM);
    return {name, weight, effect::once, std::move(errors), nullptr, draw, make, agrees};
}
// Each key at one moment.
inline described<store_calls> apart(const char* name, unsigned weight, std::vector<int> errors,
                                    store_draw draw, store_make make, store_agrees agrees,
                                    store_steps steps) {
    errors.push_back(ENOMEM);
    return {name, weight, effect::apart, std::move(errors), nullptr, draw, make, agrees, steps};
}
inline described<store_calls> alone(const char* name, unsigned weight, std::vector<int> errors,
                                    store_draw draw, store_make make, store_agrees agrees) {
    errors.push_back(ENOMEM);
    return {name, weight, effect::alone, std::move(errors), at_home, draw, make, agrees};
}
inline void draw_whole(store_setup& s, source& from, store_call& c) {
    draw_store_key(s, from, c);
    c.many = from.below(65536);
}

// clang-format off
inline const std::vector<described<store_calls>> store_calls::kinds = {
    once("set", 30, {E2BIG}, draw_value, set, set_agrees),
    once("set_at", 0, {E2BIG, EINVAL}, nullptr, nullptr,
         [](store_model& m, const store_call& c) {
             return changes(c, c.how == 62 ? -EINVAL : 0, 0,
                            [&] { m.put(c.key, c.value, c.number); });
         }),
    once("add", 10, {EEXIST, E2BIG}, draw_value, add, add_agrees),
    once("replace", 10, {ENOENT, E2BIG}, draw_value, replace, replace_agrees),
    once("delete", 16, {ENOENT}, draw_store_key, remove, remove_agrees),
    once("cas", 12, {ENOENT, EAGAIN, E2BIG}, draw_two, cas, cas_agrees),
    apart("set_if", 8, {ENOENT, EAGAIN, EOPNOTSUPP, E2BIG}, draw_value, set_if, set_if_agrees,
          set_if_steps),
    once("incr", 8, {EINVAL, ERANGE}, draw_number, arithmetic<lath_store_incr>,
         arithmetic_agrees<'+'>),
    once("min", 4, {EINVAL, ERANGE}, draw_number, arithmetic<lath_store_min>,
         arithmetic_agrees<'<'>),
    once("max", 4, {EINVAL, ERANGE}, draw_number, arithmetic<lath_store_max>,
         arithmetic_agrees<'>'>),
    once("append", 10, {E2BIG}, draw_value, append, append_agrees),
    once("expire", 6, {ENOENT}, draw_value, expire, expire_agrees),
    once("update", 10, {EAGAIN}, draw_two, update, update_agrees),
    apart("mset", 6, {}, draw_entries, mset, nullptr, mset_steps),
    {"fill", 1, effect::alone, {}, at_home, nullptr, fill, nullptr, mset_steps},
    apart("mdel", 4, {}, draw_batch, mdel, nullptr, mdel_steps),
    once("get", 14, {ENOENT}, draw_store_key, get, get_agrees),
    once(
        "get_ref", 8, {ENOENT}, draw_store_key,
        [](store_calls& it, store_call& c) { c.ret = look(it, c); }, get_ref_agrees),
    apart("mget, mget_numbers, read_begin, read_end", 6, {}, draw_batch, mget, nullptr, mget_steps),
    apart("iter_begin, iter_next, iter_end", 8, {}, draw_range, iterate, iterate_agrees, all_steps),
    {"scan_numbers", 6, effect::apart, {ENOMEM},
     [](const store_setup& s) { return !s.together || !s.bytes(); }, draw_range, scan_numbers,
     scan_agrees, all_steps},
    {"compact", 2, effect::none, {ENOMEM}, nullptr, nullptr,
     [](store_calls& it, store_call& c) { c.ret = lath_store_compact(it.store()); }},
    {"get_pages", 1, effect::none, {}, nullptr, nullptr,
     [](store_calls& it, store_call& c) {
         lath_store_stats stats;
         c.ret = lath_store_get_pages(it.store(), &stats);
     }},
    {"count, rank, items, get_stats, now", 6, effect::none, {ENOMEM}, nullptr, draw_store_key,
     counts, counts_agree},
    alone("sweep", 2, {}, nullptr, sweep, sweep_agrees),
    alone("save, load", 2, {EBADMSG, ENOTEMPTY, EINVAL, EINTR, ENOENT, ENOSPC}, draw_whole, load,
          load_agrees),
    alone("sync, leave, close, open, kind", 1, {}, nullptr, reopen, reopen_agrees),
    alone("set, add, replace, delete, cas, set_if, incr, min, max, append, expire, "
          "update, mset, mdel, get, get_ref, rank, iter_begin, count, mget",
          1, {EINVAL, E2BIG}, draw_whole, wrong_key, wrong_key_agrees),
    alone("set, add, replace, delete, cas, incr, min, max, append, expire, update, "
          "mset, mdel, sweep, sync, load, open",
          1, {EROFS}, draw_whole, read_only, read_only_agrees),
    alone("open, reason", 3, {EINVAL, ENOSPC, ENOENT, EOPNOTSUPP, ENODEV, EBADMSG, EBUSY},
          draw_whole, open_wrong, as_wanted),
    alone("remove", 1, {EINVAL, ENOENT}, draw_whole, remove_wrong, as_wanted),
    alone("save", 1, {EINVAL, ENOENT, ENAMETOOLONG, EBUSY}, draw_whole, save_wrong, as_wanted),
    alone("prefault", 1, {ENOSPC, EOPNOTSUPP}, draw_whole, prefault, as_wanted),
};
// clang-format on

inline void store_calls::draw_loaded(setup& s, source& from, std::vector<call>& loaded) {
    for (unsigned i = 0, n = from.below(2 * static_cast<unsigned>(s.known.size())); i < n; i++) {
        call c(s);
        c.kind = kind_of<store_calls>(from.below(3) ? "set" : "delete");
        draw_value(s, from, c);
        loaded.push_back(c);
    }
}

inline bool store_calls::may_change(const call& c) {
    return kinds[c.kind].agrees != get_agrees && kinds[c.kind].agrees != get_ref_agrees &&
           c.ret >= 0;
}
inline unsigned store_calls::most_steps(const setup& s, const call& c) {
    const described<store_calls>& kind = kinds[c.kind];
    if (kind.effect != effect::apart)
        return kind.effect == effect::once;
    return kind.steps == all_steps ? static_cast<unsigned>(s.known.size()) : 2;
}

} // namespace calls
