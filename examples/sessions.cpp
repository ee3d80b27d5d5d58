// SPDX-License-Identifier: MIT OR GPL-2.0-only
// The program of README.md: a map that threads share, and a value that is read in place.
#include <cstdint>
#include <cstdio>
#include <string>

#include <lathwork/cxx/point_map.hpp>

namespace {

struct session {
    std::string user;
    int requests;
};

} // namespace

int main() {
    const std::uint64_t id = 7;
    lathwork::point_map<std::uint64_t, session> map; // was: a mutex and a std::map
    map.insert_or_assign(id, session{"ada", 1});     // from any thread
    lathwork::read_section inside(map);              // what find returns is valid to its end
    if (const session* s = map.find(inside, id))
        std::puts(s->user.c_str());
    map.erase(id); // destroyed by a later call, after its last reader
    return map.empty() ? 0 : 1;
}
