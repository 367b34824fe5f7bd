#include "planner/steps/options.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <set>

namespace dse::planner::steps {

namespace {

constexpr std::int64_t kMostUnits = 32;
constexpr double kRounding = 1 + 1e-12;
constexpr double kAlmost = 1 + 3e-3;

/// Bytes of a stage as a line over layers and micro-batches in flight: exact, for all parts are lines.
class MemoryLines {
public:
    MemoryLines() = default;
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

    Pair base_{};
    std::vector<Pair> slopes_;
};

using Shape = std::vector<std::int64_t>;  // kinds of layers, and whether embedding and head are there

Shape shape_of(const step::Chunk& chunk) {
    Shape shape{chunk.has_embedding, chunk.has_head};
    for (const step::LayerCount& layer : chunk.layers) shape.push_back(layer.kind);
    return shape;
}

void fill(const Question& question, const Ranges& ranges, const std::vector<step::Links>& links,
          std::int64_t most_in_flight, Option& option) {
    Way& way = *option.way;
    double far_s = step::kInfinite;
    for (std::uint32_t type = 0; type < question.types.size(); ++type) {
        option.sends_s.push_back(step::kInfinite);
        if (type == option.choice.type) continue;
        option.sends_s.back() = way.far_send_s(question.gpu_gbps(option.choice.type, type));
        far_s = std::min(far_s, option.sends_s.back());
    }
    for (const step::Links& own : links) {
        option.sends_s.push_back(way.send_s(own));
        option.least_sends_s.push_back(std::min(far_s, option.sends_s.back()));
    }
    const double capacity = question.types[option.choice.type].memory_bytes;
    std::vector<std::optional<MemoryLines>> lines(ranges.shapes());
    option.cells.reserve(ranges.classes().size());
    step::Chunk chunk;
    for (const Ranges::Class& klass : ranges.classes()) {
        chunk = klass.chunk;
        if (way.plan().recompute != step::Recompute::kNone) chunk.repeated = chunk.count();
        std::optional<MemoryLines>& line = lines[klass.shape];
        if (!line) line.emplace(way, chunk);
        Cell cell;
        cell.most_in_flight = line->most_in_flight(chunk, capacity, most_in_flight);
        if (cell.most_in_flight != 0) {
            const StageFigures own = way.figures(chunk);
            const step::Plan& plan = way.plan();
            cell.forward_s = own.forward_s;
            cell.backward_s = own.backward_s;
            if (plan.zero_stage != 3) {
                cell.exposed_s = plan.overlap_dp ? own.exposed_s(way.rounds()) : own.reduce_s;
            }
            cell.tail_s = own.optimizer_s + step::gather_seen_s(own.gather_s, own.gather_s, 0.0,
                                                                own.forward_s, plan.overlap_dp);
        }
        option.cells.push_back(cell);
    }
}

/// Whether a choice is at least as good as another in all that counts.
bool is_as_good(const Choice& one, const Choice& other, std::size_t sends) {
    if (one.cell.forward_s > other.cell.forward_s || one.cell.backward_s > other.cell.backward_s ||
        one.cell.exposed_s > other.cell.exposed_s || one.cell.tail_s > other.cell.tail_s ||
        one.cell.most_in_flight < other.cell.most_in_flight) {
        return false;
    }
    return std::equal(one.sends_s, one.sends_s + sends, other.sends_s, std::less_equal<>());
}

/// Choices of which one stands for all with almost the same passes: no slower in any time than these.
std::vector<Choice> merged(std::vector<Choice> choices, std::size_t sends) {
    std::vector<Choice> found;
    std::sort(choices.begin(), choices.end(),
              [](const Choice& one, const Choice& other) { return one.cell.both_s() < other.cell.both_s(); });
    for (const Choice& own : choices) {
        const auto same = std::find_if(found.begin(), found.end(), [&](const Choice& one) {
            return own.cell.both_s() <= one.cell.both_s() * kAlmost &&
                   std::equal(one.sends_s, one.sends_s + sends, own.sends_s, std::less_equal<>());
        });
        if (same == found.end()) {
            found.push_back(own);
            continue;
        }
        Cell& cell = same->cell;
        cell.forward_s = std::min(cell.forward_s, own.cell.forward_s);
        cell.backward_s = std::min(cell.backward_s, own.cell.backward_s);
        cell.exposed_s = std::min(cell.exposed_s, own.cell.exposed_s);
        cell.tail_s = std::min(cell.tail_s, own.cell.tail_s);
        cell.most_in_flight = std::max(cell.most_in_flight, own.cell.most_in_flight);
    }
    return found;
}

}  // namespace

Ranges::Ranges(const Question& question)
    : layers_(question.layers()), numbers_(static_cast<std::size_t>((layers_ + 1) * (layers_ + 1))) {
    std::map<Shape, std::uint32_t> known, shapes;
    for (std::int64_t first = 0; first < layers_; ++first) {
        for (std::int64_t end = first + 1; end <= layers_; ++end) {
            const Part part{first, end, first == 0, end == layers_};
            const step::Chunk chunk = chunk_of(question, step::Plan{}, part);
            Shape key = shape_of(chunk);
            const auto shape = shapes.emplace(key, static_cast<std::uint32_t>(shapes.size())).first->second;
            for (const step::LayerCount& layer : chunk.layers) key.push_back(layer.count);
            const auto [at, is_new] = known.emplace(key, static_cast<std::uint32_t>(classes_.size()));
            if (is_new) classes_.push_back({chunk, shape});
            numbers_[static_cast<std::size_t>(first * (layers_ + 1) + end)] = at->second;
        }
    }
    shapes_ = shapes.size();
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
    return sizes;
}

std::vector<std::int64_t> group_sizes(const Question& question, std::uint32_t type, const Family& family) {
    if (family.gpus == 0) return group_sizes(question.types[type]);
    return family.modes[type] < 0 ? std::vector<std::int64_t>{} : std::vector{family.gpus};
}

std::vector<Family> families_of(const Question& question) {
    if (question.kinds.empty()) return {Family{}};
    std::map<std::pair<std::uint32_t, std::int64_t>, std::vector<std::int32_t>> found;
    for (std::uint32_t type = 0; type < question.types.size(); ++type) {
        for (const std::int64_t gpus : group_sizes(question.types[type])) {
            for (std::uint32_t mode = 0; mode < question.modes[type].size(); ++mode) {
                auto& modes = found[{question.kinds[type][mode], gpus}];
                modes.resize(question.types.size(), -1);
                modes[type] = static_cast<std::int32_t>(mode);
            }
        }
    }
    std::vector<Family> families;
    for (auto& [key, modes] : found) families.push_back({key.second, std::move(modes)});
    return families;
}

Options::Options(const Question& question, const Ranges& ranges, Ways& ways, const Family& family,
                 const Rounds& rounds, std::int64_t most_stages, double least_s,
                 const std::function<bool()>& stop)
    : rounds_(rounds),
      most_in_flight_(std::min(rounds.count, most_stages)),
      classes_(ranges.classes().size()),
      least_s_(least_s) {
    for (std::uint32_t type = 0; type < question.types.size(); ++type) {
        auto& groups = groups_.emplace_back();
        auto& best = best_.emplace_back();
        std::int64_t unit = 0;
        for (const std::int64_t gpus : group_sizes(question, type, family)) {
            unit = std::gcd(unit, gpus);
            Group& group = groups.emplace_back(Group{gpus, {}, {}, {}});
            each_choice(question, type, gpus, family, [&](const StageChoice& choice) {
                is_stopped_ = is_stopped_ || stop();
                Way* way = is_stopped_ ? nullptr : ways.find(choice, rounds, true);
                if (way == nullptr) return;
                fill(question, ranges, ways.links(*way), most_in_flight_,
                     group.options.emplace_back(Option{choice, way, {}, {}, {}}));
            });
            if (is_stopped_) return;
            choose(ranges, group, best);
        }
        unit_gpus_.push_back(std::max<std::int64_t>(unit, 1));
        units_.push_back(groups.empty() ? 0 : question.types[type].gpus / unit_gpus_.back());
    }
}

void Options::choose(const Ranges& ranges, Group& group, std::vector<Best>& best) const {
    for (std::size_t klass = 0; klass < classes_; ++klass) {
        const bool is_first = ranges.classes()[klass].chunk.has_embedding;
        auto& kept = group.choices.emplace_back();
        Best& least = best.emplace_back();
        for (std::uint32_t number = 0; number < group.options.size(); ++number) {
            const Option& option = group.options[number];
            const Choice own{option.cells[klass], number, option.sends_s.data()};
            if (own.cell.most_in_flight == 0) continue;
            if (own.cell.most_in_flight >= std::min<std::int64_t>(2, most_in_flight_)) {
                least.both_s = std::min(least.both_s, own.cell.both_s());
                const double after_s = is_first ? own.cell.exposed_s + own.cell.tail_s : 0.0;
                least.pass_s =
                    std::min(least.pass_s, own.cell.both_s() + 2 * option.least_sends_s.front() + after_s);
            }
            const auto beats = [&](const Choice& one) { return is_as_good(one, own, types() + kLevels); };
            if (std::any_of(kept.begin(), kept.end(), beats)) continue;
            std::erase_if(kept, [&](const Choice& one) { return is_as_good(own, one, types() + kLevels); });
            kept.push_back(own);
        }
        group.merged.push_back(merged(kept, types() + kLevels));
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
