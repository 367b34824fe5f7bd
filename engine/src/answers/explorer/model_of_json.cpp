// The rules of dse/inputs/models/spec.py, and the repairs of dse/inputs/models/fidelity.py.
#include <array>
#include <utility>
#include <vector>

#include "answers/explorer/fields.hpp"
#include "answers/explorer/model.hpp"
#include "base/error.hpp"

namespace dse::explorer {

namespace {

using workload::Fidelity;
using workload::ModelSpec;
using workload::Recompute;
using workload::StrategySpec;

constexpr std::array<std::string_view, 23> kModelKeys = {
    "name",       "input_dim",       "output_dim",      "d_model",           "d_ff",      "num_heads",
    "seq_len",    "batch_size",      "num_layers",      "num_kv_heads",      "gated_mlp", "micro_batches",
    "fidelity",   "repairs",         "head_dim",        "experts",           "biases",    "latent_attention",
    "qkv_biases", "query_key_norms", "tied_embeddings", "learned_positions", "dropout"};
constexpr std::pair<std::string_view, std::int64_t ModelSpec::*> kDimensions[] = {
    {"input_dim", &ModelSpec::input_dim},   {"output_dim", &ModelSpec::output_dim},
    {"d_model", &ModelSpec::d_model},       {"d_ff", &ModelSpec::d_ff},
    {"num_heads", &ModelSpec::num_heads},   {"seq_len", &ModelSpec::seq_len},
    {"batch_size", &ModelSpec::batch_size}, {"num_layers", &ModelSpec::num_layers}};
constexpr std::pair<std::string_view, bool Fidelity::*> kSwitches[] = {
    {"multiply_add_as_two", &Fidelity::multiply_add_as_two},
    {"block_shapes", &Fidelity::block_shapes},
    {"output_projection", &Fidelity::output_projection},
    {"nonlinear_operators", &Fidelity::nonlinear_operators},
    {"loss", &Fidelity::loss},
    {"embedding_lookup", &Fidelity::embedding_lookup},
    {"no_input_gradient", &Fidelity::no_input_gradient},
    {"optimizer_state", &Fidelity::optimizer_state},
    {"consistent_sharding", &Fidelity::consistent_sharding},
    {"just_in_time_gathers", &Fidelity::just_in_time_gathers},
    {"shared_gathers", &Fidelity::shared_gathers},
    {"contiguous_stages", &Fidelity::contiguous_stages}};
constexpr std::array<std::string_view, 3> kRecomputes = {"stage", "selective", "full"};
constexpr std::array<std::string_view, 2> kFidelities = {"stage", "realistic"};
constexpr std::int64_t kMostLayers = 10'000;
constexpr std::int64_t kMostInstances = 200'000;

std::vector<std::string_view> repair_keys() {
    std::vector<std::string_view> keys = {"bytes_per_element", "recompute"};
    for (const auto& [key, member] : kSwitches) keys.push_back(key);
    return keys;
}

/// The repairs that a fidelity has where nothing else is said.
Fidelity fidelity_of(bool is_realistic) {
    Fidelity fidelity;
    if (!is_realistic) return fidelity;
    fidelity.bytes_per_element = 2;
    fidelity.recompute = Recompute::kSelective;
    for (const auto& [key, member] : kSwitches) fidelity.*member = true;
    return fidelity;
}

void repair(Fidelity& fidelity, const Fields& repairs) {
    if (repairs.has("bytes_per_element"))
        fidelity.bytes_per_element = repairs.integer("bytes_per_element", 1, 8);
    for (const auto& [key, member] : kSwitches) {
        if (repairs.has(key)) fidelity.*member = repairs.flag_or(key, false);
    }
    if (repairs.has("recompute")) {
        const std::string name = repairs.choice_or("recompute", "", kRecomputes);
        fidelity.recompute = name == "full"        ? Recompute::kFull
                             : name == "selective" ? Recompute::kSelective
                                                   : Recompute::kStage;
    }
}

bool is_reference(const Fidelity& fidelity) {
    bool is_repaired = fidelity.bytes_per_element != 1 || fidelity.recompute != Recompute::kStage;
    for (const auto& [key, member] : kSwitches) is_repaired = is_repaired || fidelity.*member;
    return !is_repaired;
}

void refuse_untraceable(const Fields& fields, const Model& model) {
    std::string named;
    const auto name = [&](std::string_view key) {
        if (!named.empty()) named += " and ";
        named += fields.path_of(key);
    };
    for (const std::string_view key : {"experts", "latent_attention"}) {
        if (fields.has(key)) name(key);
    }
    const ModelSpec& spec = model.spec;
    const bool divides = spec.d_model % spec.num_heads == 0;
    if (fields.has("head_dim") &&
        (fields.integer("head_dim", 1, kMostOfInt64) != spec.d_model / spec.num_heads || !divides)) {
        name("head_dim");
    }
    if (named.empty()) return;
    throw InputError("model " + model.name + " has " + named +
                     ", which no execution trace can show; only predictions can, and those are not made in "
                     "a page: python -m dse sweep makes them, with model.fidelity=realistic on a cluster");
}

void check_layers_and_batch(const Fields& fields, const Model& model, const Fidelity& fidelity) {
    const ModelSpec& spec = model.spec;
    if (spec.num_layers < 2) {
        fields.fail("num_layers",
                    "is 1; it must be at least 2: with a single layer the output embedding is left "
                    "unconnected, and the backward pass starts on its own");
    }
    if (spec.num_layers > kMostLayers) {
        fields.fail("num_layers", "is " + std::to_string(spec.num_layers) + "; at most " +
                                      std::to_string(kMostLayers) + " are allowed");
    }
    if (model.micro_batches == 0) return;
    const std::string got = "is " + std::to_string(model.micro_batches) + "; ";
    if (model.micro_batches > kMostInstances / spec.num_layers) {
        fields.fail("micro_batches", got + "with " + std::to_string(spec.num_layers) + " layers at most " +
                                         std::to_string(kMostInstances / spec.num_layers) + " are allowed");
    }
    if (spec.batch_size % model.micro_batches != 0) {
        fields.fail("micro_batches",
                    got + "it must divide model.batch_size, " + std::to_string(spec.batch_size));
    }
    if (model.micro_batches > 1 && !fidelity.contiguous_stages) {
        fields.fail("micro_batches", got +
                                         "with stages that go round robin it must be 1: write "
                                         "model.fidelity=realistic or model.repairs.contiguous_stages=true "
                                         "too");
    }
}

}  // namespace

Model model_of_json(const config::JsonValue& object) {
    std::vector<std::string_view> known(kModelKeys.begin(), kModelKeys.end());
    known.push_back("prediction_layers");
    const Fields fields(object, "model", known);
    Model model;
    model.name = fields.text("name");
    if (model.name.empty()) {
        throw InputError("model.name is empty; it must name the model, for example llama70b");
    }
    for (const auto& [key, member] : kDimensions) model.spec.*member = fields.integer(key, 1, kMostOfInt64);
    std::int64_t kv_heads = 0;
    if (fields.has("num_kv_heads")) kv_heads = fields.integer("num_kv_heads", 1, kMostOfInt64);
    if (fields.has("micro_batches")) model.micro_batches = fields.integer("micro_batches", 1, kMostOfInt64);
    if (kv_heads > 0 && model.spec.num_heads % kv_heads != 0) {
        fields.fail("num_kv_heads", "is " + std::to_string(kv_heads) + "; it must divide model.num_heads, " +
                                        std::to_string(model.spec.num_heads));
    }
    model.is_realistic = fields.choice_or("fidelity", "stage", kFidelities) == "realistic";
    const bool gated = fields.flag_or("gated_mlp", false);
    for (const std::string_view key :
         {"tied_embeddings", "biases", "qkv_biases", "query_key_norms", "dropout"})
        fields.flag_or(key, false);
    Fidelity fidelity = fidelity_of(model.is_realistic);
    if (const config::JsonValue* const repairs = fields.find("repairs"))
        repair(fidelity, Fields(*repairs, "model.repairs", repair_keys()));
    check_layers_and_batch(fields, model, fidelity);
    refuse_untraceable(fields, model);
    if (fields.integer_or("prediction_layers", 0, 0, kMostLayers) > 0) {
        fields.fail("prediction_layers", "is above 0, which no execution trace can show; it must be 0 here");
    }
    if (is_reference(fidelity)) return model;
    model.spec.gated_mlp = gated;
    model.spec.num_kv_heads = fidelity.block_shapes && kv_heads > 0 ? kv_heads : model.spec.num_heads;
    model.spec.fidelity = fidelity;
    return model;
}

std::int64_t Model::micro_batches_on(const StrategySpec& strategy) const {
    if (micro_batches > 0) return micro_batches;
    if (!is_realistic || strategy.pp == 1 || !spec.fidelity.contiguous_stages) return 1;
    const bool divides = spec.batch_size % strategy.dp == 0;
    const std::int64_t batch = divides ? spec.batch_size / strategy.dp : spec.batch_size;
    std::int64_t count = 4 * strategy.pp;
    while (batch % count != 0) --count;
    return count;
}

ModelSpec Model::under(const StrategySpec& strategy) const {
    ModelSpec model = spec;
    model.fidelity.micro_batches = micro_batches_on(strategy);
    return model;
}

}  // namespace dse::explorer
