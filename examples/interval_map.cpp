// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// A calendar on lathwork::interval_map: meetings overlap, and several may be in one room at once.
// People ask what goes on at a time while others book and cancel. The program checks its own
// result.
#include <lathwork/cxx/interval.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

namespace {

constexpr std::uint64_t hour = 60, day = 24 * hour, days = 250;

void expect(bool right, const char* what) {
    if (!right) {
        std::fprintf(stderr, "interval_map: unexpected: %s\n", what);
        std::exit(1);
    }
}

} // namespace

int main() {
    lathwork::interval_map<std::string> calendar; // [first, end) in minutes
    expect(static_cast<bool>(calendar), "no memory");

    calendar.insert(0, days * day, "year plan");
    std::thread reader([&] {
        for (std::uint64_t minute = 0; minute < days * day; minute += 7) {
            bool plan = false;
            for (const auto& [first, end, what] : calendar.stab(minute)) {
                expect(first <= minute && minute < end, "a meeting at another time");
                plan = plan || what == "year plan";
            }
            expect(plan, "the year plan is there all the time");
        }
    });
    for (std::uint64_t d = 0; d < days; d++) {
        calendar.insert(d * day + 9 * hour, d * day + 9 * hour + 30, "standup");
        calendar.insert(d * day + 9 * hour, d * day + 12 * hour, "review");
        expect(d % 5 != 4 || calendar.erase(d * day + 9 * hour, d * day + 9 * hour + 30, "standup"),
               "a standup to cancel");
    }
    reader.join();

    std::size_t n = 0;
    for (const auto& meeting : calendar.stab(day + 9 * hour + 10)) {
        std::printf("at 9:10: %s\n", meeting.value.c_str());
        n++;
    }
    expect(n == 3, "meetings at 9:10");
    expect(calendar.count_overlapping(4 * day, 5 * day) == 2, "no standup on the fifth day");
    auto next = calendar.within(10 * hour, 2 * day).begin();
    expect(next->first == day + 9 * hour, "what lies within a day and a half");
    std::printf("%llu entries, %llu reviews and standups\n",
                static_cast<unsigned long long>(calendar.size()),
                static_cast<unsigned long long>(calendar.count_overlapping(0, days * day) - 1));
    return 0;
}
