// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// lifetime_test.cpp - the end of containers: static ones while a thread is in a section, which may
// be that of exit() itself, and those of a thread that is cancelled.
#include "base/must.hpp"
#include "lathwork/cxx/index.hpp"
#include "lathwork/cxx/interval.hpp"
#include "lathwork/cxx/point_map.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <pthread.h>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

// What readers may see is left in exit(), behind nodes that LeakSanitizer does not look into.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }

namespace {

lathwork::point_map<std::uint64_t, std::string> numbers;
lathwork::point_map<std::string, std::string> names;
lathwork::range_map<std::string> ranges;
lathwork::interval_map<std::string> intervals(LATH_HALF_OPEN);

// What left them waits for readers.
void fill() {
    for (std::uint64_t i = 0; i < 1000; i++) {
        numbers.insert_or_assign(i, "a value that is not in the object");
        names.insert_or_assign(std::to_string(i), "a value that is not in the object");
        ranges.insert(i * 2, i * 2 + 2, "a value that is not in the object");
        intervals.insert(i, i + 5, "a value that is not in the object");
    }
    for (std::uint64_t i = 500; i < 1000; i++) {
        numbers.erase(i);
        names.erase(std::to_string(i));
        ranges.remove_starting(i * 2);
        intervals.erase(i, i + 5, "a value that is not in the object");
    }
}

void in_a_section() {
    lathwork::read_section inside(numbers);
    fill();
    std::exit(0);
}

void in_a_callback() {
    fill();
    numbers.visit(1, [](const std::string&) { std::exit(0); });
}

void beside_a_reader() {
    std::atomic<bool> reads = false;
    std::thread([&] {
        lathwork::read_section inside(numbers);
        reads = true;
        for (;;)
            pause();
    }).detach();
    while (!reads)
        std::this_thread::yield();
    fill();
    std::exit(0);
}

std::atomic<int> ended = 0;

void* make_and_end(void*) {
    for (;; pthread_testcancel()) {
        lathwork::point_map<std::uint64_t, std::string> map;
        for (std::uint64_t k = 0; k < 50; k++)
            map.insert_or_assign(k, "a value that is not in the object");
        map.erase(7);
        ended++;
    }
}

// A thread that is cancelled in a destructor comes to the end of it.
void cancelled() {
    std::thread reader([] {
        for (int i = 0; i < 60; i++) {
            lathwork::read_section inside(numbers);
            usleep(3000);
        }
    });
    for (int i = 0; i < 10; i++) {
        pthread_t victim;
        int before = ended;
        MUST(pthread_create(&victim, nullptr, make_and_end, nullptr) == 0);
        while (ended == before)
            std::this_thread::yield();
        usleep(1000);
        MUST(pthread_cancel(victim) == 0 && pthread_join(victim, nullptr) == 0);
    }
    reader.join();
    _exit(0);
}

} // namespace

int main() {
    for (void (*end)() : {in_a_section, in_a_callback, beside_a_reader, cancelled}) {
#ifdef _LIBCPP_VERSION
        // glibc cancels by libgcc's unwinder, which crashes in frames of LLVM's, whoever made them
        if (end == cancelled) {
            std::puts("skipped: a cancelled thread, with libc++");
            continue;
        }
#endif
        pid_t child = fork();
        int status = -1;
        if (!child) {
            alarm(60);
            end();
        }
        MUST(waitpid(child, &status, 0) == child);
        MUST(status == 0);
    }
}
