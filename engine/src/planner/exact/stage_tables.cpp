// Stage tables: looked up, and the compat terms of the pricing rules for every range of layers.
#include <algorithm>
#include <bit>
#include <cmath>

#include "planner/exact/stages.hpp"
#include "planner/exact/units.hpp"

namespace dse::planner::exact {

namespace {

constexpr double kMemoryFactor = 5.0;
constexpr std::uint32_t kNoType = std::numeric_limits<std::uint32_t>::max();

}  // namespace

std::size_t StageOptions::HashOfKey::operator()(const TableKey& key) const {
    std::uint64_t hash = 0;
    const auto mix = [&](std::uint64_t word) {
        hash = (hash ^ word) * 0x9E3779B97F4A7C15U;
        hash ^= hash >> 29;
    };
    mix(std::uint64_t{key.dp} << 32 | key.tp);
    mix(std::uint64_t{key.last_first} << 32 | key.first_end);
    mix(key.type);
    mix(std::bit_cast<std::uint64_t>(key.capacity_mb));
    mix(std::bit_cast<std::uint64_t>(key.reduction_gbps));
    for (const std::uint64_t word : key.replicas) mix(word);
    return hash;
}

const StageTable* StageOptions::table_of(const Shape& asked, const std::vector<Replica>& replicas) {
    Shape shape = asked;
    if (model_ == CostModel::compat)
        shape.reduction_gbps = ranks_->compat_reduction_gbps(shape.start, shape.gpus, shape.dp);
    else if (shape.dp > 1)
        shape.reduction_gbps = ranks_->strict_reduction_gbps(shape.start, shape.gpus, shape.tp);
    TableKey key{shape.dp, shape.tp,          shape.last_first,     shape.first_end,
                 kNoType,  shape.capacity_mb, shape.reduction_gbps, {}};
    if (shape.pure)
        key.type = replicas.front().type;
    else
        for (const Replica& replica : replicas) {
            key.replicas.push_back(replica.type);
            key.replicas.push_back(replica.share);
        }
    const auto [place, fresh] = tables_.try_emplace(std::move(key));
    StageTable& table = place->second;
    if (fresh) {
        fill_execution(table, shape, replicas);
        if (model_ == CostModel::strict)
            fill_strict(table, shape, replicas);
        else if (!fill_compat(table, shape))
            table.execution_ms = nullptr;
    }
    return table.execution_ms == nullptr ? nullptr : &table;
}

void StageOptions::fill_execution(StageTable& table, const Shape& shape,
                                  const std::vector<Replica>& replicas) {
    if (shape.pure) {
        table.execution_ms = shared_->ms(replicas.front().parts.front());
        return;
    }
    const std::size_t width = layers_ + 1;
    table.longest.assign(width * width, 0.0);
    for (const Replica& replica : replicas) {
        std::vector<const double*> parts;
        for (const std::int32_t part : replica.parts) parts.push_back(shared_->ms(part));
        for (std::size_t first = 0; first <= shape.last_first; ++first)
            for (std::size_t at = first * width + std::max<std::size_t>(first + 1, shape.first_end);
                 at <= first * width + layers_; ++at) {
                double ms = 0;
                for (const double* part : parts) ms += part[at];
                table.longest[at] = std::max(table.longest[at], ms);
            }
    }
    table.execution_ms = table.longest.data();
}

double StageOptions::capacity_mb(std::uint32_t start, std::uint32_t gpus) const {
    double capacity = 0;
    for (std::uint32_t rank = start; rank < start + gpus; ++rank)
        capacity += problem_->memory_mb[ranks_->type(rank)];
    return capacity;
}

/// Memory of all replicas, in order, as the first type has it; false where a profile is missing.
bool StageOptions::set_memory(const Shape& shape, std::vector<const double*>& parts) {
    const Profiles& profiles = problem_->profiles;
    const std::uint32_t first_type = ranks_->sequence().front();
    if (shape.pure) {
        const std::int32_t entry = profiles.find(first_type, shape.log2_tp, batch_of(shape));
        if (entry == kMissing) return false;
        parts.push_back(shared_->memory_mb(entry));
        return true;
    }
    std::vector<std::uint64_t> dealt;
    if (!split(shape, 0, ranks_->gpus(), dealt)) return false;
    bool missing = false;
    for (const std::uint64_t share : dealt)
        each_slice(share, [&](std::uint64_t part) {
            const std::int32_t entry = profiles.find(first_type, shape.log2_tp, part);
            missing |= entry == kMissing;
            if (!missing) parts.push_back(shared_->memory_mb(entry));
        });
    return !missing;
}

bool StageOptions::fill_compat(StageTable& table, const Shape& shape) {
    std::vector<const double*> parts;
    if (!set_memory(shape, parts)) return false;
    std::vector<std::pair<const double*, double>> counts;
    for (const double* part : parts) {
        const auto known =
            std::find_if(counts.begin(), counts.end(), [&](const auto& pair) { return pair.first == part; });
        if (known == counts.end())
            counts.emplace_back(part, 1.0);
        else
            known->second += 1;
    }
    const double capacity = shape.capacity_mb;
    const auto dp = static_cast<double>(shape.dp);
    table.optimizer_ms = 2 * problem_->model.optimizer_ms / static_cast<double>(shape.tp);
    table.reduction_ms_per_byte = 2.0 * (dp - 1) / (dp * (shape.reduction_gbps * kMib));
    table.share = shared_->share_of_layers();
    table.bytes = shared_->alike_bytes(shape.log2_tp);
    table.most_in_flight.assign(std::size_t{layers_ + 1} * (layers_ + 1), 0);
    for (std::uint32_t first = 0; first <= shape.last_first; ++first)
        for (std::uint32_t end = std::max(first + 1, shape.first_end); end <= layers_; ++end) {
            const std::size_t at = std::size_t{first} * (layers_ + 1) + end;
            double estimate = 0.001;
            for (const auto& [part, count] : counts) estimate += count * (kMemoryFactor * part[at]);
            bool fits = estimate <= capacity;
            if (std::abs(estimate - capacity) <= 1e-9 * capacity) {  // only the order of the rule decides
                double demand = 0.001;
                for (const double* part : parts) demand += kMemoryFactor * part[at];
                fits = capacity - demand >= 0;
            }
            if (fits) table.most_in_flight[at] = kAnyNumber;
        }
    return true;
}

}  // namespace dse::planner::exact
