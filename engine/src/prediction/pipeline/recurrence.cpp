#include "prediction/pipeline/recurrence.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace dse::prediction {

namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();
constexpr std::size_t kMostKeptSteps = std::size_t{1} << 23;  // some 130 MB

}  // namespace

Order::Order(const Timetable& timetable, std::size_t stages_of, std::size_t chunks_of, std::size_t count)
    : stages(stages_of),
      chunks(chunks_of),
      kinds(timetable.ticks.size()),
      lasts(stages),
      gradients(stages * chunks),
      messages(timetable.messages),
      in_flight(stages) {
    std::int64_t last_tick = 0;
    for (const auto& ticks : timetable.ticks) {
        last_tick = std::max(last_tick, *std::max_element(ticks.begin(), ticks.end()));
    }
    // Cells are ticks x stages; each holds the number of one operation, or none.
    const std::size_t per_kind = stages * chunks * count;
    std::vector<std::uint32_t> cells((static_cast<std::size_t>(last_tick) + 1) * stages, UINT32_MAX);
    for (std::size_t kind = 0; kind < kinds; ++kind) {
        for (std::size_t i = 0; i < per_kind; ++i) {
            const std::size_t stage = i / (chunks * count);
            const auto tick = static_cast<std::size_t>(timetable.ticks[kind][i]);
            cells[tick * stages + stage] = static_cast<std::uint32_t>(kind * per_kind + i);
        }
    }
    std::vector<std::uint32_t> places(kinds * per_kind, 0);
    std::vector<std::int64_t> held(stages);  // from a forward pass to the last pass of its micro-batch
    steps.reserve(places.size());
    micro_batches.reserve(places.size());
    for (const std::uint32_t operation : cells) {
        if (operation == UINT32_MAX) continue;
        const std::size_t kind = operation / per_kind, i = operation % per_kind;
        const std::size_t chunk = i / count;  // of all stages
        places[operation] = static_cast<std::uint32_t>(steps.size() + 1);
        const auto stage = static_cast<std::uint32_t>(chunk / chunks);
        steps.push_back({stage, 0, static_cast<std::uint32_t>(kind * stages * chunks + chunk)});
        micro_batches.push_back(static_cast<std::uint32_t>(i % count));
        lasts[stage] = places[operation];
        if (kind == 0) in_flight[stage] = std::max(in_flight[stage], ++held[stage]);
        if (kind + 1 == kinds) {
            --held[stage];
            gradients[chunk] = places[operation];
        }
    }
    for (const Message& message : messages) {
        const auto place = [&](std::int64_t stage, std::int64_t chunk) {
            const std::size_t of = static_cast<std::size_t>(stage) * chunks + static_cast<std::size_t>(chunk);
            return places.data() + static_cast<std::size_t>(message.kind) * per_kind + of * count;
        };
        const std::uint32_t* from = place(message.stage, message.chunk);
        const std::uint32_t* to = place(message.to_stage, message.to_chunk);
        for (std::size_t batch = 0; batch < count; ++batch) steps[to[batch] - 1].need = from[batch];
    }
}

namespace {

/// A time of the pipeline without messages, and of the same with them.
struct Both {
    double silent_s, timed_s;
};

Both operator+(const Both& time, double seconds) { return {time.silent_s + seconds, time.timed_s + seconds}; }
Both later(const Both& one, const Both& other) {
    return {std::max(one.silent_s, other.silent_s), std::max(one.timed_s, other.timed_s)};
}
/// Only a pipeline with messages takes time for them.
Both after_message(const Both& time, double seconds) { return {time.silent_s, time.timed_s + seconds}; }

/// Evaluates all operations in their order into `ends`, and tells `note` the start of each.
template <typename Note>
void walk(const Order& order, const std::vector<StageTimes>& times, bool splits_backward,
          const std::vector<double>& sends_s, std::vector<Both>& ends, Note note) {
    constexpr Both kNone{kNever, kNever};
    const std::size_t parts = order.stages * order.chunks, kinds = order.kinds;
    std::vector<double> spent(kinds * parts), delays(kinds * parts, 0.0), silences(kinds * parts, kNever);
    std::vector<double> received(kinds * parts, 0.0);
    double shortest = std::numeric_limits<double>::infinity();
    for (std::size_t part = 0; part < parts; ++part) {
        const double weight_s = splits_backward ? times[part].weight_s : 0.0;
        spent[part] = times[part].forward_s;
        spent[parts + part] = times[part].backward_s - weight_s;
        if (kinds > 2) spent[2 * parts + part] = weight_s;
        for (std::size_t kind = 0; kind < kinds; ++kind)
            shortest = std::min(shortest, spent[kind * parts + part]);
    }
    for (const Message& message : order.messages) {
        const auto at = [&](std::int64_t stage, std::int64_t chunk) {
            return static_cast<std::size_t>(message.kind) * parts +
                   static_cast<std::size_t>(stage) * order.chunks + static_cast<std::size_t>(chunk);
        };
        const double send_s = sends_s[static_cast<std::size_t>(message.link)];
        delays[at(message.stage, message.chunk)] = send_s;
        silences[at(message.stage, message.chunk)] = 0.0;
        received[at(message.to_stage, message.to_chunk)] = send_s;
    }
    const std::size_t places = order.steps.size() + 1;
    if (ends.size() < places) ends.resize(places);  // kept from order to order, and never cleared
    ends[0] = kNone;
    std::vector<Both> free(order.stages, Both{0.0, 0.0});
    std::size_t place = 1;
    if (*std::max_element(sends_s.begin(), sends_s.end()) >
        shortest) {  // messages of a stage wait for each other
        thread_local std::vector<Both> arrivals;
        if (arrivals.size() < places) arrivals.resize(places);
        arrivals[0] = kNone;
        std::vector<Both> links(order.stages, Both{0.0, 0.0});
        for (const Order::Step& step : order.steps) {
            const Both start = later(free[step.stage], arrivals[step.need]);
            const Both end = start + spent[step.kind];
            const Both sent = later(end + silences[step.kind], links[step.stage]);
            note(place, start);
            free[step.stage] = ends[place] = end;
            links[step.stage] = arrivals[place] = after_message(sent, delays[step.kind]);
            ++place;
        }
    } else {
        for (const Order::Step& step : order.steps) {
            const Both message = after_message(ends[step.need], received[step.kind]);
            const Both start = later(free[step.stage], message);
            note(place, start);
            free[step.stage] = ends[place++] = start + spent[step.kind];
        }
    }
}

}  // namespace

PipelineTimes pipeline_times(const Order& order, const std::vector<StageTimes>& times, bool splits_backward,
                             const std::vector<double>& sends_s) {
    thread_local std::vector<Both> ends;
    walk(order, times, splits_backward, sends_s, ends, [](std::size_t, const Both&) {});
    PipelineTimes found;
    for (const std::uint32_t place : order.lasts) {
        found.finish_s.push_back(ends[place].timed_s);
        found.silent_s = std::max(found.silent_s, ends[place].silent_s);
        found.makespan_s = std::max(found.makespan_s, ends[place].timed_s);
    }
    for (const std::uint32_t place : order.gradients) found.gradients_s.push_back(ends[place].timed_s);
    return found;
}

std::vector<OperationSpan> pipeline_spans(const Order& order, const std::vector<StageTimes>& times,
                                          bool splits_backward, const std::vector<double>& sends_s) {
    std::vector<OperationSpan> found(order.steps.size());
    std::vector<Both> ends;
    walk(order, times, splits_backward, sends_s, ends,
         [&](std::size_t place, const Both& start) { found[place - 1].start_s = start.timed_s; });
    for (std::size_t i = 0; i < found.size(); ++i) found[i].end_s = ends[i + 1].timed_s;
    return found;
}

std::string Orders::problem(const Schedule& schedule, std::int64_t stages, std::int64_t chunks,
                            std::int64_t micro_batches) {
    const Key key{schedule.name, stages, chunks, micro_batches};
    {
        const Lock lock(mutex_);
        if (const auto known = problems_.find(key); known != problems_.end()) return known->second;
    }
    std::string found = source_.problem(schedule, stages, chunks, micro_batches);
    const Lock lock(mutex_);
    return problems_.emplace(key, std::move(found)).first->second;
}

std::shared_ptr<const Order> Orders::order(const Schedule& schedule, std::int64_t stages, std::int64_t chunks,
                                           std::int64_t micro_batches) {
    const Key key{schedule.name, stages, chunks, micro_batches};
    {
        const Lock lock(mutex_);
        if (const auto known = orders_.find(key); known != orders_.end()) return known->second;
    }
    auto made = std::make_shared<const Order>(
        source_.timetable(schedule, stages, chunks, micro_batches), static_cast<std::size_t>(stages),
        static_cast<std::size_t>(chunks), static_cast<std::size_t>(micro_batches));
    const Lock lock(mutex_);
    if (kept_steps_ > kMostKeptSteps) {
        orders_.clear();
        kept_steps_ = 0;
    }
    kept_steps_ += made->steps.size();
    orders_.emplace(key, made);
    return made;
}

}  // namespace dse::prediction
