// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "base/stop_on_signal.hpp"

#include <cerrno>
#include <cstdint>
#include <system_error>

#include <sys/eventfd.h>
#include <unistd.h>

namespace lathcli {

namespace {

std::atomic<int> descriptor = -1;

extern "C" void ask_to_stop(int number) {
    int error = errno;
    if (stop_asked.exchange(true)) {
        std::signal(number, SIG_DFL);
        std::raise(number); // delivered when this handler returns
    }
    stop_signal = number;
    std::uint64_t one = 1;
    if (write(descriptor, &one, sizeof one) < 0)
        errno = error; // the count is not zero: readable already
    errno = error;
}

} // namespace

int stop_descriptor() { return descriptor; }

stop_on_signal::stop_on_signal() {
    stop_asked = false;
    stop_signal = 0;
    descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (descriptor < 0)
        throw std::system_error(errno, std::generic_category(), "eventfd");
    for (std::size_t i = 0; i < signals.size(); ++i) {
        struct sigaction act{};
        act.sa_handler = signals[i] == SIGPIPE ? SIG_IGN : ask_to_stop;
        sigaction(signals[i], nullptr, &before_[i]);
        if (before_[i].sa_handler != SIG_IGN)
            sigaction(signals[i], &act, nullptr);
    }
}

stop_on_signal::~stop_on_signal() {
    for (std::size_t i = 0; i < signals.size(); ++i)
        sigaction(signals[i], &before_[i], nullptr);
    close(descriptor.exchange(-1));
}

void stop_on_signal::forget() {
    std::uint64_t count = 0;
    if (read(descriptor, &count, sizeof count) < 0 && errno != EAGAIN)
        throw std::system_error(errno, std::generic_category(), "eventfd");
    stop_signal = 0;
    stop_asked = false;
}

} // namespace lathcli
