#include "simulation/simulators/scheduled_collectives.hpp"

#include <utility>

namespace dse::simulator {

using collectives::Phase;
using collectives::TimedSchedule;
using synthesis::Replay;

ScheduledCollectives::Run& ScheduledCollectives::run_of(const Key& key, const Phase& phase) {
    std::unique_ptr<Run>& run = runs_[key];
    if (run) return *run;
    run = std::make_unique<Run>();
    run->key = key;
    run->use = phase.synthesized;
    run->schedule = &phase.synthesized->schedules->best(phase.share());
    run->chunk_bytes = run->schedule->chunk_bytes(phase.share());
    run->dimension = phase.dimension;
    run->comer_of.assign(phase.members, kNil);
    run->members_left = phase.members;
    if (links_ != nullptr) {
        run->waits = run->schedule->waits();
        run->work = run->schedule->work();
    }
    return *run;
}

void ScheduledCollectives::start(const Key& key, const Phase& phase, Comer comer) {
    Run& run = run_of(key, phase);
    run.comer_of[comer.member] = static_cast<std::uint32_t>(run.comers.size());
    run.comers.push_back(comer);
    if (links_ != nullptr) {
        std::vector<std::uint32_t> ready;
        for (const std::uint32_t place : run.schedule->sent_by(comer.member))
            if (--run.waits[place] == 0) ready.push_back(place);
        release(run, std::move(ready));
        return;
    }
    if (run.comers.size() < phase.members) return;
    const Time delay_ns = phase.synthesized->schedules->time_ns(phase.share());
    for (const Comer& member : run.comers) end(member, delay_ns);
    runs_.erase(key);
}

std::uint32_t ScheduledCollectives::device_of(const Run& run, std::uint32_t node) const {
    if (!run.use->devices.empty()) return run.use->devices[node];
    return links_->device_on_line(run.dimension, run.key.first, node);
}

/// Sends what waits for nothing more, in the order of the schedule; joins pass it on at once.
void ScheduledCollectives::release(Run& run, std::vector<std::uint32_t> places) {
    const TimedSchedule& schedule = *run.schedule;
    const auto ready = [&](std::uint32_t place) {
        if (--run.waits[place] == 0) places.push_back(place);
    };
    for (std::size_t i = 0; i < places.size(); ++i) {
        timers_.checkpoint()();
        const std::uint32_t place = places[i];
        if (schedule.step(place).link == Replay::kNone) {
            for (const std::uint32_t next : schedule.after(place)) ready(next);
            continue;
        }
        links_->send_over(flights_.add({&run, place}), device_of(run, schedule.from(place)),
                          device_of(run, schedule.to(place)), run.chunk_bytes);
        if (const std::uint32_t next = schedule.next_on_link(place); next != Replay::kNone) ready(next);
    }
}

void ScheduledCollectives::arrived(std::uint32_t flight) {
    const auto [run, place] = flights_[flight];
    flights_.remove(flight);
    std::vector<std::uint32_t> places;
    for (const std::uint32_t next : run->schedule->after(place))
        if (--run->waits[next] == 0) places.push_back(next);
    release(*run, std::move(places));
    work_done(*run, run->schedule->to(place));
    work_done(*run, run->schedule->from(place));
    if (run->members_left == 0) runs_.erase(Key(run->key));
}

void ScheduledCollectives::work_done(Run& run, std::uint32_t node) {
    if (node >= run.work.size() || --run.work[node] != 0) return;
    --run.members_left;
    end(run.comers[run.comer_of[node]], 0);
}

}  // namespace dse::simulator
