// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Calls on a store, chosen by a source of numbers; every answer is compared with a std::map.
// REQUIRE is the includer's.
#pragma once

#include "model.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace storetest {

inline std::optional<std::int64_t> number_of(std::string s) {
    if (!s.empty() && s.back() == '\0')
        s.pop_back();
    std::string digits = !s.empty() && s[0] == '-' ? s.substr(1) : s;
    if (digits.empty() || digits.size() > 18 ||
        !std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; }))
        return std::nullopt;
    return std::stoll(s);
}

template <class Random>
class tester {
public:
    tester(lath_store* store, lath_store_keys kind, unsigned universe, Random random)
        : store_(store), keys_(kind, universe), random_(random) {
        model_.kind = kind;
    }

    void run(int steps) {
        for (int i = 0; i < steps; ++i) {
            step();
            if (i % 997 == 0)
                walk();
        }
        walk();
    }

    // Steps until the source of numbers has no more.
    void run_out() {
        while (random_.more())
            step();
        walk();
    }

private:
    using map = std::map<std::string, std::string>;

    void step() {
        std::string k = keys_(random_);
        auto key = model_.key(k);
        auto there = model_.map.find(k);
        bool is = there != model_.map.end();
        std::string v = make_value(random_);
        switch (random_() % 14) {
        case 0:
            get(k);
            break;
        case 1:
        case 2:
            REQUIRE(lath_store_set(store_, key, v.data(), v.size()) == 0);
            model_.map[k] = v;
            break;
        case 3:
            REQUIRE(lath_store_add(store_, key, v.data(), v.size()) == (is ? -EEXIST : 0));
            model_.map.emplace(k, v);
            break;
        case 4:
            REQUIRE(lath_store_replace(store_, key, v.data(), v.size()) == (is ? 0 : -ENOENT));
            if (is)
                there->second = v;
            break;
        case 5:
            REQUIRE(lath_store_delete(store_, key) == (is ? 0 : -ENOENT));
            if (is)
                model_.map.erase(there);
            break;
        case 6:
            cas(k, v);
            break;
        case 7:
            number(k);
            break;
        case 8:
            if (is && there->second.size() > 200000)
                break;
            REQUIRE(lath_store_append(store_, key, v.data(), v.size()) ==
                    static_cast<std::int64_t>((is ? there->second.size() : 0) + v.size()));
            model_.map[k] += v;
            break;
        case 9:
            get_or_set(k, v);
            break;
        case 10:
            mset();
            break;
        case 11:
            mget();
            break;
        case 12:
            mdel();
            break;
        default:
            range();
        }
    }

    void get(const std::string& k) {
        auto there = model_.map.find(k);
        std::string buf((there == model_.map.end() ? 0 : there->second.size()) + 100, 'x');
        std::size_t room = random_() % 4 ? buf.size() : random_() % 20;
        std::int64_t n = lath_store_get(store_, model_.key(k), buf.data(), room);
        if (there == model_.map.end()) {
            REQUIRE(n == -ENOENT);
            return;
        }
        REQUIRE(n == static_cast<std::int64_t>(there->second.size()));
        std::size_t copied = std::min(room, there->second.size());
        REQUIRE(buf.compare(0, copied, there->second, 0, copied) == 0);
        REQUIRE((copied == buf.size() || buf[copied] == 'x'));
        lath_store_ref ref;
        lath_store_read_begin(store_);
        REQUIRE(lath_store_get_ref(store_, model_.key(k), &ref) == 0);
        REQUIRE(view(ref) == there->second);
        lath_store_read_end(store_);
    }

    void cas(const std::string& k, const std::string& v) {
        auto there = model_.map.find(k);
        std::string expected = there != model_.map.end() && random_() % 2 ? there->second : "other";
        int want = there == model_.map.end() ? -ENOENT : there->second == expected ? 0 : -EAGAIN;
        REQUIRE(lath_store_cas(store_, model_.key(k), expected.data(), expected.size(), v.data(),
                               v.size()) == want);
        if (!want)
            there->second = v;
    }

    void number(const std::string& k) {
        auto there = model_.map.find(k);
        std::int64_t by = static_cast<std::int64_t>(random_()) % 100000, now = 12345;
        bool text = there != model_.map.end();
        auto old = text ? number_of(there->second) : std::optional<std::int64_t>(0);
        if (text && !old) {
            REQUIRE(lath_store_incr(store_, model_.key(k), by, &now) < 0);
            REQUIRE(now == 12345);
            return;
        }
        std::int64_t want = *old + by;
        bool keep = false;
        switch (random_() % 3) {
        case 0:
            REQUIRE(lath_store_incr(store_, model_.key(k), by, &now) == 0);
            break;
        case 1:
            REQUIRE(lath_store_min(store_, model_.key(k), by, &now) == 0);
            keep = text && *old <= by;
            want = text ? std::min(*old, by) : by;
            break;
        default:
            REQUIRE(lath_store_max(store_, model_.key(k), by, &now) == 0);
            keep = text && *old >= by;
            want = text ? std::max(*old, by) : by;
        }
        REQUIRE(now == want);
        if (keep)
            return;
        bool nul = text && !there->second.empty() && there->second.back() == '\0';
        model_.map[k] = std::to_string(want) + (nul ? std::string(1, '\0') : "");
    }

    void get_or_set(const std::string& k, const std::string& v) {
        auto [there, is_new] = model_.map.emplace(k, v);
        std::string buf(there->second.size() + 100, 'x');
        int added = -1;
        std::int64_t n = lath_store_get_or_set(store_, model_.key(k), v.data(), v.size(),
                                               buf.data(), buf.size(), &added);
        REQUIRE(added == is_new);
        REQUIRE(n == static_cast<std::int64_t>(there->second.size()));
        REQUIRE((is_new || buf.compare(0, there->second.size(), there->second) == 0));
    }

    std::vector<std::string> some_keys() {
        std::vector<std::string> some(random_() % 150);
        for (auto& k : some)
            k = keys_(random_);
        return some;
    }

    void mset() {
        auto some = some_keys();
        std::vector<std::string> values;
        std::vector<lath_store_entry> entries;
        for (auto& k : some) {
            values.push_back(make_value(random_));
            model_.map[k] = values.back();
        }
        for (std::size_t i = 0; i < some.size(); ++i)
            entries.push_back({model_.key(some[i]), values[i].data(), values[i].size(), 0});
        std::vector<int> results(some.size(), 1);
        REQUIRE(lath_store_mset(store_, some.size(), entries.data(),
                                random_() % 2 ? results.data() : nullptr) == some.size());
    }

    void mget() {
        auto some = some_keys();
        std::vector<lath_store_key> wanted;
        for (auto& k : some)
            wanted.push_back(model_.key(k));
        std::vector<lath_store_ref> refs(some.size());
        std::size_t found = 0;
        lath_store_read_begin(store_);
        std::size_t n;
        if (model_.kind == LATH_STORE_NUMBERS && random_() % 2) {
            std::vector<std::uint64_t> numbers;
            for (auto& k : wanted)
                numbers.push_back(k.n);
            n = lath_store_mget_numbers(store_, numbers.size(), numbers.data(), refs.data());
        } else {
            n = lath_store_mget(store_, wanted.size(), wanted.data(), refs.data());
        }
        for (std::size_t i = 0; i < some.size(); ++i) {
            auto there = model_.map.find(some[i]);
            found += there != model_.map.end();
            REQUIRE((there == model_.map.end()) == !refs[i].data);
            REQUIRE((!refs[i].data || view(refs[i]) == there->second));
        }
        lath_store_read_end(store_);
        REQUIRE(n == found);
    }

    void mdel() {
        auto some = some_keys();
        some.resize(some.size() / 8);
        std::vector<lath_store_key> wanted;
        std::vector<int> results(some.size()), want(some.size());
        for (std::size_t i = 0; i < some.size(); ++i) {
            wanted.push_back(model_.key(some[i]));
            want[i] = model_.map.erase(some[i]) ? 0 : -ENOENT;
        }
        lath_store_mdel(store_, wanted.size(), wanted.data(), results.data());
        REQUIRE(results == want);
    }

    void expect(const lath_store_range& range, const std::vector<const map::value_type*>& want) {
        lath_store_iter* iter = nullptr;
        REQUIRE(lath_store_iter_begin(store_, &range, &iter) == 0);
        lath_store_key key;
        lath_store_ref value;
        for (const auto* w : want) {
            REQUIRE(lath_store_iter_next(iter, &key, &value) == 1);
            REQUIRE(model_.text(key) == w->first);
            REQUIRE(view(value) == w->second);
        }
        REQUIRE(lath_store_iter_next(iter, &key, &value) == 0);
        REQUIRE(lath_store_iter_next(iter, &key, &value) == 0);
        lath_store_iter_end(iter);
        REQUIRE(lath_store_count(store_, &range) == static_cast<std::int64_t>(want.size()));
    }

    void range() {
        std::string low = keys_(random_), high = keys_(random_), prefix;
        auto from = model_.key(low), to = model_.key(high);
        lath_store_range range{};
        if (random_() % 2)
            range.from = &from;
        if (random_() % 2)
            range.to = &to;
        lath_store_key prefix_key;
        if (model_.kind == LATH_STORE_BYTES && random_() % 2) {
            prefix = keys_(random_);
            prefix.resize(random_() % (prefix.size() + 1));
            prefix_key = model_.key(prefix);
            range.prefix = &prefix_key;
        }
        range.backward = random_() % 2;
        std::vector<const map::value_type*> want;
        for (const auto& e : model_.map)
            if ((!range.from || e.first >= low) && (!range.to || e.first < high) &&
                (!range.prefix || e.first.compare(0, prefix.size(), prefix) == 0))
                want.push_back(&e);
        if (range.backward)
            std::reverse(want.begin(), want.end());
        expect(range, want);
        REQUIRE(lath_store_rank(store_, from) ==
                std::distance(model_.map.begin(), model_.map.lower_bound(low)));
    }

    void walk() {
        std::vector<const map::value_type*> want;
        for (const auto& e : model_.map)
            want.push_back(&e);
        expect({}, want);
        lath_store_range backward{};
        backward.backward = 1;
        std::reverse(want.begin(), want.end());
        expect(backward, want);
        lath_store_stats stats;
        REQUIRE(lath_store_get_stats(store_, &stats) == 0);
        REQUIRE(stats.items == model_.map.size());
        REQUIRE(lath_store_items(store_) == static_cast<std::int64_t>(stats.items));
        if (random_() % 4 == 0)
            REQUIRE(lath_store_compact(store_) >= 0);
    }

    lath_store* store_;
    key_maker keys_;
    Random random_;
    model model_{};
};

} // namespace storetest
