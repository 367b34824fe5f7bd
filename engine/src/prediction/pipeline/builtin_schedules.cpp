#include "prediction/pipeline/builtin_schedules.hpp"

#include <algorithm>
#include <array>

namespace dse::prediction {

namespace {

using Count = std::int64_t;

/// `kinds` tables of ticks, the tick of an operation by its kind, stage, chunk and micro-batch.
template <typename Tick>
Timetable timetable_of(Count kinds, Count stages, Count chunks, Count micro_batches, const Tick& tick) {
    Timetable made;
    for (Count kind = 0; kind < kinds; ++kind) {
        auto& ticks = made.ticks.emplace_back();
        ticks.reserve(static_cast<std::size_t>(stages * chunks * micro_batches));
        for (Count stage = 0; stage < stages; ++stage) {
            for (Count chunk = 0; chunk < chunks; ++chunk) {
                for (Count batch = 0; batch < micro_batches; ++batch)
                    ticks.push_back(tick(kind, stage, chunk, batch));
            }
        }
    }
    return made;
}

/// GPipe: all forward passes, then all backward passes in reverse order.
Timetable gpipe(Count stages, Count chunks, Count micro_batches) {
    const Count turn = stages + micro_batches - 1;
    return timetable_of(2, stages, chunks, micro_batches, [&](Count kind, Count stage, Count, Count batch) {
        return kind == 0 ? stage + batch : turn + (stages - 1 - stage) + (micro_batches - 1 - batch);
    });
}

/// 1F1B: stage s runs p - s - 1 forward passes ahead, then one forward and one backward in turn.
Timetable one_f_one_b(Count stages, Count chunks, Count micro_batches) {
    return timetable_of(2, stages, chunks, micro_batches, [&](Count kind, Count stage, Count, Count batch) {
        return kind == 0 ? 2 * batch + stage : 2 * (batch + stages - 1 - stage) + stage + 1;
    });
}

/// Interleaved 1F1B: stage s runs 2 (p - s - 1) + (v - 1) p forward passes ahead.
Timetable interleaved(Count stages, Count chunks, Count micro_batches) {
    const auto ahead = [&](Count stage) { return 2 * (stages - 1 - stage) + (chunks - 1) * stages; };
    const auto turn = [&](Count chunk, Count batch) {
        return batch / stages * stages * chunks + chunk * stages + batch % stages;
    };
    return timetable_of(
        2, stages, chunks, micro_batches, [&](Count kind, Count stage, Count chunk, Count batch) {
            return kind == 0 ? 2 * (turn(chunk, batch) + stage)
                             : 2 * (turn(chunks - 1 - chunk, batch) + ahead(stage) + stage) + 1;
        });
}

std::string interleaved_limit(Count stages, Count chunks, Count micro_batches) {
    if (chunks < 2) {
        return "chunks is " + std::to_string(chunks) +
               ": schedule=interleaved has at least 2 chunks a stage; with 1 it is 1f1b";
    }
    if (micro_batches % stages != 0) {
        return std::to_string(micro_batches) +
               " micro-batches: schedule=interleaved needs a multiple of the " + std::to_string(stages) +
               " stages";
    }
    return {};
}

/// ZB-H1: 1F1B whose gradients of weights are put off by s micro-batches.
Timetable zb_h1(Count stages, Count chunks, Count micro_batches) {
    return timetable_of(3, stages, chunks, micro_batches, [&](Count kind, Count stage, Count, Count batch) {
        const Count behind = kind == 0 ? 0 : kind == 1 ? stages - 1 - stage : stages - 1;  // micro-batches
        return 3 * (batch + behind) + stage + kind;
    });
}

/// The operations of a stage of ZB-V: 0 and 3 are forward passes of its chunks, 1 and 4 gradients of inputs,
/// 2 and 5 those of weights.
std::vector<std::uint8_t> zb_v_order(Count stages, Count stage, Count micro_batches) {
    std::vector<std::uint8_t> order;
    const auto add = [&](std::initializer_list<std::uint8_t> operations, Count times) {
        for (Count i = 0; i < times; ++i) order.insert(order.end(), operations);
    };
    add({0}, 2 * (stages - stage) - 1);
    add({3, 0}, stage);
    add({3, 4, 5}, stages - stage);
    add({0, 1, 2, 3, 4, 5}, micro_batches - 2 * stages + stage + 1);
    add({1, 2, 3, 4, 5}, stages - stage - 1);
    add({1, 4}, stage);
    add({1, 2}, stages - stage);
    add({5}, stage);
    add({2}, stage);
    return order;
}

/// ZB-V: two chunks a stage in the shape of a V, gradients of weights apart.
Timetable zb_v(Count stages, Count chunks, Count micro_batches) {
    // A shorter step runs the order of 2p - 1 micro-batches without those that it lacks.
    const Count ordered = std::max(2 * stages - 1, micro_batches);
    Timetable made;
    made.ticks.assign(3, std::vector<Count>(static_cast<std::size_t>(stages * chunks * micro_batches)));
    for (Count stage = 0; stage < stages; ++stage) {
        const auto order = zb_v_order(stages, stage, ordered);
        std::array<Count, 6> batches{};
        for (std::size_t place = 0; place < order.size(); ++place) {
            const std::size_t number = order[place];
            const Count batch = batches.at(number)++;
            if (batch >= micro_batches) continue;
            const Count chunk = stage * chunks + static_cast<Count>(number / 3);
            made.ticks[number % 3][static_cast<std::size_t>(chunk * micro_batches + batch)] =
                stage + static_cast<Count>(place);
        }
    }
    return made;
}

constexpr Count kPeriod = 6;  ///< ticks of a building block: three passes of two chunks

/// The ticks of a stage in the first block of building_block.py, by kind of pass and chunk.
std::array<std::array<Count, 2>, 3> block_ticks(Count stages, Count stage, Count rise,
                                                const std::array<Count, 3>& delays) {
    const Count last = stages - 1, up = rise * (last - stage), turn = last + delays[0];
    const Count loss = turn + rise * last + delays[1];
    std::array<std::array<Count, 2>, 3> found{
        {{stage, turn + up}, {loss + last + delays[2] + up, loss + stage}, {0, 0}}};
    std::array<bool, kPeriod> taken{};
    const auto take = [&](Count tick) { taken.at(static_cast<std::size_t>(tick % kPeriod)) = true; };
    for (std::size_t kind = 0; kind < 2; ++kind) std::for_each(found[kind].begin(), found[kind].end(), take);
    for (std::size_t chunk = 0; chunk < 2; ++chunk) {
        Count& weight = found[2][chunk];
        for (weight = found[1][chunk] + 1; taken.at(static_cast<std::size_t>(weight % kPeriod));) ++weight;
        take(weight);
    }
    return found;
}

/// A building block in the shape of a V, again every period: passes climb in `rise` ticks a stage.
Timetable v_blocks(Count stages, Count micro_batches, Count rise, const std::array<Count, 3>& delays) {
    std::vector<std::array<std::array<Count, 2>, 3>> blocks;
    for (Count stage = 0; stage < stages; ++stage) blocks.push_back(block_ticks(stages, stage, rise, delays));
    return timetable_of(3, stages, 2, micro_batches, [&](Count kind, Count stage, Count chunk, Count batch) {
        const auto& ticks = blocks[static_cast<std::size_t>(stage)][static_cast<std::size_t>(kind)];
        return ticks[static_cast<std::size_t>(chunk)] + kPeriod * batch;
    });
}

Timetable v_half(Count stages, Count, Count micro_batches) {
    return v_blocks(stages, micro_batches, 2, {2, stages % 2 != 0 ? 1 : 4, 1});
}

Timetable v_min(Count stages, Count, Count micro_batches) {
    return v_blocks(stages, micro_batches, 1, {1, stages % 3 != 0 ? 1 : 3, 1});
}

constexpr std::array<BuiltinSchedule, 7> kBuiltin = {{
    {"1f1b", false, false, 1, one_f_one_b},
    {"gpipe", false, false, 1, gpipe},
    {"interleaved", false, false, 0, interleaved, interleaved_limit},
    {"v-half", true, true, 2, v_half},
    {"v-min", true, true, 2, v_min},
    {"zb-h1", true, false, 1, zb_h1},
    {"zb-v", true, true, 2, zb_v},
}};

struct Position {
    Count stage, chunk;
};

/// Where the parts 0, 1, ... of the model live: round and round, or down and up again (a V).
std::vector<Position> positions(bool is_v_shaped, Count stages, Count chunks) {
    std::vector<Position> places;
    for (Count chunk = 0; chunk < chunks; ++chunk) {
        const bool is_upwards = is_v_shaped && chunk % 2 == 1;
        for (Count step = 0; step < stages; ++step)
            places.push_back({is_upwards ? stages - 1 - step : step, chunk});
    }
    return places;
}

}  // namespace

std::string BuiltinSchedule::problem(Count stages, Count chunks_of, Count micro_batches) const {
    if (chunks != 0 && chunks != chunks_of) {
        const std::string count = chunks == 1 ? "one chunk" : "exactly " + std::to_string(chunks) + " chunks";
        return "chunks is " + std::to_string(chunks_of) + ": schedule=" + std::string(name) + " has " +
               count + " a stage";
    }
    return limit != nullptr ? limit(stages, chunks_of, micro_batches) : std::string();
}

Timetable BuiltinSchedule::timetable(Count stages, Count chunks_of, Count micro_batches) const {
    Timetable made = ticks(stages, chunks_of, micro_batches);
    const auto places = positions(is_v_shaped, stages, chunks_of);
    for (std::size_t part = 0; part + 1 < places.size(); ++part) {
        const Position &here = places[part], &there = places[part + 1];
        if (here.stage == there.stage) continue;  // parts next to each other on one stage send nothing
        const Count link = is_v_shaped ? std::min(here.stage, there.stage) : here.stage;
        made.messages.push_back({0, here.stage, here.chunk, there.stage, there.chunk, link});
        made.messages.push_back({1, there.stage, there.chunk, here.stage, here.chunk, link});
    }
    return made;
}

std::span<const BuiltinSchedule> builtin_schedules() { return kBuiltin; }

const BuiltinSchedule* builtin_schedule(std::string_view name) {
    for (const BuiltinSchedule& each : kBuiltin) {
        if (each.name == name) return &each;
    }
    return nullptr;
}

}  // namespace dse::prediction
