// The operators of a transformer block as tables (workload spec, section 4).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "workload/symbols.hpp"

namespace dse::workload {

enum class OperatorKind : std::uint8_t {
    kSource,       ///< T: weight, external input or unconnected input
    kAlias,        ///< I: another name of operand 1
    kContraction,  ///< M: product of two operands, partial over the contracted dimensions
    kSum,          ///< A
    kReshape,      ///< R: operand 2's layout column is the target layout
    kElementwise,  ///< E: 5 operations an element
    kShadow,       ///< S: stand-in of another stage's tensor
};

/// In which variants of a block a row exists.
enum class When : std::uint8_t { kAlways, kRecompute, kRecomputeReplicated, kRecomputeSharded };

/// One row. A name with a trailing ' means: with recompute, the `_recomp` operator.
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
    When when = When::kAlways;
    std::string_view waits_for = {};  ///< control dependency
};

/// A weight and its gradient, updated at the end of the step.
struct UpdateRow {
    std::string_view weight;
    std::string_view gradient;
};

enum class BlockKind : std::uint8_t { kInputEmbedding, kOutputEmbedding, kAttention, kFeedForward };

struct BlockTable {
    std::span<const OperatorRow> operators;
    std::span<const UpdateRow> updates;
};

BlockTable block_table(BlockKind kind);

}  // namespace dse::workload
