// Roots, halves and bands of boxes.
#include "planner/exact/boxes.hpp"

#include <algorithm>

namespace dse::planner::exact {

namespace {

constexpr std::uint32_t kRounds = 150;    // of prices, per box
constexpr std::uint64_t kReported = 200;  // boxes between two reports
constexpr std::size_t kBands = 6;         // per turn and target
constexpr double kBand = 1.03;            // the longest stage times of a band are in this ratio

bool later(const Box& a, const Box& b) { return a.bound_ms > b.bound_ms; }
bool lower(const Box& a, const Box& b) { return a.bound_ms < b.bound_ms; }

}  // namespace

void Boxes::make_roots() {
    const BestPlaces places = best_places(*problem_, *ranks_);
    root_ms_ = incumbents_->best_ms();
    for (const std::uint64_t batches : *batches_) {
        relaxed_.push_back(
            std::make_unique<RelaxedStages>(*problem_, *ranks_, places, *tables_, batches, scratch_));
        Box box = relaxed_.back()->root(root_ms_);
        if (!incumbents_->stopped()) relaxed_.back()->raise(box, root_ms_, kRounds);
        push(std::move(box));
    }
}

void Boxes::split(std::uint64_t most, double least) {
    most = std::min(most, incumbents_->limits->boxes);
    for (std::uint64_t done = 0; !closed() && !incumbents_->stopped() && boxes_.size() < most; ++done) {
        if (done % kReported == kReported - 1) report();
        std::pop_heap(boxes_.begin(), boxes_.end(), later);
        const Box box = std::move(boxes_.back());
        boxes_.pop_back();
        const double further = static_cast<double>(box.batches - 1);
        const double period_ms = further * (box.period_high_ms - box.period_low_ms);
        const double tail_ms = box.tail_high_ms - box.tail_low_ms;
        if (std::max(period_ms, tail_ms) < least * incumbents_->best_ms()) {
            push(box);
            return;
        }
        Box low = box;
        Box high = box;
        if (period_ms >= tail_ms)
            low.period_high_ms = high.period_low_ms = (box.period_low_ms + box.period_high_ms) / 2;
        else
            low.tail_high_ms = high.tail_low_ms = (box.tail_low_ms + box.tail_high_ms) / 2;
        for (Box* half : {&low, &high}) {
            raise(*half);
            push(std::move(*half));
        }
    }
}

void Boxes::raise(Box& box) { relaxed_of(box.batches).raise(box, incumbents_->goal_ms(), kRounds); }

std::vector<Box> Boxes::lowest() const {
    std::vector<Box> found;
    for (const std::uint64_t batches : *batches_) {
        const Box* low = nullptr;
        for (const Box& box : boxes_)
            if (box.batches == batches && (low == nullptr || lower(box, *low))) low = &box;
        if (low != nullptr && low->bound_ms < incumbents_->goal_ms()) found.push_back(*low);
    }
    std::stable_sort(found.begin(), found.end(), lower);
    return found;
}

std::vector<Box> Boxes::bands_of(const Box& target) {
    double low_ms = kInfinite;
    double high_ms = 0;
    for (const Box& box : boxes_)
        if (box.batches == target.batches && box.bound_ms < incumbents_->goal_ms()) {
            low_ms = std::min(low_ms, std::max(box.period_low_ms, box.period_high_ms / 2));
            high_ms = std::max(high_ms, box.period_high_ms);
        }
    std::vector<Box> bands;
    for (double from_ms = low_ms; from_ms < high_ms && !incumbents_->stopped(); from_ms *= kBand) {
        Box band = target;
        band.period_low_ms = from_ms;
        band.period_high_ms = from_ms * kBand;
        band.tail_low_ms = 0;
        band.tail_high_ms = incumbents_->best_ms();
        band.bound_ms = 0;
        for (std::size_t turn = 0; turn < 2; ++turn) {
            raise(band);
            band.tail_high_ms = std::min(band.tail_high_ms, incumbents_->best_ms() - band.bound_ms);
        }
        if (band.bound_ms < incumbents_->goal_ms()) bands.push_back(std::move(band));
    }
    std::stable_sort(bands.begin(), bands.end(), lower);
    if (bands.size() > kBands) bands.resize(kBands);
    return bands;
}

void Boxes::push(Box box) {
    boxes_.push_back(std::move(box));
    std::push_heap(boxes_.begin(), boxes_.end(), later);
}

RelaxedStages& Boxes::relaxed_of(std::uint64_t batches) {
    const auto place = std::find(batches_->begin(), batches_->end(), batches) - batches_->begin();
    return *relaxed_[static_cast<std::size_t>(place)];
}

}  // namespace dse::planner::exact
