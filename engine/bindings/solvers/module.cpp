// The Python module dse._solvers: plans for mixed clusters and partitions of model graphs.
#include <nanobind/nanobind.h>

#include "bindings/bindings.hpp"
#include "bindings/solvers/solvers.hpp"

NB_MODULE(_solvers, m) {
    m.doc() = "The native solvers: plans for mixed clusters and partitions of model graphs.";
    nanobind::module_::import_("dse._engine");  // has Cancellation
    bind_errors();
    bind_planner(m);
    bind_planner_exact(m);
    bind_planner_walk(m);
    bind_partition(m);
}
