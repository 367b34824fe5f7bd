// The Python module dse.native._solvers: schedules of collectives, plans for mixed clusters, partitions.
#include <nanobind/nanobind.h>

#include "bindings/bindings.hpp"
#include "bindings/solvers/solvers.hpp"

NB_MODULE(_solvers, m) {
    m.doc() = "The native solvers: schedules of collectives, plans for mixed clusters and partitions.";
    nanobind::module_::import_("dse.native._engine");  // has Cancellation
    bind_errors();
    bind_synthesis(m);
    bind_synthesis_search(m);
    bind_synthesis_fixed(m);
    bind_synthesis_bounds(m);
    bind_synthesis_trees(m);
    bind_planner(m);
    bind_planner_exact(m);
    bind_planner_walk(m);
    bind_planner_steps(m);
    bind_partition(m);
}
