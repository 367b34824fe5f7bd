// How calls from Python end early: on Ctrl-C, or by a Cancellation.
#pragma once

#include "base/cancellation.hpp"

namespace dse {

/// The checkpoint of a call, made while it holds the GIL. `cancellation` may be null. In Python's main thread
/// it also lets Python handle its signals every 50 ms, and throws what a handler raises: KeyboardInterrupt.
Checkpoint checkpoint_of(const Cancellation* cancellation);

}  // namespace dse
