// Memory of columns, and both forms of sends.
#include "collectives/schedules/columns.hpp"

#include <cstdlib>
#include <new>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace dse::synthesis {

namespace {

constexpr std::size_t kLargePage = std::size_t{1} << 21;

}  // namespace

void* allocate_untouched(std::size_t bytes) {
    const bool is_large = bytes >= kLargePage;
    const std::size_t unit = is_large ? kLargePage : 64;
    const std::size_t rounded = (bytes / unit + 1) * unit;
    void* memory = std::aligned_alloc(unit, rounded);
    if (memory == nullptr) throw std::bad_alloc();
#ifdef __linux__
    if (is_large) madvise(memory, rounded, MADV_HUGEPAGE);  // a hint: it may say no
#endif
    return memory;
}

void release_untouched(void* memory) noexcept { std::free(memory); }

void Columns::unpack() {
    if (!packed) return;
    link = Numbers<std::uint32_t>(size);
    chunk = Numbers<std::uint32_t>(size);
    start = Numbers<Picoseconds>(size);
    packed->unpack_into(*this);
    packed.reset();
}

Columns to_columns(const Sends& sends) {
    Columns columns(sends.sends.size());
    for (const Send& send : sends.sends) {
        columns.link[columns.size] = send.link;
        columns.chunk[columns.size] = send.chunk;
        columns.start[columns.size++] = send.start;
    }
    columns.time = sends.time;
    return columns;
}

Sends to_sends(Columns columns) {
    columns.unpack();
    Sends sends;
    sends.sends.reserve(columns.size);
    for (std::size_t i = 0; i < columns.size; ++i)
        sends.sends.push_back({columns.link[i], columns.chunk[i], columns.start[i]});
    sends.time = columns.time;
    return sends;
}

}  // namespace dse::synthesis
