// Reads the records of models, clusters and frameworks that dse/prediction/steps/native_inputs.py writes.
#include "inputs/files/json.hpp"
#include "prediction/inputs/cluster.hpp"
#include "prediction/inputs/model.hpp"
#include "prediction/inputs/record.hpp"

namespace dse::prediction {

namespace {

using config::JsonValue;

constexpr std::size_t kMostShapes = 4096;

Matrix matrix_of(const Record& record) {
    Matrix matrix;
    matrix.name = static_cast<MatrixName>(record.index("name", kMatrixNames));
    matrix.part = static_cast<Part>(record.index("part", kParts));
    matrix.inputs = record.integer("inputs");
    matrix.outputs = record.integer("outputs");
    matrix.count = record.integer("count");
    matrix.has_bias = record.flag("has_bias");
    matrix.is_row_split = record.flag("is_row_split");
    matrix.is_whole = record.flag("is_whole");
    matrix.is_adapted = record.flag("is_adapted");
    matrix.shape = static_cast<std::int64_t>(record.index("shape", kMostShapes));
    return matrix;
}

LayerKind kind_of(const Record& record) {
    LayerKind kind;
    kind.mixer = static_cast<Mixer>(record.index("mixer", kMixers));
    kind.feed_forward = static_cast<FeedForward>(record.index("feed_forward", kFeedForwards));
    kind.is_prediction = record.flag("is_prediction");
    kind.mean_keys = record.number("mean_keys");
    kind.vectors = record.number("vectors");
    kind.norms = record.number("norms");
    for (const JsonValue& matrix : record.filled("matrices"))
        kind.matrices.push_back(matrix_of(Record(matrix)));
    for (const JsonValue& value : record.list("adapters")) {
        const Record matrix(value);
        kind.adapters.push_back(
            {matrix.flag("is_of_experts"), matrix.flag("is_split"), matrix.number("weights")});
    }
    return kind;
}

Algorithm algorithm_of(std::string_view name) {
    if (name == "ring") return Algorithm::kRing;
    if (name == "tree") return Algorithm::kTree;
    if (name == "hierarchical") return Algorithm::kHierarchical;
    if (name == "in_switch") return Algorithm::kInSwitch;
    return name == "synthesized" ? Algorithm::kSynthesized : Algorithm::kAuto;
}

}  // namespace

Model model_of_json(std::string_view text) {
    const JsonValue parsed = config::parse_json_object(text, "model");
    const Record record(parsed);
    Model model;
    model.name = record.text("name");
    for (const auto& [key, member] :
         std::initializer_list<std::pair<std::string_view, std::int64_t Model::*>>{
             {"d_model", &Model::d_model},
             {"d_ff", &Model::d_ff},
             {"num_heads", &Model::num_heads},
             {"key_value_heads", &Model::key_value_heads},
             {"key_width", &Model::key_width},
             {"value_width", &Model::value_width},
             {"seq_len", &Model::seq_len},
             {"batch_size", &Model::batch_size},
             {"num_layers", &Model::num_layers},
             {"input_dim", &Model::input_dim},
             {"output_dim", &Model::output_dim},
             {"prediction_layers", &Model::prediction_layers}}) {
        model.*member = record.integer(key);
    }
    model.position_parameters = record.number("position_parameters");
    model.final_norm_parameters = record.number("final_norm_parameters");
    model.tied_embeddings = record.flag("tied_embeddings");
    model.gated_mlp = record.flag("gated_mlp");
    model.biases = record.flag("biases");
    model.dropout = record.flag("dropout");
    model.post_norms = record.flag("post_norms");
    model.query_key_norms = record.flag("query_key_norms");
    if (record.has("experts")) {
        const Record own = record.inner("experts");
        model.experts = Experts{
            own.integer("count"),      own.integer("top_k"),        own.integer("d_ff"),
            own.integer("shared"),     own.integer("shared_width"), own.integer("groups"),
            own.integer("top_groups"), own.number("imbalance"),     optional_number(own, "capacity_factor")};
    }
    if (record.has("latent")) model.latent = LatentAttention{record.inner("latent").integer("ranks")};
    if (record.has("sparse")) {
        const Record own = record.inner("sparse");
        model.sparse = SparseAttention{own.integer("heads"), own.integer("head_dim"), own.integer("top_k"),
                                       own.number("mean_keys")};
    }
    if (record.has("state_space")) {
        const Record own = record.inner("state_space");
        model.state_space = StateSpace{own.integer("width"), own.integer("conv_width"), own.integer("heads"),
                                       own.integer("groups"), own.integer("state")};
    }
    if (record.has("lora")) {
        const Record own = record.inner("lora");
        model.lora =
            Adapters{own.integer("rank"), own.flag("adapts_attention"), own.flag("adapts_feed_forward")};
    }
    for (const JsonValue& kind : record.filled("kinds")) model.kinds.push_back(kind_of(Record(kind)));
    for (const JsonValue& run : record.list("runs")) {
        const Record own(run);
        model.runs.push_back(
            {static_cast<std::uint32_t>(own.index("kind", model.kinds.size())), own.integer("count")});
    }
    return model;
}

Cluster cluster_of_json(std::string_view text) {
    const JsonValue parsed = config::parse_json_object(text, "cluster");
    const Record record(parsed);
    Cluster cluster;
    cluster.name = record.text("name");
    cluster.tensor_algorithm = algorithm_of(record.text("tensor_algorithm"));
    cluster.data_algorithm = algorithm_of(record.text("data_algorithm"));
    const Record own = record.inner("accelerator");
    Accelerator& accelerator = cluster.accelerator;
    accelerator.name = own.text("name");
    for (const config::JsonMember& peak : own.at("peak_tflops").members) {
        accelerator.peak_tflops.emplace_back(peak.key, peak.value.number);
    }
    for (const auto& [key, member] :
         std::initializer_list<std::pair<std::string_view, double Accelerator::*>>{
             {"memory_bandwidth_gbps", &Accelerator::memory_bandwidth_gbps},
             {"host_bandwidth_gbps", &Accelerator::host_bandwidth_gbps},
             {"matrix", &Accelerator::matrix},
             {"matrix_8bit", &Accelerator::matrix_8bit},
             {"matrix_4bit", &Accelerator::matrix_4bit},
             {"attention", &Accelerator::attention},
             {"memory", &Accelerator::memory},
             {"links", &Accelerator::links},
             {"launch_us", &Accelerator::launch_us}}) {
        accelerator.*member = own.number(key);
    }
    accelerator.board_power_w = optional_number(own, "board_power_w");
    for (const JsonValue& value : record.filled("tiers")) {
        const Record tier(value);
        cluster.tiers.push_back({tier.text("name"), tier.integer("npus"), tier.number("bandwidth_gbps"),
                                 tier.number("latency_us"), optional_number(tier, "in_switch_efficiency")});
    }
    if (record.has("nics")) {
        const Record nics = record.inner("nics");
        cluster.nics = Nics{static_cast<std::int64_t>(nics.index("tier", cluster.tiers.size() + 1)),
                            nics.integer("npus_each"), nics.number("bandwidth_gbps")};
    }
    return cluster;
}

Framework framework_of_json(std::string_view text) {
    const JsonValue parsed = config::parse_json_object(text, "framework");
    const Record record(parsed);
    Framework found;
    found.launch_us = record.number("launch_us");
    found.elementwise = record.number("elementwise");
    found.tp_overlap = record.number("tp_overlap");
    found.attention_factor = record.number("attention_factor");
    found.attention_factor_8bit = record.number("attention_factor_8bit");
    found.gradient_bytes = record.integer("gradient_bytes");
    const Record own = record.inner("memory");
    FrameworkMemory& memory = found.memory;
    memory.workspace_bytes = own.number("workspace_bytes");
    memory.grouped_workspace_bytes = own.number("grouped_workspace_bytes");
    memory.optimizer_bytes = own.number("optimizer_bytes");
    memory.logit_bytes = own.number("logit_bytes");
    memory.split_logit_bytes = optional_number(own, "split_logit_bytes").value_or(0.0);
    memory.live_parameters = own.number("live_parameters");
    memory.placeholder_gradients = own.flag("placeholder_gradients");
    memory.low_precision_weights = own.flag("low_precision_weights");
    memory.gathered_inputs = own.flag("gathered_inputs");
    memory.unfused = own.flag("unfused");
    memory.whole_stages = own.flag("whole_stages");
    memory.casts_in_use = own.flag("casts_in_use");
    memory.splits_residual = own.flag("splits_residual");
    const std::string selective = own.text("selective");
    if (selective == "products") memory.selective = Selective::kEverySecondProduct;
    if (selective == "elementwise") memory.selective = Selective::kProducts;
    memory.allocator_slack = own.number("allocator_slack");
    return found;
}

}  // namespace dse::prediction
