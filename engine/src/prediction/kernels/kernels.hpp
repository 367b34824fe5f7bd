// Kernels of a pass: what a GPU executes one after the other, and how long it takes.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "prediction/kernels/sizes.hpp"

namespace dse::prediction {

/// The parts of a step, in their order; see dse/prediction/steps/predict.py.
enum class StepPart : std::uint8_t {
    kMatrixProducts,
    kAttention,
    kMemoryBound,
    kLaunches,
    kTp,
    kCp,
    kEp,
    kPipelineBubble,
    kMessages,
    kDp,
    kOptimizer
};
inline constexpr std::size_t kStepParts = 11;

/// Seconds by part of a step.
struct Parts {
    std::array<double, kStepParts> seconds{};

    double& operator[](StepPart part) { return seconds[static_cast<std::size_t>(part)]; }
    double operator[](StepPart part) const { return seconds[static_cast<std::size_t>(part)]; }
    double total_s() const {
        double sum = 0.0;
        for (const double each : seconds) sum += each;
        return sum;
    }
    void add(const Parts& other, double times = 1.0) {
        for (std::size_t i = 0; i < kStepParts; ++i) seconds[i] += other.seconds[i] * times;
    }
};

/// A product is half as efficient along m, n or k of this size: partly filled tiles of 128, their prologue
/// and epilogue.
inline constexpr double kHalfSize = 96.0;

enum class Unit : std::uint8_t { kProducts, kAttention, kMemory, kMeeting };

/// `repeats` equal kernels of `operations` (a multiply-add is two) that move `bytes` each. Because of their
/// shape, operations take `slowdown` times what they take at the rate of the unit. A meeting is a collective
/// over tp: all of a pass take the same time. Recomputation names kernels by `modules`.
struct Kernel {
    Unit unit = Unit::kMemory;
    StepPart part = StepPart::kMemoryBound;
    Modules modules = 0;
    std::int64_t bits = 16;
    double repeats = 1.0, operations = 0.0, bytes = 0.0, slowdown = 1.0;
};

/// The rates that kernels reach, per second.
struct Rates {
    double products_16 = 0.0, products_8 = 0.0, products_4 = 0.0, attention = 0.0, memory = 0.0;
    double launch_s = 0.0, floor_s = 0.0, elementwise = 1.0;

    static Rates of(const Accelerator& accelerator, const Framework& framework, bool has_full_graphs);
};

/// Forward and backward kernels of a block for one micro-batch, the latter in the order in which they are
/// added.
struct Pass {
    std::vector<Kernel> forward, backward;
    double host_launches = 0.0;
    Modules modules = 0;  ///< of the kernels that are added next

    void clear() {
        forward.clear();
        backward.clear();
        host_launches = 0.0;
        modules = 0;
    }
    void add_forward(Kernel kernel) {
        kernel.modules = modules;
        forward.push_back(kernel);
    }
    void memory(double forward_bytes, double backward_bytes, int kernels = 1,
                StepPart part = StepPart::kMemoryBound);
    void meet(int forward_times, int backward_times);
    void product(double m, double n, double k, std::int64_t bits, double groups, double sums_bytes,
                 bool is_frozen);
};

/// Names modules for the kernels that are added while it lives, besides those around.
class InModules {
public:
    InModules(Pass& pass, Modules modules) : pass_(pass), before_(pass.modules) { pass.modules |= modules; }
    InModules(Pass& pass, Module module) : InModules(pass, static_cast<Modules>(module)) {}
    InModules(const InModules&) = delete;
    InModules& operator=(const InModules&) = delete;
    ~InModules() { pass_.modules = before_; }

private:
    Pass& pass_;
    Modules before_;
};

/// Kernels of one layer; of the embedding; of final norm, logits and loss.
void layer_kernels(const Sizes& sizes, const LayerKind& kind, Pass& pass);
void embedding_kernels(const Sizes& sizes, Pass& pass);
void head_kernels(const Sizes& sizes, Pass& pass);
/// Kernels of a state-space mixer between its products.
void scan_kernels(const Sizes& sizes, Pass& pass);

/// The time of kernels that run one after the other, `is_reversed` from the last on; only those of one of
/// `only` if that is not 0. Meetings take `meeting_s`.
Parts kernels_s(const std::vector<Kernel>& kernels, const Rates& rates, double meeting_s = 0.0,
                bool is_reversed = false, Modules only = 0);

}  // namespace dse::prediction
