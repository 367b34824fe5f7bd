// A block's operators compiled for one model and strategy: sizes, counts and collectives resolved once.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "simulation/workloads/block_tables.hpp"
#include "simulation/workloads/fidelity.hpp"
#include "simulation/workloads/strategy.hpp"
#include "simulation/workloads/symbols.hpp"

namespace dse::workload {

/// Codes of the collectives in the wire format.
enum class CollectiveType : std::uint8_t {
    kAllReduce = 0,
    kAllGather = 2,
    kBroadcast = 5,
    kAllToAll = 6,
    kReduceScatter = 7,
};

/// A collective on one operand, over the group of an axis.
struct OperandCollective {
    Axis axis;
    CollectiveType type;
};

/// And with its size: shard before a gather, full buffer before a reduction.
struct SizedCollective {
    OperandCollective collective;
    double bytes;
};

/// The collectives on an operand, one after the other.
using CollectiveChain = std::vector<SizedCollective>;

/// One operator of a block. Operands are indices into the same template, -1 for none. Sizes are in bytes.
struct OperatorTemplate {
    std::string_view name = {};
    OperatorKind kind = OperatorKind::kSource;
    int operand1 = -1;
    int operand2 = -1;
    int state = -1;  ///< of the optimiser: a source that an update reads and writes
    int waits_for = -1;
    Layout result = {};
    Layout partial = {};  ///< dimensions over which the result is an incomplete sum
    double element_bytes = 1.0;
    double result_size = 0.0;
    double num_ops = 0.0;
    double tensor_size = 0.0;
    CollectiveChain chain1 = {};
    CollectiveChain chain2 = {};

    bool computes() const { return leaves_compute_node(kind); }
};

/// How a weight is updated. Operands index BlockTemplate::operators; `gradient` is that of one micro-batch.
struct UpdateTemplate {
    int gradient = -1;
    OperatorTemplate sum;      ///< of the micro-batches so far and this one
    OperatorTemplate reduced;  ///< buffer of the sum over ranks, if `reduces`
    OperatorTemplate update;
    bool reduces = false;
};

struct BlockTemplate {
    std::vector<OperatorTemplate> operators;
    std::vector<UpdateTemplate> updates;

    int find(std::string_view name) const;
};

/// The switches of the tables. `grouped` and `gated`: what the model has, if its fidelity shows it.
struct Variant {
    Fidelity fidelity;
    bool grouped = false;
    bool gated = false;

    Features features(const StrategySpec& strategy) const;
};

/// Compiles blocks for one model and strategy.
class BlockCompiler {
public:
    BlockCompiler(const SymbolValues& values, const StrategySpec& strategy, const Variant& variant);

    BlockTemplate compile(BlockKind kind) const;

    /// The collectives that turn `producer`'s result into what a consumer wants.
    CollectiveChain chain(const OperatorTemplate& producer, Layout wanted) const;

private:
    struct Placement;
    Placement place(Layout layout, Layout partial) const;
    class Names;
    OperatorTemplate compile_row(const OperatorRow& row, const BlockTemplate& block,
                                 const Names& names) const;
    void compile_sizes(const OperatorRow& row, const BlockTemplate& block, OperatorTemplate& op) const;
    UpdateTemplate compile_update(const UpdateRow& row, const Names& names, BlockTemplate& block) const;
    double size(Layout layout, double element_bytes) const;
    Layout shown(Layout layout) const;

    SymbolValues values_;
    StrategySpec strategy_;
    Variant variant_;
    Features features_;
};

}  // namespace dse::workload
