// Between levels and devices: labels of a coarser graph, and pieces that change devices as wholes.
#include <numeric>
#include <utility>

#include "partition/cuts/cut_cycles.hpp"

namespace dse::partition {

void exchange_devices(const CutGraph& graph, const Problem& problem, Labels& labels) {
    const std::size_t count = problem.devices;
    if (count > 256) return;
    for (const std::int32_t pin : problem.pinned)
        if (pin >= 0) return;
    for (const double bytes : problem.capacity)
        if (bytes < kInfinite) return;
    std::vector<double> traffic(count * count, 0.0);
    for (std::size_t v = 0; v < graph.nodes; ++v)
        for (std::uint32_t k = graph.start[v]; k < graph.start[v + 1]; ++k)
            traffic[static_cast<std::size_t>(labels[v]) * count +
                    static_cast<std::size_t>(labels[graph.neighbour[k]])] += graph.out[k];
    std::vector<std::uint32_t> device(count);
    std::iota(device.begin(), device.end(), 0U);
    const auto saved = [&](std::size_t i, std::size_t j) {
        double total = 0;
        const std::size_t a = device[i], b = device[j];
        for (std::size_t k = 0; k < count; ++k) {
            if (k == i || k == j) continue;
            const std::size_t c = device[k];
            total += (traffic[i * count + k] - traffic[j * count + k]) *
                         (problem.distance(a, c) - problem.distance(b, c)) +
                     (traffic[k * count + i] - traffic[k * count + j]) *
                         (problem.distance(c, a) - problem.distance(c, b));
        }
        return total + (traffic[i * count + j] - traffic[j * count + i]) *
                           (problem.distance(a, b) - problem.distance(b, a));
    };
    bool better = true;
    for (int round = 0; better && round < 20; ++round) {
        better = false;
        for (std::size_t i = 0; i < count; ++i)
            for (std::size_t j = i + 1; j < count; ++j)
                if (saved(i, j) > 1e-9) {
                    std::swap(device[i], device[j]);
                    better = true;
                }
    }
    for (std::int32_t& label : labels)
        label = static_cast<std::int32_t>(device[static_cast<std::size_t>(label)]);
}

Labels at_coarse(const Labels& labels, const std::vector<std::uint32_t>& map, std::size_t nodes) {
    Labels coarse(nodes);
    for (std::size_t v = 0; v < labels.size(); ++v) coarse[map[v]] = labels[v];
    return coarse;
}

}  // namespace dse::partition
