// The walk over plans for Python, and its rules one by one.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include "bindings/bindings.hpp"
#include "bindings/checkpoints.hpp"
#include "bindings/solvers/planner.hpp"
#include "bindings/solvers/solvers.hpp"
#include "planner/walk/groups.hpp"
#include "planner/walk/layer_partitioner.hpp"
#include "planner/walk/rebalance.hpp"
#include "planner/walk/split.hpp"
#include "planner/walk/walk.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using dse::planner::PlanTable;
using dse::planner::WalkResult;

namespace {

constexpr auto kOwned = nb::rv_policy::move;  // the arrays are copies

/// A column of plans as a numpy array of its own.
template <auto Column>
auto column_of(const PlanTable& table) {
    return to_numpy(table.*Column);
}

std::vector<std::vector<std::uint32_t>> groups_of(std::uint32_t gpus, std::uint32_t stages,
                                                  std::uint64_t scale, std::uint64_t limit) {
    std::vector<std::vector<std::uint32_t>> lists;
    dse::planner::for_each_groups({gpus, scale, limit}, stages, [&](dse::planner::Groups groups) {
        lists.emplace_back(groups.begin(), groups.end());
        return true;
    });
    return lists;
}

std::vector<std::uint32_t> partition_of(const std::vector<double>& weights,
                                        const std::vector<double>& shares) {
    std::vector<std::uint32_t> bounds;
    dse::planner::LayerPartitioner(weights).partition(shares, bounds);
    return bounds;
}

std::optional<std::vector<double>> rebalanced(std::vector<double> performance,
                                              const std::vector<double>& capacity_mb,
                                              const std::vector<double>& demand_mb) {
    if (!dse::planner::rebalance(performance, capacity_mb, demand_mb)) return std::nullopt;
    return performance;
}

WalkResult walk_of(const PlanningProblem& problem, bool by_first_attempt, bool keep_all,
                   std::uint32_t keep_best, const dse::Cancellation* cancellation) {
    const dse::Checkpoint checkpoint = dse::checkpoint_of(cancellation);
    const nb::gil_scoped_release release;
    return dse::planner::walk(problem, {by_first_attempt, keep_all, keep_best}, checkpoint);
}

}  // namespace

void bind_planner_walk(nb::module_& m) {
    nb::class_<PlanTable>(m, "PlanTable")
        .def("__len__", &PlanTable::size)
        .def_prop_ro("index", &column_of<&PlanTable::index>, kOwned)
        .def_prop_ro("batches", &column_of<&PlanTable::batches>, kOwned)
        .def_prop_ro("delta", &column_of<&PlanTable::delta>, kOwned)
        .def_prop_ro("stage_begin", &column_of<&PlanTable::stage_begin>, kOwned)
        .def_prop_ro("sequence", &column_of<&PlanTable::sequence>, kOwned)
        .def_prop_ro("costed", &column_of<&PlanTable::costed>, kOwned)
        .def_prop_ro("attempt", &column_of<&PlanTable::attempt>, kOwned)
        .def_prop_ro("cost_ms", &column_of<&PlanTable::cost_ms>, kOwned)
        .def_prop_ro("gap_ms", &column_of<&PlanTable::gap_ms>, kOwned)
        .def_prop_ro("group", &column_of<&PlanTable::group>, kOwned)
        .def_prop_ro("tp", &column_of<&PlanTable::tp>, kOwned)
        .def_prop_ro("end", &column_of<&PlanTable::end>, kOwned)
        .def_prop_ro("execution_ms", &column_of<&PlanTable::execution_ms>, kOwned)
        .def_prop_ro("link_ms", &column_of<&PlanTable::link_ms>, kOwned)
        .def_prop_ro("reduction_ms", &column_of<&PlanTable::reduction_ms>, kOwned)
        .def_prop_ro("update_ms", &column_of<&PlanTable::update_ms>, kOwned);
    nb::class_<WalkResult>(m, "WalkResult")
        .def_ro("count", &WalkResult::count)
        .def_ro("outer_plans", &WalkResult::outer_plans)
        .def_ro("plans", &WalkResult::plans)
        .def_ro("unpriced", &WalkResult::unpriced)
        .def_ro("sequences", &WalkResult::sequences)
        .def_ro("table", &WalkResult::table);
    m.def("walk_plans", &walk_of, "problem"_a, "by_first_attempt"_a, "keep_all"_a, "keep_best"_a,
          "cancellation"_a.none());
    m.def("device_groups", &groups_of, "gpus"_a, "stages"_a, "scale"_a, "limit"_a);
    m.def("partition_layers", &partition_of, "weights"_a, "shares"_a);
    m.def("rebalanced_shares", &rebalanced, "performance"_a, "capacity_mb"_a, "demand_mb"_a);
    m.def(
        "split_batch",
        [](const std::vector<double>& speeds, std::uint64_t batch) {
            return dse::planner::split_batch(speeds, batch);
        },
        "speeds"_a, "batch"_a);
}
