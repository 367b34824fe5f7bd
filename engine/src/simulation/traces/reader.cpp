// Bytes to TraceFile in one pass: strings stay where they are, lists go to the shared vectors.
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/error.hpp"
#include "base/file.hpp"
#include "simulation/traces/trace_file.hpp"
#include "simulation/traces/wire.hpp"

namespace dse::chakra {

namespace {

/// After so many nodes the sizes of the vectors are extrapolated from what the sample took.
constexpr std::size_t kSampleNodes = 1024;
/// Of a trace file.
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 34;
/// No vector is reserved for more than one item per this many bytes, whatever the sample says.
constexpr std::size_t kMinBytesPerReservedItem = 16;

constexpr auto kLastNodeType = static_cast<std::uint64_t>(NodeType::kCommCollective);

std::int64_t as_signed(std::uint64_t value) { return static_cast<std::int64_t>(value); }

/// The low 32 bits with their sign, as int32 fields are read.
std::int64_t as_int32(std::uint64_t value) {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(value));
}

std::int64_t as_uint32(std::uint64_t value) { return static_cast<std::uint32_t>(value); }

std::int64_t zigzag(std::uint64_t value) { return as_signed((value >> 1) ^ (0 - (value & 1))); }

/// A value is a oneof: another kind replaces it, the same kind overwrites it or appends to its list.
void begin_value(Attribute& attribute, ValueKind kind) {
    if (attribute.kind == kind) return;
    const std::string_view name = attribute.name;
    attribute = Attribute();
    attribute.name = name;
    attribute.kind = kind;
}

void set_integer(Attribute& attribute, ValueKind kind, std::int64_t value) {
    begin_value(attribute, kind);
    attribute.integer = value;
}

void set_real(Attribute& attribute, ValueKind kind, double value) {
    begin_value(attribute, kind);
    attribute.real = value;
}

/// Asks for huge pages for memory not yet touched: in a large file page faults cost twice the parsing.
void advise_huge_pages([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t size) {
#ifdef MADV_HUGEPAGE
    constexpr std::uintptr_t kHugePage = std::uintptr_t{1} << 21;
    const auto begin = reinterpret_cast<std::uintptr_t>(memory);
    const std::uintptr_t first = (begin + kHugePage - 1) & ~(kHugePage - 1);
    const std::uintptr_t last = (begin + size) & ~(kHugePage - 1);
    if (first < last) ::madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
#endif
}

class TraceParser {
public:
    TraceParser(std::string_view bytes, const std::string& path, TraceFile& trace,
                const Checkpoint& checkpoint)
        : bytes_(bytes), source_{bytes.data(), path}, trace_(trace), checkpoint_(checkpoint) {}

    void run() {
        Cursor file(source_, "file", bytes_);
        if (file.done()) source_.fail(bytes_.data(), "the file is empty, expected a metadata message");
        read_metadata(file.message("metadata"));
        while (!file.done()) {
            read_node(file.message("node"));
            if (trace_.nodes.size() == kSampleNodes) reserve(file.position());
        }
    }

private:
    /// Position in a vector of the TraceFile, where ranges have 32 bits.
    std::uint32_t index(std::size_t size, const Cursor& cursor) const {
        if (size > UINT32_MAX) [[unlikely]] {
            cursor.fail(cursor.position(), "more than 4294967295 items of one sort in the file");
        }
        return static_cast<std::uint32_t>(size);
    }

    void reserve(const char* position) {
        const double scale =
            1.05 * static_cast<double>(bytes_.size()) / static_cast<double>(position - bytes_.data());
        const std::size_t most = bytes_.size() / kMinBytesPerReservedItem;
        auto extrapolate = [&](auto& items) {
            items.reserve(
                std::min(static_cast<std::size_t>(static_cast<double>(items.size()) * scale), most));
            advise_huge_pages(items.data(), items.capacity() * sizeof(items[0]));
        };
        extrapolate(trace_.nodes);
        extrapolate(trace_.control_deps);
        extrapolate(trace_.data_deps);
        extrapolate(trace_.attributes);
        extrapolate(trace_.list_items);
        extrapolate(trace_.bool_items);
    }

    void read_metadata(Cursor message) {
        while (!message.done()) {
            const Tag tag = message.tag();
            switch (tag.field) {
                case field::kMetadataVersion:
                    message.expect(tag, WireType::kBytes, "version");
                    trace_.version = message.bytes();
                    break;
                case field::kMetadataAttribute:
                    message.expect(tag, WireType::kBytes, "attribute");
                    trace_.metadata.push_back(read_attribute(message.message("attribute")));
                    break;
                default:
                    message.skip(tag);
            }
        }
    }

    void read_node(Cursor message) {
        Node node;
        node.control_begin = index(trace_.control_deps.size(), message);
        node.data_begin = index(trace_.data_deps.size(), message);
        node.attribute_begin = index(trace_.attributes.size(), message);
        while (!message.done()) {
            checkpoint_();
            read_node_field(message, node);
        }
        node.control_end = index(trace_.control_deps.size(), message);
        node.data_end = index(trace_.data_deps.size(), message);
        node.attribute_end = index(trace_.attributes.size(), message);
        trace_.nodes.push_back(node);
    }

    void read_node_field(Cursor& message, Node& node) {
        const Tag tag = message.tag();
        switch (tag.field) {
            case field::kNodeId:
                message.expect(tag, WireType::kVarint, "id");
                node.id = message.varint();
                break;
            case field::kNodeName:
                message.expect(tag, WireType::kBytes, "name");
                node.name = message.bytes();
                break;
            case field::kNodeType:
                message.expect(tag, WireType::kVarint, "type");
                node.type = read_node_type(message);
                break;
            case field::kNodeControlDeps:
                read_deps(message, tag, "ctrl_deps", trace_.control_deps);
                break;
            case field::kNodeDataDeps:
                read_deps(message, tag, "data_deps", trace_.data_deps);
                break;
            case field::kNodeStart:
                message.expect(tag, WireType::kVarint, "start_time_micros");
                node.start_micros = message.varint();
                break;
            case field::kNodeDuration:
                message.expect(tag, WireType::kVarint, "duration_micros");
                node.duration_micros = message.varint();
                break;
            case field::kNodeAttribute:
                message.expect(tag, WireType::kBytes, "attribute");
                trace_.attributes.push_back(read_attribute(message.message("attribute")));
                break;
            default:
                message.skip(tag);
        }
    }

    static NodeType read_node_type(Cursor& message) {
        const char* at = message.position();
        const std::uint64_t type = message.varint();
        if (type > kLastNodeType) {
            message.fail(
                at, "node type " + std::to_string(type) + ", expected 0 to " + std::to_string(kLastNodeType));
        }
        return static_cast<NodeType>(type);
    }

    static void read_deps(Cursor& message, const Tag& tag, const char* name,
                          std::vector<std::uint64_t>& deps) {
        if (tag.type == WireType::kVarint) {  // unpacked
            deps.push_back(message.varint());
            return;
        }
        message.expect(tag, WireType::kBytes, name);
        for (Cursor packed = message.message(name); !packed.done();) deps.push_back(packed.varint());
    }

    Attribute read_attribute(Cursor message) {
        Attribute attribute;
        while (!message.done()) {
            const Tag tag = message.tag();
            if (tag.field == field::kAttributeName) {
                message.expect(tag, WireType::kBytes, "name");
                attribute.name = message.bytes();
            } else {
                read_value(message, tag, attribute);
            }
        }
        return attribute;
    }

    void read_value(Cursor& message, const Tag& tag, Attribute& attribute) {
        auto varint = [&](const char* name) {
            message.expect(tag, WireType::kVarint, name);
            return message.varint();
        };
        auto fixed32 = [&](const char* name) {
            message.expect(tag, WireType::kFixed32, name);
            return message.fixed32();
        };
        auto fixed64 = [&](const char* name) {
            message.expect(tag, WireType::kFixed64, name);
            return message.fixed64();
        };
        switch (tag.field) {
            case 3:
                set_real(attribute, ValueKind::kDouble, std::bit_cast<double>(fixed64("double")));
                break;
            case 5:
                set_real(attribute, ValueKind::kFloat, std::bit_cast<float>(fixed32("float")));
                break;
            case 7:
                set_integer(attribute, ValueKind::kInt32, as_int32(varint("int32")));
                break;
            case 9:
                set_integer(attribute, ValueKind::kInt64, as_signed(varint("int64")));
                break;
            case 11:
                set_integer(attribute, ValueKind::kUint32, as_uint32(varint("uint32")));
                break;
            case 13:
                set_integer(attribute, ValueKind::kUint64, as_signed(varint("uint64")));
                break;
            // Other encodings of integers are read as the plain one of their width.
            case 15: {
                const auto low = static_cast<std::uint32_t>(varint("sint32"));
                set_integer(attribute, ValueKind::kInt32, zigzag(low));
                break;
            }
            case 17:
                set_integer(attribute, ValueKind::kInt64, zigzag(varint("sint64")));
                break;
            case 19:
                set_integer(attribute, ValueKind::kUint32, as_uint32(fixed32("fixed32")));
                break;
            case 21:
                set_integer(attribute, ValueKind::kUint64, as_signed(fixed64("fixed64")));
                break;
            case 23:
                set_integer(attribute, ValueKind::kInt32, as_int32(fixed32("sfixed32")));
                break;
            case 25:
                set_integer(attribute, ValueKind::kInt64, as_signed(fixed64("sfixed64")));
                break;
            case 27:
                set_integer(attribute, ValueKind::kBool, varint("bool") != 0);
                break;
            case 28:
                read_bool_list(message, tag, attribute);
                break;
            case 29:
                message.expect(tag, WireType::kBytes, "string");
                begin_value(attribute, ValueKind::kString);
                attribute.text = message.bytes();
                break;
            case 30:
                read_string_list(message, tag, attribute);
                break;
            default:
                read_other_value(message, tag, attribute);
        }
    }

    void read_string_list(Cursor& message, const Tag& tag, Attribute& attribute) {
        message.expect(tag, WireType::kBytes, "string list");
        begin_list(attribute, ValueKind::kStringList, trace_.list_items.size(), message);
        Cursor list = message.message("string list");
        while (!list.done()) {
            const Tag item = list.tag();
            if (item.field != field::kListItem) {
                list.skip(item);
                continue;
            }
            list.expect(item, WireType::kBytes, "item");
            trace_.list_items.push_back(list.bytes());
        }
        attribute.list_end = index(trace_.list_items.size(), list);
    }

    void read_bool_list(Cursor& message, const Tag& tag, Attribute& attribute) {
        message.expect(tag, WireType::kBytes, "bool list");
        begin_list(attribute, ValueKind::kBoolList, trace_.bool_items.size(), message);
        auto add = [&](Cursor& cursor) { trace_.bool_items.push_back(cursor.varint() != 0); };
        Cursor list = message.message("bool list");
        while (!list.done()) {
            const Tag item = list.tag();
            if (item.field != field::kListItem) {
                list.skip(item);
            } else if (item.type == WireType::kVarint) {  // unpacked
                add(list);
            } else {
                list.expect(item, WireType::kBytes, "item");
                for (Cursor packed = list.message("item"); !packed.done();) add(packed);
            }
        }
        attribute.list_end = index(trace_.bool_items.size(), list);
    }

    void begin_list(Attribute& attribute, ValueKind kind, std::size_t size, const Cursor& cursor) const {
        if (attribute.kind == kind) return;  // appended to: a list's items are contiguous within an attribute
        begin_value(attribute, kind);
        attribute.list_begin = index(size, cursor);
    }

    /// Bytes and lists of numbers or bytes are dropped (kNone); anything else is unknown and changes nothing.
    static void read_other_value(Cursor& message, const Tag& tag, Attribute& attribute) {
        const bool is_list = (tag.field >= 4 && tag.field <= 26 && tag.field % 2 == 0) || tag.field == 32;
        if (!is_list && tag.field != 31) return message.skip(tag);
        message.expect(tag, WireType::kBytes, is_list ? "list" : "bytes");
        begin_value(attribute, ValueKind::kNone);
        if (!is_list) return message.skip(tag);
        for (Cursor list = message.message("list"); !list.done();) list.skip(list.tag());
    }

    std::string_view bytes_;
    Source source_;
    TraceFile& trace_;
    const Checkpoint& checkpoint_;
};

struct Buffer {
    std::unique_ptr<char[]> data;
    std::size_t size = 0;
};

Buffer read_bytes(const std::string& path, const Checkpoint& checkpoint) {
    const InputFile file(path, kMostBytes);
    Buffer buffer{std::make_unique_for_overwrite<char[]>(file.size())};
    advise_huge_pages(buffer.data.get(), file.size());
    buffer.size = file.read(buffer.data.get(), checkpoint);
    return buffer;
}

TraceFile parse_buffer(Buffer buffer, const std::string& path, const Checkpoint& checkpoint) {
    TraceFile trace;
    TraceParser({buffer.data.get(), buffer.size}, path, trace, checkpoint).run();
    trace.storage.push_back(std::move(buffer.data));
    return trace;
}

}  // namespace

TraceFile read_trace_file(const std::string& path, const Checkpoint& checkpoint) {
    return parse_buffer(read_bytes(path, checkpoint), path, checkpoint);
}

TraceFile parse_trace(std::string_view bytes, const std::string& path, const Checkpoint& checkpoint) {
    Buffer buffer{std::make_unique_for_overwrite<char[]>(bytes.size()), bytes.size()};
    std::copy(bytes.begin(), bytes.end(), buffer.data.get());
    return parse_buffer(std::move(buffer), path, checkpoint);
}

}  // namespace dse::chakra
