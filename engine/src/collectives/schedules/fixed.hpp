// Fixed algorithms: messages between NPUs that follow each other, played first come, first served.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "collectives/problem/problem.hpp"

namespace dse::synthesis {

/// A chunk goes from one NPU to another when message `after` of the same list has arrived; -1: at once.
struct Message {
    std::uint32_t chunk = 0;
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    std::int32_t after = -1;
};

/// The sends of all messages on shortest ways, hop by hop; a link serves in the order of asking, and those
/// that ask at once in the order of the list. None if that takes more than `most_sends` sends, or a message
/// has no way.
std::optional<Sends> play_messages(const Problem& problem, const std::vector<Message>& messages,
                                   std::uint64_t most_sends);

}  // namespace dse::synthesis
