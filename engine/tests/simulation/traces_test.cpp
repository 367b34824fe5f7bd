// Reader and writer of Chakra traces: literal bytes, every kind of value, every error.
#include "tests/traces.hpp"

#include <cstdio>
#include <exception>
#include <string>
#include <utility>

#include "simulation/traces/trace_file.hpp"
#include "tests/check.hpp"

namespace {

using namespace dse::tests;
using namespace std::string_literals;

/// Bytes written as hex digits; blanks are ignored.
std::string hex(std::string_view digits) {
    std::string bytes, pair;
    for (const char digit : digits) {
        if (digit == ' ') continue;
        pair += digit;
        if (pair.size() < 2) continue;
        bytes += static_cast<char>(std::stoi(pair, nullptr, 16));
        pair.clear();
    }
    return bytes;
}

/// Up to 127 bytes as a field or message of the file: their length in front.
std::string sized(const std::string& content) { return static_cast<char>(content.size()) + content; }

/// A file with empty metadata and one node.
std::string file_of(const std::string& node) { return "\0"s + sized(node); }

/// A file whose only node has an attribute `a` with the given value.
std::string file_with(const std::string& value) {
    return file_of("\x52" + sized("\x0a\x01"
                                  "a" +
                                  value));
}

std::string parse_error(const std::string& bytes) {
    return error_of([&] { parse_trace(bytes, "t.et"); });
}

void test_literal_bytes() {
    TraceFile trace;
    trace.metadata = {text("schema", "symbolic_tensor_network")};
    trace.data_deps = {3, 300};
    trace.attributes = {
        list<std::string_view>("inputs", ValueKind::kStringList, trace.list_items, {"x", "128.0"}),
        number("outputs", ValueKind::kNone, 0),
        number("num_ops", ValueKind::kInt64, 0),
        number("tensor_size", ValueKind::kUint64, 128),
    };
    add_node(trace, 1, "n_COMP", NodeType::kCompute);
    const std::string expected =
        "\x24\x12\x22\x0a\x06schema\xea\x01\x17symbolic_tensor_network"s
        "\x52\x08\x01\x12\x06n_COMP\x18\x04\x2a\x03\x03\xac\x02"s
        "\x52\x15\x0a\x06inputs\xf2\x01\x0a\x0a\x01x\x0a\x05"
        "128.0"s
        "\x52\x09\x0a\x07outputs"s
        "\x52\x0b\x0a\x07num_ops\x48\x00"s
        "\x52\x10\x0a\x0btensor_size\x68\x80\x01"s;
    CHECK(encode_trace(trace) == expected);
    CHECK(same(parse_trace(expected, "t.et"), trace));
}

void test_defaults_are_omitted() {
    TraceFile trace;
    CHECK(encode_trace(trace) == "\0"s);
    add_node(trace, 0, "", NodeType::kInvalid);
    CHECK(encode_trace(trace) == "\0\0"s);
    CHECK(same(parse_trace("\0\0"s, "t.et"), trace));

    trace.control_deps = {0, 5};
    Node& node = add_node(trace, 9, "m", NodeType::kMemLoad);
    node.start_micros = 7;
    node.duration_micros = 300;
    trace.version = "0.0.4";
    const std::string expected = hex("07 0a05302e302e34 00 10 0809 12016d 1802 22020005 3007 38ac02");
    CHECK(encode_trace(trace) == expected);
    CHECK(same(parse_trace(expected, "t.et"), trace));
}

/// Both directions of one value, in an attribute `a`.
void check_value(int line, TraceFile& trace, const Attribute& attribute, std::string_view value_hex) {
    trace.attributes = {attribute};
    trace.nodes.clear();
    add_node(trace, 0, "", NodeType::kInvalid);
    const std::string bytes = file_with(hex(value_hex));
    if (encode_trace(trace) == bytes && same(parse_trace(bytes, "t.et"), trace)) return;
    std::printf("%s:%d: value %s\n", __FILE__, line, std::string(value_hex).c_str());
    ++failures;
}

void test_value_kinds() {
    TraceFile trace;
    auto check = [&](int line, const Attribute& attribute, std::string_view value) {
        check_value(line, trace, attribute, value);
    };
    check(__LINE__, number("a", ValueKind::kNone, 0), "");
    check(__LINE__, real("a", ValueKind::kDouble, 0.0), "19 0000000000000000");
    check(__LINE__, real("a", ValueKind::kDouble, -1.5), "19 000000000000f8bf");
    check(__LINE__, real("a", ValueKind::kFloat, 0.5), "2d 0000003f");
    check(__LINE__, number("a", ValueKind::kInt32, 0), "38 00");
    check(__LINE__, number("a", ValueKind::kInt32, -1), "38 ffffffffffffffffff01");
    check(__LINE__, number("a", ValueKind::kInt64, INT64_MIN), "48 80808080808080808001");
    check(__LINE__, number("a", ValueKind::kUint32, 4294967295), "58 ffffffff0f");
    check(__LINE__, number("a", ValueKind::kUint64, -1), "68 ffffffffffffffffff01");
    check(__LINE__, number("a", ValueKind::kBool, 0), "d801 00");
    check(__LINE__, number("a", ValueKind::kBool, 1), "d801 01");
    check(__LINE__, text("a", ""), "ea01 00");
    check(__LINE__, text("a", "1"), "ea01 01 31");
    auto strings = [&](const std::vector<std::string_view>& values) {
        return list("a", ValueKind::kStringList, trace.list_items, values);
    };
    check(__LINE__, strings({}), "f201 00");
    check(__LINE__, strings({"", "t"}), "f201 05 0a00 0a0174");
    auto bools = [&](const std::vector<std::uint8_t>& values) {
        return list("a", ValueKind::kBoolList, trace.bool_items, values);
    };
    check(__LINE__, bools({}), "e201 00");
    check(__LINE__, bools({1, 0, 1}), "e201 05 0a03 010001");
}

/// The reader gives what the plain form `value` would have given.
void check_reads_as(int line, std::string_view found, std::string_view value) {
    const std::string got = encode_trace(parse_trace(file_with(hex(found)), "t.et"));
    if (got == file_with(hex(value))) return;
    std::printf("%s:%d: value %s\n", __FILE__, line, std::string(found).c_str());
    ++failures;
}

void test_other_encodings_of_values() {
    check_reads_as(__LINE__, "78 03", "38 feffffffffffffffff01");                  // sint32 -2
    check_reads_as(__LINE__, "8801 03", "48 feffffffffffffffff01");                // sint64 -2
    check_reads_as(__LINE__, "9d01 feffffff", "58 feffffff0f");                    // fixed32
    check_reads_as(__LINE__, "a901 feffffffffffffff", "68 feffffffffffffffff01");  // fixed64
    check_reads_as(__LINE__, "bd01 feffffff", "38 feffffffffffffffff01");          // sfixed32
    check_reads_as(__LINE__, "c901 feffffffffffffff", "48 feffffffffffffffff01");  // sfixed64
    check_reads_as(__LINE__, "38 ffffffff0f", "38 ffffffffffffffffff01");          // int32 in 5 bytes
    check_reads_as(__LINE__, "58 ffffffffffffffffff01", "58 ffffffff0f");          // uint32 in 10 bytes
    check_reads_as(__LINE__, "d801 8002", "d801 01");                              // bool 256
    check_reads_as(__LINE__, "48 8100", "48 01");                                  // padded varint
    check_reads_as(__LINE__, "e201 06 0801 0a020000", "e201 05 0a03 010000");  // bool list, unpacked first
    check_reads_as(__LINE__, "fa01 01 31", "");                                // bytes
    check_reads_as(__LINE__, "8202 03 0a0131", "");                            // list of bytes
    check_reads_as(__LINE__, "52 03 0a0131", "");                              // list of int64
    // A oneof: the last kind wins, the same kind overwrites or appends.
    check_reads_as(__LINE__, "48 05 48 06", "48 06");
    check_reads_as(__LINE__, "ea01 01 31 48 06", "48 06");
    check_reads_as(__LINE__, "48 06 fa01 01 31", "");
    check_reads_as(__LINE__, "f201 03 0a0174 f201 03 0a0175", "f201 06 0a0174 0a0175");
    check_reads_as(__LINE__, "f201 03 0a0174 48 01 f201 03 0a0175", "f201 03 0a0175");
    // Unknown fields and the doc string are skipped, in lists too.
    check_reads_as(__LINE__, "12 01 64 48 06 9006 01 9106 0000000000000000 9206 01 00 9506 00000000",
                   "48 06");
    check_reads_as(__LINE__, "f201 05 1007 0a0174", "f201 03 0a0174");
}

void test_other_encodings_of_nodes() {
    auto check = [](int line, std::string_view found, std::string_view expected) {
        const std::string got = encode_trace(parse_trace(file_of(hex(found)), "t.et"));
        if (got == file_of(hex(expected))) return;
        std::printf("%s:%d: node %s\n", __FILE__, line, std::string(found).c_str());
        ++failures;
    };
    check(__LINE__, "2807 2a0108 2809 2001", "220101 2a03070809");  // deps: unpacked, packed, out of order
    check(__LINE__, "0801 0802 12016d 120178", "0802 120178");      // the last one wins
    check(__LINE__, "2a00 0800 1800", "");                          // explicit defaults
    check(__LINE__, "42026162 4a00 0801", "0801");                  // inputs and outputs are skipped
    check(__LINE__, "f8ffffff0f 01 0801", "0801");                  // largest field number
}

void test_errors() {
    CHECK_TEXT(parse_error(""), "t.et: byte 0: the file is empty, expected a metadata message");
    CHECK_TEXT(parse_error("\x80"), "t.et: byte 0: the file ends inside a varint");
    CHECK_TEXT(parse_error("\x05\x0a"),
               "t.et: byte 0: length 5, expected at most the 1 bytes left of the file");
    CHECK_TEXT(parse_error("\0\x7f"s),
               "t.et: byte 1: length 127, expected at most the 0 bytes left of the file");
    CHECK_TEXT(parse_error("\0"s + hex("ffffffffffffffffff01")),
               "t.et: byte 1: length 18446744073709551615, expected at most the 0 bytes left of the file");
    CHECK_TEXT(parse_error(file_of(hex("08 80808080808080808080 01"))),
               "t.et: byte 3: varint is longer than 10 bytes, expected at most 10");
    CHECK_TEXT(parse_error(file_of(hex("08 80"))), "t.et: byte 3: the node ends inside a varint");
    CHECK_TEXT(parse_error(file_of(hex("12 05 6162"))),
               "t.et: byte 3: length 5, expected at most the 2 bytes left of the node");
    CHECK_TEXT(parse_error(file_of(hex("0b"))),
               "t.et: byte 2: field 1 of the node has wire type 3 (group start), expected 0, 1, 2 or 5");
    CHECK_TEXT(parse_error(file_of(hex("9c06"))),
               "t.et: byte 2: field 99 of the node has wire type 4 (group end), expected 0, 1, 2 or 5");
    CHECK_TEXT(parse_error(file_of(hex("0f"))),
               "t.et: byte 2: field 1 of the node has wire type 7 (undefined), expected 0, 1, 2 or 5");
    CHECK_TEXT(parse_error(file_of(hex("0000"))),
               "t.et: byte 2: field 0 of the node, expected a field number from 1");
    CHECK_TEXT(parse_error(file_of(hex("8080808010 00"))),
               "t.et: byte 2: field key 4294967296 in the node, expected at most 4294967295");
    CHECK_TEXT(
        parse_error(file_of(hex("0a0131"))),
        "t.et: byte 2: field 1 (id) of the node has wire type 2 (length-delimited), expected 0 (varint)");
    CHECK_TEXT(parse_error(file_of(hex("2d00000000"))),
               "t.et: byte 2: field 5 (data_deps) of the node has wire type 5 (32-bit), expected 2 "
               "(length-delimited)");
    CHECK_TEXT(parse_error(file_of(hex("1808"))), "t.et: byte 3: node type 8, expected 0 to 7");
    CHECK_TEXT(parse_error(file_of(hex("18ffffffffffffffffff01"))),
               "t.et: byte 3: node type 18446744073709551615, expected 0 to 7");
    CHECK_TEXT(parse_error(file_of(hex("2a02 0180 01"))), "t.et: byte 5: the data_deps ends inside a varint");
    CHECK_TEXT(parse_error("\x02\x08\x01"),
               "t.et: byte 1: field 1 (version) of the metadata has wire type 0 (varint), expected 2 "
               "(length-delimited)");
    // Values start at byte 7, after the metadata, the node's length, the attribute's and its name.
    CHECK_TEXT(parse_error(file_with(hex("19 0000"))),
               "t.et: byte 8: the attribute ends inside a fixed-width number");
    CHECK_TEXT(
        parse_error(file_with(hex("49 0000000000000000"))),
        "t.et: byte 7: field 9 (int64) of the attribute has wire type 1 (64-bit), expected 0 (varint)");
    CHECK_TEXT(parse_error(file_with(hex("f001 00"))),
               "t.et: byte 7: field 30 (string list) of the attribute has wire type 0 (varint), expected 2 "
               "(length-delimited)");
    CHECK_TEXT(parse_error(file_with(hex("f201 02 0800"))),
               "t.et: byte 10: field 1 (item) of the string list has wire type 0 (varint), expected 2 "
               "(length-delimited)");
    CHECK_TEXT(parse_error(file_with(hex("f201 03 0a02 31"))),
               "t.et: byte 11: length 2, expected at most the 1 bytes left of the string list");
    CHECK_TEXT(parse_error(file_with(hex("fa01 02 31"))),
               "t.et: byte 9: length 2, expected at most the 1 bytes left of the attribute");
    CHECK_TEXT(parse_error(file_with(hex("3201 0a"))), "t.et: byte 10: the list ends inside a varint");
    CHECK_TEXT(error_of([] { read_trace_file("/no/such.et"); }),
               "/no/such.et: cannot be read: No such file or directory");
    CHECK_TEXT(error_of([] { read_trace_file("/"); }), "/: cannot be read: Is a directory");
}

}  // namespace

int main() try {
    test_literal_bytes();
    test_defaults_are_omitted();
    test_value_kinds();
    test_other_encodings_of_values();
    test_other_encodings_of_nodes();
    test_errors();
    std::printf("%d failures\n", failures);
    return failures == 0 ? 0 : 1;
} catch (const std::exception& error) {
    std::printf("unexpected exception: %s\n", error.what());
    return 1;
}
