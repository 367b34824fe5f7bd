// Reads what is asked of a run from its record.
#include "prediction/runs/asked.hpp"

#include "prediction/inputs/record.hpp"

namespace dse::prediction::runs {

namespace {

Unit unit_of(std::string_view name) {
    constexpr std::array<std::string_view, 7> kNames = {"npu",           "node", "nic", "job",
                                                        "nvlink-domain", "rack", "rail"};
    for (std::size_t i = 0; i < kNames.size(); ++i) {
        if (kNames[i] == name) return static_cast<Unit>(i);
    }
    throw InputError("run record: no unit " + std::string(name));
}

Reliability reliability_of(const Record& record) {
    Reliability found;
    found.restart_s = record.number("restart_s");
    found.repair_s = record.number("repair_s");
    found.low = record.number("low");
    found.high = record.number("high");
    for (const config::JsonMember& each : record.at("domains").members) {
        const auto place =
            static_cast<std::size_t>(unit_of(each.key)) - static_cast<std::size_t>(Unit::kNvlinkDomain);
        found.domains.at(place) = std::stoll(each.value.text);
    }
    for (const config::JsonValue& value : record.list("components")) {
        const Record own(value);
        const std::string& unit = own.text("unit");
        found.components.push_back({own.text("name"), unit, unit_of(unit), own.number("per_second"),
                                    own.number("recovery_s"), own.flag("takes_node"),
                                    own.flag("is_counted")});
    }
    return found;
}

Store store_of(const Record& record) {
    const std::string& place = record.text("place");
    return {record.number("total_gbps"),
            record.number("node_gbps"),
            record.text("kind") == "sync",
            place == "peer"    ? Place::kPeer
            : place == "local" ? Place::kLocal
                               : Place::kStorage,
            optional_number(record, "near_gbps"),
            record.integer("every")};
}

}  // namespace

Asked asked_of_json(std::string_view text) {
    const config::JsonValue parsed = config::parse_json_object(text, "run");
    const Record record(parsed);
    Asked found;
    found.reliability = reliability_of(record.inner("reliability"));
    found.store = store_of(record.inner("store"));
    found.interval_s = optional_number(record, "interval_s");
    found.reconfigure_s = optional_number(record, "reconfigure_s");
    if (record.has("spares")) found.spares = record.integer("spares");
    found.spares_share = record.number("spares_share");
    found.stop_share = record.number("stop_share");
    const std::string& elastic = record.text("elastic");
    found.elastic = elastic == "shrink" ? Elastic::kShrink
                    : elastic == "best" ? Elastic::kBest
                                        : Elastic::kWait;
    const Record facility = record.inner("facility");
    found.facility = {facility.number("host_w"), facility.number("pue"), facility.flag("at_limit")};
    return found;
}

}  // namespace dse::prediction::runs
