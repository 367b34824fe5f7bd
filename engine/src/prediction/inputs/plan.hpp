// A plan as predictions of steps take it: degrees, counts, and choices that are looked up once.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dse::prediction {

/// Modules that recomputation and CUDA graphs name, as bits of a set.
enum class Module : std::uint16_t {
    kNone = 0,
    kCoreAttention = 1,
    kLatentUp = 2,
    kMlp = 4,
    kExperts = 8,
    kExpertActivation = 16,
    kNorm = 32,
    kSharedExperts = 64,
    kRouter = 128,
    kPreprocess = 256,
    kAttention = 512,
    kMamba = 1024
};
using Modules = std::uint16_t;
constexpr Modules operator|(Module one, Module other) {
    return static_cast<Modules>(static_cast<Modules>(one) | static_cast<Modules>(other));
}
constexpr bool holds(Modules set, Module module) { return (set & static_cast<Modules>(module)) != 0; }

/// Modules of a text such as moe+moe_act, in its order.
std::vector<std::pair<std::string, Module>> modules_of_text(std::string_view text);

enum class StageRule : std::uint8_t { kEven, kSpread, kLighterLast, kLighterEnds, kBalanced, kListed };
enum class Context : std::uint8_t { kRing, kUlysses, kGather };
enum class Recompute : std::uint8_t { kNone, kSelective, kFull, kModules };
enum class Axis : std::uint8_t { kTp, kCp, kEp, kDp, kPp };

/// A text of an axis, read once for all plans that have it.
struct Stages {
    StageRule rule = StageRule::kEven;
    std::vector<std::int64_t> listed;
};
Stages stages_of_text(std::string_view text);

inline constexpr std::int64_t kAllLayers = std::int64_t{1} << 31;

struct Plan {
    std::int64_t dp = 1, tp = 1, pp = 1, cp = 1, ep = 1, expert_tp = 0, micro_batch = 1, chunks = 1;
    std::int64_t zero_stage = 1, shard_ranks = 0, recompute_layers = 0, bits = 16, offloaded_layers = 0;
    bool sequence_parallel = false, overlap_tp = false, overlap_dp = true, overlap_ep = false;
    bool is_unfused = false, is_deduplicated = false, offloads_optimizer = false, has_full_graphs = false;
    Context context = Context::kRing;
    Recompute recompute = Recompute::kNone;
    Modules recomputed = 0, captured = 0;  ///< whole layers where `recompute` is kFull
    std::array<Axis, 5> order{Axis::kTp, Axis::kCp, Axis::kEp, Axis::kDp, Axis::kPp};
    bool has_default_order = true;
    const Stages* stages = nullptr;
    std::uint32_t schedule = 0;   ///< index of the batch's schedules
    std::uint32_t framework = 0;  ///< index of the batch's frameworks
    double launch_us = -1.0, elementwise = -1.0,
           optimizer_bytes = 0.0;  ///< of the plan's own; below 0 or 0: none
    /// Texts for messages.
    const std::string *stages_text = nullptr, *precision_text = nullptr, *recompute_text = nullptr,
                      *graphs_text = nullptr, *dispatcher_text = nullptr, *order_text = nullptr;
    std::int64_t zero = 1;  ///< as the axis has it
    bool is_weight_sharded = false;

    bool operator==(const Plan&) const = default;
    std::int64_t npus() const { return dp * tp * pp * cp; }
    std::int64_t expert_degree() const { return expert_tp != 0 ? expert_tp : tp; }
};

/// Why a plan cannot run; a row of a study has it as its reason.
struct Infeasible {
    std::string reason;
};

}  // namespace dse::prediction
