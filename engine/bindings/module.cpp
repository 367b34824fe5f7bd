// The Python module dse.native._engine: errors, traces, costs, simulation, predictions, networks, files,
// replays.
#include <nanobind/nanobind.h>

#include "base/result_version.hpp"
#include "bindings/bindings.hpp"

namespace nb = nanobind;

NB_MODULE(_engine, m) {
    m.doc() = "The native core: workload generation, execution traces and simulation.";
    nb::set_leak_warnings(false);  // caches of Python keep records until it ends
    m.attr("RESULT_VERSION") = dse::kResultVersion;
    bind_errors();
    bind_cancellation(m);
    bind_traces(m);
    bind_costs(m);
    bind_simulation(m);
    bind_prediction(m);
    bind_runs(m);
    bind_network(m);
    bind_files(m);
    bind_hashes(m);
    bind_replay(m);
    bind_synthesis_replay(m);
}
