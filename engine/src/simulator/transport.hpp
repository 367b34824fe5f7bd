// Sends and receives: matching, delivery and the rendezvous option (simulator spec, sections 6.1 and 6.5).
#pragma once

#include <cstdint>
#include <string>

#include "core/error.hpp"
#include "core/flat_map.hpp"
#include "core/pool.hpp"
#include "network/congestion_unaware.hpp"
#include "simulator/event_queue.hpp"

namespace dse::simulator {

enum class CallbackKind : std::uint8_t {
    kNone,
    kNodeDone,        ///< a send or receive node of `rank` ends; object: node
    kStreamReceive,   ///< a packet of a collective has arrived; object: stream
    kGrantedSend,     ///< rendezvous: the receiver is there, now send; object: request
    kGrantedReceive,  ///< rendezvous: the sender knows, now post the receive; object: request
};

struct Callback {
    CallbackKind kind = CallbackKind::kNone;
    std::uint32_t rank = 0;
    std::uint32_t object = 0;
};

/// What identifies a message to both ends.
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

/// Delivers messages and calls back. `Handler` is called as `handler(callback)`.
///
/// Messages with equal keys take equal time, so the k-th arrival is the k-th send and matching is a queue.
class Transport {
public:
    Transport(EventQueue& queue, const network::CongestionUnaware& network, bool rendezvous)
        : queue_(queue), network_(network), rendezvous_(rendezvous) {}

    void send(const MessageKey& key, Callback on_arrival) {
        if (rendezvous_) {
            const MessageKey grant{key.tag + kGrantTag, key.destination, key.source, kGrantBytes};
            post(grant, {CallbackKind::kGrantedSend, key.source, requests_.add({key, on_arrival})});
        } else {
            transmit(key, on_arrival);
        }
    }

    void receive(const MessageKey& key, Callback on_receipt) {
        if (rendezvous_) {
            const MessageKey grant{key.tag + kGrantTag, key.destination, key.source, kGrantBytes};
            transmit(grant,
                     {CallbackKind::kGrantedReceive, key.destination, requests_.add({key, on_receipt})});
        } else {
            post(key, on_receipt);
        }
    }

    /// A message has arrived: the sender's callback first, then the receiver's if the receive is posted.
    template <typename Handler>
    void arrive(std::uint32_t message, Handler handler) {
        const Request delivered = messages_[message];
        messages_.remove(message);
        call(delivered.callback, handler);
        Match& match = matches_[delivered.key];
        if (match.first_posted == kNil) {
            ++match.arrived;
            return;
        }
        const std::uint32_t entry = match.first_posted;
        const Callback callback = posted_[entry].callback;
        match.first_posted = posted_[entry].next;
        if (match.first_posted == kNil) matches_.erase(delivered.key);
        posted_.remove(entry);
        call(callback, handler);
    }

    /// The message of a receive that was posted after the arrival.
    template <typename Handler>
    void late_receive(std::uint32_t entry, Handler handler) {
        const Callback callback = posted_[entry].callback;
        posted_.remove(entry);
        call(callback, handler);
    }

    /// Posted receives that nothing has matched: `visit(key, callback)`.
    template <typename Visitor>
    void for_each_unmatched_receive(Visitor visit) const {
        matches_.for_each([&](const MessageKey& key, const Match& match) {
            for (std::uint32_t entry = match.first_posted; entry != kNil; entry = posted_[entry].next) {
                visit(key, posted_[entry].callback);
            }
        });
    }

private:
    static constexpr std::uint32_t kGrantTag = 1'000'000'000;
    static constexpr std::uint64_t kGrantBytes = 8192;

    struct Request {
        MessageKey key;
        Callback callback;
    };
    struct Posted {
        Callback callback;
        std::uint32_t next;
    };
    struct Match {
        std::uint32_t first_posted = kNil;
        std::uint32_t last_posted = kNil;
        std::uint32_t arrived = 0;
    };

    void transmit(const MessageKey& key, Callback on_arrival) {
        if (key.bytes == 0) {
            throw SimulationError("a collective needs a message of 0 bytes from rank " +
                                  std::to_string(key.source) + " to rank " + std::to_string(key.destination) +
                                  "; its size is too small for its algorithm and group");
        }
        if (key.source == key.destination) {
            throw SimulationError("a collective needs rank " + std::to_string(key.source) +
                                  " to send to itself; its algorithm does not fit the size of its group");
        }
        const Time delay = network_.delay_ns(key.source, key.destination, key.bytes);
        queue_.schedule(queue_.now() + delay, {EventKind::kArrival, messages_.add({key, on_arrival})});
    }

    void post(const MessageKey& key, Callback on_receipt) {
        Match& match = matches_[key];
        const std::uint32_t entry = posted_.add({on_receipt, kNil});
        if (match.arrived > 0) {
            if (--match.arrived == 0) matches_.erase(key);
            queue_.schedule(queue_.now(), {EventKind::kLateReceive, entry});
        } else if (match.first_posted == kNil) {
            match.first_posted = match.last_posted = entry;
        } else {
            posted_[match.last_posted].next = entry;
            match.last_posted = entry;
        }
    }

    template <typename Handler>
    void call(const Callback& callback, Handler handler) {
        if (callback.kind == CallbackKind::kGrantedSend || callback.kind == CallbackKind::kGrantedReceive) {
            const Request request = requests_[callback.object];
            requests_.remove(callback.object);
            if (callback.kind == CallbackKind::kGrantedSend) {
                transmit(request.key, request.callback);
            } else {
                post(request.key, request.callback);
            }
        } else if (callback.kind != CallbackKind::kNone) {
            handler(callback);
        }
    }

    EventQueue& queue_;
    const network::CongestionUnaware& network_;
    bool rendezvous_;
    Pool<Request> messages_;
    Pool<Request> requests_;
    Pool<Posted> posted_;
    FlatMap<MessageKey, Match> matches_;
};

}  // namespace dse::simulator
