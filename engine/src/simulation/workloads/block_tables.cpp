// Embeddings. Rows are in list order, which decides ids, file order and communicator chains.
#include "simulation/workloads/block_tables.hpp"

#include <array>

namespace dse::workload {

namespace {

using namespace kinds;

constexpr When kDense = {.none_of = kEmbeddingTable};
constexpr When kTable = {.any_of = kEmbeddingTable};
constexpr When kGathersAgain = {.all_of = kJustInTime, .none_of = kEmbeddingTable | kNoInputGradient};
constexpr When kHasInputGradient = {.none_of = kEmbeddingTable | kNoInputGradient};

constexpr std::array kInputEmbedding = {
    OperatorRow{.name = "x", .kind = T, .result = "BSi", .when = kDense},
    OperatorRow{.name = "x", .kind = T, .result = "BS", .when = kTable, .element_bytes = 4},
    OperatorRow{.name = "ahead", .kind = T, .when = kGathersJustInTime},
    OperatorRow{.name = "behind", .kind = T, .when = kGathersJustInTime},
    OperatorRow{.name = "w", .kind = T, .result = "Im", .sharded_result = "Um"},
    OperatorRow{"w_all", G, "w", "", "", "", "Im", "", "", kGathered, "ahead"},
    OperatorRow{"y", M, "x", "BSI", "w_all", "Im", "BSm", "I", "", kDense},
    OperatorRow{"y", L, "x", "BS", "w_all", "Im", "BSm", "", "", kTable},
    OperatorRow{.name = "dy", .kind = T, .result = "BSm"},
    OperatorRow{"dw", M, "dy", "BSm", "x", "BSI", "Im", "BS", "", kDense},
    OperatorRow{"dw", X, "dy", "BSm", "x", "BS", "Im", "BS", "", kTable},
    OperatorRow{"dw_shard", G, "dw", "", "", "", "Im", "", "Um", kScattered},
    OperatorRow{"w_again", G, "w", "", "", "", "Im", "", "", kGathersAgain, "behind"},
    OperatorRow{"dx", M, "dy", "BSm", "w_again", "Im", "BSI", "m", "", kHasInputGradient},
};

constexpr std::array kOutputEmbedding = {
    OperatorRow{.name = "x", .kind = T, .result = "BSm"},
    OperatorRow{.name = "ahead", .kind = T, .when = kGathersJustInTime},
    OperatorRow{.name = "behind", .kind = T, .when = kGathersJustInTime},
    OperatorRow{.name = "w", .kind = T, .result = "Mo", .sharded_result = "Wo"},
    OperatorRow{"w_all", G, "w", "", "", "", "Mo", "", "", kGathered, "ahead"},
    OperatorRow{"y", M, "x", "BSM", "w_all", "Mo", "BSo", "M"},
    OperatorRow{.name = "dy", .kind = T, .result = "BSo", .when = {.none_of = kLoss}},
    OperatorRow{"dy", E, "y", "BSo", "", "", "BSo", "", "", {.any_of = kLoss}},
    OperatorRow{"dw", M, "dy", "BSo", "x", "BSM", "Mo", "BS"},
    OperatorRow{"dw_shard", G, "dw", "", "", "", "Mo", "", "Wo", kScattered},
    OperatorRow{"w_again", G, "w", "", "", "", "Mo", "", "", kGathered, "behind"},
    OperatorRow{"dx", M, "dy", "BSo", "w_again", "Mo", "BSM", "o"},
};

constexpr std::array kEmbeddingUpdates = {UpdateRow{"w", "dw_shard", "w_state", "dw_sum", "dw_reduced"}};

}  // namespace

BlockTable block_table(BlockKind kind) {
    switch (kind) {
        case BlockKind::kInputEmbedding:
            return {kInputEmbedding, kEmbeddingUpdates};
        case BlockKind::kOutputEmbedding:
            return {kOutputEmbedding, kEmbeddingUpdates};
        case BlockKind::kAttention:
            return attention_table();
        case BlockKind::kFeedForward:
            break;
    }
    return feed_forward_table();
}

}  // namespace dse::workload
