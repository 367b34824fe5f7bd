// A block's operators compiled for one model and strategy: sizes, counts and collectives resolved once.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "workload/block_tables.hpp"
#include "workload/symbols.hpp"

namespace dse::workload {

/// Codes of the collectives in the wire format.
enum class CollectiveType : std::uint8_t {
    kAllReduce = 0,
    kAllGather = 2,
    kBroadcast = 5,
    kAllToAll = 6,
    kReduceScatter = 7,
};

/// What decides the shape of a generated graph.
struct StrategySpec {
    std::int64_t dp = 1, tp = 1, sp = 1, pp = 1;
    bool weight_sharded = false;
    bool activation_recompute = false;

    std::int64_t degree(Axis axis) const {
        return axis == Axis::kData ? dp : axis == Axis::kTensor ? tp : sp;
    }
    std::int64_t lanes() const { return dp * tp * sp; }
};

/// A collective on one operand, over the group of an axis.
struct OperandCollective {
    Axis axis;
    CollectiveType type;
};

/// A collective chain on an operand; all carry the size of the producer's result.
struct CollectiveChain {
    std::vector<OperandCollective> collectives;
    double bytes = 0.0;
};

/// One operator of a block. Operands are indices into the same template, -1 for none.
struct OperatorTemplate {
    std::string_view name;
    OperatorKind kind = OperatorKind::kSource;
    int operand1 = -1;
    int operand2 = -1;
    int waits_for = -1;
    Layout result;
    Layout partial;  ///< dimensions over which the result is an incomplete sum
    double result_size = 0.0;
    double num_ops = 0.0;
    double tensor_size = 0.0;
    CollectiveChain chain1;
    CollectiveChain chain2;

    /// T, I and S operators leave no compute node.
    bool computes() const {
        return kind != OperatorKind::kSource && kind != OperatorKind::kAlias && kind != OperatorKind::kShadow;
    }
};

struct BlockTemplate {
    std::vector<OperatorTemplate> operators;
    std::vector<OperatorTemplate> updates;  ///< operands index `operators`

    int find(std::string_view name) const;
};

/// Compiles blocks for one model and strategy.
class BlockCompiler {
public:
    BlockCompiler(const SymbolValues& values, const StrategySpec& strategy);

    BlockTemplate compile(BlockKind kind) const;

    /// The collectives that turn `producer`'s result into what a consumer wants (spec, section 8).
    CollectiveChain chain(const OperatorTemplate& producer, Layout wanted) const;

private:
    struct Placement;
    Placement place(Layout layout, Layout partial) const;
    OperatorTemplate compile_row(const OperatorRow& row, const BlockTemplate& block) const;
    OperatorTemplate compile_update(const UpdateRow& row, const BlockTemplate& block) const;
    double size(Layout layout) const;

    SymbolValues values_;
    StrategySpec strategy_;
};

}  // namespace dse::workload
