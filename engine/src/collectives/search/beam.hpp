// Beam search.
#pragma once

#include "collectives/search/restarts.hpp"

namespace dse::synthesis {

/// The measure by which one of two states is the better one.
enum class Fitness : std::uint8_t {
    kChunkCount,    ///< more chunks are where they are to be
    kShortestPath,  ///< the longest of the ways that wanted chunks still have is shorter
};

struct BeamOptions {
    std::uint32_t beams = 5;
    Fitness fitness = Fitness::kChunkCount;
    double temperature = 0;  ///< above 0: states survive by chance, the likelier the fitter
};

/// `beams` states are each copied `beams` times, filled with random sends until nothing can be sent, and
/// moved on to the next time; the fittest go on. States are compared at equal times. `trials` such searches,
/// the best schedule of them.
///
/// Throws as search_restarts does.
Found search_beam(const Problem& problem, const BeamOptions& options, const Effort& effort,
                  const Checkpoint& checkpoint);

}  // namespace dse::synthesis
