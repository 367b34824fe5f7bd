// Ways for chunks through nodes that do not want them, and when each crosses which link.
#pragma once

#include <cstdint>
#include <vector>

#include "base/cancellation.hpp"
#include "collectives/problem/bits.hpp"
#include "collectives/problem/problem.hpp"
#include "collectives/problem/random.hpp"

namespace dse::synthesis {

inline constexpr std::uint32_t kHeld = ~std::uint32_t{0};

/// A chunk crosses a link, after hop `before` has brought it there; kHeld: its sender has it from `from` on.
struct Hop {
    std::uint32_t link = 0;
    std::uint32_t chunk = 0;
    std::uint32_t before = kHeld;
    Picoseconds from = 0;
};

/// A tree per chunk that somebody wants, from its holders to all that want it; a hop stands after its
/// `before`.
using Routes = std::vector<Hop>;

/// Short ways under prices of links that grow with their load; `noise` (0: none) makes others each time.
///
/// Throws InputError if there is no way.
Routes find_routes(const Problem& problem, double noise, Random& random, const Checkpoint& checkpoint);

/// Sends along routes: where chunks wait for a link, the one with the longest way left goes first. `noise`
/// makes others win. Given up, and empty with time kNever, when it takes `limit`.
Sends schedule_routes(const Problem& problem, const Routes& routes, double noise, Random& random,
                      Picoseconds limit, const Checkpoint& checkpoint);

/// Per node the chunks that routes bring to it.
BitRows nodes_of_routes(const Problem& problem, const Routes& routes);

}  // namespace dse::synthesis
