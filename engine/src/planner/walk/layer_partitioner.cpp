// Filling stages with sub-layers, and moving layers over the bounds between stages.
#include "planner/walk/layer_partitioner.hpp"

#include <algorithm>
#include <limits>

namespace dse::planner {

namespace {

constexpr std::int32_t kSublayers = 7;
constexpr std::int32_t kMajority = 4;
constexpr std::int32_t kNeverOffered = 8;  // the last sub-layers, to the stages before the last one
constexpr int kMoves = 3;
constexpr std::uint16_t kNobody = std::numeric_limits<std::uint16_t>::max();
constexpr std::int32_t kFar = std::numeric_limits<std::int32_t>::max();

std::vector<double> sublayers_of(const std::vector<double>& weights) {
    std::vector<double> sublayers;
    for (const double weight : weights) sublayers.insert(sublayers.end(), kSublayers, weight / kSublayers);
    return sublayers;
}

}  // namespace

LayerPartitioner::LayerPartitioner(const std::vector<double>& weights)
    : weights_(weights),
      layer_sums_(weights_),
      sublayers_(sublayers_of(weights)),
      owner_(sublayers_.size()),
      layer_of_(weights.size()) {}

void LayerPartitioner::partition(std::span<const double> shares, std::vector<std::uint32_t>& bounds) {
    stages_.assign(shares.size(), Stage{0, kFar, -1, 0});
    std::fill(owner_.begin(), owner_.end(), kNobody);
    fill_forward(shares);
    fill_backward();
    deal_leftovers();
    give_layers_to_majorities();
    measure_rooms(shares);
    move_bounds();
    bounds.resize(shares.size() + 1);
    bounds[0] = 0;
    for (std::size_t i = 0; i < stages_.size(); ++i) bounds[i + 1] = bounds[i] + stages_[i].layers;
}

void LayerPartitioner::fill_forward(std::span<const double> shares) {
    const auto offered = static_cast<std::int32_t>(sublayers_.size()) - kNeverOffered;
    std::int32_t at = 0;
    for (std::size_t i = 0; i + 1 < shares.size(); ++i) {
        double room = shares[i];
        const std::int32_t first = at;
        while (at < offered && room > sublayers_[static_cast<std::size_t>(at)])
            room -= sublayers_[static_cast<std::size_t>(at++)];
        stages_[i].room = room;
        if (at > first) {
            stages_[i].least = first;
            stages_[i].most = at - 1;
            std::fill(owner_.begin() + first, owner_.begin() + at, static_cast<StageIndex>(i));
        }
        if (at < offered) ++at;
    }
    stages_.back().room = shares.back();
}

void LayerPartitioner::fill_backward() {
    Stage& last = stages_.back();
    const auto stage = static_cast<StageIndex>(stages_.size() - 1);
    const auto sublayers = static_cast<std::int32_t>(sublayers_.size());
    for (std::int32_t at = sublayers - 1; at >= 0; --at) {
        const auto index = static_cast<std::size_t>(at);
        const bool given = at >= sublayers - kSublayers;
        if (owner_[index] != kNobody || !(given || last.room > sublayers_[index])) break;
        owner_[index] = stage;
        last.room -= sublayers_[index];
        last.least = at;
    }
    last.most = sublayers - 1;
}

void LayerPartitioner::deal_leftovers() {
    const auto sublayers = static_cast<std::int32_t>(sublayers_.size());
    std::int32_t next = 0;  // the first one after `at` that has a stage; the last one has
    for (std::int32_t at = 0; at < sublayers; ++at) {
        if (owner_[static_cast<std::size_t>(at)] != kNobody) continue;
        next = std::max(next, at + 1);
        while (owner_[static_cast<std::size_t>(next)] == kNobody) ++next;
        take_leftover(at, next);
    }
}

void LayerPartitioner::take_leftover(std::int32_t sublayer, std::int32_t next) {
    // Everything below has a stage by now, so neighbours decide unless their stages reach over the leftover.
    std::size_t lower = sublayer > 0 ? owner_[static_cast<std::size_t>(sublayer) - 1] : 0;
    std::size_t upper = owner_[static_cast<std::size_t>(next)];
    if (stages_[lower].most > sublayer) {
        std::int32_t largest = -1;
        lower = 0;
        for (std::size_t i = 0; i < stages_.size(); ++i)
            if (stages_[i].most < sublayer && stages_[i].most > largest) largest = stages_[lower = i].most;
    }
    if (stages_[upper].least < sublayer) {
        std::int32_t smallest = kFar;
        upper = stages_.size() - 1;
        for (std::size_t i = 0; i < stages_.size(); ++i)
            if (stages_[i].least > sublayer && stages_[i].least < smallest)
                smallest = stages_[upper = i].least;
    }
    std::size_t taker = lower;
    for (std::size_t i = lower + 1; i <= upper; ++i)
        if (stages_[i].room > stages_[taker].room) taker = i;
    Stage& stage = stages_[taker];
    stage.room -= sublayers_[static_cast<std::size_t>(sublayer)];
    extend(stage, sublayer);
    owner_[static_cast<std::size_t>(sublayer)] = static_cast<StageIndex>(taker);
}

void LayerPartitioner::extend(Stage& stage, std::int32_t at) const {
    stage.least = std::min(stage.least, at);
    stage.most = std::max(stage.most, at);
}

LayerPartitioner::StageIndex LayerPartitioner::majority(const StageIndex* owners) const {
    // The middle one, if the sub-layers are in the order of the stages; the leftovers may have mixed them.
    for (const std::int32_t candidate : {3, 0, 1, 2}) {
        const StageIndex stage = owners[candidate];
        if (std::count(owners, owners + kSublayers, stage) >= kMajority) return stage;
    }
    return kNobody;
}

void LayerPartitioner::give_layers_to_majorities() {
    for (Stage& stage : stages_) {
        stage.least = kFar;
        stage.most = -1;
    }
    for (std::size_t layer = 0; layer < weights_.size(); ++layer) {
        layer_of_[layer] = majority(owner_.data() + layer * kSublayers);
        if (layer_of_[layer] == kNobody) continue;
        Stage& stage = stages_[layer_of_[layer]];
        extend(stage, static_cast<std::int32_t>(layer));
        ++stage.layers;
    }
}

void LayerPartitioner::measure_rooms(std::span<const double> shares) {
    for (std::size_t i = 0; i < stages_.size(); ++i) {
        Stage& stage = stages_[i];
        stage.room = shares[i];
        if (stage.layers > 0)
            stage.room -= layer_sums_(static_cast<std::uint32_t>(stage.least),
                                      static_cast<std::uint32_t>(stage.most) + 1);
    }
}

void LayerPartitioner::move_bounds() {
    for (int move = 0; move < kMoves; ++move)
        if (!move_one()) return;
}

/// Moves a layer to the stage with the most room; false: nothing moves, now or later.
bool LayerPartitioner::move_one() {
    const std::size_t count = stages_.size();
    if (count == 1) return false;
    const auto less_room = [](const Stage& a, const Stage& b) { return a.room < b.room; };
    const auto largest = std::max_element(stages_.begin(), stages_.end(), less_room);
    const double before = largest->room;
    const auto to = static_cast<std::size_t>(largest - stages_.begin());
    const bool left = to > 0 && (to + 1 == count || stages_[to - 1].room <= stages_[to + 1].room);
    const std::size_t from = left ? to - 1 : to + 1;
    if (stages_[from].layers < 2) return false;
    const Stage giver = stages_[from];
    const Stage taker = stages_[to];
    const std::int32_t layer = left ? giver.most : giver.least;
    const double weight = weights_[static_cast<std::size_t>(layer)];
    stages_[to].room -= weight;
    stages_[from].room += weight;
    if (std::max_element(stages_.begin(), stages_.end(), less_room)->room > before) {
        stages_[from] = giver;
        stages_[to] = taker;
        return false;
    }
    layer_of_[static_cast<std::size_t>(layer)] = static_cast<StageIndex>(to);
    ++stages_[to].layers;
    extend(stages_[to], layer);
    --stages_[from].layers;
    std::int32_t& end = left ? stages_[from].most : stages_[from].least;
    do end += left ? -1 : 1;
    while (layer_of_[static_cast<std::size_t>(end)] != from);
    return true;
}

}  // namespace dse::planner
