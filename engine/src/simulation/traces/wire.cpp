// The failures of the cursor: what was found, and what was expected.
#include "simulation/traces/wire.hpp"

#include "base/error.hpp"

namespace dse::chakra {

namespace {

std::string describe(unsigned type) {
    static constexpr const char* kNames[] = {"varint",    "64-bit", "length-delimited", "group start",
                                             "group end", "32-bit", "undefined",        "undefined"};
    return std::to_string(type) + " (" + kNames[type & 7] + ")";
}

}  // namespace

void Source::fail(const char* at, const std::string& reason) const {
    throw InputError(path + ": byte " + std::to_string(at - begin) + ": " + reason);
}

void Cursor::fail_end(const char* at, const char* inside) const {
    fail(at, std::string("the ") + name_ + " ends inside " + inside);
}

void Cursor::fail_long_varint(const char* at) const {
    fail(at, "varint is longer than 10 bytes, expected at most 10");
}

void Cursor::fail_tag(const char* at, std::uint64_t key) const {
    if (key > UINT32_MAX) {
        fail(at, "field key " + std::to_string(key) + " in the " + name_ + ", expected at most 4294967295");
    }
    const std::string found = "field " + std::to_string(key >> 3) + " of the " + name_;
    if (key < 8) fail(at, found + ", expected a field number from 1");
    fail(at,
         found + " has wire type " + describe(static_cast<unsigned>(key & 7)) + ", expected 0, 1, 2 or 5");
}

void Cursor::fail_length(const char* at, std::uint64_t length) const {
    fail(at, "length " + std::to_string(length) + ", expected at most the " + std::to_string(end_ - at_) +
                 " bytes left of the " + name_);
}

void Cursor::fail_type(const Tag& tag, WireType expected, const char* field_name) const {
    fail(tag.at, "field " + std::to_string(tag.field) + " (" + field_name + ") of the " + name_ +
                     " has wire type " + describe(static_cast<unsigned>(tag.type)) + ", expected " +
                     describe(static_cast<unsigned>(expected)));
}

}  // namespace dse::chakra
