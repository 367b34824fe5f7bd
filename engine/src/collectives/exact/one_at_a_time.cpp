// Ranges of the chunks of a link, narrowed because it carries one at a time.
#include <algorithm>

#include "collectives/exact/windows.hpp"

namespace dse::synthesis {

bool Windows::settle_link(std::uint32_t link) {
    if (problem_.links[link].held == 0) return true;
    sent_.clear();
    for (std::uint32_t chunk = 0; chunk < problem_.chunks; ++chunk)
        if (use(chunk, link) == kSent) sent_.push_back(chunk);
    if (sent_.empty()) return true;
    do {
        changed_ = false;
        if (!settle_pairs(link) || !settle_spans(link)) return false;
    } while (changed_);
    for (std::uint32_t chunk = 0; chunk < problem_.chunks; ++chunk)
        if (use(chunk, link) == kOpen && !fits(link, chunk) && !leave_out(chunk, link)) return false;
    return true;
}

/// Of two chunks one comes first: where only one order is left, each moves the range of the other.
bool Windows::settle_pairs(std::uint32_t link) {
    const Picoseconds held = problem_.links[link].held;
    const std::uint32_t to = problem_.links[link].to;
    for (std::size_t a = 0; a < sent_.size(); ++a)
        for (std::size_t b = a + 1; b < sent_.size(); ++b) {
            std::uint32_t one = sent_[a], other = sent_[b];
            const auto may_come = [&](std::uint32_t i, std::uint32_t j) {
                return first(i, link) + held <= last(j, link) && !is_before(link, j, i);
            };
            const bool is_first = may_come(one, other), is_later = may_come(other, one);
            if (is_first && is_later) continue;
            if (!is_first) std::swap(one, other);
            if ((!is_first && !is_later) || !send_before(link, one, other)) {
                fail(one, to);
                return fail(other, to);
            }
            narrow_first(other, link, first(one, link) + held);
            narrow_last(one, link, last(other, link) - held);
            if (first(one, link) > last(one, link) || first(other, link) > last(other, link)) {
                fail(one, to);
                return fail(other, to);
            }
        }
    return true;
}

/// Looks at each span of time from the first start of one chunk to the last end of another. The chunks that
/// have to lie in it must fit, and one that does not fit with them lies before or after all of them (edge
/// finding).
bool Windows::settle_spans(std::uint32_t link) {
    const auto [from, to, arrival, held] = problem_.links[link];
    for (const std::uint32_t opens : sent_)
        for (const std::uint32_t closes : sent_) {
            const Picoseconds begin = first(opens, link), end = last(closes, link) + held;
            const auto lies_in = [&](std::uint32_t chunk) {
                return first(chunk, link) >= begin && last(chunk, link) + held <= end;
            };
            const Picoseconds count = std::count_if(sent_.begin(), sent_.end(), lies_in);
            if (count == 0) continue;
            if (count * held > end - begin) {
                for (const std::uint32_t chunk : sent_)
                    fail(chunk, to, 1.0 / static_cast<double>(sent_.size()));
                return false;
            }
            if ((count + 1) * held <= end - begin) continue;
            for (const std::uint32_t chunk : sent_) {
                if (lies_in(chunk)) continue;
                const Picoseconds before = end - (count + 1) * held, after = begin + count * held;
                const bool may_be_first = first(chunk, link) <= before;
                const bool may_be_last = last(chunk, link) >= after;
                if (!may_be_first && !may_be_last) return fail(chunk, to);
                if (!may_be_first) narrow_first(chunk, link, after);
                if (!may_be_last) narrow_last(chunk, link, before);
            }
        }
    return true;
}

/// Whether a chunk that may cross a link has a place among those that do; its range is narrowed to it.
bool Windows::fits(std::uint32_t link, std::uint32_t chunk) {
    const Picoseconds held = problem_.links[link].held;
    for (bool is_narrowed = true; is_narrowed;) {
        is_narrowed = false;
        for (const std::uint32_t other : sent_) {
            const bool is_first = first(chunk, link) + held <= last(other, link);
            const bool is_later = first(other, link) + held <= last(chunk, link);
            if (is_first && is_later) continue;
            if (!is_first && !is_later) return false;
            const Picoseconds begin = first(chunk, link), end = last(chunk, link);
            if (is_first) narrow_last(chunk, link, last(other, link) - held);
            if (is_later) narrow_first(chunk, link, first(other, link) + held);
            if (first(chunk, link) > last(chunk, link)) return false;
            is_narrowed = is_narrowed || begin != first(chunk, link) || end != last(chunk, link);
        }
    }
    const auto lies_in = [&](std::uint32_t other, Picoseconds begin, Picoseconds end) {
        return first(other, link) >= begin && last(other, link) + held <= end;
    };
    sent_.push_back(chunk);  // spans that begin or end with it too
    bool is_free = true;
    for (std::size_t a = 0; a < sent_.size() && is_free; ++a)
        for (std::size_t b = 0; b < sent_.size() && is_free; ++b) {
            const Picoseconds begin = first(sent_[a], link), end = last(sent_[b], link) + held;
            if (!lies_in(chunk, begin, end)) continue;
            const Picoseconds count = std::count_if(
                sent_.begin(), sent_.end(), [&](std::uint32_t other) { return lies_in(other, begin, end); });
            is_free = count * held <= end - begin;
        }
    sent_.pop_back();
    return is_free;
}

}  // namespace dse::synthesis
