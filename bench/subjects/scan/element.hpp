// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// What the queues of table `scan` hold, and what a scan does with each element.
//
// An element is one cache line or two, so that no two elements share a line. The first line has the
// value and the hooks of all lists.
#pragma once

#include <boost/intrusive/list.hpp>
#include <boost/intrusive/slist.hpp>

#include <cstddef>
#include <cstdint>

namespace lathbench {

inline constexpr unsigned scan_types = 16;

template <unsigned Lines>
struct alignas(64) scan_element {
    using normal = boost::intrusive::link_mode<boost::intrusive::normal_link>;

    scan_element* next = nullptr;
    boost::intrusive::slist_member_hook<normal> slist_hook;
    boost::intrusive::list_member_hook<normal> list_hook;
    std::uint64_t value = 0;

    virtual ~scan_element() = default;
    virtual std::uint64_t run(std::uint64_t a) const = 0;

    static constexpr unsigned lines = Lines;
    // A word of the second line, if there is one.
    std::uint64_t tail() const {
        return Lines == 1 ? value : *reinterpret_cast<const std::uint64_t*>(rest);
    }

    std::uint64_t fill = 0;
    alignas(8) unsigned char rest[Lines == 1 ? 8 : 72] = {};
};
static_assert(sizeof(scan_element<1>) == 64 && sizeof(scan_element<2>) == 128);

// A chain of dependent multiplications, each of about a nanosecond. No processor can start one
// before the one before has ended.
inline std::uint64_t chain(std::uint64_t a, unsigned steps) {
    for (unsigned i = 0; i < steps; ++i) {
        a = a * 0x9e3779b97f4a7c15u + 1;
        asm("" : "+r"(a)); // keeps the compiler from folding the steps
    }
    return a;
}

enum class scan_work { sum, ns5, ns20, ns100, virtual_call, second_line, order };

// The body of a scan. All but sum and second_line depend on the order of the elements.
template <scan_work Work, class Element>
inline std::uint64_t scan_body(std::uint64_t a, const Element& e) {
    if constexpr (Work == scan_work::sum)
        return a + e.value;
    else if constexpr (Work == scan_work::ns5)
        return chain(a ^ e.value, 5);
    else if constexpr (Work == scan_work::ns20)
        return chain(a ^ e.value, 18);
    else if constexpr (Work == scan_work::ns100)
        return chain(a ^ e.value, 90);
    else if constexpr (Work == scan_work::virtual_call)
        return e.run(a);
    else if constexpr (Work == scan_work::second_line)
        return a + e.value + e.tail();
    else
        return a * 31 + e.value;
}

template <unsigned Type, unsigned Lines>
struct scan_kind final : scan_element<Lines> {
    [[gnu::noinline]] std::uint64_t run(std::uint64_t a) const override {
        return a + this->value * (2 * Type + 1) + Type;
    }
};

enum class queue_kind { steady, types16, work20, work100, mix, burst };

} // namespace lathbench
