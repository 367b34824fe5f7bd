#include "prediction/kernels/kernels.hpp"

#include <algorithm>

namespace dse::prediction {

namespace {

// Along the rows of each of the products that one kernel runs: measured for experts, 70 to 180.
constexpr double kGroupedHalfSize = 140.0;

double kernel_s(const Kernel& kernel, const Rates& rates) {
    const double moved_s = kernel.bytes / rates.memory;
    if (kernel.operations == 0.0) return moved_s * rates.elementwise;
    double rate = rates.attention;
    if (kernel.unit != Unit::kAttention) {
        rate = kernel.bits == 16 ? rates.products_16 : kernel.bits == 8 ? rates.products_8 : rates.products_4;
    }
    return std::max(moved_s, kernel.operations * kernel.slowdown / rate);
}

}  // namespace

Rates Rates::of(const Accelerator& accelerator, const Framework& framework, bool has_full_graphs) {
    const double bf16 = accelerator.peak("bf16"), half = bf16 != 0.0 ? bf16 : accelerator.peak("fp16");
    const bool is_late = accelerator.peak("fp8") != 0.0;
    Rates rates;
    rates.products_16 = half * 1e12 * accelerator.matrix;
    rates.products_8 = accelerator.peak("fp8") * 1e12 * accelerator.matrix_8bit;
    rates.products_4 = accelerator.peak("fp4") * 1e12 * accelerator.matrix_4bit;
    const double factor = is_late ? framework.attention_factor_8bit : framework.attention_factor;
    rates.attention = half * 1e12 * accelerator.attention * factor;
    rates.memory = accelerator.memory_bandwidth_gbps * 1e9 * accelerator.memory;
    rates.launch_s = accelerator.launch_us * 1e-6;
    rates.floor_s = has_full_graphs ? 0.0 : framework.launch_us * 1e-6;
    rates.elementwise = framework.elementwise;
    return rates;
}

void Pass::memory(double forward_bytes, double backward_bytes, int kernels, StepPart part) {
    Kernel kernel{.part = part, .repeats = static_cast<double>(kernels)};
    kernel.bytes = forward_bytes / kernel.repeats;
    add_forward(kernel);
    kernel.bytes = backward_bytes / kernel.repeats;
    backward.push_back(kernel);
}

void Pass::meet(int forward_times, int backward_times) {
    Kernel kernel{.unit = Unit::kMeeting, .part = StepPart::kTp};
    if (forward_times != 0) {
        kernel.repeats = forward_times;
        forward.push_back(kernel);
    }
    if (backward_times != 0) {
        kernel.repeats = backward_times;
        backward.push_back(kernel);
    }
}

void Pass::product(double m, double n, double k, std::int64_t bits, double groups, double sums_bytes,
                   bool is_frozen) {
    const double size = static_cast<double>(bits) / 8;
    if (bits < 16) memory(size * groups * m * k, 2 * size * groups * m * n);
    Kernel kernel{.unit = Unit::kProducts, .part = StepPart::kMatrixProducts, .bits = bits};
    kernel.slowdown = 1 + (groups == 1 ? kHalfSize : kGroupedHalfSize) / m + kHalfSize / n + kHalfSize / k;
    kernel.operations = 2.0 * groups * m * n * k;
    kernel.bytes = groups * (size * (m * k + n * k) + 2 * m * n);
    add_forward(kernel);
    kernel.bytes = groups * (size * (m * n + n * k) + 2 * m * k);
    backward.push_back(kernel);
    if (is_frozen) return;
    kernel.bytes = groups * (size * (m * k + m * n) + sums_bytes * n * k);
    backward.push_back(kernel);
}

Parts kernels_s(const std::vector<Kernel>& kernels, const Rates& rates, double meeting_s, bool is_reversed,
                Modules only) {
    Parts found;
    double count = 0.0;
    double launched = 0.0, ended = 0.0;  // the next kernel's launch, and the last one's end
    const std::size_t size = kernels.size();
    for (std::size_t place = 0; place < size; ++place) {
        const Kernel& kernel = kernels[is_reversed ? size - 1 - place : place];
        if (only != 0 && (kernel.modules & only) == 0) continue;
        const bool meets = kernel.unit == Unit::kMeeting;
        const double seconds = meets ? meeting_s : kernel_s(kernel, rates);
        found[kernel.part] += seconds * kernel.repeats;
        // Of operations that are no kernels of their own here, each is launched by itself.
        const bool is_elementwise = kernel.operations == 0.0 && kernel.part == StepPart::kMemoryBound;
        const double launches = is_elementwise ? std::max(kernel.repeats, rates.elementwise) : kernel.repeats;
        const double start_s = meets ? rates.floor_s : rates.launch_s;
        if (!meets) count += kernel.repeats;
        // Of equal kernels in a row, all wait for the first launch, or each for its own.
        ended = std::max(ended, launched) + (seconds + start_s) * kernel.repeats;
        launched += (launches - 1) * rates.floor_s;
        ended = std::max(ended, launched + seconds * kernel.repeats / launches + start_s);
        launched += rates.floor_s;
    }
    found[StepPart::kLaunches] += count * rates.launch_s;
    const double waiting = std::max(ended, launched) - found.total_s();
    if (waiting > 0) found[StepPart::kLaunches] += waiting;
    return found;
}

}  // namespace dse::prediction
