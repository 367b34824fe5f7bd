// A recording as JSON, by columns: objects for each node would take three times the room.
#include <charconv>
#include <cmath>
#include <cstdio>
#include <string_view>

#include "answers/explorer/rows.hpp"

namespace dse::explorer {

namespace {

using simulator::RankRecording;
using simulator::RecordedGroup;
using simulator::RecordedNode;
using simulator::RecordedTensor;
using workload::StrategySpec;

class Writer {
public:
    explicit Writer(std::string& out) : out_(out) {}

    void raw(std::string_view text) { out_ += text; }

    void value(std::string_view text) {
        out_ += '"';
        for (const char c : text) {
            const auto byte = static_cast<unsigned char>(c);
            if (c == '"' || c == '\\') out_ += '\\';
            if (byte < 0x20) {
                char escaped[8];
                std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(byte));
                out_ += escaped;
            } else {
                out_ += c;
            }
        }
        out_ += '"';
    }

    void value(bool flag) { out_ += flag ? '1' : '0'; }

    void value(double number) {
        constexpr double kExact = 9007199254740992.0;  // 2^53
        if (std::abs(number) <= kExact && number == std::floor(number)) {
            value(static_cast<std::int64_t>(number));
            return;
        }
        char digits[40];
        std::snprintf(digits, sizeof digits, "%.17g", number);
        out_ += digits;
    }

    template <typename Integer>
    void value(Integer number) {
        char digits[24];
        out_.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
    }

    template <typename Items, typename Get>
    void list(const Items& items, Get get) {
        out_ += '[';
        bool first = true;
        for (const auto& item : items) {
            if (!first) out_ += ',';
            first = false;
            write(get(item));
        }
        out_ += ']';
    }

    template <typename Items, typename Get>
    void column(std::string_view name, const Items& items, Get get) {
        if (out_.back() != '{') out_ += ',';
        value(name);
        out_ += ':';
        list(items, get);
    }

private:
    template <typename Value>
    void write(const Value& each) {
        value(each);
    }
    void write(const std::string& each) { value(std::string_view(each)); }
    void write(const std::vector<std::uint32_t>& each) {
        list(each, [](std::uint32_t item) { return item; });
    }

    std::string& out_;
};

void write_nodes(Writer& to, const std::vector<RecordedNode>& nodes) {
    const auto column = [&](std::string_view name, auto member) {
        to.column(name, nodes, [member](const RecordedNode& node) -> const auto& { return node.*member; });
    };
    column("node", &RecordedNode::node);
    column("name", &RecordedNode::name);
    column("kind", &RecordedNode::kind);
    column("bound", &RecordedNode::bound);
    column("on_cpu", &RecordedNode::on_cpu);
    column("start_ns", &RecordedNode::start_ns);
    column("end_ns", &RecordedNode::end_ns);
    column("bytes", &RecordedNode::bytes);
    column("num_ops", &RecordedNode::num_ops);
    column("group", &RecordedNode::group);
    column("peer", &RecordedNode::peer);
    column("peer_node", &RecordedNode::peer_node);
    column("message_ns", &RecordedNode::message_ns);
    column("parents", &RecordedNode::parents);
}

void write_tensors(Writer& to, const std::vector<RecordedTensor>& tensors) {
    const auto column = [&](std::string_view name, auto member) {
        to.column(name, tensors,
                  [member](const RecordedTensor& tensor) -> const auto& { return tensor.*member; });
    };
    column("name", &RecordedTensor::name);
    column("bytes", &RecordedTensor::bytes);
    column("birth_ns", &RecordedTensor::birth_ns);
    column("death_ns", &RecordedTensor::death_ns);
    column("external", &RecordedTensor::external);
}

/// Groups are numbered from 1, axis by axis; null for one that no axis has.
std::string_view axis_of(const RecordedGroup& group, const StrategySpec& strategy) {
    std::int64_t number = 0;
    const char* const end = group.name.data() + group.name.size();
    const auto [stop, error] = std::from_chars(group.name.data(), end, number);
    if (group.name.empty() || error != std::errc{} || stop != end) return "";
    const std::int64_t ranks = strategy.lanes() * strategy.pp;
    const std::size_t members =
        group.members.empty() ? static_cast<std::size_t>(ranks) : group.members.size();
    for (std::size_t i = 0; i < workload::kAxes.size(); ++i) {
        const std::int64_t degree = strategy.degree(workload::kAxes[i]);
        const std::int64_t groups = ranks / degree;
        if (number >= 1 && number <= groups)
            return members == static_cast<std::size_t>(degree) ? StrategySpec::kDegrees[i].name : "";
        number -= groups;
    }
    return "";
}

void write_group(Writer& to, const RecordedGroup& group, const StrategySpec& strategy) {
    to.raw(R"({"name":)");
    to.value(std::string_view(group.name));
    to.raw(R"(,"members":)");
    to.list(group.members, [](std::uint32_t member) { return member; });
    to.raw(group.by_dimension ? R"(,"by_dimension":true,"axis":)" : R"(,"by_dimension":false,"axis":)");
    const std::string_view axis = group.by_dimension ? "" : axis_of(group, strategy);
    if (axis.empty()) {
        to.raw("null}");
    } else {
        to.value(axis);
        to.raw("}");
    }
}

}  // namespace

std::string recording_json(const simulator::Recording& recording, const StrategySpec& strategy) {
    std::string json;
    Writer to(json);
    to.raw(R"({"ranks":[)");
    for (std::size_t i = 0; i < recording.ranks.size(); ++i) {
        const RankRecording& rank = recording.ranks[i];
        to.raw(i == 0 ? R"({"rank":)" : R"(,{"rank":)");
        to.value(rank.rank);
        to.raw(R"(,"nodes":{)");
        write_nodes(to, rank.nodes);
        to.raw(R"(},"tensors":{)");
        write_tensors(to, rank.tensors);
        to.raw("}}");
    }
    to.raw(R"(],"groups":[)");
    for (std::size_t i = 0; i < recording.groups.size(); ++i) {
        if (i > 0) to.raw(",");
        write_group(to, recording.groups[i], strategy);
    }
    to.raw("]}");
    return json;
}

}  // namespace dse::explorer
