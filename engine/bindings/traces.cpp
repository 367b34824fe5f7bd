// Workloads and execution-trace files in Python.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bindings/bindings.hpp"
#include "bindings/checkpoints.hpp"
#include "simulation/traces/trace_file.hpp"
#include "simulation/workloads/trace_import.hpp"
#include "simulation/workloads/transformer.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace dse;
using workload::Fidelity;
using workload::ModelSpec;
using workload::Recompute;
using workload::StrategySpec;
using workload::Transformer;
using workload::Workload;

namespace {

using NodeList = nb::typed<nb::list, nb::typed<nb::dict, nb::str, nb::any>>;

nb::bytes to_bytes(const std::string& text) { return nb::bytes(text.data(), text.size()); }

nb::object value_of(const chakra::TraceFile& trace, const chakra::Attribute& attribute) {
    using Kind = chakra::ValueKind;
    switch (attribute.kind) {
        case Kind::kNone:
            return nb::none();
        case Kind::kDouble:
        case Kind::kFloat:
            return nb::float_(attribute.real);
        case Kind::kBool:
            return nb::bool_(attribute.integer != 0);
        case Kind::kUint64:
            return nb::int_(static_cast<std::uint64_t>(attribute.integer));
        case Kind::kString:
            return nb::str(attribute.text.data(), attribute.text.size());
        case Kind::kBoolList:
        case Kind::kStringList: {
            nb::list items;
            for (std::uint32_t i = attribute.list_begin; i < attribute.list_end; ++i) {
                if (attribute.kind == Kind::kBoolList) {
                    items.append(nb::bool_(trace.bool_items[i] != 0));
                } else {
                    items.append(nb::str(trace.list_items[i].data(), trace.list_items[i].size()));
                }
            }
            return items;
        }
        default:
            return nb::int_(attribute.integer);
    }
}

nb::dict node_dict(const chakra::TraceFile& trace, const chakra::Node& node) {
    nb::dict attributes;
    for (const chakra::Attribute& attribute : trace.attributes_of(node)) {
        attributes[nb::str(attribute.name.data(), attribute.name.size())] =
            nb::make_tuple(static_cast<int>(attribute.kind), value_of(trace, attribute));
    }
    nb::list control;
    for (const std::uint64_t id : trace.control_deps_of(node)) control.append(id);
    nb::list data;
    for (const std::uint64_t id : trace.data_deps_of(node)) data.append(id);
    nb::dict result;
    result["id"] = node.id;
    result["name"] = nb::str(node.name.data(), node.name.size());
    result["type"] = static_cast<int>(node.type);
    result["duration_micros"] = node.duration_micros;
    result["ctrl_deps"] = control;
    result["data_deps"] = data;
    result["attributes"] = attributes;
    return result;
}

/// Builds a TraceFile from what node_dict gives; the texts live in the TraceFile.
class TraceFileFromPython {
public:
    chakra::TraceFile build(const NodeList& nodes, const std::string& version) {
        file_.version = file_.keep(version);
        for (const nb::handle item : nodes) add(nb::cast<nb::dict>(item));
        return std::move(file_);
    }

private:
    static std::pair<std::uint32_t, std::uint32_t> append(std::vector<std::uint64_t>& to,
                                                          const nb::object& from) {
        const auto begin = static_cast<std::uint32_t>(to.size());
        for (const std::uint64_t id : nb::cast<std::vector<std::uint64_t>>(from)) to.push_back(id);
        return {begin, static_cast<std::uint32_t>(to.size())};
    }

    void add(const nb::dict& source) {
        chakra::Node node;
        node.id = nb::cast<std::uint64_t>(source["id"]);
        node.name = file_.keep(nb::cast<std::string>(source["name"]));
        node.type = static_cast<chakra::NodeType>(nb::cast<std::uint32_t>(source["type"]));
        node.duration_micros = nb::cast<std::uint64_t>(source["duration_micros"]);
        std::tie(node.control_begin, node.control_end) = append(file_.control_deps, source["ctrl_deps"]);
        std::tie(node.data_begin, node.data_end) = append(file_.data_deps, source["data_deps"]);
        node.attribute_begin = static_cast<std::uint32_t>(file_.attributes.size());
        for (const auto& [name, value] : nb::cast<nb::dict>(source["attributes"])) {
            add_attribute(nb::cast<std::string>(name), nb::cast<nb::tuple>(value));
        }
        node.attribute_end = static_cast<std::uint32_t>(file_.attributes.size());
        file_.nodes.push_back(node);
    }

    void add_attribute(const std::string& name, const nb::tuple& kind_and_value) {
        using Kind = chakra::ValueKind;
        chakra::Attribute attribute;
        attribute.name = file_.keep(name);
        attribute.kind = static_cast<Kind>(nb::cast<int>(kind_and_value[0]));
        const nb::object value = kind_and_value[1];
        switch (attribute.kind) {
            case Kind::kNone:
                break;
            case Kind::kDouble:
            case Kind::kFloat:
                attribute.real = nb::cast<double>(value);
                break;
            case Kind::kUint64:
                attribute.integer = static_cast<std::int64_t>(nb::cast<std::uint64_t>(value));
                break;
            case Kind::kString:
                attribute.text = file_.keep(nb::cast<std::string>(value));
                break;
            case Kind::kStringList:
                attribute.list_begin = static_cast<std::uint32_t>(file_.list_items.size());
                for (const std::string& item : nb::cast<std::vector<std::string>>(value)) {
                    file_.list_items.push_back(file_.keep(item));
                }
                attribute.list_end = static_cast<std::uint32_t>(file_.list_items.size());
                break;
            case Kind::kBoolList:
                attribute.list_begin = static_cast<std::uint32_t>(file_.bool_items.size());
                for (const bool item : nb::cast<std::vector<bool>>(value))
                    file_.bool_items.push_back(item ? 1 : 0);
                attribute.list_end = static_cast<std::uint32_t>(file_.bool_items.size());
                break;
            default:
                attribute.integer = nb::cast<std::int64_t>(value);
        }
        file_.attributes.push_back(attribute);
    }

    chakra::TraceFile file_;
};

using Groups = std::vector<std::pair<std::string, std::vector<std::uint32_t>>>;

std::vector<workload::NamedGroup> named_groups(const Groups& groups) {
    std::vector<workload::NamedGroup> named;
    for (const auto& [name, members] : groups) named.push_back({name, members});
    return named;
}

Workload read_workload(const std::vector<std::string>& paths, const Groups& groups,
                       const Cancellation* cancellation, const std::string& reference) {
    const Checkpoint checkpoint = checkpoint_of(cancellation);
    const nb::gil_scoped_release release;
    const auto read = [&](std::uint32_t rank) { return chakra::read_trace_file(paths[rank], checkpoint); };
    return workload::import_traces(read, paths, named_groups(groups), workload::reference_named(reference),
                                   checkpoint);
}

Workload import_workload(const std::vector<nb::bytes>& traces, const std::vector<std::string>& names,
                         const Groups& groups, const Cancellation* cancellation,
                         const std::string& reference) {
    const Checkpoint checkpoint = checkpoint_of(cancellation);
    std::vector<std::string_view> contents;
    for (const nb::bytes& trace : traces) contents.emplace_back(trace.c_str(), trace.size());
    const nb::gil_scoped_release release;
    const auto read = [&](std::uint32_t rank) {
        return chakra::parse_trace(contents[rank], names[rank], checkpoint);
    };
    return workload::import_traces(read, names, named_groups(groups), workload::reference_named(reference),
                                   checkpoint);
}

nb::typed<nb::dict, nb::str, nb::int_> counts_dict(const Workload& workload, std::uint32_t rank) {
    const workload::TraceCounts& counts = workload.trace(rank).counts;
    nb::typed<nb::dict, nb::str, nb::int_> result;
    result["nodes"] = counts.nodes;
    result["comp"] = counts.compute;
    result["coll"] = counts.collective;
    result["send"] = counts.send;
    result["recv"] = counts.receive;
    result["num_ops"] = counts.num_ops;
    result["tensor_size"] = counts.tensor_bytes;
    result["comm_bytes"] = counts.comm_bytes;
    result["data_deps"] = counts.data_deps;
    result["ctrl_deps"] = counts.control_deps;
    return result;
}

}  // namespace

void bind_traces(nb::module_& m) {
    nb::enum_<Recompute>(m, "Recompute")
        .value("STAGE", Recompute::kStage)
        .value("SELECTIVE", Recompute::kSelective)
        .value("FULL", Recompute::kFull);
    nb::class_<Fidelity>(m, "Fidelity")
        .def(nb::init<>())
        .def_rw("bytes_per_element", &Fidelity::bytes_per_element)
        .def_rw("micro_batches", &Fidelity::micro_batches)
        .def_rw("multiply_add_as_two", &Fidelity::multiply_add_as_two)
        .def_rw("block_shapes", &Fidelity::block_shapes)
        .def_rw("output_projection", &Fidelity::output_projection)
        .def_rw("nonlinear_operators", &Fidelity::nonlinear_operators)
        .def_rw("loss", &Fidelity::loss)
        .def_rw("embedding_lookup", &Fidelity::embedding_lookup)
        .def_rw("no_input_gradient", &Fidelity::no_input_gradient)
        .def_rw("optimizer_state", &Fidelity::optimizer_state)
        .def_rw("consistent_sharding", &Fidelity::consistent_sharding)
        .def_rw("just_in_time_gathers", &Fidelity::just_in_time_gathers)
        .def_rw("shared_gathers", &Fidelity::shared_gathers)
        .def_rw("contiguous_stages", &Fidelity::contiguous_stages)
        .def_rw("recompute", &Fidelity::recompute);
    nb::class_<ModelSpec>(m, "ModelSpec")
        .def(nb::init<>())
        .def_rw("input_dim", &ModelSpec::input_dim)
        .def_rw("output_dim", &ModelSpec::output_dim)
        .def_rw("d_model", &ModelSpec::d_model)
        .def_rw("d_ff", &ModelSpec::d_ff)
        .def_rw("num_heads", &ModelSpec::num_heads)
        .def_rw("seq_len", &ModelSpec::seq_len)
        .def_rw("batch_size", &ModelSpec::batch_size)
        .def_rw("num_layers", &ModelSpec::num_layers)
        .def_rw("num_kv_heads", &ModelSpec::num_kv_heads)
        .def_rw("gated_mlp", &ModelSpec::gated_mlp)
        .def_rw("fidelity", &ModelSpec::fidelity);
    nb::class_<StrategySpec> strategy(m, "StrategySpec");
    strategy.def(nb::init<>());
    for (const auto& [name, member] : StrategySpec::kDegrees) strategy.def_rw(name, member);
    for (const auto& [name, member] : StrategySpec::kFlags) strategy.def_rw(name, member);

    nb::class_<Workload>(m, "Workload")
        .def_prop_ro("rank_count", &Workload::rank_count)
        .def_prop_ro("trace_count", [](const Workload& w) { return w.traces->size(); })
        .def_prop_ro("memory_bytes", &Workload::memory_bytes)
        .def_ro("trace_of_rank", &Workload::trace_of_rank)
        .def_ro("communicator_group_count", &Workload::communicator_group_count)
        .def("counts", &counts_dict, "rank"_a);
    nb::class_<Transformer>(m, "Transformer")
        .def_prop_ro("rank_count", &Transformer::rank_count)
        .def_prop_ro("strategy", &Transformer::strategy)
        .def("groups_json",
             [](const Transformer& t) {
                 const Checkpoint checkpoint = checkpoint_of(nullptr);
                 const nb::gil_scoped_release release;
                 return t.groups_json(checkpoint);
             })
        .def(
            "encode_trace",
            [](const Transformer& t, std::uint32_t rank, const Cancellation* cancellation) {
                const Checkpoint checkpoint = checkpoint_of(cancellation);
                std::string bytes;
                {
                    const nb::gil_scoped_release release;
                    bytes = chakra::encode_trace(t.trace_file(rank, checkpoint), checkpoint);
                }
                return to_bytes(bytes);
            },
            "rank"_a, "cancellation"_a.none() = nb::none());
    m.def(
        "transformer",
        [](const ModelSpec& model, const StrategySpec& strategy, const Cancellation* cancellation) {
            const Checkpoint checkpoint = checkpoint_of(cancellation);
            const nb::gil_scoped_release release;
            return std::make_shared<Transformer>(model, strategy, checkpoint);
        },
        "model"_a, "strategy"_a, "cancellation"_a.none() = nb::none());
    m.def(
        "generate",
        [](std::shared_ptr<Transformer> transformer, const Cancellation* cancellation) {
            const Checkpoint checkpoint = checkpoint_of(cancellation);
            const nb::gil_scoped_release release;
            return workload::generate(std::move(transformer), checkpoint);
        },
        "transformer"_a, "cancellation"_a.none() = nb::none());
    const std::string reference(workload::default_reference().name);
    m.def("read_workload", &read_workload, "paths"_a, "groups"_a, "cancellation"_a.none() = nb::none(),
          "reference"_a = reference);
    m.def("import_workload", &import_workload, "traces"_a, "names"_a, "groups"_a,
          "cancellation"_a.none() = nb::none(), "reference"_a = reference);

    nb::class_<chakra::TraceFile>(m, "TraceFile")
        .def_prop_ro("node_count", [](const chakra::TraceFile& t) { return t.nodes.size(); })
        .def("nodes",
             [](const chakra::TraceFile& t) -> NodeList {
                 NodeList nodes;
                 for (const chakra::Node& node : t.nodes) nodes.append(node_dict(t, node));
                 return nodes;
             })
        .def("encode", [](const chakra::TraceFile& t) { return to_bytes(chakra::encode_trace(t)); });
    m.def(
        "read_trace_file",
        [](const std::string& path) {
            const Checkpoint checkpoint = checkpoint_of(nullptr);
            const nb::gil_scoped_release release;
            return chakra::read_trace_file(path, checkpoint);
        },
        "path"_a);
    m.def(
        "parse_trace",
        [](const nb::bytes& bytes, const std::string& name) {
            return chakra::parse_trace({bytes.c_str(), bytes.size()}, name);
        },
        "content"_a, "name"_a);
    m.def(
        "trace_file",
        [](const NodeList& nodes, const std::string& version) {
            return TraceFileFromPython().build(nodes, version);
        },
        "nodes"_a, "version"_a = "");
}
