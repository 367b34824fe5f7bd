// Parsing the parts, and refusing what is not simulated.
#include "answers/explorer/request.hpp"

#include <array>
#include <utility>

#include "answers/explorer/fields.hpp"
#include "base/error.hpp"

namespace dse::explorer {

namespace {

using config::JsonValue;
using workload::StrategySpec;

constexpr std::array<std::string_view, 5> kRequestKeys = {"model", "system", "divisibility", "strategies",
                                                          "method"};
constexpr std::array<std::string_view, 3> kDivisibilities = {"stage", "whole", "strict"};
constexpr std::array<std::string_view, 2> kMethods = {"auto", "general"};

std::vector<std::string_view> strategy_keys() {
    std::vector<std::string_view> keys;
    for (const auto& [name, member] : StrategySpec::kDegrees) keys.emplace_back(name);
    for (const auto& [name, member] : StrategySpec::kFlags) keys.emplace_back(name);
    return keys;
}

StrategySpec strategy_of(const JsonValue& object, Names keys) {
    const Fields fields(object, "strategy", keys);
    StrategySpec strategy;
    for (const auto& [name, member] : StrategySpec::kDegrees)
        strategy.*member = fields.integer_or(name, 1, -kMostOfInt32);  // one below 1 is a row with a reason
    for (const auto& [name, member] : StrategySpec::kFlags) strategy.*member = fields.flag_or(name, false);
    return strategy;
}

const JsonValue& member_of(const JsonValue& request, std::string_view key) {
    const JsonValue* const value = request.find(key);
    if (value == nullptr) throw InputError("the request has no " + std::string(key));
    return *value;
}

}  // namespace

Request request_of_json(std::string_view text) {
    const JsonValue object = config::parse_json_object(text, "the request");
    const Fields fields(object, "request", kRequestKeys);
    Request request;
    request.model = model_of_json(member_of(object, "model"));
    request.model_text = to_text(member_of(object, "model"));
    request.system = system_of_json(member_of(object, "system"));
    if (request.system.is_cluster && request.model.is_realistic) {
        throw InputError(
            "model.fidelity is 'realistic' on a cluster of accelerators, which is predicted; predictions are "
            "not made in a page: python -m dse sweep makes them, and model.fidelity=stage is simulated here");
    }
    if (request.system.leaves_order_open && request.model.is_realistic)
        request.system.config.issue_order = simulator::IssueOrder::kSafe;
    const std::string_view usual = request.model.is_realistic ? "whole" : "stage";
    const std::string divisibility = fields.has("divisibility")
                                         ? fields.choice_or("divisibility", usual, kDivisibilities)
                                         : std::string(usual);
    request.divisibility = divisibility == "strict"  ? Divisibility::kStrict
                           : divisibility == "whole" ? Divisibility::kWhole
                                                     : Divisibility::kStage;
    const std::vector<std::string_view> keys = strategy_keys();
    for (const JsonValue& strategy : fields.list("strategies"))
        request.strategies.push_back(strategy_of(strategy, keys));
    if (fields.choice_or("method", "auto", kMethods) == "general")
        request.method = simulator::Method::kGeneral;
    return request;
}

}  // namespace dse::explorer
