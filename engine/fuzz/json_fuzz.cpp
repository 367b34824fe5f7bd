// JSON: any text is read or refused; what is read is one line of JSON that reads the same.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "inputs/files/json.hpp"
#include "simulation/systems/system_files.hpp"

namespace {

template <class Action>
void allow_errors(const Action& action) {
    try {
        action();
    } catch (const dse::InputError&) {
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace dse::config;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    allow_errors([&] {
        const std::string line = to_text(parse_json(text, "f"));
        if (text.find('\\') != text.npos) return;  // escapes of control characters are shown as blanks
        if (to_text(parse_json(line, "f")) != line) std::abort();
    });
    allow_errors([&] { parse_system(text, "f"); });
    allow_errors([&] { parse_remote_memory(text, "f"); });
    allow_errors([&] { parse_groups(text, "f"); });
    return 0;
}
