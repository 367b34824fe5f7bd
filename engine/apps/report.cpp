// Formatting of figures and of the prefix.
#include "apps/report.hpp"

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <ctime>
#include <map>
#include <numeric>
#include <vector>

namespace dse::apps {

namespace {

using simulator::RankResult;
using workload::NodeKind;

/// The classes of time that a trace has.
struct TimeClasses {
    bool gpu = false, cpu = false, comm = false, remote_memory = false, invalid = false;

    bool only_gpu_and_comm() const { return !cpu && !remote_memory && !invalid; }

    explicit TimeClasses(const workload::Trace& trace) {
        for (const workload::Node& node : trace.nodes) {
            switch (node.kind) {
                case NodeKind::kInvalid:
                    invalid = true;
                    break;
                case NodeKind::kMemLoad:
                case NodeKind::kMemStore:
                    remote_memory = true;
                    break;
                case NodeKind::kCompute:
                    (node.on_cpu ? cpu : gpu) = true;
                    break;
                default:
                    comm = true;
            }
        }
    }
};

/// `[2025-04-01 12:00:00.000]` in local time.
std::string time_stamp() {
    using namespace std::chrono;
    const auto now = system_clock::now();
    const std::time_t seconds = system_clock::to_time_t(now);
    const auto milliseconds = duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count() % 1000;
    std::tm local{};
    localtime_r(&seconds, &local);
    char text[40];
    const std::size_t length = std::strftime(text, sizeof text, "[%Y-%m-%d %H:%M:%S", &local);
    std::snprintf(text + length, sizeof text - length, ".%03d]", static_cast<int>(milliseconds));
    return text;
}

class Reporter {
public:
    Reporter(const workload::Workload& workload, const simulator::SimulationResult& result,
             const ReportOptions& options, std::FILE* out)
        : workload_(workload), result_(result), options_(options), out_(out), stamp_(time_stamp()) {
        for (const workload::Trace& trace : *workload.traces) classes_.emplace_back(trace);
    }

    void write() const {
        line("simulator", "info", "computes what " + std::string(options_.reference->name) + " computes");
        std::vector<std::uint32_t> ranks(workload_.rank_count());
        std::iota(ranks.begin(), ranks.end(), 0U);
        std::erase_if(ranks, [&](std::uint32_t rank) { return !figures_of(rank).finished; });
        std::stable_sort(ranks.begin(), ranks.end(), [&](std::uint32_t a, std::uint32_t b) {
            return figures_of(a).finish_ns < figures_of(b).finish_ns;
        });
        for (const std::uint32_t rank : ranks) write_rank(rank);
        for (const simulator::BlockedNode& node : result_.blocked) {
            line("workload", "critical", "sys[" + std::to_string(node.rank) + "] " + describe(node));
        }
    }

private:
    const RankResult& figures_of(std::uint32_t rank) const {
        return result_.classes[result_.class_of_rank[rank]];
    }

    void line(const char* logger, const char* level, const std::string& text) const {
        std::fprintf(out_, "%s [%s] [%s] %s\n", stamp_.c_str(), logger, level, text.c_str());
    }

    void write_rank(std::uint32_t rank) const {
        const RankResult& figures = figures_of(rank);
        const std::string name = "sys[" + std::to_string(rank) + "]";
        const auto time = [&](bool occurs, const char* label, std::uint64_t ns) {
            if (occurs) line("statistics", "info", name + ", " + label + ": " + std::to_string(ns));
        };
        const auto share = [&](const char* label, double value, const char* unit) {
            char text[400];  // the largest double has 309 digits before the point
            std::snprintf(text, sizeof text, ": %.3f%s", value, unit);
            line("statistics", "info", name + ", " + label + text);
        };
        // A negative exposed time wraps, as in ASTRA-sim.
        line("workload", "info",
             name + " finished, " + std::to_string(figures.finish_ns) + " cycles, exposed communication " +
                 std::to_string(static_cast<std::uint64_t>(figures.exposed_comm_ns)) + " cycles.");
        line("statistics", "info", name + ". Post statistics processing start.");
        const TimeClasses& classes = classes_[workload_.trace_of_rank[rank]];
        if (options_.reference->reports_overlap && !classes.only_gpu_and_comm()) return;
        line("statistics", "info", name + ". Post statistics processing end.");
        time(true, "Wall time", figures.wall_time_ns);
        time(classes.gpu, "GPU time", figures.gpu_time_ns);
        time(classes.cpu, "CPU time", figures.cpu_time_ns);
        time(classes.comm, "Comm time", figures.comm_time_ns);
        time(classes.remote_memory, "Remote mem time", figures.remote_memory_time_ns);
        time(classes.invalid, "Invalid time", figures.invalid_time_ns);
        const bool overlaps = classes.gpu && classes.comm && figures.overlap_ns() > 0;
        time(options_.reference->reports_overlap && overlaps, "Total compute-communication overlap",
             figures.overlap_ns());
        if (options_.roofline) {
            share("Compute bound percentage", figures.compute_bound_pct, "%");
            share("Average compute utilization", figures.compute_utilization_pct, "%");
            share("Average memory utilization", figures.memory_utilization_pct, "%");
            share("Average operation intensity", figures.operation_intensity, "");
        }
        if (options_.peak_memory) {
            line("workload", "info",
                 name + " peak memory usage: " + std::to_string(figures.peak_memory_bytes));
        }
    }

    const workload::Workload& workload_;
    const simulator::SimulationResult& result_;
    const ReportOptions& options_;
    std::FILE* out_;
    std::string stamp_;  ///< of the whole report: it is written after the simulation
    std::vector<TimeClasses> classes_;
};

}  // namespace

void write_report(const workload::Workload& workload, const simulator::SimulationResult& result,
                  const ReportOptions& options, std::FILE* out) {
    Reporter(workload, result, options, out).write();
}

std::string describe(const simulator::BlockedNode& node) {
    std::string text =
        "never finishes: " + node.kind + " node " + std::to_string(node.node_id) + " " + node.name;
    if (!node.communicator.empty()) text += " on group " + node.communicator;
    for (std::size_t i = 0; i < node.peers.size(); ++i) {
        text += (i == 0 ? " (waits for rank " : ", ") + std::to_string(node.peers[i]);
    }
    return text + (node.peers.empty() ? ": " : "): ") + node.cause;
}

}  // namespace dse::apps
