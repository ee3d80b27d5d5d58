// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Sessions by number in a lathwork::point_map, without a lock.
#include <lathwork/cxx/point_map.hpp>

#include <cstdint>
#include <cstdio>
#include <string>
#include <thread>
#include <utility>

struct session {
    std::string user;
    int requests;
};

class sessions {
public:
    bool begin(std::uint64_t id, session s) {
        return bool(map_.insert_or_assign(id, std::move(s))); // the old one goes after its readers
    }
    bool print(std::uint64_t id) const {
        lathwork::read_section inside(map_); // what is found in it stays to its end
        const session* s = map_.find(inside, id);
        if (s)
            std::printf("%s: %d\n", s->user.c_str(), s->requests);
        return s != nullptr;
    }
    bool count_request(std::uint64_t id) {
        return bool(map_.update(id, [](const session& s) { // find, check, change: one step
            return session{s.user, s.requests + 1};
        }));
    }
    void end(std::uint64_t id) {
        if (auto old = map_.erase(id)) // the session itself; it is destroyed after its last reader
            std::printf("%s leaves\n", old->user.c_str());
    }
    void end_idle(int below) {
        erase_if(map_, [&](const auto& e) { return e.second.requests < below; });
    }

private:
    lathwork::point_map<std::uint64_t, session> map_;
};

int main() {
    sessions all;
    all.begin(7, {"anna", 0});
    all.begin(8, {"bert", 0});
    auto work = [&] {
        for (int i = 0; i < 1000; i++)
            all.count_request(7);
    };
    std::thread one(work), two(work);
    one.join();
    two.join();
    all.print(7);
    all.end_idle(1);
    std::printf("%s\n", all.print(8) ? "bert is there" : "bert was idle");
    all.end(7);
}
