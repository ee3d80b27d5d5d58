// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "watch/sampler.hpp"

#include "base/text.hpp"

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace lathcli {

namespace {

std::runtime_error failure(const std::string& spec, const std::string& what) {
    return std::runtime_error(printable(spec) + ": " + what);
}

// 0, or the error.
int stat_of(const std::string& spec, struct stat& about) {
    if (!spec.starts_with("shm:"))
        return stat(spec.c_str() + std::strlen("file:"), &about) ? errno : 0;
    std::string name = "/" + spec.substr(std::strlen("shm:"));
    int fd = shm_open(name.c_str(), O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0)
        return errno;
    int error = fstat(fd, &about) ? errno : 0;
    ::close(fd);
    return error;
}

std::optional<double> rate(std::uint64_t before, std::uint64_t now, double seconds) {
    if (now < before)
        return std::nullopt;
    return static_cast<double>(now - before) / seconds;
}

double change(std::uint64_t before, std::uint64_t now, double seconds) {
    return (static_cast<double>(now) - static_cast<double>(before)) / seconds;
}

} // namespace

store_sampler::store_sampler(std::string spec, bool foreign)
    : spec_(std::move(spec)), foreign_(foreign) {
    open();
}

store_sampler::identity store_sampler::identify() const {
    struct stat about{};
    int error = stat_of(spec_, about);
    if (error == ENOENT)
        throw failure(spec_, store_ ? "it has been removed" : "there is no such store");
    if (error)
        throw failure(spec_, std::strerror(error));
    if (shared()) // its content changes all the time
        return {about.st_dev, about.st_ino, 0, 0};
    return {about.st_dev, about.st_ino, about.st_size,
            about.st_mtim.tv_sec * INT64_C(1000000000) + about.st_mtim.tv_nsec};
}

void store_sampler::open() {
    object_ = identify(); // before: an object that takes its place meanwhile is noticed later
    lath_store_options options = LATH_STORE_OPTIONS_INIT;
    options.flags = LATH_STORE_READ_ONLY;
    if (foreign_)
        options.flags |= LATH_STORE_FOREIGN;
    options.keys = LATH_STORE_BYTES;
    int error = lath_store_open(&store_, spec_.c_str(), &options);
    if (error == -EINVAL) {
        options.keys = LATH_STORE_NUMBERS;
        error = lath_store_open(&store_, spec_.c_str(), &options);
    }
    if (error) {
        store_ = nullptr;
        throw std::runtime_error(lath_store_reason());
    }
}

void store_sampler::close() {
    if (store_)
        lath_store_close(std::exchange(store_, nullptr)); // read only: 0
}

watch_sample store_sampler::take() {
    if (identity now = identify(); now != object_) {
        if (shared())
            throw failure(spec_, "it has been removed, and made anew");
        close();
        open();
    }
    watch_sample sample;
    if (int error = lath_store_get_stats(store_, &sample.figures))
        throw failure(spec_, std::strerror(-error));
    sample.time = lath_store_now();
    auto now = std::chrono::steady_clock::now();
    if (double seconds = std::chrono::duration<double>(now - taken_).count();
        before_ && seconds > 0) {
        const lath_store_stats &a = before_->figures, &b = sample.figures;
        sample.rates = {change(a.items, b.items, seconds),
                        change(before_->used(), sample.used(), seconds),
                        rate(a.evicted, b.evicted, seconds), rate(a.expired, b.expired, seconds)};
    }
    taken_ = now;
    before_ = sample;
    return sample;
}

} // namespace lathcli
