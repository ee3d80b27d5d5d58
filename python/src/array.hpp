// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Arrays of NumPy's, of one dimension.
#pragma once

#include <nanobind/ndarray.h>

#include <vector>

namespace lathpy {

template <class T>
using Array = nanobind::ndarray<const T, nanobind::ro, nanobind::ndim<1>, nanobind::c_contig,
                                nanobind::device::cpu>;

template <class T>
nanobind::object new_array(std::vector<T>&& data) {
    auto* kept = new std::vector<T>(std::move(data));
    nanobind::capsule owner(
        kept, [](void* block) noexcept { delete static_cast<std::vector<T>*>(block); });

    return nanobind::cast(nanobind::ndarray<nanobind::numpy, T, nanobind::ndim<1>>(
        kept->data(), {kept->size()}, owner));
}

} // namespace lathpy
