// A small generator of random numbers, the same on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace dse::synthesis {

/// Splitmix64: one word of state, seeded by a seed and the number of a run.
class Random {
public:
    explicit Random(std::uint64_t seed, std::uint64_t run = 0) : state_(seed) {
        state_ = next() ^ (run * 0x9e3779b97f4a7c15ULL);
        next();
    }

    std::uint64_t next() {
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
        return z ^ (z >> 31);
    }

    /// One of 0 … n-1; n > 0.
    std::uint32_t below(std::uint32_t n) {
        return static_cast<std::uint32_t>(((next() >> 32) * std::uint64_t{n}) >> 32);
    }

    /// In [0, 1).
    double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

    template <typename T>
    void shuffle(T* values, std::size_t n) {
        for (std::size_t i = n; i > 1; --i)
            std::swap(values[i - 1], values[below(static_cast<std::uint32_t>(i))]);
    }

    template <typename T>
    void shuffle(std::vector<T>& values) {
        shuffle(values.data(), values.size());
    }

private:
    std::uint64_t state_;
};

/// Generators of their own for nodes, so that no node's numbers depend on how many another one draws.
inline std::vector<Random> randoms_of_nodes(Random& random, std::size_t nodes) {
    const std::uint64_t seed = random.next();
    std::vector<Random> randoms;
    randoms.reserve(nodes);
    for (std::size_t v = 0; v < nodes; ++v) randoms.emplace_back(seed, v);
    return randoms;
}

}  // namespace dse::synthesis
