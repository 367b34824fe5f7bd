// Sends as columns: what a large schedule is made as, and handed over as, without a copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "collectives/problem/problem.hpp"

namespace dse::synthesis {

/// Memory that is not written before it is used, on large pages where the system has them: logs of all nodes
/// grow side by side, each on a page of its own.
void* allocate_untouched(std::size_t bytes);
void release_untouched(void* memory) noexcept;

template <typename T>
class Numbers {
public:
    Numbers() = default;
    explicit Numbers(std::size_t size) : data_(static_cast<T*>(allocate_untouched(size * sizeof(T)))) {}

    T& operator[](std::size_t i) { return data_.get()[i]; }
    const T& operator[](std::size_t i) const { return data_.get()[i]; }

    /// Hands the memory over, to be given to release_untouched.
    T* release() { return data_.release(); }

private:
    struct Release {
        void operator()(T* memory) const noexcept { release_untouched(memory); }
    };

    std::unique_ptr<T, Release> data_;
};

struct Columns;

/// Sends in fewer bytes than columns take.
class PackedSends {
public:
    virtual ~PackedSends() = default;

    /// Makes the columns of them; `size` and `time` are there.
    virtual void unpack_into(Columns& columns) const = 0;
};

struct Columns {
    Columns() = default;
    explicit Columns(std::size_t most) : link(most), chunk(most), start(most) {}

    std::size_t size = 0;
    Numbers<std::uint32_t> link, chunk;
    Numbers<Picoseconds> start;
    Picoseconds time = 0;  ///< when the last has arrived
    std::unique_ptr<PackedSends>
        packed;  ///< if any, there are no columns yet: most schedules are only weighed

    /// Makes the columns if there are none.
    void unpack();
};

Columns to_columns(const Sends& sends);
Sends to_sends(Columns columns);

}  // namespace dse::synthesis
