// Sends and receives: delivery and the rendezvous option.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.hpp"
#include "base/pool.hpp"
#include "simulation/networks/congestion_unaware.hpp"
#include "simulation/simulators/event_queue.hpp"
#include "simulation/simulators/link_network.hpp"
#include "simulation/simulators/receive_matcher.hpp"

namespace dse::simulator {

/// Takes the messages of send and receive nodes.
class MessageService {
public:
    virtual ~MessageService() = default;
    virtual void send(const MessageKey& key, Callback on_arrival) = 0;
    virtual void receive(const MessageKey& key, Callback on_receipt) = 0;
};

/// Throws SimulationError for a send node without content, which the reference cannot send.
inline void require_content(const MessageKey& key) {
    if (key.bytes > 0) return;
    throw SimulationError(
        "a message between pipeline stages has 0 bytes: its tensor is cut to less than one byte; use a "
        "larger "
        "model or batch, or smaller degrees");
}

/// Delivers messages and calls back. `Handler` is called as `handler(callback)`.
class Transport final : public MessageService {
public:
    /// With `links`, messages queue on links; without, they take their unloaded delay.
    Transport(EventQueue& queue, const network::CongestionUnaware& network, LinkNetwork* links,
              bool rendezvous)
        : queue_(queue), network_(network), links_(links), rendezvous_(rendezvous) {}

    void send(const MessageKey& key, Callback on_arrival) override {
        if (on_arrival.kind == CallbackKind::kNodeDone) require_content(key);
        if (rendezvous_) {
            post(grant_of(key), {CallbackKind::kGrantedSend, key.source, requests_.add({key, on_arrival})});
        } else {
            transmit(key, on_arrival);
        }
    }

    void receive(const MessageKey& key, Callback on_receipt) override {
        if (rendezvous_) {
            transmit(grant_of(key),
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
        if (const auto callback = matcher_.arrive(delivered.key)) call(*callback, handler);
    }

    /// The message of a receive that was posted after the arrival.
    template <typename Handler>
    void late_receive(std::uint32_t entry, Handler handler) {
        const Callback callback = late_[entry];
        late_.remove(entry);
        call(callback, handler);
    }

    /// Posted receives that nothing has matched: `visit(key, callback)`.
    template <typename Visitor>
    void for_each_unmatched_receive(Visitor visit) const {
        matcher_.for_each_posted(visit);
    }

private:
    static constexpr std::uint32_t kGrantTag = 1'000'000'000;
    static constexpr std::uint64_t kGrantBytes = 8192;

    struct Request {
        MessageKey key;
        Callback callback;
    };

    /// The message by which a receiver tells its sender that it is there.
    static MessageKey grant_of(const MessageKey& key) {
        return {key.tag + kGrantTag, key.destination, key.source, kGrantBytes};
    }

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
        const std::uint32_t message = messages_.add({key, on_arrival});
        if (links_ != nullptr) {
            links_->inject(message, key.source, key.destination, key.bytes);
            return;
        }
        const Time delay = network_.delay_ns(key.source, key.destination, key.bytes);
        queue_.schedule(queue_.now() + delay, {EventKind::kArrival, message});
    }

    void post(const MessageKey& key, Callback on_receipt) {
        if (matcher_.post(key, on_receipt)) return;
        queue_.schedule(queue_.now(), {EventKind::kLateReceive, late_.add(on_receipt)});
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
    LinkNetwork* links_;
    bool rendezvous_;
    Pool<Request> messages_;
    Pool<Request> requests_;
    Pool<Callback> late_;
    ReceiveMatcher matcher_;
};

}  // namespace dse::simulator
