// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Any bytes as calls on a split list, compared with a std::deque. The first byte chooses the number
// of lanes and the type of the positions, the second where these begin.
#include <cstdlib>

#define CHECK(condition)  \
    do {                  \
        if (!(condition)) \
            std::abort(); \
    } while (0)
#define FAIL(text) std::abort()

#include "base/tape_random.hpp"
#include "split_list_model.hpp"

namespace {

template <unsigned F, class Index>
void play(const std::uint8_t* bytes, std::size_t size) {
    splittest::model<F, Index, tape_random>(tape_random(bytes + 2, size - 2),
                                            static_cast<Index>(bytes[1] - 128))
        .run_out();
}

template <class Index>
void play(const std::uint8_t* bytes, std::size_t size) {
    switch (bytes[0] >> 2 & 3) {
    case 0:
        return play<1, Index>(bytes, size);
    case 1:
        return play<4, Index>(bytes, size);
    case 2:
        return play<16, Index>(bytes, size);
    default:
        return play<64, Index>(bytes, size);
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    if (size < 2)
        return 0;
    switch (bytes[0] & 3) {
    case 0:
        play<std::uint8_t>(bytes, size);
        break;
    case 1:
        play<std::uint16_t>(bytes, size);
        break;
    default:
        play<std::uint32_t>(bytes, size);
    }
    return 0;
}
