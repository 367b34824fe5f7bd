// Costs of operators for Python.
#include "simulation/workloads/costs.hpp"

#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "bindings/bindings.hpp"

namespace nb = nanobind;
using namespace nb::literals;

void bind_costs(nb::module_& m) {
    using dse::workload::BlockKind;
    using dse::workload::OperatorCost;
    nb::enum_<BlockKind>(m, "BlockKind")
        .value("INPUT_EMBEDDING", BlockKind::kInputEmbedding)
        .value("OUTPUT_EMBEDDING", BlockKind::kOutputEmbedding)
        .value("ATTENTION", BlockKind::kAttention)
        .value("FEED_FORWARD", BlockKind::kFeedForward);
    nb::class_<OperatorCost>(m, "OperatorCost")
        .def_ro("block", &OperatorCost::block)
        .def_ro("name", &OperatorCost::name)
        .def_ro("update", &OperatorCost::update)
        .def_ro("times", &OperatorCost::times)
        .def_ro("operations", &OperatorCost::operations)
        .def_ro("bytes", &OperatorCost::bytes)
        .def_ro("parameter_bytes", &OperatorCost::parameter_bytes);
    m.def("operator_costs", &dse::workload::operator_costs, "model"_a, "strategy"_a);
}
