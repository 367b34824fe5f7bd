// TraceFile to bytes, fields in ascending order.
#include <bit>
#include <cstring>
#include <type_traits>

#include "simulation/traces/trace_file.hpp"
#include "simulation/traces/wire.hpp"

namespace dse::chakra {

namespace {

// Every message is described once, as a function of a sink. A SizeSink finds the length that stands before a
// message; a ByteSink then writes the message itself.

class SizeSink {
public:
    std::size_t size() const { return size_; }
    void add(std::size_t count) { size_ += count; }

    void varint(std::uint64_t value) {
        size_ += (static_cast<std::size_t>(std::bit_width(value | 1)) + 6) / 7;
    }
    void raw(const void*, std::size_t count) { size_ += count; }

private:
    std::size_t size_ = 0;
};

/// Writes to memory that is known to be large enough.
class ByteSink {
public:
    explicit ByteSink(char* at) : at_(at) {}

    void varint(std::uint64_t value) {
        for (; value >= 0x80; value >>= 7) *at_++ = static_cast<char>(value | 0x80);
        *at_++ = static_cast<char>(value);
    }
    void raw(const void* data, std::size_t count) {
        if (count == 0) return;  // an empty view may have a null pointer
        std::memcpy(at_, data, count);
        at_ += count;
    }

private:
    char* at_;
};

template <class Sink>
void put_tag(Sink& sink, std::uint32_t field, WireType type) {
    sink.varint(field << 3 | static_cast<std::uint32_t>(type));
}

template <class Sink>
void put_varint(Sink& sink, std::uint32_t field, std::uint64_t value) {
    put_tag(sink, field, WireType::kVarint);
    sink.varint(value);
}

template <class Sink>
void put_string(Sink& sink, std::uint32_t field, std::string_view text) {
    put_tag(sink, field, WireType::kBytes);
    sink.varint(text.size());
    sink.raw(text.data(), text.size());
}

/// A length-delimited field whose content `body` puts to whatever sink it is given.
template <class Sink, class Body>
void put_message(Sink& sink, std::uint32_t field, const Body& body) {
    SizeSink content;
    body(content);
    put_tag(sink, field, WireType::kBytes);
    sink.varint(content.size());
    if constexpr (std::is_same_v<Sink, SizeSink>) {
        sink.add(content.size());
    } else {
        body(sink);
    }
}

// A proto3 field without presence: its default is not written.

template <class Sink>
void put_unless_zero(Sink& sink, std::uint32_t field, std::uint64_t value) {
    if (value != 0) put_varint(sink, field, value);
}

template <class Sink>
void put_unless_empty(Sink& sink, std::uint32_t field, std::string_view text) {
    if (!text.empty()) put_string(sink, field, text);
}

template <class Sink>
void put_unless_empty(Sink& sink, std::uint32_t field, std::span<const std::uint64_t> packed) {
    if (packed.empty()) return;
    put_message(sink, field, [&](auto& content) {
        for (const std::uint64_t value : packed) content.varint(value);
    });
}

template <class Sink>
void put_string_list(Sink& sink, const TraceFile& trace, const Attribute& attribute) {
    put_message(sink, static_cast<std::uint32_t>(attribute.kind), [&](auto& list) {
        for (std::uint32_t i = attribute.list_begin; i < attribute.list_end; ++i) {
            put_string(list, field::kListItem, trace.list_items[i]);
        }
    });
}

template <class Sink>
void put_bool_list(Sink& sink, const TraceFile& trace, const Attribute& attribute) {
    put_message(sink, static_cast<std::uint32_t>(attribute.kind), [&](auto& list) {
        if (attribute.list_begin == attribute.list_end) return;
        put_message(list, field::kListItem, [&](auto& packed) {
            for (std::uint32_t i = attribute.list_begin; i < attribute.list_end; ++i) {
                packed.varint(trace.bool_items[i] != 0);
            }
        });
    });
}

/// Values have presence: 0 and "" are written.
template <class Sink>
void put_value(Sink& sink, const TraceFile& trace, const Attribute& attribute) {
    const auto number = static_cast<std::uint32_t>(attribute.kind);
    switch (attribute.kind) {
        case ValueKind::kNone:
            break;
        case ValueKind::kDouble:
            put_tag(sink, number, WireType::kFixed64);
            sink.raw(&attribute.real, sizeof attribute.real);
            break;
        case ValueKind::kFloat: {
            const auto single = static_cast<float>(attribute.real);
            put_tag(sink, number, WireType::kFixed32);
            sink.raw(&single, sizeof single);
            break;
        }
        case ValueKind::kInt32:
        case ValueKind::kInt64:
        case ValueKind::kUint32:
        case ValueKind::kUint64:
            put_varint(sink, number, static_cast<std::uint64_t>(attribute.integer));
            break;
        case ValueKind::kBool:
            put_varint(sink, number, attribute.integer != 0);
            break;
        case ValueKind::kString:
            put_string(sink, number, attribute.text);
            break;
        case ValueKind::kStringList:
            put_string_list(sink, trace, attribute);
            break;
        case ValueKind::kBoolList:
            put_bool_list(sink, trace, attribute);
            break;
    }
}

template <class Sink>
void put_attribute(Sink& sink, std::uint32_t field, const TraceFile& trace, const Attribute& attribute) {
    put_message(sink, field, [&](auto& content) {
        put_unless_empty(content, field::kAttributeName, attribute.name);
        put_value(content, trace, attribute);
    });
}

template <class Sink>
void put_metadata(Sink& sink, const TraceFile& trace) {
    put_unless_empty(sink, field::kMetadataVersion, trace.version);
    for (const Attribute& attribute : trace.metadata) {
        put_attribute(sink, field::kMetadataAttribute, trace, attribute);
    }
}

template <class Sink>
void put_node(Sink& sink, const TraceFile& trace, const Node& node) {
    put_unless_zero(sink, field::kNodeId, node.id);
    put_unless_empty(sink, field::kNodeName, node.name);
    put_unless_zero(sink, field::kNodeType, static_cast<std::uint64_t>(node.type));
    put_unless_empty(sink, field::kNodeControlDeps, trace.control_deps_of(node));
    put_unless_empty(sink, field::kNodeDataDeps, trace.data_deps_of(node));
    put_unless_zero(sink, field::kNodeStart, node.start_micros);
    put_unless_zero(sink, field::kNodeDuration, node.duration_micros);
    for (const Attribute& attribute : trace.attributes_of(node)) {
        put_attribute(sink, field::kNodeAttribute, trace, attribute);
    }
}

/// A message of the file itself: its length, then its fields.
template <class Body>
void append_message(std::string& out, const Body& body) {
    SizeSink content, length;
    body(content);
    length.varint(content.size());
    const std::size_t start = out.size();
    out.resize(start + length.size() + content.size());
    ByteSink sink(out.data() + start);
    sink.varint(content.size());
    body(sink);
}

}  // namespace

std::string encode_trace(const TraceFile& trace, const Checkpoint& checkpoint) {
    std::string out;
    append_message(out, [&](auto& sink) { put_metadata(sink, trace); });
    for (const Node& node : trace.nodes) {
        checkpoint();
        append_message(out, [&](auto& sink) { put_node(sink, trace, node); });
    }
    return out;
}

}  // namespace dse::chakra
