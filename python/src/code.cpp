// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "code.hpp"
#include "array.hpp"

#include <bit>

namespace lathpy {

static constexpr uint64_t sign = 1ull << 63;

uint64_t real_code(double number) {
    uint64_t bits = std::bit_cast<uint64_t>(number == 0 ? 0.0 : number);
    return bits & sign ? ~bits : bits | sign;
}

double real_of(uint64_t code) { return std::bit_cast<double>(code & sign ? code & ~sign : ~code); }

nb::object decode(Kind kind, uint64_t code) {
    return checked(kind == Kind::real      ? PyFloat_FromDouble(real_of(code))
                   : kind == Kind::integer ? PyLong_FromLongLong(integer_of(code))
                                           : PyLong_FromUnsignedLongLong(code));
}

nb::object bounds(const char* name) { return nb::module_::import_("lathwork.bounds").attr(name); }

Range limited(Range range) {
    if (range.size() == 0)
        raise(PyExc_OverflowError, "a range has at most 2**64 - 1 keys");
    return range;
}

Codec::Codec(nb::object python)
    : codec(std::move(python)), of(static_cast<Kind>(nb::cast<int>(codec.attr("kind")))),
      most(nb::cast<uint64_t>(codec.attr("most"))) {}

const Codec& Codec::naturals() {
    static const auto* made = new Codec(bounds("naturals")); // for ever
    return *made;
}

uint64_t Codec::code(nb::handle key, Round round) const {
    uint64_t code;

    if (fast_code(of, key.ptr(), &code))
        return code;
    return nb::cast<uint64_t>(codec.attr("code")(key, static_cast<int>(round)));
}

std::vector<uint64_t> Codec::codes(nb::handle given) const {
    nb::object made = codec.attr("codes")(given);
    Array<uint64_t> array;
    std::vector<uint64_t> codes;

    if (nb::try_cast(made, array, false))
        codes.assign(array.data(), array.data() + array.shape(0));
    else
        for (nb::handle code : made)
            codes.push_back(nb::cast<uint64_t>(code));
    return codes;
}

std::optional<Range> Codec::some(nb::handle start, nb::handle stop, Round round) const {
    uint64_t first, end;

    if (fast_code(of, start.ptr(), &first) && fast_code(of, stop.ptr(), &end))
        return first < end ? std::optional(Range{first, end - 1}) : std::nullopt;
    nb::object made = codec.attr("range")(start, stop, static_cast<int>(round));
    if (made.is_none())
        return {};
    return Range{nb::cast<uint64_t>(made[0]), nb::cast<uint64_t>(made[1])};
}

Range Codec::range(nb::handle start, nb::handle stop, Round round) const {
    std::optional<Range> made = some(start, stop, round);

    if (!made)
        raise(PyExc_ValueError, "the range is empty");
    return *made;
}

nb::object Codec::key(uint64_t code) const {
    return of == Kind::other ? codec.attr("key")(code) : decode(of, code);
}

nb::object Codec::stop(const lath_item& item) const {
    uint64_t end = item.key + item.size;

    if (of != Kind::natural && end - 1 == most)
        return nb::none();
    return end ? key(end) : nb::int_(1) << nb::int_(64);
}

} // namespace lathpy
