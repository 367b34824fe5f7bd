#include "planner/steps/options.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace dse::planner::steps {

namespace {

constexpr std::int64_t kMostUnits = 32;
constexpr double kRounding = 1 + 1e-12;

/// Bytes of a stage as a line over layers and micro-batches in flight: exact, for all parts are lines.
class MemoryLines {
public:
    MemoryLines(const Way& way, const step::Chunk& chunk) {
        step::Chunk one = chunk;
        for (step::LayerCount& layer : one.layers) layer.count = 1;
        base_ = at(way, one);
        for (std::size_t i = 0; i < one.layers.size(); ++i) {
            step::Chunk more = one;
            more.layers[i].count = 2;
            const Pair found = at(way, more);
            slopes_.push_back({found.first - base_.first, found.second - base_.second});
        }
    }

    std::int32_t most_in_flight(const step::Chunk& chunk, double capacity, std::int64_t most) const {
        Pair held = base_;
        for (std::size_t i = 0; i < chunk.layers.size(); ++i) {
            const auto further = static_cast<double>(chunk.layers[i].count - 1);
            held.first += further * slopes_[i].first;
            held.second += further * slopes_[i].second;
        }
        if (held.first > capacity * kRounding) return 0;
        const double each = held.second - held.first;
        if (each <= 0) return static_cast<std::int32_t>(most);
        const double found = 1 + (capacity * kRounding - held.first) / each;
        return static_cast<std::int32_t>(std::min(found, static_cast<double>(most)));
    }

private:
    using Pair = std::pair<double, double>;  // with one and with two micro-batches in flight

    static Pair at(const Way& way, step::Chunk chunk) {
        if (chunk.repeated != 0) chunk.repeated = chunk.count();
        const step::Bytes one = way.memory(chunk, 1), two = way.memory(chunk, 2);
        return {std::accumulate(one.begin(), one.end(), 0.0), std::accumulate(two.begin(), two.end(), 0.0)};
    }

    Pair base_;
    std::vector<Pair> slopes_;
};

using Shape = std::vector<std::int64_t>;  // kinds of layers, and whether embedding and head are there

Shape shape_of(const step::Chunk& chunk) {
    Shape shape{chunk.has_embedding, chunk.has_head};
    for (const step::LayerCount& layer : chunk.layers) shape.push_back(layer.kind);
    return shape;
}

void fill(const Question& question, const Ranges& ranges, const Rounds& rounds, std::int64_t most_in_flight,
          Option& option) {
    Way& way = *option.way;
    const double capacity = question.types[option.choice.type].memory_bytes;
    const auto batches = static_cast<double>(rounds.count);
    std::map<Shape, MemoryLines> lines;
    for (const Ranges::Class& klass : ranges.classes()) {
        const step::Chunk chunk = chunk_of(question, way.plan(), klass.part);
        auto known = lines.find(shape_of(chunk));
        if (known == lines.end()) known = lines.emplace(shape_of(chunk), MemoryLines(way, chunk)).first;
        Cell cell;
        cell.most_in_flight = known->second.most_in_flight(chunk, capacity, most_in_flight);
        if (cell.most_in_flight != 0) {
            const StageFigures own = way.figures(chunk);
            // Messages of two stages are the fastest that there are.
            const double send_s = klass.part.is_last ? 0.0 : way.send_s(2, way.gpus());
            cell.forward_s = own.forward_s;
            cell.pass_s = own.both_s() + 2 * send_s;
            cell.step_s = batches * own.both_s() + own.optimizer_s;
            if (klass.part.is_first) {
                cell.step_s += std::max(0.0, own.exposed_s(way.rounds()));
                cell.step_s += step::gather_seen_s(own.gather_s, own.gather_s, 0.0, own.forward_s, true);
            }
        }
        option.cells.push_back(cell);
    }
}

}  // namespace

Ranges::Ranges(const Question& question)
    : layers_(question.layers()), numbers_(static_cast<std::size_t>((layers_ + 1) * (layers_ + 1))) {
    std::map<std::vector<std::int64_t>, std::uint32_t> known;
    for (std::int64_t first = 0; first < layers_; ++first) {
        for (std::int64_t end = first + 1; end <= layers_; ++end) {
            const Part part{first, end, first == 0, end == layers_};
            const step::Chunk chunk = chunk_of(question, step::Plan{}, part);
            std::vector<std::int64_t> key = shape_of(chunk);
            for (const step::LayerCount& layer : chunk.layers) key.push_back(layer.count);
            const auto [at, is_new] = known.emplace(key, static_cast<std::uint32_t>(classes_.size()));
            if (is_new) classes_.push_back({part});
            numbers_[static_cast<std::size_t>(first * (layers_ + 1) + end)] = at->second;
        }
    }
}

std::vector<std::int64_t> group_sizes(const GpuType& type) {
    std::vector<std::int64_t> sizes;
    const std::int64_t nodes = type.gpus / type.node_gpus;
    for (std::int64_t part = type.node_gpus; part % 2 == 0 && type.gpus / (part / 2) <= kMostUnits;) {
        part /= 2;
        sizes.push_back(part);
    }
    std::reverse(sizes.begin(), sizes.end());
    std::int64_t unit = 1;
    while (nodes / unit > kMostUnits) unit *= 2;
    for (std::int64_t count = unit; count <= nodes; count += unit) sizes.push_back(count * type.node_gpus);
    if (type.stage_gpus != 0) {
        std::erase_if(sizes, [&](std::int64_t size) { return size != type.stage_gpus; });
    }
    return sizes;
}

Options::Options(const Question& question, const Ranges& ranges, Ways& ways, const Rounds& rounds,
                 std::int64_t most_stages)
    : rounds_(rounds),
      most_in_flight_(std::min(rounds.count, most_stages)),
      classes_(ranges.classes().size()) {
    std::vector<std::vector<double>> seconds;  // x GPUs, by type and kind of layer
    for (std::uint32_t type = 0; type < question.types.size(); ++type) {
        auto& groups = groups_.emplace_back();
        auto& best = best_.emplace_back();
        std::vector<double> least(question.model->kinds.size(), step::kInfinite);
        for (const std::int64_t gpus : group_sizes(question.types[type])) {
            Group group{gpus, {}};
            for (std::uint32_t mode = 0; mode < question.modes[type].size(); ++mode) {
                const step::Plan& plan = question.modes[type][mode];
                if (gpus % (plan.tp * plan.cp) != 0) continue;
                const StageChoice choice{type, mode, gpus / (plan.tp * plan.cp), 0};
                Way* way = ways.find(choice, rounds, true);
                if (way == nullptr) continue;
                Option option{choice, way, {}};
                fill(question, ranges, rounds, most_in_flight_, option);
                for (std::uint32_t kind = 0; kind < least.size(); ++kind) {
                    if (question.model->kinds[kind].is_prediction) continue;
                    step::Chunk one{{{kind, 1}}, false, false, 0};
                    if (way->plan().recompute != step::Recompute::kNone) one.repeated = 1;
                    const double work = way->figures(one).both_s() * static_cast<double>(rounds.count * gpus);
                    least[kind] = std::min(least[kind], work);
                }
                group.options.push_back(std::move(option));
            }
            std::vector<Best> table(static_cast<std::size_t>(most_in_flight_) * classes_);
            for (std::uint32_t number = 0; number < group.options.size(); ++number) {
                for (std::size_t klass = 0; klass < classes_; ++klass) {
                    const Cell& cell = group.options[number].cells[klass];
                    for (std::int32_t flight = 0; flight < cell.most_in_flight; ++flight) {
                        Best& at = table[static_cast<std::size_t>(flight) * classes_ + klass];
                        at.pass_s = std::min(at.pass_s, cell.pass_s);
                        at.waiting_s = std::min(at.waiting_s, cell.step_s - flight * cell.forward_s);
                        if (cell.step_s < at.step_s) {
                            at.step_s = cell.step_s;
                            at.option = number;
                        }
                    }
                }
            }
            groups.push_back(std::move(group));
            best.push_back(std::move(table));
        }
        seconds.push_back(std::move(least));
    }
    // The first type that can run the model is the reference.
    const auto finite = [](const std::vector<double>& of) {
        return std::any_of(of.begin(), of.end(), [](double each) { return each < step::kInfinite; });
    };
    const auto reference = std::find_if(seconds.begin(), seconds.end(), finite);
    speeds_.assign(seconds.size(), 0.0);
    work_.assign(1, 0.0);
    for (const step::Run& run : question.model->runs) {
        if (question.model->kinds[run.kind].is_prediction) continue;
        const double each = reference == seconds.end() ? step::kInfinite : (*reference)[run.kind];
        for (std::int64_t i = 0; i < run.count; ++i) work_.push_back(work_.back() + each);
    }
    if (reference == seconds.end()) return;
    for (std::size_t type = 0; type < seconds.size(); ++type) {
        for (std::size_t kind = 0; kind < seconds[type].size(); ++kind) {
            if (seconds[type][kind] == step::kInfinite) continue;
            speeds_[type] = std::max(speeds_[type], (*reference)[kind] / seconds[type][kind]);
        }
    }
}

std::vector<Rounds> rounds_of(const Question& question) {
    constexpr std::int64_t kIdle = 8, kMostMicroBatch = 8;
    const std::int64_t batch = question.model->batch_size;
    std::set<std::int64_t> sequences;
    for (std::int64_t each = 1; each <= batch; ++each) {
        if (batch % each == 0) sequences.insert(each);
    }
    for (std::size_t type = 0; type < question.types.size(); ++type) {
        for (const std::int64_t gpus : group_sizes(question.types[type])) {
            if (question.types[type].gpus % gpus != 0) continue;
            for (const step::Plan& mode : question.modes[type]) {
                const std::int64_t replica = mode.tp * mode.cp;
                for (std::int64_t each = 1; gpus % replica == 0 && each <= kMostMicroBatch; each *= 2) {
                    const std::int64_t taken = gpus / replica * each;
                    const std::int64_t idle = (batch + taken - 1) / taken * taken - batch;
                    if (taken < batch && kIdle * idle <= batch) sequences.insert(taken);
                }
            }
        }
    }
    std::vector<Rounds> found;
    for (const std::int64_t each : sequences) found.push_back({(batch + each - 1) / each, each});
    return found;
}

}  // namespace dse::planner::steps
