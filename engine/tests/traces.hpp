// Building and comparing execution traces.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "simulation/traces/trace_file.hpp"

namespace dse::tests {

using namespace dse::chakra;

/// Equality by content: the positions of ranges may differ.
inline bool same(const TraceFile& a, const Attribute& x, const TraceFile& b, const Attribute& y) {
    if (x.name != y.name || x.kind != y.kind) return false;
    if (x.integer != y.integer || x.real != y.real || x.text != y.text) return false;
    auto equal_ranges = [&](const auto& of_a, const auto& of_b) {
        return std::equal(of_a.begin() + x.list_begin, of_a.begin() + x.list_end, of_b.begin() + y.list_begin,
                          of_b.begin() + y.list_end);
    };
    if (x.kind == ValueKind::kStringList) return equal_ranges(a.list_items, b.list_items);
    if (x.kind == ValueKind::kBoolList) return equal_ranges(a.bool_items, b.bool_items);
    return true;
}

inline bool same(const TraceFile& a, std::span<const Attribute> x, const TraceFile& b,
                 std::span<const Attribute> y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                      [&](const Attribute& p, const Attribute& q) { return same(a, p, b, q); });
}

inline bool same(const TraceFile& a, const TraceFile& b) {
    auto same_node = [&](const Node& x, const Node& y) {
        return x.id == y.id && x.name == y.name && x.type == y.type && x.start_micros == y.start_micros &&
               x.duration_micros == y.duration_micros &&
               std::ranges::equal(a.control_deps_of(x), b.control_deps_of(y)) &&
               std::ranges::equal(a.data_deps_of(x), b.data_deps_of(y)) &&
               same(a, a.attributes_of(x), b, b.attributes_of(y));
    };
    return a.version == b.version && same(a, a.metadata, b, b.metadata) &&
           std::equal(a.nodes.begin(), a.nodes.end(), b.nodes.begin(), b.nodes.end(), same_node);
}

inline Attribute number(std::string_view name, ValueKind kind, std::int64_t value) {
    Attribute attribute;
    attribute.name = name;
    attribute.kind = kind;
    attribute.integer = value;
    return attribute;
}

inline Attribute real(std::string_view name, ValueKind kind, double value) {
    Attribute attribute = number(name, kind, 0);
    attribute.real = value;
    return attribute;
}

inline Attribute text(std::string_view name, std::string_view value) {
    Attribute attribute = number(name, ValueKind::kString, 0);
    attribute.text = value;
    return attribute;
}

template <class Item>
Attribute list(std::string_view name, ValueKind kind, std::vector<Item>& items,
               const std::vector<Item>& values) {
    Attribute attribute = number(name, kind, 0);
    attribute.list_begin = static_cast<std::uint32_t>(items.size());
    items.insert(items.end(), values.begin(), values.end());
    attribute.list_end = static_cast<std::uint32_t>(items.size());
    return attribute;
}

/// Adds a node that owns what was appended to the vectors since the last one.
inline Node& add_node(TraceFile& trace, std::uint64_t id, std::string_view name, NodeType type) {
    Node node;
    node.id = id;
    node.name = name;
    node.type = type;
    if (!trace.nodes.empty()) {
        node.control_begin = trace.nodes.back().control_end;
        node.data_begin = trace.nodes.back().data_end;
        node.attribute_begin = trace.nodes.back().attribute_end;
    }
    node.control_end = static_cast<std::uint32_t>(trace.control_deps.size());
    node.data_end = static_cast<std::uint32_t>(trace.data_deps.size());
    node.attribute_end = static_cast<std::uint32_t>(trace.attributes.size());
    return trace.nodes.emplace_back(node);
}

}  // namespace dse::tests
