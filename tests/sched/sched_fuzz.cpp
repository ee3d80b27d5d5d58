// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// sched_fuzz - small programs under controlled schedules.
//
// A scenario is drawn from a seed: a structure, and a few calls in each of two or three fibers. It
// runs under a hundred schedules with random priorities and change points (ten of a store), or, one
// scenario in eight and some that are meant for it, under every schedule with one preemption: each
// order of the fibers, each access. In a quarter of the random schedules an allocation fails. The
// same seed gives the same schedules; a fault prints what replays it.
#include "program.hpp"
#include "runtime.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

using namespace schedtest;

namespace {

struct options {
    std::string program = "all";
    std::uint64_t schedules = 0, seed = 0;
    double seconds = 0;
    std::uint64_t replay_scenario = 0;
    std::int64_t replay_schedule = -1;
    bool exhaust = false;
} asked;

constexpr std::uint64_t most_exhaustive = 1500; // accesses of a scenario that is exhausted

std::array<std::unique_ptr<program>, 8> programs;

program* current;
std::uint64_t scenario_seed, schedule_number, schedules_done, scenarios_done, exhausted;
std::uint64_t accesses;

[[noreturn]] void failed(const char* what) {
    std::fflush(stdout);
    std::fprintf(stderr, "sched_fuzz: %s\n", what);
    std::fprintf(stderr,
                 "after %llu schedules; replay: sched_fuzz --program %s --replay %llu:%llu\n",
                 static_cast<unsigned long long>(schedules_done), current->name(),
                 static_cast<unsigned long long>(scenario_seed),
                 static_cast<unsigned long long>(schedule_number));
    current->print(stderr);
    std::fflush(stderr);
    _exit(1);
}

void crashed(int signal) { failed(signal == SIGSEGV ? "segmentation fault" : "signal"); }

void body(void*, unsigned fiber) { current->run(fiber); }

// Runs one schedule from the state that is kept. Returns its number of accesses.
std::uint64_t run_schedule(const sched_plan& plan, std::uint64_t failing_allocation) {
    sched_heap_restore();
    if (!current->kept())
        current->build();
    current->begin();
    sched_fail_allocation(failing_allocation);
    sched_run(&plan, body, nullptr);
    sched_fail_allocation(0);
    std::uint64_t n = sched_counts.accesses;
    std::string wrong = current->check();
    if (!wrong.empty())
        failed(wrong.c_str());
    schedules_done++;
    accesses += n;
    return n;
}

void run_random(unsigned fibers, std::uint64_t length) {
    random_source random{scenario_seed * 1000003 + schedule_number};
    std::array<int, 3> priority{};
    std::array<std::uint64_t, 4> change{};
    std::array<int, 4> order{1, 2, 3, 4};
    for (unsigned i = 3; i > 0; i--)
        std::swap(order[i], order[random.below(i + 1)]);
    for (unsigned i = 0; i < fibers; i++)
        priority[i] = order[i];
    unsigned changes = 1 + random.below(4);
    for (unsigned i = 0; i < changes; i++)
        change[i] = 1 + random.below(static_cast<unsigned>(length + length / 4));
    std::sort(change.begin(), change.begin() + changes);
    sched_plan plan{fibers, priority.data(), random.one_in(4) ? order[3] : 100, change.data(),
                    changes};
    run_schedule(plan, random.one_in(4) ? 1 + random.below(8) : 0);
}

// Schedule i of those with one preemption; false: there are no more.
bool run_preempted(unsigned fibers, std::uint64_t length) {
    unsigned orders = fibers == 2 ? 2 : 6;
    std::uint64_t i = schedule_number - 1, change = 1 + i / orders;
    unsigned order = static_cast<unsigned>(i % orders);
    std::array<int, 3> priority{1, 2, 3};
    if (change > length + length / 4)
        return false;
    while (order--)
        std::next_permutation(priority.begin(), priority.begin() + fibers);
    sched_plan plan{fibers, priority.data(), 100, &change, 1};
    run_schedule(plan, 0);
    return true;
}

void run_scenario(std::uint64_t seed, std::int64_t only) {
    scenario_seed = seed;
    schedule_number = 0;
    random_source random{seed};
    bool exhaust = random.one_in(8) || asked.exhaust;
    unsigned fibers = current->draw(random);
    exhaust = exhaust || current->exhausted();
    sched_heap_clear();
    if (current->kept())
        current->build();
    sched_heap_keep();
    std::array<int, 3> priority{3, 2, 1};
    std::uint64_t length = run_schedule({fibers, priority.data(), 100, nullptr, 0}, 0);
    exhaust = exhaust && length <= most_exhaustive && current->kept();
    scenarios_done++;
    exhausted += exhaust;
    if (only == 0)
        return;
    for (schedule_number = only > 0 ? static_cast<std::uint64_t>(only) : 1;; schedule_number++) {
        if (exhaust) {
            if (!run_preempted(fibers, length))
                break;
        } else {
            if (schedule_number > current->schedules())
                break;
            run_random(fibers, length);
        }
        if (only > 0)
            break;
    }
}

[[noreturn]] void usage(const char* wrong) {
    std::fprintf(stderr,
                 "%s\nusage: sched_fuzz [--program NAME] [--schedules N] [--seconds S] [--seed S] "
                 "[--exhaust] [--replay SCENARIO:SCHEDULE]\nprograms: all",
                 wrong);
    for (const auto& p : programs)
        std::fprintf(stderr, " %s", p->name());
    std::fputc('\n', stderr);
    std::exit(2);
}

std::uint64_t number(const char* text) {
    char* end;
    std::uint64_t n = std::strtoull(text, &end, 0);
    if (!*text || *end)
        usage((std::string("not a number: ") + text).c_str());
    return n;
}

void read_arguments(int argc, char** argv) {
    for (int i = 1; i < argc; i++) {
        std::string name = argv[i];
        if (name == "--exhaust") {
            asked.exhaust = true;
            continue;
        }
        if (i + 1 == argc)
            usage(("no value, or no such option: " + name).c_str());
        const char* value = argv[++i];
        if (name == "--program")
            asked.program = value;
        else if (name == "--schedules")
            asked.schedules = number(value);
        else if (name == "--seconds")
            asked.seconds = static_cast<double>(number(value));
        else if (name == "--seed")
            asked.seed = number(value);
        else if (name == "--replay") {
            const char* colon = std::strchr(value, ':');
            if (!colon)
                usage("--replay takes SCENARIO:SCHEDULE");
            asked.replay_scenario = number(std::string(value, colon).c_str());
            asked.replay_schedule = static_cast<std::int64_t>(number(colon + 1));
        } else
            usage(("no such option: " + name).c_str());
    }
    if (!asked.seed)
        asked.seed = static_cast<std::uint64_t>(
                         std::chrono::system_clock::now().time_since_epoch().count()) %
                     1000000000;
    if (!asked.schedules && asked.seconds == 0)
        asked.schedules = 100000;
}

// A fiber's stack cannot take a signal.
void watch_signals() {
    static std::array<char, 65536> stack;
    stack_t own{};
    own.ss_sp = stack.data();
    own.ss_size = stack.size();
    sigaltstack(&own, nullptr);
    struct sigaction action{};
    action.sa_handler = crashed;
    action.sa_flags = SA_ONSTACK;
    for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT})
        sigaction(signal, &action, nullptr);
}

} // namespace

int main(int argc, char** argv) {
    programs = {index_program(),      ranks_program(),   bytes_program(),    store_program(),
                range_lock_program(), regions_program(), interval_program(), space_program()};
    read_arguments(argc, argv);
    sched_init(3);
    sched_failed = failed;
    watch_signals();
    std::vector<program*> chosen;
    // most has the index; a store takes long to open
    for (unsigned i : {0, 2, 4, 0, 1, 7, 0, 2, 5, 0, 6, 3})
        if (asked.program == "all" || asked.program == programs[i]->name())
            chosen.push_back(programs[i].get());
    if (chosen.empty())
        usage(("no such program: " + asked.program).c_str());
    if (asked.replay_schedule >= 0) {
        current = chosen[0];
        run_scenario(asked.replay_scenario, asked.replay_schedule);
        current->print(stdout);
        std::printf("sched_fuzz: the schedule passed\n");
        return 0;
    }
    std::printf("sched_fuzz: seed %llu\n", static_cast<unsigned long long>(asked.seed));
    std::fflush(stdout);
    auto begin = std::chrono::steady_clock::now();
    double passed = 0;
    for (std::uint64_t n = 0;
         asked.schedules ? schedules_done < asked.schedules : passed < asked.seconds; n++) {
        current = chosen[n % chosen.size()];
        run_scenario(random_source{asked.seed + n}.next() >> 24, -1);
        passed = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    }
    std::uint64_t checked = 0;
    for (auto& p : programs)
        checked += p->checked;
    auto show = [](std::uint64_t n) { return static_cast<unsigned long long>(n); };
    std::printf("proof: seed %llu: %llu schedules of %llu scenarios (%llu exhausted), %.0f per "
                "second; %llu calls checked; %.0f accesses and %.1f switches per schedule; %llu "
                "callbacks, %llu sections, %llu allocations refused\n",
                show(asked.seed), show(schedules_done), show(scenarios_done), show(exhausted),
                static_cast<double>(schedules_done) / passed, show(checked),
                static_cast<double>(accesses) / static_cast<double>(schedules_done),
                static_cast<double>(sched_counts.switches) / static_cast<double>(schedules_done),
                show(sched_counts.callbacks), show(sched_counts.sections),
                show(sched_counts.refused));
    std::printf("%llu passed, 0 failed\n", show(schedules_done));
    std::fflush(stdout);
    return 0;
}
