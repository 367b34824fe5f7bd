// Mixed pipelines priced by the model of a step, for Python.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <tuple>

#include "bindings/bindings.hpp"
#include "bindings/columns.hpp"
#include "bindings/solvers/search_stop.hpp"
#include "bindings/solvers/solvers.hpp"
#include "planner/steps/options.hpp"
#include "planner/steps/search.hpp"
#include "prediction/batch.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace dse::planner::steps {

namespace {

using StageTuple = std::tuple<std::uint32_t, std::uint32_t, std::int64_t, std::int64_t>;  // as StageChoice
using MixedTuple =
    std::tuple<std::int64_t, std::int64_t, std::vector<StageTuple>>;  // rounds, sequences, stages
using TypeTuple = std::tuple<std::shared_ptr<step::Cluster>, std::int64_t, std::int64_t, double>;
using ModeRows = nb::ndarray<const std::int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using OwnRows = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

MixedTuple tuple_of(const MixedPlan& plan) {
    std::vector<StageTuple> stages;
    for (const StageChoice& each : plan.stages)
        stages.emplace_back(each.type, each.mode, each.dp, each.layers);
    return {plan.rounds.count, plan.rounds.sequences, std::move(stages)};
}

MixedPlan plan_of_tuple(const MixedTuple& tuple) {
    MixedPlan plan{{std::get<0>(tuple), std::get<1>(tuple)}, {}};
    for (const auto& [type, mode, dp, layers] : std::get<2>(tuple))
        plan.stages.push_back({type, mode, dp, layers});
    return plan;
}

/// A question with all that its plans point to.
class OwnedQuestion {
public:
    /// `mode_types` has the type of each row of `modes`, in ascending order; `kinds` are those of rows, or
    /// empty.
    OwnedQuestion(step::Predictor& predictor, std::shared_ptr<step::Model> model,
                  const std::vector<TypeTuple>& types, std::vector<std::uint32_t> mode_types,
                  const ModeRows& modes, const OwnRows& own, std::vector<std::string> texts,
                  std::vector<double> between_gbps, std::int64_t most_micro_batch,
                  const std::vector<std::uint32_t>& kinds)
        : model_(std::move(model)),
          plans_(modes.data(), modes.data() + modes.size()),
          own_(own.data(), own.data() + own.size()),
          model_of_(mode_types.size(), 0) {
        cases_ = std::make_unique<step::Cases>(
            step::Cases{{}, {}, model_of_, model_of_, plans_, own_, std::move(texts)});
        texts_ = predictor.read(*cases_);
        question_.model = model_.get();
        question_.setting = &predictor.setting();
        question_.between_gbps = std::move(between_gbps);
        question_.most_micro_batch = most_micro_batch;
        question_.modes.resize(types.size());
        if (!kinds.empty()) question_.kinds.resize(types.size());
        for (std::size_t row = 0; row < mode_types.size(); ++row) {
            question_.modes.at(mode_types[row]).push_back(predictor.plan_of(*cases_, row, *texts_));
            if (!kinds.empty()) question_.kinds.at(mode_types[row]).push_back(kinds.at(row));
        }
        for (const auto& [cluster, gpus, node_gpus, memory_bytes] : types) {
            clusters_.push_back(cluster);
            question_.types.push_back({cluster.get(), gpus, node_gpus, memory_bytes});
        }
    }

    /// Plans with their steps, the bound, whether it is complete, prices, labels, whether Ctrl-C ended it.
    auto search(double incumbent_s, double gap, std::uint64_t nodes, std::size_t keep,
                std::optional<double> seconds, const dse::Cancellation* cancellation) const {
        SearchStop stop(cancellation, seconds);
        const SearchResult found = without_gil([&] {
            Limits limits;
            limits.incumbent_s = incumbent_s;
            limits.gap = gap;
            limits.nodes = nodes;
            limits.keep = keep;
            limits.stop = [&stop] { return stop(); };
            return steps::search(question_, limits);
        });
        std::vector<std::tuple<double, MixedTuple>> plans;
        for (const FoundPlan& each : found.plans) plans.emplace_back(each.step_s, tuple_of(each.plan));
        return std::make_tuple(std::move(plans), found.bound_s, found.complete, found.priced, found.labels,
                               stop.interrupted());
    }

    /// The step with its parts, and a row of figures for each stage; None where it cannot run.
    auto price(const MixedTuple& plan) const {
        using Row = std::vector<double>;
        std::optional<std::tuple<double, Row, std::vector<Row>>> found;
        Ways ways(question_);
        const std::optional<Price> own = steps::price(question_, ways, plan_of_tuple(plan));
        if (!own) return found;
        std::vector<Row> rows;
        for (const StagePrice& stage : own->stages) {
            const StageFigures& of = stage.figures;
            Row row{of.forward_s, of.backward_s, stage.send_s, of.reduce_s, of.gather_s, of.optimizer_s};
            row.insert(row.end(), stage.memory.begin(), stage.memory.end());
            rows.push_back(std::move(row));
        }
        found.emplace(own->step_s, Row{own->pipeline_s, own->messages_s, own->dp_s, own->optimizer_s},
                      std::move(rows));
        return found;
    }

    /// The fastest of all plans one after the other, and how many can run.
    auto enumerate() const {
        return without_gil([&] {
            Ways ways(question_);
            double best_s = step::kInfinite;
            MixedPlan best;
            std::uint64_t count = 0;
            for_each_plan(question_, [&](const MixedPlan& plan) {
                const auto found = steps::price(question_, ways, plan);
                if (!found) return;
                ++count;
                if (found->step_s < best_s) {
                    best_s = found->step_s;
                    best = plan;
                }
            });
            return std::make_tuple(best_s, tuple_of(best), count);
        });
    }

private:
    std::shared_ptr<step::Model> model_;
    std::vector<std::shared_ptr<step::Cluster>> clusters_;
    std::vector<std::int64_t> plans_;
    std::vector<double> own_;
    std::vector<std::int32_t> model_of_;
    std::unique_ptr<step::Cases> cases_;
    std::shared_ptr<const step::Predictor::Texts> texts_;
    Question question_;
};

void bind(nb::module_& m) {
    nb::class_<OwnedQuestion>(m, "StepQuestion")
        .def(nb::init<step::Predictor&, std::shared_ptr<step::Model>, const std::vector<TypeTuple>&,
                      std::vector<std::uint32_t>, const ModeRows&, const OwnRows&, std::vector<std::string>,
                      std::vector<double>, std::int64_t, const std::vector<std::uint32_t>&>(),
             nb::keep_alive<1, 2>(), "predictor"_a, "model"_a, "types"_a, "mode_types"_a, "modes"_a, "own"_a,
             "texts"_a, "between_gbps"_a, "most_micro_batch"_a, "kinds"_a)
        .def("search", &OwnedQuestion::search, "incumbent_s"_a, "gap"_a, "nodes"_a, "keep"_a,
             "seconds"_a.none(), "cancellation"_a.none())
        .def("price", &OwnedQuestion::price, "plan"_a)
        .def("enumerate", &OwnedQuestion::enumerate);
}

}  // namespace

}  // namespace dse::planner::steps

void bind_planner_steps(nb::module_& m) { dse::planner::steps::bind(m); }
