// Arrays between numpy and the engine.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

/// A column of an array from Python, contiguous, in the CPU's memory.
template <typename T>
using Column = nanobind::ndarray<const T, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;

template <typename T>
std::span<const T> values_of(const Column<T>& column) {
    return {column.data(), column.size()};
}

/// A numpy array that owns `values`.
template <typename T>
nanobind::ndarray<nanobind::numpy, T, nanobind::ndim<1>> to_numpy(std::vector<T> values) {
    auto* owned = new std::vector<T>(std::move(values));
    const nanobind::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return {owned->data(), {owned->size()}, owner};
}
