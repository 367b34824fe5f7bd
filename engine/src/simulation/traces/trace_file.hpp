// A Chakra execution-trace file in memory: flat vectors over one buffer, no copy of any string.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/cancellation.hpp"

namespace dse::chakra {

/// Numbers of the node types in the wire format.
enum class NodeType : std::uint32_t {
    kInvalid = 0,
    kMetadata = 1,
    kMemLoad = 2,
    kMemStore = 3,
    kCompute = 4,
    kCommSend = 5,
    kCommRecv = 6,
    kCommCollective = 7,
};

/// The type of an attribute. The number is the field number of the value in the wire format, 0 for none.
/// A limit of the reader: sint, fixed and sfixed integers become the plain kind of their width and sign;
/// bytes and lists of numbers or bytes become kNone; doc strings and unknown fields are dropped.
enum class ValueKind : std::uint8_t {
    kNone = 0,
    kDouble = 3,
    kFloat = 5,
    kInt32 = 7,
    kInt64 = 9,
    kUint32 = 11,
    kUint64 = 13,
    kBool = 27,
    kBoolList = 28,
    kString = 29,
    kStringList = 30,
};

/// One named value of a node. Lists are a range of TraceFile::list_items or TraceFile::bool_items.
struct Attribute {
    std::string_view name;
    ValueKind kind = ValueKind::kNone;
    std::int64_t integer = 0;  ///< any integer kind and bool (uint64 by bit pattern)
    double real = 0.0;         ///< double and float
    std::string_view text{};   ///< string
    std::uint32_t list_begin = 0;
    std::uint32_t list_end = 0;
};

/// One node; its lists are ranges of the vectors of the TraceFile.
struct Node {
    std::uint64_t id = 0;
    std::string_view name;
    NodeType type = NodeType::kInvalid;
    std::uint64_t start_micros = 0;
    std::uint64_t duration_micros = 0;
    std::uint32_t control_begin = 0, control_end = 0;      ///< of TraceFile::control_deps
    std::uint32_t data_begin = 0, data_end = 0;            ///< of TraceFile::data_deps
    std::uint32_t attribute_begin = 0, attribute_end = 0;  ///< of TraceFile::attributes
};

/// All nodes of one file in file order. The string views point into `storage`.
struct TraceFile {
    TraceFile() = default;
    TraceFile(TraceFile&&) = default;
    TraceFile& operator=(TraceFile&&) = default;

    std::vector<std::unique_ptr<char[]>> storage;
    std::string_view version;         ///< of the metadata message, empty if absent
    std::vector<Attribute> metadata;  ///< attributes of the metadata message
    std::vector<Node> nodes;
    std::vector<std::uint64_t> control_deps;
    std::vector<std::uint64_t> data_deps;
    std::vector<Attribute> attributes;
    std::vector<std::string_view> list_items;  ///< items of string lists
    std::vector<std::uint8_t> bool_items;      ///< items of bool lists

    /// Copies a text into `storage`.
    std::string_view keep(std::string_view text) {
        auto bytes = std::make_unique<char[]>(text.size() + 1);
        text.copy(bytes.get(), text.size());
        const std::string_view view(bytes.get(), text.size());
        storage.push_back(std::move(bytes));
        return view;
    }

    std::span<const Attribute> attributes_of(const Node& node) const {
        return {attributes.data() + node.attribute_begin, attributes.data() + node.attribute_end};
    }
    std::span<const std::uint64_t> control_deps_of(const Node& node) const {
        return {control_deps.data() + node.control_begin, control_deps.data() + node.control_end};
    }
    std::span<const std::uint64_t> data_deps_of(const Node& node) const {
        return {data_deps.data() + node.data_begin, data_deps.data() + node.data_end};
    }
};

/// Reads a file. Throws InputError with path, byte offset and reason if it is truncated or malformed, is no
/// regular file, or is larger than 16 GiB.
TraceFile read_trace_file(const std::string& path, const Checkpoint& checkpoint = {});

/// The same on bytes in memory; `path` is used in messages only.
TraceFile parse_trace(std::string_view bytes, const std::string& path, const Checkpoint& checkpoint = {});

/// The bytes of a trace: fields in ascending number.
std::string encode_trace(const TraceFile& trace, const Checkpoint& checkpoint = {});

}  // namespace dse::chakra
