// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Names by number in lathwork::point_map.
#include <lathwork/cxx/point_map.hpp>

#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <thread>
#include <utility>

class names {
public:
    bool set(std::uint64_t id, std::string name) {
        return bool(map_.insert_or_assign(id, std::move(name))); // false: no memory
    }
    std::string get(std::uint64_t id) const {
        auto at = map_.find(id);
        return at == map_.end() ? "nobody" : at->second;
    }
    std::string at_or_before(std::uint64_t id) const {
        auto entry = map_.floor(id);
        return entry ? entry->second : "nobody";
    }
    void print(std::uint64_t first, std::uint64_t end) const {
        for (const auto& [id, name] : map_.within(first, end))
            std::printf("%d %s\n", static_cast<int>(id), name.c_str());
    }
    void erase(std::uint64_t first, std::uint64_t end) { map_.erase_range(first, end); }

private:
    lathwork::point_map<std::uint64_t, std::string> map_;
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
