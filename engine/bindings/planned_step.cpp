// One predicted step in its pieces, and the time of pipelines, in Python.
#include "bindings/planned_step.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/columns.hpp"
#include "prediction/memory/memory.hpp"
#include "prediction/memory/weights.hpp"
#include "prediction/steps/collectives_used.hpp"
#include "prediction/steps/step.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace dse::prediction {

namespace {

/// A plan with the step that it makes; `reason` says why it makes none.
class PlannedStep {
public:
    PlannedStep(Predictor& predictor, std::shared_ptr<Model> model, std::shared_ptr<Cluster> cluster,
                std::vector<std::int64_t> row, std::vector<double> own, std::vector<std::string> texts)
        : model_(std::move(model)),
          cluster_(std::move(cluster)),
          row_(std::move(row)),
          own_(std::move(own)),
          cases_{{}, {}, first_, first_, row_, own_, std::move(texts)},
          looked_(predictor.read(cases_)),
          plan_(predictor.plan_of(cases_, 0, *looked_)) {
        try {
            check(*model_, plan_, *cluster_, predictor.setting());
            step_ = std::make_unique<Step>(*model_, plan_, *cluster_, predictor.setting(), shared_);
            step_->time();
        } catch (const Infeasible& problem) {
            reason_ = problem.reason;
        }
    }

    const std::string& reason() const { return reason_; }
    Step& step() const {
        if (step_ == nullptr || !reason_.empty()) throw nb::value_error(reason_.c_str());
        return *step_;
    }

private:
    std::shared_ptr<Model> model_;
    std::shared_ptr<Cluster> cluster_;
    std::vector<std::int64_t> row_;
    std::vector<double> own_;
    std::vector<std::int32_t> first_ = {0};
    Cases cases_;
    std::shared_ptr<const Predictor::Texts> looked_;
    Plan plan_;
    Shared shared_;
    std::unique_ptr<Step> step_;
    std::string reason_;
};

std::vector<double> seconds_of(const Parts& parts) { return {parts.seconds.begin(), parts.seconds.end()}; }

/// Seconds of both passes of a micro-batch.
double both_s(Step& step, const Chunk& chunk) {
    const Passes passes = step.timer().chunk(chunk);
    return passes.forward.total_s() + passes.backward.total_s();
}

/// For each kind of layer of the model: seconds of both passes, and kept bytes, where nothing is recomputed.
std::vector<std::pair<double, double>> kinds_of(const PlannedStep& planned) {
    Step& step = planned.step();
    std::vector<std::pair<double, double>> found;
    for (std::uint32_t kind = 0; kind < step.model().kinds.size(); ++kind) {
        found.emplace_back(both_s(step, {{{kind, 1}}, false, false, 0}),
                           kept_bytes(step.sizes(), step.model().kinds[kind], false));
    }
    return found;
}

/// Seconds of both passes of a micro-batch of each layer; those of the ends are with the first and the last.
std::vector<double> layers_of(const PlannedStep& planned) {
    Step& step = planned.step();
    LayerRow row = layer_row(step.sizes(), step.timer());
    row.layers.front() += row.first;
    row.layers.back() += row.last;
    return row.layers;
}

/// Bytes of each stage.
std::vector<double> memory_of(const PlannedStep& planned) {
    const Step& step = planned.step();
    std::vector<double> found;
    for (std::size_t stage = 0; stage < step.layout().stages.size(); ++stage) {
        const Bytes bytes = step.memory(stage);
        found.push_back(std::accumulate(bytes.begin(), bytes.end(), 0.0));
    }
    return found;
}

using ChunkPieces = std::tuple<std::vector<double>, std::vector<double>, double, int>;

/// Each type of chunk: forward and backward pass by part, seconds of weights, blocks that tp splits.
std::vector<ChunkPieces> chunks_of(const PlannedStep& planned) {
    const Step& step = planned.step();
    std::vector<ChunkPieces> found;
    for (std::size_t type = 0; type < step.layout().types.size(); ++type) {
        int blocks = 0;
        for (const LayerCount& layer : step.layout().types[type].layers) {
            blocks +=
                static_cast<int>(layer.count) * step.sizes().tensor_blocks(step.model().kinds[layer.kind]);
        }
        const Passes& own = step.passes()[type];
        found.emplace_back(seconds_of(own.forward), seconds_of(own.backward), own.weight_s, blocks);
    }
    return found;
}

/// Dense parameters and those of experts that are trained, of each chunk of each stage.
std::vector<std::vector<std::pair<double, double>>> trained_of(const PlannedStep& planned) {
    const Step& step = planned.step();
    std::vector<std::vector<std::pair<double, double>>> found;
    for (std::size_t stage = 0; stage < step.layout().stages.size(); ++stage) {
        found.emplace_back();
        for (const Weights& own : step.weights(stage)) {
            const Weights trained = own.trained();
            found.back().emplace_back(trained.dense, trained.experts);
        }
    }
    return found;
}

using CollectiveFound = std::tuple<std::string_view, std::int64_t, std::string_view, double, int, double>;

std::vector<CollectiveFound> collectives_of(const PlannedStep& planned) {
    std::vector<CollectiveFound> found;
    for (const GroupCollective& one : collectives_used(planned.step())) {
        found.emplace_back(one.axis, one.ranks, one.collective, one.size_bytes,
                           static_cast<int>(one.algorithm), one.seconds);
    }
    return found;
}

using OperationFound = std::tuple<std::uint32_t, std::size_t, std::size_t, std::uint32_t, double, double>;

/// Stage, kind, chunk, micro-batch, start and end of each operation.
std::vector<OperationFound> operations_of(const PlannedStep& planned) {
    const Step& step = planned.step();
    const auto kept = step.order();
    const Order& order = *kept;
    const std::size_t parts = order.stages * order.chunks;
    const std::vector<OperationSpan> spans =
        pipeline_spans(order, step.times(), step.schedule().splits_backward,
                       std::vector<double>(order.stages, step.send_s()));
    std::vector<OperationFound> found;
    for (std::size_t i = 0; i < spans.size(); ++i) {
        const Order::Step& one = order.steps[i];
        found.emplace_back(one.stage, one.kind / parts, one.kind % order.chunks, order.micro_batches[i],
                           spans[i].start_s, spans[i].end_s);
    }
    return found;
}

/// Ends of stages and of gradients (stages x chunks), starts of the last backward passes, activations held.
std::tuple<std::vector<double>, std::vector<double>, std::vector<double>, std::vector<std::int64_t>>
pipeline_marks(Predictor& predictor, const std::string& name, std::size_t stages, std::size_t chunks,
               std::int64_t micro_batches, const std::vector<std::tuple<double, double, double>>& times,
               const std::vector<double>& sends_s) {
    const Schedule& schedule = predictor.schedule(name);
    const auto order = predictor.orders().order(schedule, static_cast<std::int64_t>(stages),
                                                static_cast<std::int64_t>(chunks), micro_batches);
    std::vector<StageTimes> own;
    for (const auto& [forward_s, backward_s, weight_s] : times)
        own.push_back({forward_s, backward_s, weight_s});
    if (own.size() != stages * chunks || sends_s.size() != stages) throw nb::value_error("stages x chunks");
    const auto spans = pipeline_spans(*order, own, schedule.splits_backward, sends_s);
    std::vector<double> ends, gradients, starts(stages, 0.0);
    for (const std::uint32_t place : order->lasts) ends.push_back(spans[place - 1].end_s);
    for (const std::uint32_t place : order->gradients) gradients.push_back(spans[place - 1].end_s);
    for (std::size_t i = 0; i < spans.size(); ++i) {
        const Order::Step& one = order->steps[i];
        if (one.kind / (stages * chunks) == 1) starts[one.stage] = spans[i].start_s;
    }
    return {ends, gradients, starts, order->in_flight};
}

/// The layers of each part of the pipeline that a rule, or a list, shares out.
std::vector<std::int64_t> shared_out(std::int64_t layers, std::int64_t stages, std::int64_t chunks,
                                     const std::string& text) {
    Plan plan;
    plan.pp = stages;
    plan.chunks = chunks;
    const Stages found = stages_of_text(text);
    if (!found.listed.empty()) return found.listed;
    try {
        return stage_layers(layers, plan, found.rule);
    } catch (const Infeasible& problem) {
        throw nb::value_error(problem.reason.c_str());
    }
}

}  // namespace

void bind_pieces(nb::module_& m, nb::class_<Predictor>& predictor) {
    predictor.def("pipeline", &pipeline_marks, "schedule"_a, "stages"_a, "chunks"_a, "micro_batches"_a,
                  "times"_a, "sends_s"_a);
    m.def("stage_layers", &shared_out, "layers"_a, "stages"_a, "chunks"_a, "rule"_a);
    nb::class_<PlannedStep>(m, "PlannedStep")
        .def(nb::init<Predictor&, std::shared_ptr<Model>, std::shared_ptr<Cluster>, std::vector<std::int64_t>,
                      std::vector<double>, std::vector<std::string>>(),
             "predictor"_a, "model"_a, "cluster"_a, "plan"_a, "own"_a, "texts"_a, nb::keep_alive<1, 2>())
        .def_prop_ro("reason", &PlannedStep::reason)
        .def_prop_ro("listed", [](const PlannedStep& self) { return self.step().listed(); })
        .def_prop_ro("stages", [](const PlannedStep& self) { return self.step().layout().stages; })
        .def_prop_ro("chunks", &chunks_of)
        .def_prop_ro("trained", &trained_of)
        .def_prop_ro("kinds", &kinds_of)
        .def_prop_ro("layers", &layers_of)
        .def_prop_ro("memory", &memory_of)
        .def_prop_ro("embedding_s",
                     [](const PlannedStep& self) { return both_s(self.step(), {{}, true, false, 0}); })
        .def_prop_ro("head_s",
                     [](const PlannedStep& self) { return both_s(self.step(), {{}, false, true, 0}); })
        .def_prop_ro("memory_bytes_per_s",
                     [](const PlannedStep& self) { return self.step().timer().rates().memory; })
        .def_prop_ro("micro_batches", [](const PlannedStep& self) { return self.step().micro_batches(); })
        .def_prop_ro("send_s", [](const PlannedStep& self) { return self.step().send_s(); })
        .def_prop_ro("pipeline_s", [](const PlannedStep& self) { return self.step().timed().makespan_s; })
        .def_prop_ro("exposed_s", [](const PlannedStep& self) { return self.step().exposed_s(); })
        .def_prop_ro("optimizer_s", [](const PlannedStep& self) { return self.step().optimizer_s(); })
        .def_prop_ro("collectives", &collectives_of)
        .def_prop_ro("operations", &operations_of);
}

}  // namespace dse::prediction
