#include "answers/explorer/plan_explorer.hpp"

#include <array>
#include <unordered_map>
#include <utility>

#include "base/error.hpp"
#include "inputs/files/json.hpp"

namespace dse::explorer {

namespace {

using config::JsonValue;

const JsonValue& part_of(const JsonValue& object, std::string_view key) {
    const JsonValue* found = object.find(key);
    if (found == nullptr) throw InputError("the request has no " + std::string(key));
    return *found;
}

prediction::BatchSource source_of(const JsonValue& request) {
    std::unordered_map<std::string, std::string> frameworks;
    for (const config::JsonMember& each : part_of(request, "frameworks").members)
        frameworks.emplace(each.key, to_text(each.value));
    prediction::BatchSource source;
    source.framework = [frameworks](const std::string& name) {
        const auto found = frameworks.find(name);
        if (found == frameworks.end()) throw InputError("framework is '" + name + "'; this page lacks it");
        return found->second;
    };
    source.schedule = [](const std::string& name) -> prediction::Schedule {
        throw InputError("schedule is '" + name + "'; a page has only those of the engine");
    };
    source.synthesizer = [](const std::vector<prediction::Leg>&) -> std::vector<prediction::ScheduleTimes> {
        throw InputError("collectives are synthesized; a page makes none: python -m dse sweep does");
    };
    return source;
}

std::vector<prediction::Precision> precisions_of(const JsonValue& request) {
    std::vector<prediction::Precision> found;
    for (const JsonValue& each : part_of(request, "precisions").items) {
        found.push_back({each.items.at(0).text, each.items.at(1).text, std::stoll(each.items.at(2).text)});
    }
    return found;
}

}  // namespace

PlanExplorer::PlanExplorer(std::string_view text) {
    const JsonValue request = config::parse_json_object(text, "the request");
    model_ = prediction::model_of_json(to_text(part_of(request, "model")));
    cluster_ = prediction::cluster_of_json(to_text(part_of(request, "cluster")));
    for (const JsonValue& each : part_of(request, "texts").items) texts_.push_back(each.text);
    predictor_ = std::make_unique<prediction::Predictor>(precisions_of(request), source_of(request));
}

const std::vector<double>& PlanExplorer::predict(std::span<const std::int64_t> plans) {
    const std::size_t count = plans.size() / prediction::kPlanColumns.size();
    const std::array<const prediction::Model*, 1> models = {&model_};
    const std::array<const prediction::Cluster*, 1> clusters = {&cluster_};
    const std::vector<std::int32_t> first(count, 0);
    std::vector<double> own;
    for (std::size_t i = 0; i < count; ++i) own.insert(own.end(), {-1.0, -1.0, 0.0});
    const prediction::Cases cases{models, clusters, first, first, plans, own, texts_};
    const prediction::Predictions found = predictor_->predict(cases, 1, false, &shared_);
    figures_.clear();
    for (std::size_t i = 0; i < count; ++i) {
        const auto add = [&](const std::vector<double>& table, std::size_t columns) {
            const auto begin = table.begin() + static_cast<std::ptrdiff_t>(i * columns);
            figures_.insert(figures_.end(), begin, begin + static_cast<std::ptrdiff_t>(columns));
        };
        add(found.parts_s, prediction::kStepParts);
        add(found.memory_bytes, prediction::kCategories);
        figures_.push_back(found.bubble_share[i]);
        figures_.push_back(static_cast<double>(found.reason_of[i]));
    }
    reasons_ = found.reasons;
    return figures_;
}

}  // namespace dse::explorer
