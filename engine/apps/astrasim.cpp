// A stand-alone simulator with ASTRA-sim's command line and report; built twice, for either network model.
#include <cstdio>
#include <exception>
#include <filesystem>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "apps/command_line.hpp"
#include "apps/report.hpp"
#include "base/error.hpp"
#include "simulation/simulators/simulator.hpp"
#include "simulation/traces/trace_file.hpp"
#include "simulation/workloads/trace_import.hpp"

#ifndef DSE_CONGESTION_AWARE
#error "DSE_CONGESTION_AWARE must be 0 or 1"
#endif

namespace {

using namespace dse;

constexpr int kOk = 0;
constexpr int kWrongInput = 2;
constexpr int kDeadlock = 3;

workload::Workload read_workload(const apps::CommandLine& line, const simulator::SystemConfig& config) {
    const std::uint32_t npus = network::Address(config.network).npus();
    const std::vector<workload::NamedGroup> groups =
        line.has_groups() ? config::read_groups(line.groups) : std::vector<workload::NamedGroup>{};
    std::vector<std::string> paths;
    for (std::uint32_t rank = 0; rank < npus; ++rank) {
        paths.push_back(line.workload + "." + std::to_string(rank) + ".et");
    }
    const auto read = [&](std::uint32_t rank) { return chakra::read_trace_file(paths[rank]); };
    return workload::import_traces(read, paths, groups, *config.reference);
}

/// The folder below which custom collectives are: as in ASTRA-sim the working directory, which is empty, or
/// that of system.json if nothing of theirs is there.
std::string custom_folder(const apps::CommandLine& line, const config::CustomFiles& files) {
    std::vector<std::string> paths;
    if (!files.of_nodes.empty()) paths.push_back(files.of_nodes);
    for (const auto& [type, prefix] : files.of_type) paths.push_back(prefix + ".0.et");
    for (const std::string& path : paths) {
        if (std::filesystem::exists(path)) return "";
    }
    return std::filesystem::path(line.system).parent_path().string();
}

int run(const apps::CommandLine& line) {
    config::SystemFile system =
        config::read_system(line.system, line.network, line.remote_memory, line.options);
    const workload::Workload workload = read_workload(line, system.config);
    system.config.custom = config::read_custom(system.custom, custom_folder(line, system.custom),
                                               *system.config.reference, workload);
    simulator::SimulationResult result = simulator::simulate(workload, system.config);
    if (result.deadlock && result.by_classes) {
        // The report must name what blocks every rank, not one rank of each class.
        result = simulator::simulate(workload, system.config, simulator::Method::kGeneral);
    }
    const workload::Reference& reference = *system.config.reference;
    const apps::ReportOptions options{
        system.config.roofline && !system.config.replay_only,
        system.config.track_memory && (system.trace_enabled || reference.reports_peak_untraced), &reference};
    apps::write_report(workload, result, options, stdout);
    return result.deadlock ? kDeadlock : kOk;
}

/// One line, whatever a path or a name holds.
int fail(std::string message) {
    for (char& c : message) {
        if (static_cast<unsigned char>(c) < 0x20) c = ' ';
    }
    std::fflush(stdout);
    std::fprintf(stderr, "error: %s\n", message.c_str());
    return kWrongInput;
}

}  // namespace

int main(int argc, char** argv) try {
    apps::CommandLine line = apps::parse_command_line({argv + 1, argv + argc});
    line.options.congestion_aware = DSE_CONGESTION_AWARE;
    if (line.help) {
        const std::string program = std::filesystem::path(argv[0]).filename().string();
        std::fputs(apps::usage(program, DSE_CONGESTION_AWARE).c_str(), stdout);
        return kOk;
    }
    if (line.version) {
        std::fputs(apps::version(std::filesystem::path(argv[0]).filename().string(), line).c_str(), stdout);
        return kOk;
    }
    const int code = run(line);
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) return fail("the report cannot be written");
    return code;
} catch (const std::bad_alloc&) {
    return fail("not enough memory for this workload and network");
} catch (const InputError& error) {
    return fail(error.what());
} catch (const SimulationError& error) {
    return fail(error.what());
}
