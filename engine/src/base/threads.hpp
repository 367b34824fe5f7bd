// Threads that share work, and their locks; in a page there is one thread, and nothing to lock.
#pragma once

#include <cstddef>

#ifndef __wasm__
#include <mutex>
#include <thread>
#include <vector>
#endif

namespace dse {

#ifdef __wasm__

struct Mutex {};
struct Lock {
    explicit Lock(Mutex&) {}
    ~Lock() {}
};

/// Calls `work` in this thread.
template <typename Work>
void in_threads(std::size_t, const Work& work) {
    work();
}

#else

using Mutex = std::mutex;
using Lock = std::lock_guard<std::mutex>;

/// Calls `work`, which throws nothing, in so many threads, of which this is one; returns once all have ended.
template <typename Work>
void in_threads(std::size_t threads, const Work& work) {
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < threads; ++i) others.emplace_back(work);
    work();
}

#endif

}  // namespace dse
