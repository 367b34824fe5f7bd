// Declarations that the files of the Python modules share.
#pragma once

#include <nanobind/nanobind.h>

/// Calls `work` without the GIL and returns what it does: Python goes on meanwhile.
template <typename Work>
auto without_gil(Work work) {
    const nanobind::gil_scoped_release release;
    return work();
}

/// Makes the engine's errors those of dse.base.errors; for each module.
void bind_errors();
void bind_cancellation(nanobind::module_& m);
void bind_traces(nanobind::module_& m);
void bind_costs(nanobind::module_& m);
void bind_simulation(nanobind::module_& m);
void bind_prediction(nanobind::module_& m);
void bind_runs(nanobind::module_& m);
void bind_network(nanobind::module_& m);
void bind_files(nanobind::module_& m);
void bind_hashes(nanobind::module_& m);
void bind_replay(nanobind::module_& m);
void bind_synthesis_replay(nanobind::module_& m);
