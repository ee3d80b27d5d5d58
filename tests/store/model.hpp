// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// What a store must do, as a std::map does it; and keys that provoke every shape of the index.
#pragma once

#include "lathwork/store.h"

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <unistd.h>

namespace storetest {

// Numbers are kept as 8 bytes, the highest first: their order is the same.
inline std::string number_text(std::uint64_t n) {
    std::string s(8, '\0');
    for (int i = 0; i < 8; ++i)
        s[static_cast<std::size_t>(i)] = static_cast<char>(n >> (56 - 8 * i));
    return s;
}

inline std::uint64_t text_number(const std::string& s) {
    std::uint64_t n = 0;
    for (unsigned char c : s)
        n = n << 8 | c;
    return n;
}

struct closer {
    void operator()(lath_store* s) const { lath_store_close(s); }
};
using store_ptr = std::unique_ptr<lath_store, closer>;

// LATH_STORE_SPEC=dev:/dev/llds, or shm:: the same tests on another store
inline std::string_view elsewhere() {
    const char* spec = std::getenv("LATH_STORE_SPEC");
    return spec ? spec : "mem:";
}

// What dev: cannot: on mem:, or on shm:
inline const char* here() { return elsewhere() == "shm:" ? "shm:" : "mem:"; }

inline store_ptr open_store(const lath_store_options& options, const char* spec = nullptr) {
    lath_store* s = nullptr;
    if (!spec)
        spec = elsewhere().data();
    if (std::string_view(spec) != "shm:")
        return store_ptr(lath_store_open(&s, spec, &options) ? nullptr : s);
    // a new one each time, whose name is gone before the test is
    static std::atomic<unsigned> count;
    std::string name = "shm:lath-test-" + std::to_string(getpid()) + "-" + std::to_string(++count);
    int ret = lath_store_open(&s, name.c_str(), &options);
    lath_store_remove(name.c_str(), nullptr, 0);
    return store_ptr(ret ? nullptr : s);
}

struct model {
    lath_store_keys kind;
    std::map<std::string, std::string> map;

    lath_store_key key(const std::string& k) const {
        return kind == LATH_STORE_NUMBERS ? lath_key_number(text_number(k))
                                          : lath_key_bytes(k.data(), k.size());
    }
    std::string text(const lath_store_key& k) const {
        return k.data ? std::string(static_cast<const char*>(k.data), k.n) : number_text(k.n);
    }
};

inline std::string_view view(const lath_store_ref& ref) {
    return {static_cast<const char*>(ref.data), ref.size};
}

// Keys of a small universe, so that calls meet.
class key_maker {
public:
    key_maker(lath_store_keys kind, unsigned universe) : kind_(kind), universe_(universe) {}
    template <class Random>
    std::string operator()(Random& random) const {
        auto x = static_cast<std::uint64_t>(random() % universe_);
        if (kind_ == LATH_STORE_NUMBERS)
            return number_text(x % 3 == 0 ? x * 0x9e3779b97f4a7c15ull : x % 3 == 1 ? x : ~x);
        switch (x % 7) {
        case 0: // ends of all lengths, NULs among them
            return std::string(x / 7 % 24, '\0');
        case 1:
            return "key" + std::to_string(x);
        case 2: // long common prefixes that end at different depths
            return std::string(x / 7 % 5 * 13, 'p') + std::to_string(x * 7919 % 1000);
        case 3:
            return std::string(x / 7 % 40, 'a');
        case 4: // pairs in a slice
            return "0123456" + std::string(1, static_cast<char>(x));
        case 5:
            return number_text(x * 0x9e3779b97f4a7c15ull);
        default:
            return std::string(60, 'z') + std::string(x / 7 % 3, '\xff') + number_text(x);
        }
    }

private:
    lath_store_keys kind_;
    unsigned universe_;
};

// Values of every form.
template <class Random>
std::string make_value(Random& random) {
    std::string v;
    switch (random() % 8) {
    case 0:
        return v;
    case 1:
        return std::to_string(static_cast<std::int64_t>(random()) % 1000);
    case 2:
        return std::to_string(random() % 100000000000000);
    case 3: {
        static const char alphabet[] = "0123456789+,-./"; // and its NUL
        v.resize(random() % 18);
        for (char& c : v)
            c = alphabet[random() % sizeof(alphabet)];
        return v;
    }
    case 4:
        v.resize(random() % 20);
        break;
    case 5:
        v.resize(random() % 300);
        break;
    case 6:
        v.resize(random() % 64 ? random() % 5000 : 65530 + random() % 100000);
        break;
    default:
        v.resize(7 + random() % 9);
        break;
    }
    for (std::uint64_t z = random(); char& c : v) {
        z = z * 6364136223846793005u + 1442695040888963407u;
        c = static_cast<char>(z >> 56);
    }
    return v;
}

} // namespace storetest
