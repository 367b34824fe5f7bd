// Execution traces: any bytes are read or refused; what is read survives writing, and is imported or refused.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "simulation/traces/trace_file.hpp"
#include "simulation/workloads/trace_import.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    try {
        dse::chakra::TraceFile trace = dse::chakra::parse_trace(bytes, "f");
        const std::string written = dse::chakra::encode_trace(trace);
        if (dse::chakra::encode_trace(dse::chakra::parse_trace(written, "f")) != written) std::abort();
        dse::workload::import_traces([&](std::uint32_t) { return std::move(trace); }, {"f"}, {{"0", {0}}});
    } catch (const dse::InputError&) {
    }
    return 0;
}
