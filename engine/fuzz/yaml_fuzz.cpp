// Network files: any text is read or refused; a network that is read keeps its rules.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/error.hpp"
#include "simulation/systems/system_files.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    try {
        const auto dimensions = dse::config::parse_network(text, "f");
        if (dimensions.empty()) std::abort();
        for (const dse::config::DimensionEntry& dimension : dimensions) {
            if (dimension.npus < 2 || !(dimension.bandwidth_gbps > 0) || !(dimension.latency_ns >= 0))
                std::abort();
        }
    } catch (const dse::InputError&) {
    }
    return 0;
}
