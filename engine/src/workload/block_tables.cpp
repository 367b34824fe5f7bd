// Rows are in list order, which decides ids, file order and communicator chains.
#include "workload/block_tables.hpp"

#include <array>

namespace dse::workload {

namespace {

constexpr auto T = OperatorKind::kSource;
constexpr auto I = OperatorKind::kAlias;
constexpr auto M = OperatorKind::kContraction;
constexpr auto A = OperatorKind::kSum;
constexpr auto R = OperatorKind::kReshape;
constexpr auto E = OperatorKind::kElementwise;

constexpr std::array kInputEmbedding = {
    OperatorRow{.name = "x", .kind = T, .result = "BSi"},
    OperatorRow{.name = "w", .kind = T, .result = "Im", .sharded_result = "Um"},
    OperatorRow{"y", M, "x", "BSI", "w", "Im", "BSm", "I"},
    OperatorRow{.name = "dy", .kind = T, .result = "BSm"},
    OperatorRow{"dw", M, "dy", "BSm", "x", "BSI", "Im", "BS"},
    OperatorRow{"dx", M, "dy", "BSm", "w", "Im", "BSI", "m"},
};

constexpr std::array kOutputEmbedding = {
    OperatorRow{.name = "x", .kind = T, .result = "BSm"},
    OperatorRow{.name = "w", .kind = T, .result = "Mo", .sharded_result = "Wo"},
    OperatorRow{"y", M, "x", "BSM", "w", "Mo", "BSo", "M"},
    OperatorRow{.name = "dy", .kind = T, .result = "BSo"},
    OperatorRow{"dw", M, "dy", "BSo", "x", "BSM", "Mo", "BS"},
    OperatorRow{"dx", M, "dy", "BSo", "w", "Mo", "BSM", "o"},
};

constexpr auto kRec = When::kRecompute;

constexpr std::array kAttention = {
    OperatorRow{.name = "x", .kind = T, .result = "BSm"},
    OperatorRow{.name = "wq", .kind = T, .result = "Mdh", .sharded_result = "Deh"},
    OperatorRow{.name = "wk", .kind = T, .result = "Mdh", .sharded_result = "Deh"},
    OperatorRow{.name = "wv", .kind = T, .result = "Mdh", .sharded_result = "Deh"},
    OperatorRow{"q", M, "x", "BSM", "wq", "Mdh", "BSdh", "M"},
    OperatorRow{"k", M, "x", "BSM", "wk", "Mdh", "BSdh", "M"},
    OperatorRow{"v", M, "x", "BSM", "wv", "Mdh", "BSdh", "M"},
    OperatorRow{"qk", M, "q", "BQdh", "k", "BSdh", "BQSh", "d"},
    OperatorRow{"qkv", M, "qk", "BQSh", "v", "BSdh", "BQdh", "S"},
    OperatorRow{"qkv_reshape", R, "qkv", "BSdh", "", "BSm", "BSm"},
    OperatorRow{"res", A, "qkv_reshape", "BSm", "x", "BSm", "BSm"},
    OperatorRow{"norm", E, "res", "BSm", "", "", "BSm"},
    OperatorRow{"q_recomp", M, "x", "BSM", "wq", "Mdh", "BSdh", "M", "", kRec, "d_res"},
    OperatorRow{"k_recomp", M, "x", "BSM", "wk", "Mdh", "BSdh", "M", "", kRec, "d_res"},
    OperatorRow{"v_recomp", M, "x", "BSM", "wv", "Mdh", "BSdh", "M", "", kRec, "d_res"},
    OperatorRow{"qk_recomp", M, "q_recomp", "BQdh", "k_recomp", "BSdh", "BQSh", "d", "",
                When::kRecomputeReplicated, "d_res"},
    OperatorRow{"qk_recomp", M, "q", "BQdh", "k", "BSdh", "BQSh", "d", "", When::kRecomputeSharded, "d_res"},
    OperatorRow{.name = "d_norm", .kind = T, .result = "BSm"},
    OperatorRow{"d_res", E, "d_norm", "BSm", "", "", "BSm"},
    OperatorRow{"d_qkv_reshape", I, "d_res", "BSm", "", "", "BSm"},
    OperatorRow{"d_qkv", R, "d_qkv_reshape", "BSm", "", "BSdh", "BSdh"},
    OperatorRow{"d_qk", M, "d_qkv", "BQdh", "v'", "BSdh", "BQSh", "d"},
    OperatorRow{"d_v", M, "d_qkv", "BQdh", "qk'", "BQSh", "BSdh", "Q"},
    OperatorRow{"d_q", M, "d_qk", "BQSh", "k'", "BSdh", "BQdh", "S"},
    OperatorRow{"d_k", M, "d_qk", "BQSh", "q'", "BQdh", "BSdh", "Q"},
    OperatorRow{"d_wq", M, "d_q", "BSdh", "x", "BSM", "Mdh", "BS"},
    OperatorRow{"d_wk", M, "d_k", "BSdh", "x", "BSM", "Mdh", "BS"},
    OperatorRow{"d_wv", M, "d_v", "BSdh", "x", "BSM", "Mdh", "BS"},
    OperatorRow{"d_x1", M, "d_q", "BSdh", "wq", "Mdh", "BSM", "dh"},
    OperatorRow{"d_x2", M, "d_k", "BSdh", "wk", "Mdh", "BSM", "dh"},
    OperatorRow{"d_x3", M, "d_v", "BSdh", "wv", "Mdh", "BSM", "dh"},
    OperatorRow{"d_x4", I, "d_res", "BSm", "", "", "BSm"},
    OperatorRow{"d_x12", A, "d_x1", "BSm", "d_x2", "BSm", "BSm"},
    OperatorRow{"d_x34", A, "d_x3", "BSm", "d_x4", "BSm", "BSm"},
    OperatorRow{"d_x", A, "d_x12", "BSm", "d_x34", "BSm", "BSm"},
};

constexpr std::array kFeedForward = {
    OperatorRow{.name = "x0", .kind = T, .result = "BSm"},
    OperatorRow{.name = "w1", .kind = T, .result = "Mf", .sharded_result = "Wf"},
    OperatorRow{"x1", M, "x0", "BSM", "w1", "Mf", "BSf", "M"},
    OperatorRow{.name = "w2", .kind = T, .result = "fM", .sharded_result = "fW"},
    OperatorRow{"x2", M, "x1", "BSf", "w2", "fM", "BSM", "f"},
    OperatorRow{"res", A, "x2", "BSm", "x0", "BSm", "BSm"},
    OperatorRow{"norm", E, "res", "BSm", "", "", "BSm"},
    OperatorRow{"x1_recomp", M, "x0", "BSM", "w1", "Mf", "BSf", "M", "", kRec, "dres"},
    OperatorRow{.name = "dnorm", .kind = T, .result = "BSm"},
    OperatorRow{"dres", E, "dnorm", "BSm", "", "", "BSm"},
    OperatorRow{"dx2", I, "dres", "BSm", "", "", "BSm"},
    OperatorRow{"dw2", M, "dx2", "BSM", "x1'", "BSf", "fM", "BS"},
    OperatorRow{"dx1", M, "dx2", "BSM", "w2", "fM", "BSf", "M"},
    OperatorRow{"dw1", M, "dx1", "BSf", "x0", "BSM", "Mf", "BS"},
    OperatorRow{"dx00", I, "dres", "BSm", "", "", "BSm"},
    OperatorRow{"dx01", M, "dx1", "BSf", "w1", "Mf", "BSM", "f"},
    OperatorRow{"dx0", A, "dx00", "BSm", "dx01", "BSm", "BSm"},
};

constexpr std::array kEmbeddingUpdates = {UpdateRow{"w", "dw"}};
constexpr std::array kAttentionUpdates = {UpdateRow{"wq", "d_wq"}, UpdateRow{"wk", "d_wk"},
                                          UpdateRow{"wv", "d_wv"}};
constexpr std::array kFeedForwardUpdates = {UpdateRow{"w1", "dw1"}, UpdateRow{"w2", "dw2"}};

}  // namespace

BlockTable block_table(BlockKind kind) {
    switch (kind) {
        case BlockKind::kInputEmbedding:
            return {kInputEmbedding, kEmbeddingUpdates};
        case BlockKind::kOutputEmbedding:
            return {kOutputEmbedding, kEmbeddingUpdates};
        case BlockKind::kAttention:
            return {kAttention, kAttentionUpdates};
        case BlockKind::kFeedForward:
            break;
    }
    return {kFeedForward, kFeedForwardUpdates};
}

}  // namespace dse::workload
