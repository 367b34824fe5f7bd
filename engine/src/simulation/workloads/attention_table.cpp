// The attention block. Rows are in list order, which decides ids, file order and communicator chains.
#include <array>

#include "simulation/workloads/block_tables.hpp"

namespace dse::workload {

namespace {

using namespace kinds;

constexpr When kNonlinearRec = {.all_of = kNonlinear, .any_of = kAnyRecompute};
constexpr When kProjects = {.all_of = kProjection};
constexpr When kSoftmaxMasks = {.all_of = kNonlinear, .none_of = kAnyRecompute};
constexpr When kHasProjection = {.any_of = kProjection};
constexpr When kProjectionGathered = {.all_of = kJustInTime | kProjection};
constexpr When kProjectionScattered = {.all_of = kOptimizer | kShardedWeights, .any_of = kProjection};
constexpr When kProjectionFullRec = {.all_of = kProjection, .any_of = kFullRecompute};
constexpr When kScoresRec = {.any_of = kStageRecomputeReplicated | kSelectiveRecompute};
constexpr When kShardedStageRec = {.any_of = kStageRecomputeSharded};

constexpr std::array kAttention = {
    OperatorRow{.name = "x", .kind = T, .result = "BSm"},
    OperatorRow{.name = "ahead", .kind = T, .when = kGathersJustInTime},
    OperatorRow{.name = "behind", .kind = T, .when = kGathersJustInTime},
    OperatorRow{.name = "layer_gradient", .kind = T, .when = kFullRec},
    OperatorRow{.name = "wq", .kind = T, .result = "Mdh", .sharded_result = "Deh"},
    OperatorRow{.name = "wk", .kind = T, .result = "Mdg", .sharded_result = "Deg"},
    OperatorRow{.name = "wv", .kind = T, .result = "Mdg", .sharded_result = "Deg"},
    OperatorRow{.name = "wo", .kind = T, .result = "mM", .sharded_result = "mW", .when = kProjects},
    // Forward.
    OperatorRow{"x_all", G, "x", "", "", "", "BSM", "", "", kGathersOnce},
    OperatorRow{"wq_all", G, "wq", "", "", "", "Mdh", "", "", kGathered, "ahead"},
    OperatorRow{"wk_all", G, "wk", "", "", "", "Mdg", "", "", kGathered, "ahead"},
    OperatorRow{"wv_all", G, "wv", "", "", "", "Mdg", "", "", kGathered, "ahead"},
    OperatorRow{"q", M, "x_all", "BSM", "wq_all", "Mdh", "BSdh", "M"},
    OperatorRow{"k", M, "x_all", "BSM", "wk_all", "Mdg", "BSdg", "M"},
    OperatorRow{"v", M, "x_all", "BSM", "wv_all", "Mdg", "BSdg", "M"},
    OperatorRow{"qk", M, "q", "BQdh", "k", "BSdg", "BQSh", "d"},
    OperatorRow{"softmax", E, "qk", "BQSh", "", "", "BQSh", "", "", kIsNonlinear},
    OperatorRow{"drop", A, "softmax", "BQSh", "", "", "BQSh", "", "", kIsNonlinear},
    OperatorRow{"mask", D, "drop", "BQSh", "", "", "BQSh", "", "", kSoftmaxMasks, "", 1},
    OperatorRow{"qkv", M, "drop", "BQSh", "v", "BSdg", "BQdh", "S"},
    OperatorRow{"qkv_reshape", R, "qkv", "BSdh", "", "BSm", "BSm"},
    OperatorRow{"wo_all", G, "wo", "", "", "", "mM", "", "", kProjectionGathered, "ahead"},
    OperatorRow{"proj", M, "qkv_reshape", "BSm", "wo_all", "mM", "BSM", "m", "", kProjects},
    OperatorRow{"proj_drop", A, "proj", "BSm", "", "", "BSm", "", "", kIsNonlinear},
    OperatorRow{"proj_mask", D, "proj_drop", "BSm", "", "", "BSm", "", "", kMasks, "", 1},
    OperatorRow{"res", A, "proj_drop", "BSm", "x", "BSm", "BSm"},
    OperatorRow{"norm", E, "res", "BSm", "", "", "BSm"},
    // Recompute, and what it shares with the backward pass: gathered weights and inputs.
    OperatorRow{"x_again", G, "x", "", "", "", "BSM", "", "", kSharedAgain, "d_res"},
    OperatorRow{"x_again", G, "x", "", "", "", "BSM", "", "", kSharedFullRec, "layer_gradient"},
    OperatorRow{"wq_again", G, "wq", "", "", "", "Mdh", "", "", kGathered, "behind"},
    OperatorRow{"wk_again", G, "wk", "", "", "", "Mdg", "", "", kGathered, "behind"},
    OperatorRow{"wv_again", G, "wv", "", "", "", "Mdg", "", "", kGathered, "behind"},
    OperatorRow{"wo_again", G, "wo", "", "", "", "mM", "", "", kProjectionGathered, "behind"},
    OperatorRow{"q_recomp", M, "x_again", "BSM", "wq_again", "Mdh", "BSdh", "M", "", kStageRec, "d_res"},
    OperatorRow{"k_recomp", M, "x_again", "BSM", "wk_again", "Mdg", "BSdg", "M", "", kStageRec, "d_res"},
    OperatorRow{"v_recomp", M, "x_again", "BSM", "wv_again", "Mdg", "BSdg", "M", "", kStageRec, "d_res"},
    OperatorRow{"q_recomp", M, "x_again", "BSM", "wq_again", "Mdh", "BSdh", "M", "", kFullRec,
                "layer_gradient"},
    OperatorRow{"k_recomp", M, "x_again", "BSM", "wk_again", "Mdg", "BSdg", "M", "", kFullRec,
                "layer_gradient"},
    OperatorRow{"v_recomp", M, "x_again", "BSM", "wv_again", "Mdg", "BSdg", "M", "", kFullRec,
                "layer_gradient"},
    OperatorRow{"qk_recomp", M, "q'", "BQdh", "k'", "BSdg", "BQSh", "d", "", kScoresRec, "d_res"},
    OperatorRow{"qk_recomp", M, "q", "BQdh", "k", "BSdg", "BQSh", "d", "", kShardedStageRec, "d_res"},
    OperatorRow{"qk_recomp", M, "q'", "BQdh", "k'", "BSdg", "BQSh", "d", "", kFullRec},
    OperatorRow{"softmax_recomp", E, "qk'", "BQSh", "", "", "BQSh", "", "", kNonlinearRec},
    OperatorRow{"drop_recomp", A, "softmax'", "BQSh", "", "", "BQSh", "", "", kNonlinearRec},
    OperatorRow{"mask_recomp", D, "drop_recomp", "BQSh", "", "", "BQSh", "", "", kNonlinearRec, "", 1},
    OperatorRow{"qkv_recomp", M, "drop'", "BQSh", "v'", "BSdg", "BQdh", "S", "", kFullRec},
    OperatorRow{"qkv_reshape_recomp", R, "qkv'", "BSdh", "", "BSm", "BSm", "", "", kFullRec},
    OperatorRow{"proj_recomp", M, "qkv_reshape'", "BSm", "wo_again", "mM", "BSM", "m", "",
                kProjectionFullRec},
    OperatorRow{"proj_drop_recomp", A, "proj'", "BSm", "", "", "BSm", "", "", kNonlinearFullRec},
    OperatorRow{"proj_mask_recomp", D, "proj_drop_recomp", "BSm", "", "", "BSm", "", "", kNonlinearFullRec,
                "", 1},
    OperatorRow{"res_recomp", A, "proj_drop'", "BSm", "x", "BSm", "BSm", "", "", kFullRec},
    OperatorRow{"norm_recomp", E, "res'", "BSm", "", "", "BSm", "", "", kFullRec},
    // Backward.
    OperatorRow{.name = "d_norm", .kind = T, .result = "BSm"},
    OperatorRow{"d_res", E, "d_norm", "BSm", "", "", "BSm", "", "", {.none_of = kNonlinear}},
    OperatorRow{"d_res", E, "d_norm", "BSm", "res'", "BSm", "BSm", "", "", {.any_of = kNonlinear}},
    OperatorRow{"d_proj", A, "d_res", "BSm", "proj_mask'", "BSm", "BSm", "", "", kIsNonlinear},
    OperatorRow{"d_proj_all", G, "d_proj", "", "", "", "BSM", "", "", {.all_of = kShared | kProjection}},
    OperatorRow{"d_wo", M, "qkv_reshape'", "BSm", "d_proj_all", "BSM", "mM", "BS", "", kHasProjection},
    OperatorRow{"d_wo_shard", G, "d_wo", "", "", "", "mM", "", "mW", kProjectionScattered},
    OperatorRow{"d_context", M, "d_proj_all", "BSM", "wo_again", "mM", "BSm", "M", "", kProjects},
    OperatorRow{"d_qkv_reshape", I, "d_context", "BSm", "", "", "BSm"},
    OperatorRow{"d_qkv", R, "d_qkv_reshape", "BSm", "", "BSdh", "BSdh"},
    OperatorRow{"d_qkv_all", G, "d_qkv", "", "", "", "BQdh", "", "", kGathersOnce},
    OperatorRow{"d_qk", M, "d_qkv_all", "BQdh", "v'", "BSdg", "BQSh", "d", "", {.none_of = kNonlinear}},
    OperatorRow{"d_drop", M, "d_qkv_all", "BQdh", "v'", "BSdg", "BQSh", "d", "", {.any_of = kNonlinear}},
    OperatorRow{"d_v", M, "d_qkv_all", "BQdh", "drop'", "BQSh", "BSdg", "Qr"},
    OperatorRow{"d_softmax", A, "d_drop", "BQSh", "mask'", "BQSh", "BQSh", "", "", {.any_of = kNonlinear}},
    OperatorRow{"d_qk", E, "d_softmax", "BQSh", "softmax'", "BQSh", "BQSh", "", "", {.any_of = kNonlinear}},
    OperatorRow{"d_q", M, "d_qk", "BQSh", "k'", "BSdg", "BQdh", "S"},
    OperatorRow{"d_k", M, "d_qk", "BQSh", "q'", "BQdh", "BSdg", "Qr"},
    OperatorRow{"d_q_sum", G, "d_q", "", "", "", "BSdh", "", "", kGathersOnce},
    OperatorRow{"d_wq", M, "d_q_sum", "BSdh", "x_again", "BSM", "Mdh", "BS"},
    OperatorRow{"d_wk", M, "d_k", "BSdg", "x_again", "BSM", "Mdg", "BS"},
    OperatorRow{"d_wv", M, "d_v", "BSdg", "x_again", "BSM", "Mdg", "BS"},
    OperatorRow{"d_wq_shard", G, "d_wq", "", "", "", "Mdh", "", "Deh", kScattered},
    OperatorRow{"d_wk_shard", G, "d_wk", "", "", "", "Mdg", "", "Deg", kScattered},
    OperatorRow{"d_wv_shard", G, "d_wv", "", "", "", "Mdg", "", "Deg", kScattered},
    OperatorRow{"d_x1", M, "d_q_sum", "BSdh", "wq_again", "Mdh", "BSM", "dh"},
    OperatorRow{"d_x2", M, "d_k", "BSdg", "wk_again", "Mdg", "BSM", "dg"},
    OperatorRow{"d_x3", M, "d_v", "BSdg", "wv_again", "Mdg", "BSM", "dg"},
    OperatorRow{"d_x4", I, "d_res", "BSm", "", "", "BSm"},
    OperatorRow{"d_x12", A, "d_x1", "BSm", "d_x2", "BSm", "BSm", "", "", {.none_of = kShared}},
    OperatorRow{"d_x34", A, "d_x3", "BSm", "d_x4", "BSm", "BSm", "", "", {.none_of = kShared}},
    OperatorRow{"d_x", A, "d_x12", "BSm", "d_x34", "BSm", "BSm", "", "", {.none_of = kShared}},
    OperatorRow{"d_x12", A, "d_x1", "BSM", "d_x2", "BSM", "BSM", "dh", "", {.any_of = kShared}},
    OperatorRow{"d_x123", A, "d_x12", "BSM", "d_x3", "BSM", "BSM", "dh", "", {.any_of = kShared}},
    OperatorRow{"d_x", A, "d_x123", "BSm", "d_x4", "BSm", "BSm", "", "", {.any_of = kShared}},
};

constexpr std::array kAttentionUpdates = {
    UpdateRow{"wq", "d_wq_shard", "wq_state", "d_wq_sum", "d_wq_reduced"},
    UpdateRow{"wk", "d_wk_shard", "wk_state", "d_wk_sum", "d_wk_reduced"},
    UpdateRow{"wv", "d_wv_shard", "wv_state", "d_wv_sum", "d_wv_reduced"},
    UpdateRow{"wo", "d_wo_shard", "wo_state", "d_wo_sum", "d_wo_reduced"},
};

}  // namespace

BlockTable attention_table() { return {kAttention, kAttentionUpdates}; }

}  // namespace dse::workload
