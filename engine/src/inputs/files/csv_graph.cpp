// Lines, fields (quoted or not), and the rules of a link.
#include "inputs/files/csv_graph.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <unordered_set>

#include "base/error.hpp"
#include "base/time.hpp"
#include "inputs/files/text.hpp"

namespace dse::config {

namespace {

constexpr std::array<std::string_view, 4> kHeader = {"Src", "Dest", "Latency (ns)", "Bandwidth (GB/s)"};
constexpr std::array<std::string_view, 3> kRoutesHeader = {"Src", "Dest", "Via"};
constexpr std::uint64_t kMostDevices = 1 << 20;

std::string_view strip(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
    return text;
}

/// The lines of a CSV file, one after the other.
class CsvReader {
public:
    CsvReader(std::string_view text, const std::string& path) : rest_(text), path_(path) {
        require_utf8(text, path);
    }

    /// Reads the fields of the next line, none if it is blank; false at the end of the text.
    bool next() {
        row_.clear();
        if (rest_.empty()) return false;
        ++line_;
        const std::size_t end = std::min(rest_.find_first_of("\r\n"), rest_.size());
        std::string_view line = rest_.substr(0, end);
        rest_.remove_prefix(end);
        rest_.remove_prefix(rest_.starts_with("\r\n") ? 2 : std::min<std::size_t>(1, rest_.size()));
        for (bool more = !line.empty(); more;) {
            row_.push_back(line.starts_with('"') ? quoted_field(line) : plain_field(line));
            more = line.starts_with(',');
            if (more) line.remove_prefix(1);
        }
        return true;
    }

    bool at_end() const { return rest_.empty(); }
    const std::vector<std::string>& row() const { return row_; }

    [[noreturn]] void fail(const std::string& what) const {
        throw InputError(path_ + ", line " + std::to_string(std::max<std::size_t>(line_, 1)) + ": " + what);
    }

    std::uint32_t integer(std::string_view what, std::string_view cell, std::uint64_t least,
                          std::uint64_t most) const {
        const std::string_view digits = strip(cell);
        const bool decimal = !digits.empty() && digits.find_first_not_of("0123456789") == digits.npos;
        const double value = decimal ? number_of(digits).value() : -1.0;
        if (!decimal || value < static_cast<double>(least) || value > static_cast<double>(most)) {
            fail(std::string(what) + " is '" + excerpt(digits) + "'; expected " + std::to_string(least) +
                 " to " + std::to_string(most));
        }
        return static_cast<std::uint32_t>(value);
    }

    double number(const char* what, std::string_view cell) const {
        const std::optional<double> value = finite(cell);
        if (!value) fail(std::string(what) + " is '" + excerpt(strip(cell)) + "'; expected a number");
        return *value;
    }

    static std::optional<double> finite(std::string_view cell) {
        const std::optional<double> value = number_of(strip(cell));
        return value && std::isfinite(*value) ? value : std::nullopt;
    }

private:
    static std::string plain_field(std::string_view& line) {
        const std::string_view field = line.substr(0, std::min(line.find(','), line.size()));
        line.remove_prefix(field.size());
        return std::string(field);
    }

    std::string quoted_field(std::string_view& line) const {
        std::string field;
        for (std::size_t i = 1; i < line.size(); ++i) {
            if (line[i] != '"') {
                field += line[i];
            } else if (i + 1 < line.size() && line[i + 1] == '"') {
                field += line[i++];
            } else if (i + 1 == line.size() || line[i + 1] == ',') {
                line.remove_prefix(i + 1);
                return field;
            } else {
                break;
            }
        }
        fail("a quoted field must end before a comma or the end of the line");
    }

    std::string_view rest_;
    const std::string& path_;
    std::size_t line_ = 0;
    std::vector<std::string> row_;
};

network::Edge edge_of(const CsvReader& csv, std::uint32_t devices) {
    const std::vector<std::string>& row = csv.row();
    if (row.size() != kHeader.size()) {
        csv.fail("has " + std::to_string(row.size()) + " fields; expected " + std::to_string(kHeader.size()) +
                 ": " + join(kHeader, ","));
    }
    network::Edge edge;
    edge.from = csv.integer("Src", row[0], 0, devices - 1);
    edge.to = csv.integer("Dest", row[1], 0, devices - 1);
    if (edge.from == edge.to) csv.fail("links node " + std::to_string(edge.from) + " to itself");
    edge.latency_ns = csv.number("latency", row[2]);
    edge.bytes_per_ns = csv.number("bandwidth", row[3]);
    if (edge.latency_ns < 0 || edge.bytes_per_ns <= 0) {
        csv.fail("latency is " + excerpt(strip(row[2])) + " and bandwidth " + excerpt(strip(row[3])) +
                 "; the latency must be at least 0, the bandwidth above 0");
    }
    constexpr auto kEnd = static_cast<double>(kEndOfTime);
    if (edge.latency_ns >= kEnd || 1 / edge.bytes_per_ns >= kEnd) {
        csv.fail("latency is " + excerpt(strip(row[2])) + " and bandwidth " + excerpt(strip(row[3])) +
                 "; neither a hop nor a byte may take 2^53 ns (104 days) or longer");
    }
    return edge;
}

std::uint64_t pair_of(std::uint32_t from, std::uint32_t to) {
    return static_cast<std::uint64_t>(from) << 32 | to;
}

std::string pair_text(std::uint32_t from, std::uint32_t to) {
    return std::to_string(from) + " to " + std::to_string(to);
}

}  // namespace

CsvGraph parse_graph(std::string_view text, const std::string& path, bool parallel) {
    CsvReader csv(text, path);
    CsvGraph graph;
    if (!csv.next() || csv.row().size() != 1 || csv.at_end()) {
        csv.fail("expected the number of nodes, then a header line");
    }
    graph.devices = csv.integer("the number of nodes", csv.row()[0], 2, kMostDevices);
    csv.next();
    const std::vector<std::string_view> header(csv.row().begin(), csv.row().end());
    const auto is_number = [](std::string_view cell) { return CsvReader::finite(cell).has_value(); };
    if (header.size() != kHeader.size() || std::all_of(header.begin(), header.end(), is_number)) {
        csv.fail("is '" + excerpt(join(header, ",")) + "'; expected the header " + join(kHeader, ","));
    }
    std::unordered_set<std::uint64_t> links;
    while (csv.next()) {
        if (csv.row().empty()) continue;
        const network::Edge edge = edge_of(csv, graph.devices);
        if (!parallel && !links.insert(pair_of(edge.from, edge.to)).second) {
            csv.fail("the link " + pair_text(edge.from, edge.to) +
                     " occurs twice; add the bandwidths of parallel links");
        }
        graph.edges.push_back(edge);
        graph.texts.emplace_back(strip(csv.row()[2]), strip(csv.row()[3]));
    }
    return graph;
}

std::vector<network::StaticRoute> parse_routes(std::string_view text, const std::string& path) {
    CsvReader csv(text, path);
    const auto is_heading = [](std::string_view cell, std::string_view name) { return strip(cell) == name; };
    if (!csv.next() || !std::equal(csv.row().begin(), csv.row().end(), kRoutesHeader.begin(),
                                   kRoutesHeader.end(), is_heading)) {
        csv.fail("expected the header " + join(kRoutesHeader, ","));
    }
    std::vector<network::StaticRoute> routes;
    std::unordered_set<std::uint64_t> pairs;
    while (csv.next()) {
        const std::vector<std::string>& row = csv.row();
        if (row.empty()) continue;
        if (row.size() != kRoutesHeader.size()) {
            csv.fail("has " + std::to_string(row.size()) + " fields; expected " + join(kRoutesHeader, ","));
        }
        network::StaticRoute& route = routes.emplace_back();
        route.from = csv.integer("Src", row[0], 0, kMostDevices);
        route.to = csv.integer("Dest", row[1], 0, kMostDevices);
        for (std::string_view via = strip(row[2]); !via.empty(); via = strip(via)) {
            const std::string_view device = via.substr(0, std::min(via.find_first_of(" \t"), via.size()));
            route.devices.push_back(csv.integer("Via", device, 0, kMostDevices));
            via.remove_prefix(device.size());
        }
        route.devices.push_back(route.to);
        if (!pairs.insert(pair_of(route.from, route.to)).second) {
            csv.fail("the route from " + pair_text(route.from, route.to) + " occurs twice");
        }
    }
    return routes;
}

}  // namespace dse::config
