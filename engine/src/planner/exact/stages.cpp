// Stage tables: the terms of the pricing rules for every range of layers.
#include "planner/exact/stages.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace dse::planner::exact {

namespace {

constexpr double kMib = 1048576.0;
constexpr double kBytesPerMs = 1e6;  // of 1 GB/s
constexpr double kMemoryFactor = 5.0;
constexpr std::uint16_t kAnyNumber = std::numeric_limits<std::uint16_t>::max();

template <typename T>
void append_bytes(std::string& key, const T& value) {
    char bytes[sizeof(T)];
    std::memcpy(bytes, &value, sizeof(T));
    key.append(bytes, sizeof(T));
}

/// Visits the powers of two of a share, the largest first.
template <typename Visit>
void each_slice(std::uint64_t share, Visit&& visit) {
    while (share > 0) {
        const std::uint64_t part = std::bit_floor(share);
        visit(part);
        share -= part;
    }
}

}  // namespace

const double* SliceSums::of(Tables& tables, std::span<const double> values, std::int32_t entry) const {
    std::vector<double>& table = tables[entry];
    if (table.empty()) {
        const std::size_t layers = values.size();
        table.assign((layers + 1) * (layers + 1), 0.0);
        for (std::size_t first = 0; first < layers; ++first) {
            double sum = 0;
            for (std::size_t end = first + 1; end <= layers; ++end)
                table[first * (layers + 1) + end] = sum += values[end - 1];
        }
    }
    return table.data();
}

StageOptions::StageOptions(const Problem& problem, CostModel model, const Ranks& ranks, SliceSums& sums,
                           std::uint64_t batches)
    : problem_(&problem),
      model_(model),
      ranks_(&ranks),
      sums_(&sums),
      batches_(batches),
      layers_(problem.layers()) {
    for (const double bytes : problem.model.parameters_bytes) model_bytes_ += bytes;
    batch_generator_ms_ = problem.model.batch_generator_ms;
    if (model_ == CostModel::compat) return;
    const std::uint32_t type = ranks.sequence().front();
    batch_generator_ms_ = kInfinite;
    for (std::uint32_t log2_tp = 0; log2_tp < problem.profiles.degrees; ++log2_tp)
        for (std::size_t batch = 1; batch < problem.profiles.row_of_batch.size(); ++batch) {
            const std::int32_t entry = problem.profiles.find(type, log2_tp, batch);
            if (entry == kMissing) continue;
            batch_generator_ms_ = problem.profiles.times[static_cast<std::size_t>(entry)].batch_generator_ms;
            return;
        }
}

const std::vector<StageOption>& StageOptions::at(std::uint32_t start, std::uint32_t gpus) {
    const std::uint64_t key = std::uint64_t{start} << 32 | gpus;
    const auto found = made_.find(key);
    if (found != made_.end()) return found->second;
    std::vector<StageOption>& options = made_[key];
    const bool pure = ranks_->pure(start, gpus);
    if (!pure && !problem_->options.allow_mixed_stages) return options;
    const std::uint32_t last_first = start == 0 ? 0 : layers_ - 1;
    const std::uint32_t first_end = start + gpus == ranks_->gpus() ? layers_ : 1;
    for (std::uint32_t tp = 1; tp <= gpus && tp <= problem_->options.max_tp; tp *= 2)
        add(options, {start, gpus, gpus / tp, tp, log2_of(tp), pure, last_first, first_end, 0});
    return options;
}

void StageOptions::add(std::vector<StageOption>& options, const Shape& shape) {
    const std::uint64_t batch = batch_of(shape);
    if (batch < 1 || batch > problem_->options.max_batch) return;
    std::vector<Replica> replicas;
    if (!replicas_of(shape, replicas)) return;
    const StageTable* table = table_of(shape, replicas);
    if (table == nullptr) return;
    StageOption option;
    option.gpus = shape.gpus;
    option.tp = shape.tp;
    option.table = table;
    option.gap_ms = gap_of(shape, replicas);
    std::uint64_t largest = 0;
    for (const Replica& replica : replicas) largest = std::max(largest, replica.share);
    set_links(option, shape, largest);
    options.push_back(std::move(option));
}

bool StageOptions::split(const Shape& shape, std::uint32_t start, std::uint32_t gpus,
                         std::vector<std::uint64_t>& dealt) const {
    std::vector<double> ms;
    const std::uint32_t width = gpus / shape.dp;
    for (std::uint32_t replica = 0; replica < shape.dp; ++replica) {
        const std::int32_t entry =
            problem_->profiles.find(ranks_->type(start + replica * width), shape.log2_tp, 1);
        if (entry == kMissing) return false;
        ms.push_back(problem_->profiles.times[static_cast<std::size_t>(entry)].total_ms);
    }
    dealt = shares(ms, problem_->model.gbs / batches_);
    return true;
}

bool StageOptions::replicas_of(const Shape& shape, std::vector<Replica>& replicas) const {
    const Profiles& profiles = problem_->profiles;
    const std::uint64_t gbs = problem_->model.gbs;
    if (shape.pure) {
        if (model_ == CostModel::strict && gbs % (shape.dp * batches_) != 0) return false;
        const std::uint32_t type = ranks_->type(shape.start);
        const std::int32_t entry = profiles.find(type, shape.log2_tp, batch_of(shape));
        if (entry == kMissing) return false;
        replicas.push_back({type, batch_of(shape), {entry}});
        return true;
    }
    if (model_ == CostModel::strict)
        for (std::uint32_t replica = 0; replica < shape.dp; ++replica)
            if (!ranks_->pure(shape.start + replica * shape.tp, shape.tp)) return false;
    std::vector<std::uint64_t> dealt;
    if (!split(shape, shape.start, shape.gpus, dealt)) return false;
    for (std::uint32_t r = 0; r < shape.dp; ++r) {
        Replica replica{ranks_->type(shape.start + r * shape.tp), dealt[r], {}};
        const bool known = std::any_of(replicas.begin(), replicas.end(), [&](const Replica& other) {
            return other.type == replica.type && other.share == replica.share;
        });
        if (known) continue;
        bool missing = false;
        each_slice(replica.share, [&](std::uint64_t part) {
            const std::int32_t entry = profiles.find(replica.type, shape.log2_tp, part);
            missing |= entry == kMissing || part > problem_->options.max_batch;
            replica.parts.push_back(entry);
        });
        if (missing) return false;
        replicas.push_back(std::move(replica));
    }
    return true;
}

double StageOptions::gap_of(const Shape& shape, const std::vector<Replica>& replicas) const {
    double most = -kInfinite;
    if (model_ == CostModel::compat) {
        for (std::uint32_t rank = shape.start; rank < shape.start + shape.gpus; ++rank) {
            const std::int32_t entry =
                problem_->profiles.find(ranks_->type(rank), shape.log2_tp, batch_of(shape));
            if (entry == kMissing) return kInfinite;
            const double gap = problem_->profiles.times[static_cast<std::size_t>(entry)].gap_ms;
            if (gap == 0) return kInfinite;
            most = std::max(most, gap);
        }
    } else {
        for (const Replica& replica : replicas) {
            if (replica.parts.empty()) continue;
            double gap = 0;
            for (const std::int32_t part : replica.parts)
                gap += problem_->profiles.times[static_cast<std::size_t>(part)].gap_ms;
            most = std::max(most, gap);
        }
    }
    return static_cast<double>(batches_) * most;
}

const StageTable* StageOptions::table_of(const Shape& asked, const std::vector<Replica>& replicas) {
    Shape shape = asked;
    std::string key;
    append_bytes(key, shape.dp);
    append_bytes(key, shape.tp);
    append_bytes(key, shape.pure);
    for (const Replica& replica : replicas) {
        append_bytes(key, replica.type);
        append_bytes(key, replica.share);
    }
    append_bytes(key, shape.last_first);
    append_bytes(key, shape.first_end);
    if (model_ == CostModel::compat) {
        append_bytes(key, capacity_mb(shape));
        shape.reduction_gbps = ranks_->compat_reduction_gbps(shape.start, shape.gpus, shape.dp);
    } else if (shape.dp > 1) {
        shape.reduction_gbps = ranks_->strict_reduction_gbps(shape.start, shape.gpus, shape.tp);
    }
    append_bytes(key, shape.reduction_gbps);
    const auto found = tables_.find(key);
    if (found != tables_.end()) return found->second.execution_ms.empty() ? nullptr : &found->second;
    StageTable& table = tables_[key];
    fill_execution(table, shape, replicas);
    if (model_ == CostModel::strict)
        fill_strict(table, shape, replicas);
    else if (!fill_compat(table, shape))
        table.execution_ms.clear();
    return table.execution_ms.empty() ? nullptr : &table;
}

void StageOptions::fill_execution(StageTable& table, const Shape& shape,
                                  const std::vector<Replica>& replicas) {
    const std::size_t width = layers_ + 1;
    table.execution_ms.assign(width * width, 0.0);
    for (const Replica& replica : replicas) {
        std::vector<const double*> parts;
        for (const std::int32_t part : replica.parts) parts.push_back(sums_->ms(part));
        for (std::size_t first = 0; first <= shape.last_first; ++first)
            for (std::size_t at = first * width + std::max<std::size_t>(first + 1, shape.first_end);
                 at <= first * width + layers_; ++at) {
                double ms = 0;
                for (const double* part : parts) ms += part[at];
                table.execution_ms[at] = std::max(table.execution_ms[at], ms);
            }
    }
}

double StageOptions::capacity_mb(const Shape& shape) const {
    double capacity = 0;
    for (std::uint32_t rank = shape.start; rank < shape.start + shape.gpus; ++rank)
        capacity += problem_->memory_mb[ranks_->type(rank)];
    return capacity;
}

bool StageOptions::fill_compat(StageTable& table, const Shape& shape) {
    const Profiles& profiles = problem_->profiles;
    const std::uint32_t first_type = ranks_->sequence().front();
    std::vector<const double*> parts;  // of all replicas, in order
    if (shape.pure) {
        const std::int32_t entry = profiles.find(first_type, shape.log2_tp, batch_of(shape));
        if (entry == kMissing) return false;
        parts.push_back(sums_->memory_mb(entry));
    } else {
        std::vector<std::uint64_t> dealt;
        if (!split(shape, 0, ranks_->gpus(), dealt)) return false;
        for (const std::uint64_t share : dealt) {
            bool missing = false;
            each_slice(share, [&](std::uint64_t part) {
                const std::int32_t entry = profiles.find(first_type, shape.log2_tp, part);
                missing |= entry == kMissing;
                if (!missing) parts.push_back(sums_->memory_mb(entry));
            });
            if (missing) return false;
        }
    }
    std::vector<std::pair<const double*, double>> counts;
    for (const double* part : parts) {
        const auto known =
            std::find_if(counts.begin(), counts.end(), [&](const auto& pair) { return pair.first == part; });
        if (known == counts.end())
            counts.emplace_back(part, 1.0);
        else
            known->second += 1;
    }
    const double capacity = capacity_mb(shape);
    const auto dp = static_cast<double>(shape.dp);
    const auto tp = static_cast<double>(shape.tp);
    const auto layers = static_cast<double>(layers_);
    const double per_byte = 2.0 * (dp - 1) / (dp * (shape.reduction_gbps * kMib));
    const std::vector<double>& parameters = problem_->model.parameters_bytes;
    const double middle_bytes = parameters[std::min<std::size_t>(1, parameters.size() - 1)] / tp;
    const double optimizer = 2 * problem_->model.optimizer_ms / tp;
    const std::size_t size = table.execution_ms.size();
    table.update_ms.assign(size, 0.0);
    table.reduction_ms.assign(size, 0.0);
    table.most_flying.assign(size, 0);
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
            if (!fits) continue;
            table.most_flying[at] = kAnyNumber;
            double bytes = 0;
            double middle = static_cast<double>(end - first);
            if (first == 0) {
                bytes += parameters.front() / tp;
                middle -= 1;
            }
            if (end == layers_) {
                bytes += parameters.back() / tp;
                middle -= 1;
            }
            table.reduction_ms[at] = per_byte * (bytes + middle_bytes * middle);
            table.update_ms[at] = optimizer * (static_cast<double>(end - first) / layers);
        }
    return true;
}

double StageOptions::optimizer_ms(std::uint32_t type, std::uint32_t log2_tp) const {
    for (std::size_t batch = 1; batch < problem_->profiles.row_of_batch.size(); ++batch) {
        const std::int32_t entry = problem_->profiles.find(type, log2_tp, batch);
        if (entry != kMissing) return problem_->profiles.times[static_cast<std::size_t>(entry)].optimizer_ms;
    }
    return kInfinite;
}

StageOptions::MemoryTerms StageOptions::memory_terms(const Replica& replica, const Shape& shape) {
    MemoryTerms terms;
    terms.parameters = sums_->parameters_bytes();
    terms.share = replica.share;
    terms.capacity = problem_->memory_mb[replica.type] * kMib * (1.0 - problem_->options.memory_reserve);
    for (const std::int32_t part : replica.parts) terms.parts.push_back(sums_->memory_mb(part));
    const auto total = [&](std::uint64_t batch) -> const double* {
        const std::int32_t entry = problem_->profiles.find(replica.type, shape.log2_tp, batch);
        return entry == kMissing ? nullptr : sums_->memory_mb(entry);
    };
    terms.batch = replica.parts.empty() ? 1 : shape.pure ? replica.share : std::bit_floor(replica.share);
    terms.total = total(terms.batch);
    terms.low = total(2 * terms.batch) != nullptr ? terms.batch : terms.batch / 2;
    terms.low_total = total(terms.low);
    terms.high_total = total(2 * terms.low);
    return terms;
}

double StageOptions::strict_bytes(const MemoryTerms& terms, const Shape& shape, std::size_t at,
                                  std::uint64_t flying) const {
    const Options& options = problem_->options;
    const auto tp = static_cast<double>(shape.tp);
    const auto dp = static_cast<double>(shape.dp);
    const double parameters = terms.parameters[at] / static_cast<double>(options.bytes_per_element) / tp;
    if (!options.memory_has_states) {
        const double optimizer = options.shard_optimizer ? 12.0 / dp : 12.0;
        double activations = 0;
        for (const double* part : terms.parts) activations += part[at];
        return parameters * (4.0 + optimizer) + static_cast<double>(flying) * (activations * kMib);
    }
    double total = terms.total[at];
    const std::uint64_t samples = terms.share * flying;
    if (samples > terms.batch) {
        double sample = total / static_cast<double>(terms.batch);
        if (terms.low_total != nullptr && terms.high_total != nullptr)
            sample =
                std::max(0.0, terms.high_total[at] - terms.low_total[at]) / static_cast<double>(terms.low);
        total += static_cast<double>(samples - terms.batch) * sample;
    }
    const double sharded = options.shard_optimizer ? 12.0 * (1.0 - 1.0 / dp) * parameters : 0.0;
    return total * kMib - sharded;
}

void StageOptions::fill_strict(StageTable& table, const Shape& shape, const std::vector<Replica>& replicas) {
    double optimizer = 0;
    for (const Replica& replica : replicas)
        optimizer = std::max(optimizer, optimizer_ms(replica.type, shape.log2_tp));
    const auto dp = static_cast<double>(shape.dp);
    const auto tp = static_cast<double>(shape.tp);
    const double per_byte = shape.dp > 1 ? 2.0 * (dp - 1) / (dp * (shape.reduction_gbps * kBytesPerMs)) : 0.0;
    const std::size_t size = table.execution_ms.size();
    table.update_ms.assign(size, 0.0);
    table.most_flying.assign(size, 0);
    const double* parameters = sums_->parameters_bytes();
    std::vector<MemoryTerms> memory;
    for (const Replica& replica : replicas) memory.push_back(memory_terms(replica, shape));
    const std::uint64_t most = std::min<std::uint64_t>(batches_, layers_);
    for (std::uint32_t first = 0; first <= shape.last_first; ++first)
        for (std::uint32_t end = std::max(first + 1, shape.first_end); end <= layers_; ++end) {
            const std::size_t at = std::size_t{first} * (layers_ + 1) + end;
            const auto fits = [&](std::uint64_t flying) {
                return std::all_of(memory.begin(), memory.end(), [&](const MemoryTerms& terms) {
                    return strict_bytes(terms, shape, at, flying) <= terms.capacity;
                });
            };
            if (!fits(1)) continue;
            std::uint64_t low = 1;
            std::uint64_t high = most;
            while (low < high) {
                const std::uint64_t middle = (low + high + 1) / 2;
                if (fits(middle))
                    low = middle;
                else
                    high = middle - 1;
            }
            table.most_flying[at] = low == most ? kAnyNumber : static_cast<std::uint16_t>(low);
            table.update_ms[at] =
                optimizer * (parameters[at] / model_bytes_) + per_byte * (parameters[at] / tp);
        }
}

RelaxedTerms StageOptions::relaxed(std::uint32_t type, std::uint32_t gpus, std::uint32_t tp, double link_gbps,
                                   double reduction_gbps, const std::vector<std::uint32_t>& cells) {
    RelaxedTerms terms;
    const Model& model = problem_->model;
    const Shape shape{0, gpus, gpus / tp, tp, log2_of(tp), true, layers_ - 1, 1, reduction_gbps};
    const std::uint64_t batch = batch_of(shape);
    if (batch < 1 || batch > problem_->options.max_batch || model.gbs % (shape.dp * batches_) != 0)
        return terms;
    const std::int32_t entry = problem_->profiles.find(type, shape.log2_tp, batch);
    if (entry == kMissing) return terms;
    terms.execution_ms = sums_->ms(entry);
    const double sent = 2.0 * static_cast<double>(batch * model.sequence * model.hidden *
                                                  problem_->options.bytes_per_element);
    terms.link_ms = sent / (link_gbps * kBytesPerMs);
    terms.gap_ms =
        static_cast<double>(batches_) * problem_->profiles.times[static_cast<std::size_t>(entry)].gap_ms;
    terms.tail_per_byte = optimizer_ms(type, shape.log2_tp) / model_bytes_;
    if (shape.dp > 1) {
        const auto dp = static_cast<double>(shape.dp);
        terms.tail_per_byte +=
            2.0 * (dp - 1) / (dp * (reduction_gbps * kBytesPerMs)) / static_cast<double>(tp);
    }
    const MemoryTerms memory = memory_terms({type, batch, {entry}}, shape);
    for (const std::uint32_t at : cells)
        terms.fits.push_back(strict_bytes(memory, shape, at, 1) <= memory.capacity ? 1 : 0);
    return terms;
}

void StageOptions::set_links(StageOption& option, const Shape& shape, std::uint64_t largest_share) const {
    const Model& model = problem_->model;
    const bool compat = model_ == CostModel::compat;
    const double unit = compat ? kMib : kBytesPerMs;
    if (compat) {
        const std::uint64_t tokens = batch_of(shape) * model.sequence;
        option.sent = static_cast<double>(tokens * model.hidden);
        option.sent_logits = static_cast<double>(tokens * model.vocabulary) / static_cast<double>(shape.tp);
    } else {
        option.sent = 2.0 * static_cast<double>(largest_share * model.sequence * model.hidden *
                                                problem_->options.bytes_per_element);
        option.sent_logits = option.sent;
    }
    const std::uint32_t next = shape.start + shape.gpus;
    double best = 0;
    for (std::uint64_t following = 1; next + following <= ranks_->gpus(); following *= 2) {
        const auto count = static_cast<std::uint32_t>(shape.gpus + following);
        const double gbps = compat ? ranks_->compat_gbps(shape.start, shape.start + count, 1)
                                   : ranks_->strict_link_gbps(shape.start, count);
        option.link_bandwidth.push_back(gbps * unit);
        best = std::max(best, gbps * unit);
    }
    if (best > 0) option.least_link_ms = std::min(option.sent, option.sent_logits) / best;
}

}  // namespace dse::planner::exact
