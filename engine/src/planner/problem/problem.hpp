// A planning problem as flat arrays: hosts, profiles by type, tensor degree and batch, the model, the
// options.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace dse::planner {

/// No profile for a type, tensor degree and batch.
inline constexpr std::int32_t kMissing = -1;

/// Hosts in the order of the host file; `type` is a position in the type order.
struct Host {
    std::uint32_t type = 0;
    std::uint32_t gpus = 0;
    double intra_gbps = 0;
    double inter_gbps = 0;
    std::uint32_t island = 0;
};

/// Times of a profile besides its layers, in ms.
struct ProfileTimes {
    double total_ms = 0;  ///< the layers, added from the first to the last
    double gap_ms = 0;
    double optimizer_ms = 0;
    double batch_generator_ms = 0;
};

/// Profiles in any order; layer l of entry e is at e * layers + l.
struct Profiles {
    std::uint32_t layers = 0;
    std::uint32_t degrees = 0;               ///< tensor degrees 1, 2, 4 … 2^(degrees-1)
    std::uint32_t batches = 0;               ///< different batches that have profiles
    std::vector<std::int32_t> row_of_batch;  ///< by batch; kMissing: no profile of any type has it
    std::vector<std::int32_t> entry_of;      ///< [type][log2 tp][row of the batch]; kMissing: no profile
    std::vector<double> layer_ms;            ///< [entry][layer]
    std::vector<double> layer_memory_mb;     ///< [entry][layer]
    std::vector<double> ms_before;           ///< [entry][layer 0 … layers]: sum of the layers before
    std::vector<double> memory_mb_before;    ///< the same for the memory
    std::vector<ProfileTimes> times;         ///< per entry

    /// The entry for a type, the logarithm of a tensor degree, and a batch, or kMissing.
    std::int32_t find(std::uint32_t type, std::uint32_t log2_tp, std::uint64_t batch) const {
        if (log2_tp >= degrees || batch >= row_of_batch.size()) return kMissing;
        const std::int32_t row = row_of_batch[batch];
        if (row < 0) return kMissing;
        return entry_of[(std::size_t{type} * degrees + log2_tp) * batches + static_cast<std::uint32_t>(row)];
    }
    std::span<const double> ms_of(std::int32_t entry) const { return slice(layer_ms, entry, layers); }
    std::span<const double> memory_mb_of(std::int32_t entry) const {
        return slice(layer_memory_mb, entry, layers);
    }
    /// Fills `ms_before`, `memory_mb_before` and the totals of `times`.
    void add_up();

private:
    static std::span<const double> slice(const std::vector<double>& all, std::int32_t entry,
                                         std::size_t length) {
        return std::span(all).subspan(static_cast<std::size_t>(entry) * length, length);
    }
};

/// The model: what the compat cost takes of one profile for all, and its sizes.
struct Model {
    std::vector<double> weights;           ///< per layer: its share of the model's time
    std::vector<double> parameters_bytes;  ///< per layer
    double optimizer_ms = 0;               ///< of the first profile, as it says (compat takes it twice)
    double batch_generator_ms = 0;         ///< of the first profile
    std::uint64_t gbs = 0;                 ///< global batch, in sequences
    std::uint64_t hidden = 0;
    std::uint64_t sequence = 0;
    std::uint64_t vocabulary = 0;
};

/// The rules that plans keep.
struct Options {
    std::uint64_t max_tp = 0;
    std::uint64_t max_batch = 0;
    std::uint64_t group_scale = 1;
    std::uint64_t permutation_limit = 0;
    bool allow_mixed_stages = true;
    bool memory_has_states = true;
    bool shard_optimizer = false;
    double memory_reserve = 0;
    std::uint64_t bytes_per_element = 2;
};

struct Problem {
    std::vector<std::string> types;  ///< in the type order
    std::vector<double> memory_mb;   ///< of one GPU, per type: 1024 * GiB
    std::vector<Host> hosts;
    double between_islands_gbps = 0;  ///< 0: one island
    Profiles profiles;
    Model model;
    Options options;

    std::uint32_t gpus() const {
        std::uint32_t sum = 0;
        for (const Host& host : hosts) sum += host.gpus;
        return sum;
    }
    std::vector<std::uint32_t> gpus_of_types() const {
        std::vector<std::uint32_t> counts(types.size(), 0);
        for (const Host& host : hosts) counts[host.type] += host.gpus;
        return counts;
    }
    std::uint32_t layers() const { return profiles.layers; }
};

/// The logarithm of a power of two.
inline std::uint32_t log2_of(std::uint64_t power) {
    return static_cast<std::uint32_t>(std::countr_zero(power));
}

}  // namespace dse::planner
