// Ways by shortest paths under prices that grow with load, then an open shop, longest way first.
#include "collectives/symmetric/symmetric_routes.hpp"

#include <algorithm>
#include <functional>
#include <queue>

namespace dse::synthesis {

namespace {

constexpr int kPriceRounds = 12;
constexpr std::size_t kMostWays = 8;  // of a node
constexpr int kBalanceRounds = 4;

bool is_later(Picoseconds a, Picoseconds b) { return a > b; }

}  // namespace

RouteSearch::RouteSearch(Generators generators, std::uint32_t chunks, std::uint64_t seed)
    : graph_(std::move(generators)), chunks_(chunks), seed_(seed), random_(seed) {
    ways_.resize(graph_.nodes);
    jobs_.resize(std::size_t{graph_.nodes - 1} * chunks_);
    chosen_.assign(jobs_.size(), 0);
    queues_.resize(graph_.count);
    free_.resize(graph_.count);
    find_ways();
}

bool RouteSearch::search(std::uint64_t runs, Picoseconds enough) {
    bool better = false;
    for (std::uint32_t node = 1; node < graph_.nodes; ++node)
        if (ways_[node].empty()) return false;  // no way
    for (std::uint64_t i = 0; i < runs && (best_.time > enough || runs_ == 0); ++i) {
        random_ = Random(seed_, runs_);
        choose_ways();
        if (run_shop()) {
            best_.sends = sends_;
            better = true;
        }
        ++runs_;
    }
    return better;
}

/// Collects ways: first the shortest, then those that avoid what is loaded most.
void RouteSearch::find_ways() {
    std::vector<Picoseconds> price = graph_.held;
    for (int round = 0; round < kPriceRounds; ++round) {
        random_ = Random(seed_ + 1, static_cast<std::uint64_t>(round));
        add_ways(price);
        std::vector<std::uint32_t> latest(jobs_.size());
        for (std::size_t job = 0; job < jobs_.size(); ++job) {
            const auto& ways = ways_[job / chunks_ + 1];
            if (ways.empty()) return;
            latest[job] = static_cast<std::uint32_t>(ways.size() - 1);
        }
        const auto loads = loads_of(latest);
        const std::int64_t most = std::max<std::int64_t>(1, *std::max_element(loads.begin(), loads.end()));
        for (std::uint32_t g = 0; g < graph_.count; ++g) {  // up to a quarter dearer a round
            const double share = static_cast<double>(loads[g]) / static_cast<double>(most);
            price[g] += static_cast<Picoseconds>(share * static_cast<double>(price[g] / 4 + 1));
        }
    }
}

/// Dijkstra's algorithm from node 0 with random choices among equal ways.
void RouteSearch::add_ways(const std::vector<Picoseconds>& price) {
    std::vector<Picoseconds> reached(graph_.nodes, kNever);
    std::vector<std::uint32_t> ties(graph_.nodes, 0), by(graph_.nodes, 0), order;
    using Next = std::pair<Picoseconds, std::uint32_t>;
    std::priority_queue<Next, std::vector<Next>, std::greater<>> next;
    std::vector<std::uint8_t> done(graph_.nodes, 0);
    reached[0] = 0;
    next.emplace(0, 0);
    while (!next.empty()) {
        const auto [time, node] = next.top();
        next.pop();
        if (done[node]) continue;
        done[node] = 1;
        order.push_back(node);
        for (std::uint32_t g = 0; g < graph_.count; ++g) {
            const std::uint32_t there = graph_.next[std::size_t{node} * graph_.count + g];
            const Picoseconds at = time + std::max<Picoseconds>(1, price[g]);
            if (done[there] || at > reached[there]) continue;
            if (at < reached[there]) {
                reached[there] = at;
                ties[there] = 0;
                next.emplace(at, there);
            }
            if (random_.below(++ties[there]) == 0) by[there] = g;
        }
    }
    std::vector<Hops> hops(graph_.nodes);
    for (const std::uint32_t node : order) {
        if (node == 0) continue;
        const std::uint32_t g = by[node];
        Hops way = hops[graph_.previous[std::size_t{node} * graph_.count + g]];
        const auto at = std::lower_bound(way.begin(), way.end(), std::pair(g, 0U));
        if (at != way.end() && at->first == g)
            ++at->second;
        else
            way.insert(at, {g, 1});
        auto& known = ways_[node];
        const auto same = std::find(known.begin(), known.end(), way);
        if (same != known.end())
            std::rotate(same, same + 1, known.end());  // the latest is the last
        else if (known.size() < kMostWays)
            known.push_back(way);
        hops[node] = std::move(way);
    }
}

std::vector<std::int64_t> RouteSearch::loads_of(const std::vector<std::uint32_t>& chosen) const {
    std::vector<std::int64_t> loads(graph_.count, 0);
    for (std::size_t job = 0; job < jobs_.size(); ++job)
        for (const auto& [g, times] : ways_[job / chunks_ + 1][chosen[job]])
            loads[g] += graph_.held[g] * times;
    return loads;
}

/// Moves each job to the way that burdens loaded generators least.
void RouteSearch::choose_ways() {
    std::vector<std::uint32_t> order(jobs_.size());
    for (std::uint32_t job = 0; job < order.size(); ++job) {
        order[job] = job;
        chosen_[job] = random_.below(static_cast<std::uint32_t>(ways_[job / chunks_ + 1].size()));
    }
    auto loads = loads_of(chosen_);
    for (int round = 0; round < kBalanceRounds; ++round) {
        random_.shuffle(order);
        bool moved = false;
        for (const std::uint32_t job : order) {
            const auto& ways = ways_[job / chunks_ + 1];
            if (ways.size() == 1) continue;
            const std::uint32_t before = chosen_[job];
            for (const auto& [g, times] : ways[before]) loads[g] -= graph_.held[g] * times;
            // The growth of the sum of squares.
            const auto burden = [&](const Hops& way) {
                double sum = 0;
                for (const auto& [g, times] : way) {
                    const double more = static_cast<double>(graph_.held[g]) * times;
                    sum += more * (2 * static_cast<double>(loads[g]) + more);
                }
                return sum;
            };
            std::uint32_t best = before;
            double least = burden(ways[before]);
            for (std::uint32_t i = 0; i < ways.size(); ++i) {
                const double sum = burden(ways[i]);
                if (sum < least) {
                    least = sum;
                    best = i;
                }
            }
            for (const auto& [g, times] : ways[best]) loads[g] += graph_.held[g] * times;
            moved |= best != before;
            chosen_[job] = best;
        }
        if (!moved) return;
    }
}

/// True if all jobs are done before the best time.
bool RouteSearch::run_shop() {
    const auto later = [](const Moment& a, const Moment& b) { return is_later(a.time, b.time); };
    const auto nobody = static_cast<std::uint32_t>(jobs_.size());
    sends_.clear();
    moments_.clear();
    std::fill(free_.begin(), free_.end(), 0);
    for (auto& queue : queues_) queue.clear();
    for (std::uint32_t job = 0; job < nobody; ++job) {
        jobs_[job] = {ways_[job / chunks_ + 1][chosen_[job]], 0, 0, 0};
        for (const auto& [g, times] : jobs_[job].left) jobs_[job].way += graph_.arrival[g] * times;
        arrive(job);
    }
    Picoseconds end = 0;
    std::vector<std::uint32_t> order(graph_.count);
    for (std::uint32_t g = 0; g < graph_.count; ++g) order[g] = g;
    for (Picoseconds now = 0;;) {
        random_.shuffle(order);
        for (const std::uint32_t g : order) start(g, now);
        if (moments_.empty()) break;
        now = moments_.front().time;
        if (now >= best_.time) return false;
        while (!moments_.empty() && moments_.front().time == now) {
            std::pop_heap(moments_.begin(), moments_.end(), later);
            const Moment moment = moments_.back();
            moments_.pop_back();
            if (moment.job == nobody) continue;
            end = now;
            arrive(moment.job);
        }
    }
    best_.time = end;
    return true;
}

/// The job can go on: it waits for every generator of its way that is left.
void RouteSearch::arrive(std::uint32_t number) {
    const Job& job = jobs_[number];
    const Picoseconds noise = runs_ == 0 ? 0 : job.way / 8;
    for (const auto& [g, times] : job.left) {
        const std::int64_t chance =
            noise == 0 ? 0 : static_cast<std::int64_t>(random_.next() % static_cast<std::uint64_t>(noise));
        queues_[g].push_back({job.way + chance, number, job.version});
        std::push_heap(queues_[g].begin(), queues_[g].end(),
                       [](const Waiting& a, const Waiting& b) { return a.urgency < b.urgency; });
    }
}

/// Lets a generator that is free take the most urgent job.
void RouteSearch::start(std::uint32_t generator, Picoseconds time) {
    const auto later = [](const Moment& a, const Moment& b) { return is_later(a.time, b.time); };
    auto& queue = queues_[generator];
    while (free_[generator] <= time && !queue.empty()) {
        std::pop_heap(queue.begin(), queue.end(),
                      [](const Waiting& a, const Waiting& b) { return a.urgency < b.urgency; });
        const Waiting waiting = queue.back();
        queue.pop_back();
        Job& job = jobs_[waiting.job];
        if (waiting.version != job.version) continue;
        const auto hop = std::find_if(job.left.begin(), job.left.end(),
                                      [&](const auto& left) { return left.first == generator; });
        if (--hop->second == 0) job.left.erase(hop);
        ++job.version;
        job.way -= graph_.arrival[generator];
        sends_.push_back({generator, job.node, waiting.job, time});
        job.node = graph_.next[std::size_t{job.node} * graph_.count + generator];
        free_[generator] = time + graph_.held[generator];
        moments_.push_back({time + graph_.arrival[generator], waiting.job, generator});
        std::push_heap(moments_.begin(), moments_.end(), later);
        if (graph_.held[generator] < graph_.arrival[generator]) {
            moments_.push_back({free_[generator], static_cast<std::uint32_t>(jobs_.size()), generator});
            std::push_heap(moments_.begin(), moments_.end(), later);
        }
    }
}

}  // namespace dse::synthesis
