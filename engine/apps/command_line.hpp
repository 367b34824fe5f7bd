// ASTRA-sim's command line.
#pragma once

#include <string>
#include <vector>

#include "simulation/systems/system_files.hpp"

namespace dse::apps {

struct CommandLine {
    bool help = false;
    bool version = false;
    std::string workload;  ///< trace of rank r is `<workload>.<r>.et`
    std::string groups = "empty";
    std::string system, network, remote_memory;
    config::SystemOptions options;

    /// As in ASTRA-sim: a name that contains `empty` anywhere means no file.
    bool has_groups() const { return groups.find("empty") == std::string::npos; }
};

/// Reads `--name=value` and `--name value`. Throws InputError for an unknown or repeated option, a missing
/// or wrong value and a missing required option.
CommandLine parse_command_line(const std::vector<std::string>& words);

/// The text of --version, which names the reference of the line.
std::string version(const std::string& program, const CommandLine& line);

/// The text of --help; `program` is the name of the executable.
std::string usage(const std::string& program, bool congestion_aware);

}  // namespace dse::apps
