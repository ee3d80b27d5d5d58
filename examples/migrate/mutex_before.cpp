// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Sessions by number in a std::map behind a mutex.
#include <cstdint>
#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

struct session {
    std::string user;
    int requests;
};

class sessions {
public:
    void begin(std::uint64_t id, session s) {
        std::lock_guard hold(lock_);
        map_.insert_or_assign(id, std::move(s)); // the old one is destroyed here
    }
    bool print(std::uint64_t id) {
        std::lock_guard hold(lock_); // nobody may erase it while it is printed
        auto at = map_.find(id);
        if (at == map_.end())
            return false;
        std::printf("%s: %d\n", at->second.user.c_str(), at->second.requests);
        return true;
    }
    bool count_request(std::uint64_t id) {
        std::lock_guard hold(lock_); // find, check, change
        auto at = map_.find(id);
        if (at == map_.end())
            return false;
        ++at->second.requests;
        return true;
    }
    void end(std::uint64_t id) {
        std::lock_guard hold(lock_);
        auto at = map_.find(id);
        if (at != map_.end()) {
            std::printf("%s leaves\n", at->second.user.c_str());
            map_.erase(at);
        }
    }
    void end_idle(int below) {
        std::lock_guard hold(lock_);
        std::erase_if(map_, [&](const auto& e) { return e.second.requests < below; });
    }

private:
    std::mutex lock_;
    std::map<std::uint64_t, session> map_;
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
