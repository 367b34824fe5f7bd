// Whether the sends of an all-gather on a mesh keep all rules, one line at a time: they are not kept.
#pragma once

#include <string>

#include "base/cancellation.hpp"
#include "collectives/symmetric/mesh.hpp"

namespace dse::synthesis {

/// The first rule that is broken, and where; empty if none is.
///
/// No link carries two chunks at a time; nothing leaves a node before it is there; each chunk comes to each
/// node but its owner exactly once, and the last one, of all and on each link, when the all-gather says.
std::string mesh_violation(const MeshGather& gather, const Checkpoint& checkpoint);

}  // namespace dse::synthesis
