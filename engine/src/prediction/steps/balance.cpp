// Layers of pipeline stages by their time: the slowest part of the pipeline as fast as can be.
#include <algorithm>
#include <numeric>
#include <optional>

#include "prediction/steps/predict.hpp"
#include "prediction/steps/shared.hpp"

namespace dse::prediction {

namespace {

/// A row that is shared out to so many parts.
struct Row {
    const std::vector<double>& layers;
    std::int64_t parts;
    double first, last;

    /// Fills parts from the last on up to `most` seconds; none if layers are left over.
    std::optional<std::vector<std::int64_t>> filled(double most) const {
        std::vector<std::int64_t> counts;
        auto left = static_cast<std::int64_t>(layers.size());
        for (std::int64_t part = parts - 1; part >= 0; --part) {
            double seconds = (part == parts - 1 ? last : 0.0) + (part == 0 ? first : 0.0);
            std::int64_t count = 0;
            while (left > part &&
                   (count == 0 || seconds + layers[static_cast<std::size_t>(left - 1)] <= most)) {
                seconds += layers[static_cast<std::size_t>(left - 1)];
                --left;
                ++count;
            }
            if (seconds > most) return std::nullopt;
            counts.push_back(count);
        }
        if (left != 0) return std::nullopt;
        std::reverse(counts.begin(), counts.end());
        return counts;
    }
    /// Layers of each part where the slowest is as fast as can be.
    std::vector<std::int64_t> balanced() const {
        double low = 0.0, high = first + last + std::accumulate(layers.begin(), layers.end(), 0.0);
        for (int step = 0; step < 60; ++step) {  // the doubles between them
            const double middle = (low + high) / 2;
            (filled(middle) ? high : low) = middle;
        }
        return *filled(high * (1 + 1e-9));  // parts that differ by rounding alone are equal
    }
};

}  // namespace

LayerRow layer_row(const Sizes& sizes, Timer& timer) {
    const Model& model = sizes.model;
    const Plan& plan = sizes.plan;
    const bool repeats = plan.recompute != Recompute::kNone && plan.recompute_layers == 0;
    const auto seconds = [&](const Chunk& chunk) {
        const Passes passes = timer.chunk(chunk);
        Parts both = passes.forward;
        both.add(passes.backward);
        return both.total_s();
    };
    LayerRow row;
    row.of_kind.assign(model.kinds.size(), -1.0);
    Chunk last{{}, false, true, 0};
    for (const Run& run : model.runs) {
        if (model.kinds[run.kind].is_prediction) {
            last.layers = {{run.kind, run.count}};
            last.repeated = repeats ? run.count : 0;
            continue;
        }
        if (row.of_kind[run.kind] < 0)
            row.of_kind[run.kind] = seconds({{{run.kind, 1}}, false, false, repeats ? 1 : 0});
        row.layers.insert(row.layers.end(), static_cast<std::size_t>(run.count), row.of_kind[run.kind]);
    }
    row.first = seconds({{}, true, false, 0});
    row.last = seconds(last);
    return row;
}

std::vector<std::int64_t> balanced_layers(const Sizes& sizes, Timer& timer, Shared& shared) {
    const Model& model = sizes.model;
    const Plan& plan = sizes.plan;
    const LayerRow of = layer_row(sizes, timer);
    stage_layers(static_cast<std::int64_t>(of.layers.size()), plan,
                 StageRule::kSpread);  // as many parts as layers
    const Row row{of.layers, plan.pp * plan.chunks, of.first, of.last};
    return shared.balanced.of([&] { return row.balanced(); }, &model, row.parts, of.of_kind, row.first,
                              row.last);
}

}  // namespace dse::prediction
