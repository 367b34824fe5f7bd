// Matches arrivals with posted receives.
#pragma once

#include <cstdint>
#include <optional>

#include "base/flat_map.hpp"
#include "base/pool.hpp"

namespace dse::simulator {

enum class CallbackKind : std::uint8_t {
    kNone,
    kNodeDone,        ///< a send or receive node of `rank` ends; object: node
    kStreamReceive,   ///< a packet of a collective has arrived; object: stream
    kCustomNode,      ///< a send or receive of a custom collective ends; object: its node
    kGrantedSend,     ///< rendezvous: the receiver is there, now send; object: request
    kGrantedReceive,  ///< rendezvous: the sender knows, now post the receive; object: request
};

struct Callback {
    CallbackKind kind = CallbackKind::kNone;
    std::uint32_t rank = 0;
    std::uint32_t object = 0;
};

/// The identity of a message to both ends.
struct MessageKey {
    std::uint32_t tag = 0;
    std::uint32_t source = 0;
    std::uint32_t destination = 0;
    std::uint64_t bytes = 0;

    bool operator==(const MessageKey&) const = default;
    std::uint64_t hash() const {
        return mix_bits(mix_bits((static_cast<std::uint64_t>(source) << 32 | destination) ^
                                 static_cast<std::uint64_t>(tag) * 0x9e3779b97f4a7c15ULL) +
                        bytes);
    }
};

/// The k-th arrival of a key goes to its k-th receive. Only what is unmatched is kept.
///
/// Messages with equal keys take equal time, so the k-th arrival is the k-th send, as the reference counts.
class ReceiveMatcher {
public:
    /// Posts a receive. Returns false if its message has already arrived; the callback is then the caller's.
    bool post(const MessageKey& key, Callback on_receipt) {
        Match& match = matches_[key];
        if (match.arrived > 0) {
            if (--match.arrived == 0) matches_.erase(key);
            return false;
        }
        const std::uint32_t entry = posted_.add({on_receipt, kNil});
        if (match.first_posted == kNil) {
            match.first_posted = match.last_posted = entry;
        } else {
            posted_[match.last_posted].next = entry;
            match.last_posted = entry;
        }
        return true;
    }

    /// A message has arrived. Returns the callback of its receive if that is posted.
    std::optional<Callback> arrive(const MessageKey& key) {
        Match& match = matches_[key];
        if (match.first_posted == kNil) {
            ++match.arrived;
            return std::nullopt;
        }
        const std::uint32_t entry = match.first_posted;
        const Callback callback = posted_[entry].callback;
        match.first_posted = posted_[entry].next;
        if (match.first_posted == kNil) matches_.erase(key);
        posted_.remove(entry);
        return callback;
    }

    /// Posted receives that nothing has matched: `visit(key, callback)`.
    template <typename Visitor>
    void for_each_posted(Visitor visit) const {
        matches_.for_each([&](const MessageKey& key, const Match& match) {
            for (std::uint32_t entry = match.first_posted; entry != kNil; entry = posted_[entry].next) {
                visit(key, posted_[entry].callback);
            }
        });
    }

private:
    struct Posted {
        Callback callback;
        std::uint32_t next;
    };
    struct Match {
        std::uint32_t first_posted = kNil;
        std::uint32_t last_posted = kNil;
        std::uint32_t arrived = 0;
    };

    Pool<Posted> posted_;
    FlatMap<MessageKey, Match> matches_;
};

}  // namespace dse::simulator
