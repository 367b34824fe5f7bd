// The feed-forward block. Rows are in list order, which decides ids, file order and communicator chains.
#include <array>

#include "simulation/workloads/block_tables.hpp"

namespace dse::workload {

namespace {

using namespace kinds;

constexpr When kIsGated = {.all_of = kGated};
constexpr When kHasGate = {.any_of = kGated};
constexpr When kActivates = {.any_of = kNonlinear | kGated};
constexpr When kActivatesPlainly = {.all_of = kNonlinear, .none_of = kGated};
constexpr When kHasPlainActivation = {.any_of = kNonlinear, .none_of = kGated};
constexpr When kIsLinear = {.none_of = kNonlinear | kGated};
constexpr When kPlainRec = {
    .all_of = kNonlinear, .any_of = kStageRecompute | kFullRecompute, .none_of = kGated};
constexpr When kGateRec = {.all_of = kGated, .any_of = kStageRecompute | kFullRecompute};
constexpr When kGateStageRec = {.all_of = kGated, .any_of = kStageRecompute};
constexpr When kGateFullRec = {.all_of = kGated, .any_of = kFullRecompute};
constexpr When kGateGathered = {.all_of = kJustInTime, .any_of = kGated};
constexpr When kGateScattered = {.all_of = kOptimizer | kShardedWeights, .any_of = kGated};

constexpr std::array kFeedForward = {
    OperatorRow{.name = "x0", .kind = T, .result = "BSm"},
    OperatorRow{.name = "x0_recomp", .kind = T, .result = "BSm", .when = kFullRec},
    OperatorRow{.name = "ahead", .kind = T, .when = kGathersJustInTime},
    OperatorRow{.name = "behind", .kind = T, .when = kGathersJustInTime},
    OperatorRow{.name = "w1", .kind = T, .result = "Mf", .sharded_result = "Wf"},
    OperatorRow{.name = "w3", .kind = T, .result = "Mf", .sharded_result = "Wf", .when = kIsGated},
    // Forward; with a gate, x1 is its operand and x3 what it lets through.
    OperatorRow{"x0_all", G, "x0", "", "", "", "BSM", "", "", kGathersOnce},
    OperatorRow{"w1_all", G, "w1", "", "", "", "Mf", "", "", kGathered, "ahead"},
    OperatorRow{"w3_all", G, "w3", "", "", "", "Mf", "", "", kGateGathered, "ahead"},
    OperatorRow{"x1", M, "x0_all", "BSM", "w1_all", "Mf", "BSf", "M"},
    OperatorRow{"x3", M, "x0_all", "BSM", "w3_all", "Mf", "BSf", "M", "", kHasGate},
    OperatorRow{"act", E, "x1", "BSf", "", "", "BSf", "", "", kActivatesPlainly},
    OperatorRow{"act", E, "x1", "BSf", "x3", "BSf", "BSf", "", "", kHasGate},
    OperatorRow{.name = "w2", .kind = T, .result = "fM", .sharded_result = "fW"},
    OperatorRow{"w2_all", G, "w2", "", "", "", "fM", "", "", kGathered, "ahead"},
    OperatorRow{"x2", M, "act", "BSf", "w2_all", "fM", "BSM", "f"},
    OperatorRow{"drop", A, "x2", "BSm", "", "", "BSm", "", "", kIsNonlinear},
    OperatorRow{"mask", D, "drop", "BSm", "", "", "BSm", "", "", kMasks, "", 1},
    OperatorRow{"res", A, "drop", "BSm", "x0", "BSm", "BSm"},
    OperatorRow{"norm", E, "res", "BSm", "", "", "BSm"},
    // Recompute, and what it shares with the backward pass: gathered weights and inputs.
    OperatorRow{"x0_again", G, "x0", "", "", "", "BSM", "", "", kSharedAgain, "dres"},
    OperatorRow{"x0_again", G, "x0'", "", "", "", "BSM", "", "", kSharedFullRec},
    OperatorRow{"w1_again", G, "w1", "", "", "", "Mf", "", "", kGathered, "behind"},
    OperatorRow{"w3_again", G, "w3", "", "", "", "Mf", "", "", kGateGathered, "behind"},
    OperatorRow{"w2_again", G, "w2", "", "", "", "fM", "", "", kGathered, "behind"},
    OperatorRow{"x1_recomp", M, "x0_again", "BSM", "w1_again", "Mf", "BSf", "M", "", kStageRec, "dres"},
    OperatorRow{"x1_recomp", M, "x0_again", "BSM", "w1_again", "Mf", "BSf", "M", "", kFullRec},
    OperatorRow{"x3_recomp", M, "x0_again", "BSM", "w3_again", "Mf", "BSf", "M", "", kGateStageRec, "dres"},
    OperatorRow{"x3_recomp", M, "x0_again", "BSM", "w3_again", "Mf", "BSf", "M", "", kGateFullRec},
    OperatorRow{"act_recomp", E, "x1'", "BSf", "", "", "BSf", "", "", kPlainRec},
    OperatorRow{"act_recomp", E, "x1'", "BSf", "x3'", "BSf", "BSf", "", "", kGateRec},
    OperatorRow{"x2_recomp", M, "act'", "BSf", "w2_again", "fM", "BSM", "f", "", kNonlinearFullRec},
    OperatorRow{"drop_recomp", A, "x2'", "BSm", "", "", "BSm", "", "", kNonlinearFullRec},
    OperatorRow{"mask_recomp", D, "drop_recomp", "BSm", "", "", "BSm", "", "", kNonlinearFullRec, "", 1},
    OperatorRow{"res_recomp", A, "drop'", "BSm", "x0'", "BSm", "BSm", "", "", kNonlinearFullRec},
    // Backward.
    OperatorRow{.name = "dnorm", .kind = T, .result = "BSm"},
    OperatorRow{"dres", E, "dnorm", "BSm", "", "", "BSm", "", "", {.none_of = kNonlinear}},
    OperatorRow{"dres", E, "dnorm", "BSm", "res'", "BSm", "BSm", "", "", {.any_of = kNonlinear}},
    OperatorRow{"ddrop", A, "dres", "BSm", "mask'", "BSm", "BSm", "", "", kIsNonlinear},
    OperatorRow{"dx2", I, "ddrop", "BSm", "", "", "BSm"},
    OperatorRow{"dx2_all", G, "dx2", "", "", "", "BSM", "", "", kGathersOnce},
    OperatorRow{"dw2", M, "dx2_all", "BSM", "act'", "BSf", "fM", "BS"},
    OperatorRow{"dw2_shard", G, "dw2", "", "", "", "fM", "", "fW", kScattered},
    OperatorRow{"dx1", M, "dx2_all", "BSM", "w2_again", "fM", "BSf", "M", "", kIsLinear},
    OperatorRow{"dact", M, "dx2_all", "BSM", "w2_again", "fM", "BSf", "M", "", kActivates},
    OperatorRow{"dx1", E, "dact", "BSf", "x1'", "BSf", "BSf", "", "", kHasPlainActivation},
    OperatorRow{"dx1", E, "dact", "BSf", "x3'", "BSf", "BSf", "", "", kHasGate},
    OperatorRow{"dx3", E, "dact", "BSf", "x1'", "BSf", "BSf", "", "", kHasGate},
    OperatorRow{"dw1", M, "dx1", "BSf", "x0_again", "BSM", "Mf", "BS"},
    OperatorRow{"dw3", M, "dx3", "BSf", "x0_again", "BSM", "Mf", "BS", "", kHasGate},
    OperatorRow{"dw1_shard", G, "dw1", "", "", "", "Mf", "", "Wf", kScattered},
    OperatorRow{"dw3_shard", G, "dw3", "", "", "", "Mf", "", "Wf", kGateScattered},
    OperatorRow{"dx00", I, "dres", "BSm", "", "", "BSm"},
    OperatorRow{"dx01", M, "dx1", "BSf", "w1_again", "Mf", "BSM", "f"},
    OperatorRow{"dx03", M, "dx3", "BSf", "w3_again", "Mf", "BSM", "f", "", kHasGate},
    OperatorRow{"dx013", A, "dx01", "BSM", "dx03", "BSM", "BSM", "f", "", kIsGated},
    OperatorRow{"dx0", A, "dx00", "BSm", "dx013", "BSm", "BSm"},
};

constexpr std::array kFeedForwardUpdates = {
    UpdateRow{"w1", "dw1_shard", "w1_state", "dw1_sum", "dw1_reduced"},
    UpdateRow{"w2", "dw2_shard", "w2_state", "dw2_sum", "dw2_reduced"},
    UpdateRow{"w3", "dw3_shard", "w3_state", "dw3_sum", "dw3_reduced"},
};

}  // namespace

BlockTable feed_forward_table() { return {kFeedForward, kFeedForwardUpdates}; }

}  // namespace dse::workload
