// Protocol-buffers primitives of the trace format: field numbers, and a cursor that checks every bound.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace dse::chakra {

static_assert(std::endian::native == std::endian::little, "fixed-width fields are copied as they are");

enum class WireType : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

namespace field {
inline constexpr std::uint32_t kMetadataVersion = 1;
inline constexpr std::uint32_t kMetadataAttribute = 2;

inline constexpr std::uint32_t kNodeId = 1;
inline constexpr std::uint32_t kNodeName = 2;
inline constexpr std::uint32_t kNodeType = 3;
inline constexpr std::uint32_t kNodeControlDeps = 4;
inline constexpr std::uint32_t kNodeDataDeps = 5;
inline constexpr std::uint32_t kNodeStart = 6;
inline constexpr std::uint32_t kNodeDuration = 7;
inline constexpr std::uint32_t kNodeAttribute = 10;

inline constexpr std::uint32_t kAttributeName = 1;  // the values' numbers are those of ValueKind
inline constexpr std::uint32_t kListItem = 1;
}  // namespace field

/// The file that is read: turns a position in its buffer into the offset of an error message.
struct Source {
    const char* begin;
    const std::string& path;

    /// Throws InputError `<path>: byte <offset of at>: <reason>`.
    [[noreturn]] void fail(const char* at, const std::string& reason) const;
};

/// Key of a field; `at` is where it stands in the file.
struct Tag {
    std::uint32_t field;
    WireType type;
    const char* at;
};

/// Reads one message, or the whole file, from front to back and never past its end.
class Cursor {
public:
    /// `name` says in error messages what is read: "file", "node", "attribute" …
    Cursor(const Source& source, const char* name, std::string_view bytes)
        : at_(bytes.data()), end_(bytes.data() + bytes.size()), source_(&source), name_(name) {}

    bool done() const { return at_ == end_; }
    const char* position() const { return at_; }
    const char* name() const { return name_; }

    std::uint64_t varint() {
        if (at_ != end_ && static_cast<unsigned char>(*at_) < 0x80) [[likely]] {
            return static_cast<unsigned char>(*at_++);
        }
        return long_varint();
    }

    Tag tag() {
        const char* at = at_;
        const std::uint64_t key = varint();
        const auto type = static_cast<unsigned>(key & 7);
        const bool known_type = type <= 2 || type == 5;
        if (!known_type || key < 8 || key > UINT32_MAX) [[unlikely]]
            fail_tag(at, key);
        return {static_cast<std::uint32_t>(key >> 3), static_cast<WireType>(type), at};
    }

    /// A length and that many bytes.
    std::string_view bytes() {
        const char* at = at_;
        const std::uint64_t length = varint();
        if (length > left()) [[unlikely]]
            fail_length(at, length);
        const std::string_view result(at_, static_cast<std::size_t>(length));
        at_ += length;
        return result;
    }

    Cursor message(const char* name) { return {*source_, name, bytes()}; }

    std::uint32_t fixed32() { return fixed<std::uint32_t>(); }
    std::uint64_t fixed64() { return fixed<std::uint64_t>(); }

    /// Passes over the value of a field.
    void skip(const Tag& tag) {
        switch (tag.type) {
            case WireType::kVarint:
                varint();
                break;
            case WireType::kFixed64:
                fixed64();
                break;
            case WireType::kBytes:
                bytes();
                break;
            case WireType::kFixed32:
                fixed32();
                break;
        }
    }

    /// Fails unless the field that `tag` begins has the wire type it should have.
    void expect(const Tag& tag, WireType type, const char* field_name) const {
        if (tag.type != type) [[unlikely]]
            fail_type(tag, type, field_name);
    }

    [[noreturn]] void fail(const char* at, const std::string& reason) const { source_->fail(at, reason); }

private:
    std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }

    std::uint64_t long_varint() {
        const char* start = at_;
        std::uint64_t value = 0;
        for (unsigned shift = 0; shift < 70; shift += 7) {
            if (at_ == end_) [[unlikely]]
                fail_end(start, "a varint");
            const auto byte = static_cast<unsigned char>(*at_++);
            value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
            if (byte < 0x80) return value;
        }
        fail_long_varint(start);
    }

    template <class Integer>
    Integer fixed() {
        if (left() < sizeof(Integer)) [[unlikely]]
            fail_end(at_, "a fixed-width number");
        Integer value;
        std::memcpy(&value, at_, sizeof value);
        at_ += sizeof value;
        return value;
    }

    // Out of line: what is never executed should not weigh on the loops above.
    [[noreturn]] void fail_end(const char* at, const char* inside) const;
    [[noreturn]] void fail_long_varint(const char* at) const;
    [[noreturn]] void fail_tag(const char* at, std::uint64_t key) const;
    [[noreturn]] void fail_length(const char* at, std::uint64_t length) const;
    [[noreturn]] void fail_type(const Tag& tag, WireType expected, const char* field_name) const;

    const char* at_;
    const char* end_;
    const Source* source_;
    const char* name_;
};

}  // namespace dse::chakra
