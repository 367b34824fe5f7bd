// The operators of a transformer block as tables, with the rows of every repair.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "simulation/workloads/symbols.hpp"

namespace dse::workload {

enum class OperatorKind : std::uint8_t {
    kSource,       ///< T: weight, external input or unconnected input
    kAlias,        ///< I: another name of operand 1
    kContraction,  ///< M: product of two operands, partial over the contracted dimensions
    kSum,          ///< A: one operation an element; of partial operands if it has contracted dimensions
    kReshape,      ///< R: operand 2's layout column is the target layout
    kElementwise,  ///< E: 5 operations an element
    kShadow,       ///< S: stand-in of another stage's tensor
    kBuffer,       ///< G: what the collectives on operand 1 yield, kept in memory for all its readers
    kSideResult,   ///< D: second result of the row before it, such as a dropout mask
    kLookup,       ///< L: rows of operand 2 that operand 1 names
    kScatter,      ///< X: rows of operand 1 added to where operand 2 says
};

/// Sources, other names of a tensor, and buffers that collectives fill are not computed.
constexpr bool leaves_compute_node(OperatorKind kind) {
    switch (kind) {
        case OperatorKind::kSource:
        case OperatorKind::kAlias:
        case OperatorKind::kShadow:
        case OperatorKind::kBuffer:
        case OperatorKind::kSideResult:
            return false;
        default:
            return true;
    }
}

/// The switches of the tables that a model, a strategy and its fidelity set.
using Features = std::uint32_t;
inline constexpr Features kShardedWeights = 1U << 0U;            ///< FSDP
inline constexpr Features kStageRecomputeReplicated = 1U << 1U;  ///< the reference's recompute without FSDP
inline constexpr Features kStageRecomputeSharded = 1U << 2U;     ///< and with FSDP
inline constexpr Features kSelectiveRecompute = 1U << 3U;
inline constexpr Features kFullRecompute = 1U << 4U;
inline constexpr Features kGated = 1U << 5U;
inline constexpr Features kProjection = 1U << 6U;
inline constexpr Features kNonlinear = 1U << 7U;
inline constexpr Features kLoss = 1U << 8U;
inline constexpr Features kEmbeddingTable = 1U << 9U;
inline constexpr Features kNoInputGradient = 1U << 10U;
inline constexpr Features kOptimizer = 1U << 11U;
inline constexpr Features kJustInTime = 1U << 12U;
inline constexpr Features kShared = 1U << 13U;
inline constexpr Features kStageRecompute = kStageRecomputeReplicated | kStageRecomputeSharded;
inline constexpr Features kAnyRecompute = kStageRecompute | kSelectiveRecompute | kFullRecompute;

/// In which variants of a block a row exists. Without all of `all_of` the row's name stands for its operand
/// 1; without any of `any_of`, or with one of `none_of`, there is no such name.
struct When {
    Features all_of = 0;
    Features any_of = 0;
    Features none_of = 0;
};

/// One row. A name with a trailing ' means: the `_recomp` operator, if there is one.
struct OperatorRow {
    std::string_view name;
    OperatorKind kind;
    std::string_view operand1 = {};
    Layout wanted1 = {};
    std::string_view operand2 = {};
    Layout wanted2 = {};
    Layout result = {};
    Layout contracted = {};
    Layout sharded_result = {};  ///< layout of a stored weight under FSDP
    When when = {};
    std::string_view waits_for = {};  ///< control dependency
    double element_bytes = 0.0;       ///< 0: the model's
};

/// A weight and its gradient, updated at the end of the step; the names of what repairs put between them.
struct UpdateRow {
    std::string_view weight;
    std::string_view gradient;
    std::string_view state;    ///< of the optimiser
    std::string_view sum;      ///< of the gradients of the micro-batches so far
    std::string_view reduced;  ///< the sum over all ranks
};

enum class BlockKind : std::uint8_t { kInputEmbedding, kOutputEmbedding, kAttention, kFeedForward };

struct BlockTable {
    std::span<const OperatorRow> operators;
    std::span<const UpdateRow> updates;
};

BlockTable block_table(BlockKind kind);

/// The short names that tables use for kinds and for conditions.
namespace kinds {
inline constexpr auto T = OperatorKind::kSource;
inline constexpr auto I = OperatorKind::kAlias;
inline constexpr auto M = OperatorKind::kContraction;
inline constexpr auto A = OperatorKind::kSum;
inline constexpr auto R = OperatorKind::kReshape;
inline constexpr auto E = OperatorKind::kElementwise;
inline constexpr auto G = OperatorKind::kBuffer;
inline constexpr auto D = OperatorKind::kSideResult;
inline constexpr auto L = OperatorKind::kLookup;
inline constexpr auto X = OperatorKind::kScatter;
inline constexpr When kStageRec = {.any_of = kStageRecompute};
inline constexpr When kFullRec = {.any_of = kFullRecompute};
inline constexpr When kNonlinearFullRec = {.all_of = kNonlinear, .any_of = kFullRecompute};
inline constexpr When kIsNonlinear = {.all_of = kNonlinear};
inline constexpr When kGathersJustInTime = {.any_of = kJustInTime};
inline constexpr When kGathered = {.all_of = kJustInTime};
inline constexpr When kScattered = {.all_of = kOptimizer | kShardedWeights};
inline constexpr When kGathersOnce = {.all_of = kShared};
inline constexpr When kSharedAgain = {.all_of = kShared, .none_of = kFullRecompute};
inline constexpr When kSharedFullRec = {.all_of = kShared, .any_of = kFullRecompute};
/// A mask that recompute makes again is not written in the forward pass: it would not be read.
inline constexpr When kMasks = {.all_of = kNonlinear, .none_of = kFullRecompute};
}  // namespace kinds

BlockTable attention_table();
BlockTable feed_forward_table();

}  // namespace dse::workload
