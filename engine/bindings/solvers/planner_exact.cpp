// The exact search of plans for Python.
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <functional>
#include <optional>
#include <tuple>

#include "base/error.hpp"
#include "bindings/bindings.hpp"
#include "bindings/solvers/planner.hpp"
#include "bindings/solvers/search_stop.hpp"
#include "bindings/solvers/solvers.hpp"
#include "planner/exact/anytime.hpp"
#include "planner/exact/search.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

namespace exact = dse::planner::exact;

using StageTuple = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;  // GPUs, tp, end layer
using PlanTuple = std::tuple<double, std::vector<std::uint32_t>, std::uint64_t, std::vector<StageTuple>>;
using BlockTuple =
    std::tuple<std::vector<std::uint32_t>, std::uint64_t, std::uint32_t, std::vector<std::uint32_t>, double,
               std::string, std::uint64_t, std::uint64_t, std::uint64_t>;

const char* name_of(exact::Outcome outcome) {
    switch (outcome) {
        case exact::Outcome::empty:
            return "empty";
        case exact::Outcome::pruned:
            return "pruned";
        case exact::Outcome::searched:
            return "searched";
        case exact::Outcome::open:
            break;
    }
    return "open";
}

std::vector<PlanTuple> plan_tuples(const std::vector<exact::FoundPlan>& plans) {
    std::vector<PlanTuple> tuples;
    for (const exact::FoundPlan& plan : plans) {
        std::vector<StageTuple> stages;
        for (const exact::PlanStage& stage : plan.stages)
            stages.emplace_back(stage.gpus, stage.tp, stage.end);
        tuples.emplace_back(plan.cost_ms, plan.sequence, plan.batches, std::move(stages));
    }
    return tuples;
}

/// Plans, blocks, bound, whether it is complete, whether Ctrl-C ended it.
auto search_exactly(const PlanningProblem& problem, bool strict,
                    const std::vector<std::vector<std::uint32_t>>& sequences, std::uint32_t keep,
                    double within, std::uint64_t labels, std::optional<double> seconds,
                    const dse::Cancellation* cancellation) {
    SearchStop stop(cancellation, seconds);
    const exact::SearchResult result = without_gil([&] {
        exact::Limits limits;
        limits.labels = labels;
        limits.keep = keep;
        limits.within = within;
        limits.stop = [&stop] { return stop(); };
        return exact::search(problem, strict ? exact::CostModel::strict : exact::CostModel::compat, sequences,
                             limits);
    });
    std::vector<BlockTuple> blocks;
    for (const exact::Block& block : result.blocks)
        blocks.emplace_back(block.sequence, block.batches, block.least_group, block.stages, block.bound_ms,
                            name_of(block.outcome), block.labels, block.dominated, block.cut);
    return std::make_tuple(plan_tuples(result.plans), std::move(blocks), result.bound_ms, result.complete,
                           stop.interrupted());
}

using BoxTuple = std::tuple<std::uint64_t, double, double, double, double, std::vector<double>, double>;

/// Plans, boxes, the cost that they cover, bound, beams, whether a limit and whether Ctrl-C ended it.
auto search_in_time(const PlanningProblem& problem, const std::vector<std::vector<std::uint32_t>>& sequences,
                    std::uint32_t keep, double gap, std::uint64_t boxes, std::optional<double> seconds,
                    const dse::Cancellation* cancellation,
                    const std::optional<std::function<void(double, double)>>& progress) {
    SearchStop stop(cancellation, seconds);
    const exact::AnytimeResult result = without_gil([&] {
        exact::AnytimeLimits limits;
        limits.gap = gap;
        limits.boxes = boxes;
        limits.keep = keep;
        limits.stop = [&stop] { return stop(); };
        if (progress)
            limits.progress = [&](double best_ms, double bound_ms) {
                stop.heed([&] { (*progress)(best_ms, bound_ms); });
            };
        return exact::search_anytime(problem, sequences, limits);
    });
    std::vector<BoxTuple> leaves;
    for (const exact::Box& box : result.boxes)
        leaves.emplace_back(box.batches, box.period_low_ms, box.period_high_ms, box.tail_low_ms,
                            box.tail_high_ms, box.multipliers, box.bound_ms);
    return std::make_tuple(plan_tuples(result.plans), std::move(leaves), result.root_ms, result.bound_ms,
                           result.beams, result.stopped, stop.interrupted());
}

}  // namespace

void bind_planner_exact(nb::module_& m) {
    m.def("search_plans_exactly", &search_exactly, "problem"_a, "strict"_a, "sequences"_a, "keep"_a,
          "within"_a, "labels"_a, "seconds"_a.none(), "cancellation"_a.none());
    m.def("search_plans_in_time", &search_in_time, "problem"_a, "sequences"_a, "keep"_a, "gap"_a, "boxes"_a,
          "seconds"_a.none(), "cancellation"_a.none(), "progress"_a.none());
}
