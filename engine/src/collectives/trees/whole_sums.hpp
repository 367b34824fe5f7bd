// Contributions to one chunk followed message by message, past switches that only pass messages on.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/problem/problem.hpp"

namespace dse::synthesis {

/// Whether the sends of one chunk bring the contribution of every NPU once to every NPU: those with a mark in
/// `adds` add to what is there, others bring the full sum. A switch passes on the oldest message first, those
/// with and without a mark each in their order; at one time the send of the lower start and link is first.
bool sums_are_whole(const Problem& problem, const std::vector<Send>& sends,
                    const std::vector<std::uint8_t>& adds);

}  // namespace dse::synthesis
