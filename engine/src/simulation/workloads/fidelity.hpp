// The repairs of the reference's model in a generated workload (docs/workload.md, "Fidelity").
#pragma once

#include <cstdint>

namespace dse::workload {

/// The operators that activation recompute computes again.
enum class Recompute : std::uint8_t {
    kStage,      ///< q, k, v, the attention scores and the first feed-forward product, as the reference does
    kSelective,  ///< the attention scores only (Korthikanti et al. 2022, section 5)
    kFull,       ///< the whole layer, from its input
};

/// Every switch off, and one of everything: the reference, bit for bit.
struct Fidelity {
    std::int64_t bytes_per_element = 1;
    std::int64_t micro_batches = 1;
    bool multiply_add_as_two = false;
    bool block_shapes = false;  ///< grouped-query attention and gated feed-forward, if the model has them
    bool output_projection = false;     ///< of attention
    bool nonlinear_operators = false;   ///< softmax, dropout, activation; a norm's backward reads its input
    bool loss = false;                  ///< a softmax of the logits
    bool embedding_lookup = false;      ///< the input embedding is a table
    bool no_input_gradient = false;     ///< of the network's input
    bool optimizer_state = false;       ///< Adam in mixed precision, after the backward pass
    bool consistent_sharding = false;   ///< what is sharded over dp and sp is gathered over dp and sp
    bool just_in_time_gathers = false;  ///< FSDP gathers one block ahead, into memory that is freed after use
    bool shared_gathers = false;        ///< operands that several operators want gathered are gathered once
    bool contiguous_stages = false;     ///< neighbouring layers share a stage, 1F1B order of micro-batches
    Recompute recompute = Recompute::kStage;
};

}  // namespace dse::workload
