// Gaps of links.
#include "collectives/schedules/link_slots.hpp"

#include <algorithm>

namespace dse::synthesis {

namespace {

using Slot = LinkSlots::Slot;

bool starts_before(const Slot& slot, Picoseconds at) { return slot.start < at; }

}  // namespace

void LinkSlots::add(const Send& send) {
    std::vector<Slot>& slots = slots_[send.link];
    const auto place = std::lower_bound(slots.begin(), slots.end(), send.start + 1, starts_before);
    slots.insert(place, {send.start, send.chunk});
}

void LinkSlots::take(const Send& send) {
    std::vector<Slot>& slots = slots_[send.link];
    auto slot = std::lower_bound(slots.begin(), slots.end(), send.start, starts_before);
    while (slot->chunk != send.chunk) ++slot;
    slots.erase(slot);
}

Picoseconds LinkSlots::earliest(std::uint32_t link, Picoseconds from) const {
    const std::vector<Slot>& slots = slots_[link];
    const Picoseconds held = links_[link].held;
    Picoseconds start = from;
    auto next = std::lower_bound(slots.begin(), slots.end(), start, starts_before);
    if (next != slots.begin()) start = std::max(start, std::prev(next)->start + held);
    for (; next != slots.end() && next->start < start + held; ++next) start = next->start + held;
    return start;
}

Picoseconds LinkSlots::latest(std::uint32_t link, Picoseconds until) const {
    const std::vector<Slot>& slots = slots_[link];
    const Picoseconds held = links_[link].held;
    Picoseconds start = until - links_[link].arrival;
    auto after = std::lower_bound(slots.begin(), slots.end(), start + held, starts_before);
    for (; after != slots.begin() && std::prev(after)->start + held > start; --after)
        start = std::prev(after)->start - held;
    return start;
}

}  // namespace dse::synthesis
