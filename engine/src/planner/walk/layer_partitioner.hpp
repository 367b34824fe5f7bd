// The walk's layer partitioner: layers cut in sub-layers, filled from both ends, and put together again.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "planner/walk/slice_sums.hpp"

namespace dse::planner {

/// Divides the layers of one model among stages by their shares of its time.
///
///     sub-layers  0 1 2 3 4 5 6 | 7 8 … 13 | …          seven a layer
///     forward     [ stage 1  ) . [ stage 2  ) . …        a dot: left over, for it did not fit
///     backward                      … [ last stage ]
///     leftovers   to the stage around them with the most room; a layer to who has four of its seven
///
/// Stages may stay empty, and layers may get lost: then the last bound is less than the number of layers.
class LayerPartitioner {
public:
    explicit LayerPartitioner(const std::vector<double>& weights);

    /// `bounds` gets c_0 … c_S for the S shares.
    void partition(std::span<const double> shares, std::vector<std::uint32_t>& bounds);

private:
    using StageIndex = std::uint16_t;
    struct Stage {
        double room = 0;
        std::int32_t least = 0;  ///< sub-layers while they are dealt out, layers after that
        std::int32_t most = 0;   ///< below `least` where the stage has none
        std::uint32_t layers = 0;
    };

    void fill_forward(std::span<const double> shares);
    void fill_backward();
    void deal_leftovers();
    void take_leftover(std::int32_t sublayer, std::int32_t next);
    void give_layers_to_majorities();
    void measure_rooms(std::span<const double> shares);
    void move_bounds();
    bool move_one();
    void extend(Stage& stage, std::int32_t at) const;
    StageIndex majority(const StageIndex* owners) const;

    std::vector<double> weights_;
    SliceSums layer_sums_;
    std::vector<double> sublayers_;     ///< weight of each
    std::vector<StageIndex> owner_;     ///< per sub-layer
    std::vector<StageIndex> layer_of_;  ///< per layer: its stage
    std::vector<Stage> stages_;
};

}  // namespace dse::planner
