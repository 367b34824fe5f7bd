// Chunks on their way in a greedy search.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/greedy/arrival_logs.hpp"
#include "collectives/greedy/task.hpp"

namespace dse::synthesis {

/// A chunk on its way to a node; `link` is kNone if the problem says so.
struct Flight {
    std::uint32_t link;
    std::uint32_t node;
    std::uint32_t chunk;
    Picoseconds at;
};

/// Flights by number; those of links that are held until the arrival have the link's.
class Flights {
public:
    explicit Flights(const Task& task) : links_(task.links.size()) {
        flights_.assign(links_, {kNone, kNone, 0, 0});
    }

    /// `is_only`: its link carries no other one meanwhile.
    std::uint32_t add(const Flight& flight, bool is_only) {
        if (is_only) {
            flights_[flight.link] = flight;
            return flight.link;
        }
        if (landed_.empty()) {
            flights_.push_back(flight);
            return static_cast<std::uint32_t>(flights_.size()) - 1;
        }
        const std::uint32_t number = landed_.back();
        landed_.pop_back();
        flights_[number] = flight;
        return number;
    }

    /// It has arrived.
    Flight take(std::uint32_t number) {
        const Flight flight = flights_[number];
        flights_[number].node = kNone;
        if (number >= links_) landed_.push_back(number);
        return flight;
    }

    /// Where it goes; kNone: it has arrived.
    std::uint32_t node(std::uint32_t number) const { return flights_[number].node; }

    /// Calls `use` with each flight that has not arrived.
    template <typename Use>
    void each(const Use& use) const {
        for (const Flight& flight : flights_)
            if (flight.node != kNone) use(flight);
    }

private:
    std::size_t links_;
    std::vector<Flight> flights_;
    std::vector<std::uint32_t> landed_;  ///< numbers to be used again
};

}  // namespace dse::synthesis
