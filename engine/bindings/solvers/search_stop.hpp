// How Python ends a search that keeps what it has.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <optional>

#include "base/cancellation.hpp"
#include "bindings/checkpoints.hpp"

/// Ends a search that keeps what it has: at a deadline, or on Ctrl-C.
class SearchStop {
public:
    SearchStop(const dse::Cancellation* cancellation, std::optional<double> seconds)
        : checkpoint_(dse::checkpoint_of(cancellation)) {
        if (seconds)
            deadline_ = dse::Cancellation::Clock::now() +
                        std::chrono::duration_cast<dse::Cancellation::Clock::duration>(
                            std::chrono::duration<double>(*seconds));
    }

    bool operator()() {
        if (stopped_) return true;
        heed([this] { checkpoint_.look(); });
        stopped_ |= dse::Cancellation::Clock::now() >= deadline_;
        return stopped_;
    }
    bool interrupted() const { return interrupted_; }

    /// Calls what may run Python, where Ctrl-C is a reason to stop and no error.
    template <typename Work>
    void heed(Work work) {
        try {
            work();
        } catch (nanobind::python_error& error) {
            const nanobind::gil_scoped_acquire acquire;
            if (!error.matches(PyExc_KeyboardInterrupt)) throw;
            interrupted_ = stopped_ = true;
        }
    }

private:
    dse::Checkpoint checkpoint_;
    dse::Cancellation::Clock::time_point deadline_ = dse::Cancellation::Clock::time_point::max();
    bool stopped_ = false;
    bool interrupted_ = false;
};
