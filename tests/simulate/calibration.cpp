// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "calibration.hpp"

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace simulate {

calibration read_calibration(const std::string& path) {
    calibration c;
    const std::map<std::string, ps costs::*> names = {
        {"l2", &costs::l2},
        {"l3", &costs::l3},
        {"memory", &costs::memory},
        {"line", &costs::line},
        {"far", &costs::far},
        {"hold", &costs::hold},
        {"serve", &costs::serve},
        {"update", &costs::update},
        {"pause", &costs::pause},
        {"yield", &costs::yield},
        {"buffered", &costs::buffered},
        {"access", &costs::access},
        {"page", &costs::page},
        {"mapping", &costs::mapping},
        {"wake", &costs::wake},
    };
    std::ifstream in(path);
    if (!in)
        throw std::runtime_error(path + ": cannot be read");
    unsigned number = 0;
    for (std::string text; std::getline(in, text);) {
        std::istringstream words(text);
        std::string name, subject, load;
        unsigned threads;
        double ns = -1;
        number++;
        if (!(words >> name) || name[0] == '#')
            continue;
        auto cost = names.find(name);
        if (name == "small" && words >> subject >> load >> ns)
            c.small[{subject, load}] = ns;
        else if (name == "large" && words >> subject >> load >> threads >> ns)
            c.large[{subject, load, threads}] = ns;
        else if (cost != names.end() && words >> ns)
            c.machine.*cost->second = static_cast<ps>(ns * 1000);
        if (ns < 0 || ns > 1e9)
            throw std::runtime_error(path + ":" + std::to_string(number) +
                                     ": not understood: " + text);
    }
    return c;
}

} // namespace simulate
