// A model as predictions of steps take it: its sizes, and the matrices of each kind of layer.
//
// dse/prediction/steps/native_inputs.py writes these records; what a model is stays with dse/inputs/models.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dse::prediction {

enum class Mixer : std::uint8_t { kNone, kAttention, kWindow, kStateSpace };
enum class FeedForward : std::uint8_t { kNone, kDense, kExperts };
enum class Part : std::uint8_t {
    kAttention,
    kIndexer,
    kStateSpace,
    kFeedForward,
    kRouter,
    kExperts,
    kSharedExperts,
    kProjection
};
constexpr std::size_t kMixers = 4, kFeedForwards = 3, kParts = 8, kMatrixNames = 6;
/// The matrices that a rule names; kOther are all others.
enum class MatrixName : std::uint8_t { kOther, kQuery, kKey, kValue, kUpProjection, kDown };

/// `count` equal matrices; `is_row_split`: tensor parallelism splits the inputs, `is_whole`: neither side.
struct Matrix {
    MatrixName name = MatrixName::kOther;
    Part part = Part::kAttention;
    std::int64_t inputs = 0, outputs = 0, count = 1;
    bool has_bias = false, is_row_split = false, is_whole = false, is_adapted = false;
    std::int64_t shape = 0;  ///< matrices of one part and name have the same number in all kinds of layers

    double weights() const { return static_cast<double>(count * inputs * outputs); }
    double biases() const { return has_bias ? static_cast<double>(count * outputs) : 0.0; }
};

/// Parameters of a matrix of an adapter; split over tensor parallelism, or over experts, or whole.
struct AdapterMatrix {
    bool is_of_experts = false, is_split = false;
    double weights = 0.0;
};

struct LayerKind {
    Mixer mixer = Mixer::kNone;
    FeedForward feed_forward = FeedForward::kNone;
    bool is_prediction = false;
    double mean_keys = 0.0;
    double vectors = 0.0, norms = 0.0;  ///< parameters
    std::vector<Matrix> matrices;
    std::vector<AdapterMatrix> adapters;

    bool has(Part part) const {
        for (const Matrix& matrix : matrices) {
            if (matrix.part == part) return true;
        }
        return false;
    }
};

struct Experts {
    std::int64_t count = 0, top_k = 0, d_ff = 0, shared = 0, shared_width = 0, groups = 1, top_groups = 1;
    double imbalance = 1.0;
    std::optional<double> capacity_factor;
};
struct LatentAttention {
    std::int64_t ranks = 0;  ///< of queries, 0 without, and of keys and values together
};
struct SparseAttention {
    std::int64_t heads = 0, head_dim = 0, top_k = 0;
    double mean_keys = 0.0;  ///< that the main attention is left with
};
struct StateSpace {
    std::int64_t width = 0, conv_width = 0, heads = 0, groups = 0, state = 0;
};
struct Adapters {
    std::int64_t rank = 0;
    bool adapts_attention = false, adapts_feed_forward = false;
};

/// A run of equal layers; `kind` is an index of `Model::kinds`.
struct Run {
    std::uint32_t kind = 0;
    std::int64_t count = 0;
};

struct Model {
    std::string name;
    std::int64_t d_model = 0, d_ff = 0, num_heads = 0, key_value_heads = 0, key_width = 0, value_width = 0;
    std::int64_t seq_len = 0, batch_size = 0, num_layers = 0, input_dim = 0, output_dim = 0;
    std::int64_t prediction_layers = 0;
    double position_parameters = 0.0, final_norm_parameters = 0.0;
    bool tied_embeddings = false, gated_mlp = false, biases = false, dropout = false;
    bool post_norms = false;  ///< a norm behind each block, too
    bool query_key_norms = false;
    std::optional<Experts> experts;
    std::optional<LatentAttention> latent;
    std::optional<SparseAttention> sparse;
    std::optional<StateSpace> state_space;
    std::optional<Adapters> lora;
    std::vector<LayerKind> kinds;
    std::vector<Run> runs;  ///< in the order of the model; prediction layers stand last
};

/// Reads the record that native_inputs.py writes.
Model model_of_json(std::string_view text);

}  // namespace dse::prediction
