// A system as its canonical JSON says it (dse/simulation/simulators/native.py).
#pragma once

#include <cstdint>
#include <string>

#include "inputs/files/json.hpp"
#include "simulation/simulators/config.hpp"

namespace dse::explorer {

struct System {
    std::string name;
    simulator::SystemConfig config;
    std::uint64_t npus = 1;
    bool is_cluster = false;        ///< of accelerators, so that realistic models are predicted
    bool leaves_order_open = true;  ///< the issue order is what the fidelity of the model says
};

/// Reads what dse.studies.points.inputs.system_json writes. Throws InputError for a value that is not
/// allowed, and for what needs files or is not simulated in a page.
System system_of_json(const config::JsonValue& object);

}  // namespace dse::explorer
