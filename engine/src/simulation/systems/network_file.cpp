// network.yml: columns of equal length, and shapes built from them; then the whole system.
#include <algorithm>
#include <array>
#include <filesystem>

#include "base/error.hpp"
#include "inputs/files/csv_graph.hpp"
#include "inputs/files/dimension_rules.hpp"
#include "inputs/files/rules.hpp"
#include "inputs/files/text.hpp"
#include "inputs/files/yaml.hpp"
#include "simulation/systems/system_files.hpp"

namespace dse::config {

namespace {

constexpr std::array<std::string_view, 4> kColumns = {"topology", "npus_count", "bandwidth", "latency"};
constexpr std::array<std::string_view, 8> kNetworkKeys = {"topology", "npus_count", "bandwidth", "latency",
                                                          "shape",    "routing",    "file",      "routes"};
bool is_digits(std::string_view text, std::size_t most) {
    return !text.empty() && text.size() <= most && text.find_first_not_of("0123456789") == text.npos;
}

bool is_integer(std::string_view text) {
    if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
    return is_digits(text, 19);
}

bool is_name(std::string_view text) {
    constexpr std::string_view kWordCharacters =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    return !text.empty() && text.find_first_not_of(kWordCharacters) == text.npos;
}

class NetworkParser {
public:
    NetworkParser(std::string_view text, const std::string& path)
        : path_(path), mapping_(parse_yaml(text, path)) {
        for (const auto& [key, value] : mapping_) require_known_key(path_, key, kNetworkKeys);
    }

    std::vector<DimensionEntry> parse() {
        for (const std::string_view key : kColumns) check_column(key);
        dimensions_.resize(column("topology").size());
        read_shapes();
        if (dimensions_.empty()) place("topology").fail("is empty; it must list at least one dimension");
        std::uint64_t npus = 1;
        for (std::size_t i = 0; i < dimensions_.size(); ++i) {
            read_dimension(i);
            npus = std::min<std::uint64_t>(npus * dimensions_[i].npus, 1ULL << 32);
        }
        if (npus > static_cast<std::uint64_t>(kMaxNpus)) {
            place("topology")
                .fail("has too many NPUs in all; at most " + std::to_string(kMaxNpus) + " are allowed");
        }
        return std::move(dimensions_);
    }

private:
    Place place(std::string_view key) const { return {path_, std::string(key)}; }
    Place place(std::string_view key, std::size_t index) const {
        return {path_, std::string(key) + "." + std::to_string(index)};
    }
    const std::vector<YamlValue>& column(std::string_view key) const { return find(mapping_, key)->items; }

    void check_column(std::string_view key) const {
        const YamlValue* const value = find(mapping_, key);
        if (value == nullptr || !value->is_list) {
            place(key).fail((value == nullptr ? "is missing" : "is " + excerpt(value->text)) +
                            "; it must be a list with one entry for each dimension");
        }
        const char* const expected = key == "topology"     ? "a name"
                                     : key == "npus_count" ? "an integer"
                                                           : "a number";
        for (std::size_t i = 0; i < value->items.size(); ++i) {
            const YamlValue& item = value->items[i];
            const bool valid = !item.is_list && (key == "topology"     ? is_name(item.text)
                                                 : key == "npus_count" ? is_integer(item.text)
                                                                       : number_of(item.text).has_value());
            if (valid) continue;
            const std::string got = item.is_list ? to_text(item) : "'" + item.text + "'";
            place(key, i).fail("is " + got + "; it must be " + expected);
        }
        const std::size_t dimensions = column("topology").size();
        if (value->items.size() != dimensions) {
            place(key).fail("has " + std::to_string(value->items.size()) + " entries and topology " +
                            std::to_string(dimensions) +
                            "; all lists must have one entry for each dimension");
        }
    }

    void read_shapes() {
        for (const std::string_view key : {"shape", "routing", "file", "routes"}) {
            const YamlValue* const value = find(mapping_, key);
            if (value == nullptr) continue;
            const std::vector<YamlValue> values = value->is_list ? value->items : std::vector{*value};
            if (values.size() != dimensions_.size()) {
                place(key).fail("has " + std::to_string(values.size()) + " entries; it must have " +
                                std::to_string(dimensions_.size()) + ", one a dimension");
            }
            for (std::size_t i = 0; i < values.size(); ++i) read_shape_entry(key, i, values[i]);
        }
    }

    void read_shape_entry(std::string_view key, std::size_t index, const YamlValue& value) {
        DimensionEntry& dimension = dimensions_[index];
        if (key == "shape") {
            const auto is_size = [](const YamlValue& v) { return !v.is_list && is_digits(v.text, 9); };
            if (!value.is_list || !std::all_of(value.items.begin(), value.items.end(), is_size)) {
                place(key, index).fail("is " + to_text(value) + "; it must be a list of integers, or []");
            }
            for (const YamlValue& size : value.items) {
                dimension.shape.push_back(static_cast<std::uint32_t>(number_of(size.text).value()));
            }
        } else if (value.is_list) {
            place(key, index).fail("is " + to_text(value) + "; it must be a text");
        } else if (key == "routing") {
            dimension.routing = value.text;
        } else if (!value.text.empty()) {
            (key == "file" ? dimension.graph_file : dimension.routes_file) =
                (std::filesystem::path(path_).parent_path() / value.text).string();
        }
    }

    void read_dimension(std::size_t index) {
        DimensionEntry& dimension = dimensions_[index];
        const auto text = [&](std::string_view key) { return column(key)[index].text; };
        const auto number = [&](std::string_view key) { return number_of(text(key)).value(); };
        dimension.topology = text("topology");
        require_choice(place("topology", index), dimension.topology, topology_names());
        dimension.npus = integer_in_range(place("npus_count", index), number("npus_count"),
                                          text("npus_count"), 2, kMaxNpus);
        dimension.bandwidth_gbps =
            number_in_range(place("bandwidth", index), number("bandwidth"), text("bandwidth"), false, true);
        dimension.latency_ns =
            number_in_range(place("latency", index), number("latency"), text("latency"), true, false);
        check_shape(index, dimension);
    }

    void check_shape(std::size_t index, const DimensionEntry& dimension) const {
        const std::string shown = shape_text(dimension);
        const auto problem =
            problem_of({dimension.topology, dimension.npus, dimension.shape, shown, dimension.routing,
                        !dimension.graph_file.empty(), !dimension.routes_file.empty()});
        if (!problem) return;
        place(problem->field == "npus" ? "npus_count" : problem->field, index).fail(problem->problem);
    }

    static std::string shape_text(const DimensionEntry& dimension) {
        std::string text;
        for (const std::uint32_t size : dimension.shape)
            text += (text.empty() ? "" : ", ") + std::to_string(size);
        return "[" + text + "]";
    }

    const std::string& path_;
    YamlMapping mapping_;
    std::vector<DimensionEntry> dimensions_;
};

network::Dimension build(const DimensionEntry& entry) {
    network::ShapeSpec spec;
    spec.topology = entry.topology;
    spec.npus = entry.npus;
    spec.sizes = entry.shape;
    spec.routing = entry.routing;
    if (entry.graph_file.empty()) return {network::make_shape(spec), entry.bandwidth_gbps, entry.latency_ns};
    const std::string& path = entry.graph_file;
    CsvGraph graph = parse_graph(read_text_file(path), path);
    if (graph.devices < entry.npus) {
        throw InputError(path + ": has " + std::to_string(graph.devices) + " nodes, but the dimension has " +
                         std::to_string(entry.npus) + " NPUs");
    }
    spec.graph = std::move(graph.edges);
    spec.graph_devices = graph.devices;
    if (!entry.routes_file.empty()) {
        spec.routes = parse_routes(read_text_file(entry.routes_file), entry.routes_file);
    }
    try {
        // The links have their own bandwidths and latencies.
        return {network::make_shape(spec), 1.0, 0.0};
    } catch (const InputError& error) {
        throw InputError(path + ": " + error.what());
    }
}

}  // namespace

std::vector<DimensionEntry> parse_network(std::string_view text, const std::string& path) {
    return NetworkParser(text, path).parse();
}

void check_algorithm_counts(const simulator::SystemConfig& config, std::size_t dimensions,
                            const std::string& path) {
    const auto check = [&](const char* key, const std::vector<collectives::Choice>& list) {
        if (list.size() <= dimensions) return;
        Place{path, key}.fail("lists " + std::to_string(list.size()) + " algorithms for " +
                              std::to_string(dimensions) +
                              " network dimensions; at most one for each dimension is allowed");
    };
    check("all-reduce-implementation", config.all_reduce);
    check("all-gather-implementation", config.all_gather);
    check("reduce-scatter-implementation", config.reduce_scatter);
    check("all-to-all-implementation", config.all_to_all);
}

SystemFile read_system(const std::string& system_json, const std::string& network_yml,
                       const std::string& remote_memory_json, const SystemOptions& options) {
    SystemFile file = parse_system(read_text_file(system_json), system_json);
    simulator::SystemConfig& config = file.config;
    config.remote_memory = parse_remote_memory(read_text_file(remote_memory_json), remote_memory_json);
    for (const DimensionEntry& entry : parse_network(read_text_file(network_yml), network_yml)) {
        config.network.push_back(build(entry));
    }
    check_algorithm_counts(config, config.network.size(), system_json);
    config.congestion_aware = options.congestion_aware;
    config.reference = options.reference;
    config.queues_per_dimension = options.queues_per_dimension;
    config.rendezvous = options.rendezvous;
    if (file.states_endpoint_delay) {
        const double scaled = static_cast<double>(config.endpoint_delay_ns) * options.injection_scale;
        if (!(scaled <= static_cast<double>(kMaxInteger))) {
            throw InputError("--injection-scale times endpoint-delay " +
                             std::to_string(config.endpoint_delay_ns) + " must be at most " +
                             std::to_string(kMaxInteger) + " ns");
        }
        config.endpoint_delay_ns = static_cast<std::uint64_t>(scaled);
    }
    return file;
}

}  // namespace dse::config
