// A table of options, each with what its value sets.
#include "apps/command_line.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "base/error.hpp"
#include "inputs/files/rules.hpp"
#include "inputs/files/text.hpp"

namespace dse::apps {

namespace {

struct Option {
    std::string_view name;
    bool required;
    const char* value;
    const char* meaning;
};

constexpr std::array<Option, 13> kOptions = {{
    {"--workload-configuration", true, "PREFIX", "the trace of rank r is PREFIX.r.et"},
    {"--system-configuration", true, "FILE", "JSON: scheduling, collectives, compute, memory"},
    {"--network-configuration", true, "FILE", "YAML: topology, npus_count, bandwidth, latency, shape, file"},
    {"--remote-memory-configuration", true, "FILE", "JSON: memory-type and its figures"},
    {"--comm-group-configuration", false, "FILE", "JSON: group name -> ranks; default 'empty': none"},
    {"--reference", false, "NAME",
     "which ASTRA-sim to equal: astra-sim-2025-04 (default), astra-sim-2026-03"},
    {"--num-queues-per-dim", false, "N", "queues of collectives per network dimension, default 1"},
    {"--injection-scale", false, "X", "multiplies an endpoint-delay that is stated, default 1.0"},
    {"--rendezvous-protocol", false, "BOOL", "true or false (default)"},
    {"--comm-scale", false, "X", "accepted, without effect"},
    {"--compute-scale", false, "X", "accepted, without effect"},
    {"--logging-configuration", false, "FILE", "accepted, without effect: the report is on stdout"},
    {"--logging-folder", false, "FOLDER", "accepted, without effect"},
}};

constexpr auto option_names() {
    std::array<std::string_view, kOptions.size()> names;
    for (std::size_t i = 0; i < kOptions.size(); ++i) names[i] = kOptions[i].name;
    return names;
}

[[noreturn]] void wrong_value(const std::string& option, const std::string& value, const char* expected) {
    throw InputError("option " + option + " has the value '" + value + "'; it must be " + expected);
}

double number(const std::string& option, const std::string& value, const char* expected) {
    const std::optional<double> number = config::number_of(value);
    if (!number || !std::isfinite(*number) || *number < 0) wrong_value(option, value, expected);
    return *number;
}

std::uint32_t positive_integer(const std::string& option, const std::string& value) {
    constexpr const char* kExpected = "an integer from 1 to 2147483647";
    const double integer = number(option, value, kExpected);
    const bool digits = value.find_first_not_of("0123456789") == std::string::npos;
    if (!digits || integer < 1 || integer > static_cast<double>(config::kMaxInteger))
        wrong_value(option, value, kExpected);
    return static_cast<std::uint32_t>(integer);
}

bool boolean(const std::string& option, std::string value) {
    const std::string given = value;
    std::transform(value.begin(), value.end(), value.begin(), [](unsigned char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : static_cast<char>(c);
    });
    if (value == "true" || value == "1") return true;
    if (value != "false" && value != "0") wrong_value(option, given, "true or false");
    return false;
}

const workload::Reference& reference(const std::string& option, const std::string& value) {
    std::string names;
    for (const workload::Reference* const each : workload::references()) {
        if (each->name == value) return *each;
        names += (names.empty() ? "" : " or ") + std::string(each->name);
    }
    wrong_value(option, value, names.c_str());
}

void set(CommandLine& line, const std::string& option, const std::string& value) {
    if (option == "--workload-configuration") {
        line.workload = value;
    } else if (option == "--comm-group-configuration") {
        line.groups = value;
    } else if (option == "--system-configuration") {
        line.system = value;
    } else if (option == "--network-configuration") {
        line.network = value;
    } else if (option == "--remote-memory-configuration") {
        line.remote_memory = value;
    } else if (option == "--reference") {
        line.options.reference = &reference(option, value);
    } else if (option == "--num-queues-per-dim") {
        line.options.queues_per_dimension = positive_integer(option, value);
    } else if (option == "--injection-scale") {
        line.options.injection_scale = number(option, value, "a number of at least 0");
    } else if (option == "--rendezvous-protocol") {
        line.options.rendezvous = boolean(option, value);
    } else if (option == "--comm-scale" || option == "--compute-scale") {
        number(option, value, "a number of at least 0");
    }
}

}  // namespace

CommandLine parse_command_line(const std::vector<std::string>& words) {
    static constexpr auto kNames = option_names();
    CommandLine line;
    std::set<std::string> given;
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (words[i] == "--help" || words[i] == "-h") {
            line.help = true;
            return line;
        }
        if (words[i] == "--version") {
            line.version = true;
            continue;
        }
        const std::size_t equals = words[i].find('=');
        const std::string option = words[i].substr(0, equals);
        if (!option.starts_with("--")) throw InputError("unexpected argument '" + words[i] + "'; see --help");
        if (std::find(kNames.begin(), kNames.end(), option) == kNames.end()) {
            const std::string hint = config::did_you_mean(option, kNames);
            throw InputError("unknown option " + option + (hint.empty() ? "; see --help" : hint));
        }
        if (!given.insert(option).second) throw InputError("option " + option + " is given twice");
        const bool follows = equals == std::string::npos;
        if (follows && (i + 1 == words.size() || words[i + 1].starts_with("--"))) {
            throw InputError("option " + option + " has no value");
        }
        const std::string value = follows ? words[++i] : words[i].substr(equals + 1);
        if (value.empty()) throw InputError("option " + option + " has no value");
        set(line, option, value);
    }
    for (const Option& option : kOptions) {
        if (!line.version && option.required && !given.contains(std::string(option.name))) {
            throw InputError("option " + std::string(option.name) + " is missing; it is required");
        }
    }
    return line;
}

std::string version(const std::string& program, const CommandLine& line) {
    return program + " of dse, which computes what " + std::string(line.options.reference->name) +
           " computes\n";
}

std::string usage(const std::string& program, bool congestion_aware) {
    std::string text =
        "usage: " + program + " --workload-configuration=PREFIX ...\n\nSimulate Chakra traces on a ";
    text += congestion_aware ? "congestion-aware network: links have queues.\n\n"
                             : "congestion-unaware network: every message is alone on its way.\n\n";
    for (const Option& option : kOptions) {
        std::string head = "  " + std::string(option.name) + "=" + option.value;
        head.resize(std::max<std::size_t>(head.size() + 2, 42), ' ');
        text += head + option.meaning + (option.required ? " (required)" : "") + "\n";
    }
    return text +
           "  --version                               the reference, and end\n"
           "  --help                                  this text\n\n"
           "Options may also be written '--option value'. The report of every rank is on stdout, in order "
           "of\n"
           "finishing. Exit code: 0 all ranks finish, 2 wrong input, 3 deadlock.\n";
}

}  // namespace dse::apps
