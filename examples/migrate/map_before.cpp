// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Names by number in std::map, or with MAP_BTREE in absl::btree_map, behind a lock.
#include <cstdint>
#include <cstdio>
#include <functional>
#include <iterator>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>
#include <utility>

#ifdef MAP_BTREE
#include <absl/container/btree_map.h>
template <typename T>
using ordered_map = absl::btree_map<std::uint64_t, T>;
#else
#include <map>
template <typename T>
using ordered_map = std::map<std::uint64_t, T>;
#endif

class names {
public:
    bool set(std::uint64_t id, std::string name) {
        std::unique_lock hold(lock_);
        map_.insert_or_assign(id, std::move(name));
        return true;
    }
    std::string get(std::uint64_t id) const {
        std::shared_lock hold(lock_);
        auto at = map_.find(id);
        return at == map_.end() ? "nobody" : at->second;
    }
    std::string at_or_before(std::uint64_t id) const {
        std::shared_lock hold(lock_);
        auto at = map_.upper_bound(id);
        return at == map_.begin() ? "nobody" : std::prev(at)->second;
    }
    void print(std::uint64_t first, std::uint64_t end) const {
        std::shared_lock hold(lock_);
        for (auto at = map_.lower_bound(first); at != map_.end() && at->first < end; ++at)
            std::printf("%d %s\n", static_cast<int>(at->first), at->second.c_str());
    }
    void erase(std::uint64_t first, std::uint64_t end) {
        std::unique_lock hold(lock_);
        map_.erase(map_.lower_bound(first), map_.lower_bound(end));
    }

private:
    mutable std::shared_mutex lock_;
    ordered_map<std::string> map_;
};

namespace {

void add(names& all, std::uint64_t from) {
    for (std::uint64_t id = from; id < 1000; id += 2)
        all.set(id * 10, "name " + std::to_string(id));
}

} // namespace

int main() {
    names all;
    std::thread even(add, std::ref(all), 0), odd(add, std::ref(all), 1);
    even.join();
    odd.join();
    all.erase(100, 9000);
    all.print(50, 9050);
    std::printf("%s, %s, %s\n", all.get(9010).c_str(), all.get(9011).c_str(),
                all.at_or_before(9011).c_str());
}
