// A collective algorithm: what it sends to whom, and how long it takes if all members keep step.
#pragma once

#include <cstdint>
#include <string_view>

#include "simulation/algorithms/phase.hpp"

namespace dse::collectives {

class LockstepWires;

/// Members between this one and the one a packet goes to, and the one whose packet arrives: in index order,
/// round the end.
struct Partners {
    std::uint64_t ahead = 0;
    std::uint64_t behind = 0;
};

/// One member of a phase, as an algorithm that steps itself sees it. Members are numbered from 0.
class Member {
public:
    virtual ~Member() = default;
    virtual const Phase& phase() const = 0;
    virtual std::uint32_t index() const = 0;
    virtual bool is_second_variant() const = 0;  ///< of a phase that alternates
    virtual std::uint64_t& progress() = 0;       ///< 0 at the start; the algorithm's own count

    virtual void send(std::uint32_t to, std::uint64_t bytes) = 0;
    /// `Algorithm::step` is called with 0, an endpoint delay after the message is there.
    virtual void receive(std::uint32_t from, std::uint64_t bytes) = 0;
    /// `Algorithm::step` is called with `what` after a delay.
    virtual void wait(Time delay_ns, std::uint64_t what) = 0;
    virtual void finish() = 0;  ///< ends the phase on this member, which is gone then
};

/// One algorithm. To add one, write a class in a file of its own and name it in registry.cpp.
///
/// Most run on the packet pump: `plan` says how many packets of what size, and how many at a
/// time, `partners` between whom. Others unset `Phase::pumped` and do everything in `begin` and `step`.
/// Objects have no state and live as long as the program.
class Algorithm {
public:
    virtual ~Algorithm() = default;

    /// In system.json.
    virtual std::string_view name() const = 0;
    /// Whether digits after the name are a window.
    virtual bool takes_window() const { return false; }
    /// Whether `one…` runs it over all ranks as one logical dimension.
    virtual bool has_form_over_all_ranks() const { return true; }
    /// Whether a group of some NPUs may run it.
    virtual bool runs_in_groups() const { return true; }
    /// Whether a list that ends with it must have an entry for each dimension.
    virtual bool needs_whole_list() const { return false; }

    /// Fills in what its packets need; all else is set. Throws SimulationError for what it cannot do.
    virtual void plan(Phase& phase, const Settings& settings, std::uint32_t window) const = 0;

    /// Bytes at the start of the next phase.
    virtual std::uint64_t bytes_after(const Phase& phase) const;

    /// Of a packet of the pump; `clockwise` is the direction that the stream was given.
    virtual Partners partners(const Phase& phase, std::uint64_t own_index, std::uint64_t packet,
                              bool clockwise) const;

    virtual void begin(Member& member) const;
    virtual void step(Member& member, std::uint64_t what) const;

    /// The time of a phase if all members start together. Throws NotSymmetric where they would not keep step.
    virtual LockstepTime lockstep_time(const Phase& phase, const LockstepWires& wires) const = 0;
};

}  // namespace dse::collectives
