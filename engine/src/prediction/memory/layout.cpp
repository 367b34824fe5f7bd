// The layers that each pipeline stage has, by kind, and what stands before and after them.
#include <algorithm>
#include <numeric>
#include <string>

#include "prediction/memory/weights.hpp"

namespace dse::prediction {

namespace {

std::string text_of_list(const std::vector<std::int64_t>& counts) {
    std::string text = "[";
    for (std::size_t i = 0; i < counts.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(counts[i]);
    return text + "]";
}

std::vector<std::int64_t> spread(std::int64_t layers, std::int64_t parts) {
    const std::int64_t least = layers / parts, more = layers % parts, start = (parts - more) / 2;
    std::vector<std::int64_t> counts;
    for (std::int64_t index = 0; index < parts; ++index) {
        counts.push_back(least + (start <= index && index < start + more ? 1 : 0));
    }
    return counts;
}

std::vector<std::int64_t> lighter(std::vector<std::int64_t> counts, std::int64_t extra) {
    counts.back() -= extra > 0 ? 1 : 0;
    counts.front() -= extra > 1 ? 1 : 0;
    return counts;
}

/// Has `count` layers of a stage computed again in all (0: all), as equally as its chunks can.
void repeat(std::vector<Chunk>& stage, std::int64_t count) {
    std::int64_t left = count;
    if (count == 0) {
        for (const Chunk& chunk : stage) left += chunk.count();
    }
    bool is_filled = false;
    while (left > 0 && !is_filled) {
        is_filled = true;
        for (Chunk& chunk : stage) {
            if (left > 0 && chunk.repeated < chunk.count()) {
                ++chunk.repeated;
                --left;
                is_filled = false;
            }
        }
    }
}

}  // namespace

std::vector<std::int64_t> stage_layers(std::int64_t layers, const Plan& plan, StageRule rule) {
    const std::int64_t parts = plan.pp * plan.chunks;
    const auto refuse = [&](const std::string& why) {
        throw Infeasible{"pp " + std::to_string(plan.pp) + " x chunks " + std::to_string(plan.chunks) +
                         " is " + std::to_string(parts) + "; it must " + why};
    };
    std::int64_t extra = 0;
    if (rule == StageRule::kLighterLast) extra = 1;
    if (rule == StageRule::kLighterEnds || rule == StageRule::kEven) extra = 2;
    if (layers + extra < parts) {
        const std::string ends = extra != 0 ? " and " + std::to_string(extra) + " for the ends" : "";
        refuse("be at most the " + std::to_string(layers) + " layers" + ends);
    }
    if (rule != StageRule::kEven) return lighter(spread(layers + extra, parts), extra);
    for (extra = 0; extra < 3; ++extra) {  // none, the head, embedding and head
        if ((layers + extra) % parts == 0) {
            return lighter(
                std::vector<std::int64_t>(static_cast<std::size_t>(parts), (layers + extra) / parts), extra);
        }
    }
    refuse("divide the " + std::to_string(layers) + " layers (or " + std::to_string(layers + 1) + " or " +
           std::to_string(layers + 2) +
           ", with the head, or head and embedding, counted as a layer), or write stages=spread");
    return {};
}

Chunk chunk_of(const Model& model, std::int64_t first, std::int64_t end, bool is_first, bool is_last) {
    Chunk chunk{{}, is_first, is_last, 0};
    LayerCount further;
    std::int64_t start = 0;
    for (const Run& run : model.runs) {
        if (model.kinds[run.kind].is_prediction) {
            further = {run.kind, run.count};
            continue;
        }
        const std::int64_t count = std::min(end, start + run.count) - std::max(first, start);
        start += run.count;
        if (count <= 0) continue;
        const auto known = std::find_if(chunk.layers.begin(), chunk.layers.end(),
                                        [&](const LayerCount& layer) { return layer.kind == run.kind; });
        if (known == chunk.layers.end()) {
            chunk.layers.push_back({run.kind, count});
        } else {
            known->count += count;
        }
    }
    if (is_last && further.count != 0) chunk.layers.push_back(further);
    return chunk;
}

std::vector<std::int64_t> part_layers(const Model& model, const Plan& plan,
                                      const std::vector<std::int64_t>& listed) {
    std::int64_t layers = 0;
    for (const Run& run : model.runs) layers += model.kinds[run.kind].is_prediction ? 0 : run.count;
    std::vector<std::int64_t> counts =
        listed.empty() ? stage_layers(layers, plan, plan.stages->rule) : listed;
    const auto parts = static_cast<std::size_t>(plan.pp * plan.chunks);
    const std::int64_t sum = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
    if (counts.size() != parts || sum != layers || *std::min_element(counts.begin(), counts.end()) < 0) {
        throw Infeasible{"layers_per_stage is " + text_of_list(counts) + "; it must have " +
                         std::to_string(parts) + " counts that sum to " + std::to_string(layers) + " layers"};
    }
    return counts;
}

Layout layout_of(const Model& model, const Plan& plan, const std::vector<std::int64_t>& counts,
                 bool is_v_shaped) {
    const auto pp = static_cast<std::size_t>(plan.pp), parts = counts.size();
    std::vector<Chunk> made;
    std::int64_t start = 0;
    for (std::size_t index = 0; index < parts; ++index) {
        made.push_back(chunk_of(model, start, start + counts[index], index == 0, index + 1 == parts));
        start += counts[index];
    }
    std::vector<std::vector<Chunk>> stages(pp);
    std::int64_t most = 0;
    for (std::size_t stage = 0; stage < pp; ++stage) {
        if (is_v_shaped) {
            stages[stage] = {made[stage], made[2 * pp - 1 - stage]};
        } else {
            for (std::size_t part = stage; part < parts; part += pp) stages[stage].push_back(made[part]);
        }
        std::int64_t count = 0;
        for (const Chunk& chunk : stages[stage]) count += chunk.count();
        most = std::max(most, count);
    }
    if (plan.recompute != Recompute::kNone) {
        if (plan.recompute_layers > most) {
            throw Infeasible{"recompute_layers is " + std::to_string(plan.recompute_layers) +
                             "; it must be at most the " + std::to_string(most) + " layers of a stage"};
        }
        for (std::vector<Chunk>& stage : stages) repeat(stage, plan.recompute_layers);
    }
    Layout layout;
    const auto number = [](auto& known, const auto& value) {
        const auto at = std::find(known.begin(), known.end(), value);
        if (at != known.end()) return static_cast<std::uint32_t>(at - known.begin());
        known.push_back(value);
        return static_cast<std::uint32_t>(known.size() - 1);
    };
    for (const std::vector<Chunk>& stage : stages) {
        std::vector<std::uint32_t> types;
        for (const Chunk& chunk : stage) types.push_back(number(layout.types, chunk));
        layout.stage_types.push_back(number(layout.distinct_stages, types));
        layout.stages.push_back(std::move(types));
    }
    return layout;
}

}  // namespace dse::prediction
