// A small fuzzer for compilers without libFuzzer; it understands the few options of libFuzzer that we use.
//
// Without -max_total_time every file is run once: that is how ctest runs the seeds and the regressions. With
// it, inputs are made of others by flips, cuts, splices and insertions of tokens. If the code is compiled
// with -fsanitize-coverage=trace-pc, inputs that reach new code are kept as a source of further ones.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

// Sanitizers end with SIGABRT, which saves the input.
extern "C" const char* __asan_default_options() { return "abort_on_error=1"; }
extern "C" const char* __ubsan_default_options() { return "abort_on_error=1:print_stacktrace=1"; }

namespace {

constexpr std::size_t kMostBytes = 4096;
constexpr unsigned kSecondsPerInput = 10;

std::array<std::uint8_t, 1 << 16> reached{};
bool reached_something_new = false;
std::string input;  // the one that runs
std::string artifact_prefix = "./";

void save_input() {
    const std::string path = artifact_prefix + "crash-" + std::to_string(std::hash<std::string>()(input));
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (file < 0) return;
    const auto written = ::write(file, input.data(), input.size());
    ::close(file);
    std::fprintf(stderr, "%zd of %zu bytes written to %s\n", written, input.size(), path.c_str());
}

void on_signal(int number) {
    std::fprintf(stderr, "signal %d\n", number);
    save_input();
    std::_Exit(1);
}

void run() {
    ::alarm(kSecondsPerInput);
    // A copy of exact size, so that a read beyond its end is noticed.
    const std::vector<std::uint8_t> bytes(input.begin(), input.end());
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
    ::alarm(0);
}

class Mutator {
public:
    explicit Mutator(std::uint64_t seed) : random_(seed) {}

    std::size_t below(std::size_t bound) { return bound == 0 ? 0 : random_() % bound; }

    void mutate(std::string& text, const std::string& other) {
        for (std::size_t i = 1 + below(6); i > 0; --i) mutate_once(text, other);
        if (text.size() > kMostBytes) text.resize(kMostBytes);
    }

private:
    void mutate_once(std::string& text, const std::string& other) {
        using namespace std::string_view_literals;
        static constexpr std::array kTokens = {"{"sv,
                                               "}"sv,
                                               "["sv,
                                               "]"sv,
                                               ","sv,
                                               ": "sv,
                                               "\""sv,
                                               "'"sv,
                                               "\\u"sv,
                                               "\\"sv,
                                               "\n"sv,
                                               "\r\n"sv,
                                               "\t"sv,
                                               "- "sv,
                                               "#"sv,
                                               "0"sv,
                                               "-1"sv,
                                               "1e999"sv,
                                               "0.5"sv,
                                               "4294967296"sv,
                                               "18446744073709551616"sv,
                                               "true"sv,
                                               "null"sv,
                                               "NaN"sv,
                                               "\xff"sv,
                                               "\x80"sv,
                                               "\0"sv,
                                               "\x7f"sv,
                                               "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"sv,
                                               "\x08\x01"sv,
                                               "\x52\x04"sv,
                                               "comm_size"sv,
                                               "Ring"sv,
                                               "shape"sv,
                                               "0,1,5,5\n"sv};
        const std::size_t at = below(text.size() + 1);
        switch (below(7)) {
            case 0:
                if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
                break;
            case 1:
                if (at < text.size()) text[at] = static_cast<char>(below(256));
                break;
            case 2:
                text.erase(at, 1 + below(below(4) == 0 ? text.size() : 4));
                break;
            case 3: {
                const std::size_t from = below(other.size() + 1);
                text.insert(at, other, from, 1 + below(other.size()));
                break;
            }
            case 4: {
                const std::string piece = text.substr(below(text.size() + 1), 1 + below(16));
                text.insert(at, piece);
                break;
            }
            case 5:
                text.resize(at);
                break;
            default:
                text.insert(at, kTokens[below(kTokens.size())]);
        }
    }

    std::mt19937_64 random_;
};

std::vector<std::string> read_inputs(const std::vector<std::string>& paths) {
    namespace fs = std::filesystem;
    std::vector<fs::path> files;
    for (const std::string& path : paths) {
        if (!fs::is_directory(path)) {
            files.emplace_back(path);
            continue;
        }
        for (const auto& entry : fs::directory_iterator(path)) files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    std::vector<std::string> inputs;
    for (const fs::path& file : files) {
        std::ifstream stream(file, std::ios::binary);
        if (!stream) throw std::runtime_error(file.string() + " cannot be read");
        inputs.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
    }
    return inputs;
}

void fuzz(std::vector<std::string> corpus, long seconds, std::uint64_t seed) {
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + std::chrono::seconds(seconds);
    Mutator mutator(seed);
    if (corpus.empty()) corpus.emplace_back();
    std::uint64_t runs = 0;
    for (; runs % 256 != 0 || Clock::now() < end; ++runs) {
        input = corpus[mutator.below(corpus.size())];
        mutator.mutate(input, corpus[mutator.below(corpus.size())]);
        reached_something_new = false;
        run();
        if (reached_something_new) corpus.push_back(input);
    }
    std::printf("%llu inputs in %ld s, %zu kept, no finding\n", static_cast<unsigned long long>(runs),
                seconds, corpus.size());
}

}  // namespace

// Called by code under test for every block that it enters.
extern "C" void __sanitizer_cov_trace_pc() {
    const auto place = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0));
    std::uint8_t& seen = reached[(place ^ place >> 16) % reached.size()];
    if (seen == 0) reached_something_new = true;
    seen = 1;
}

int main(int argc, char** argv) try {
    long seconds = 0;
    std::uint64_t seed = 1;
    std::vector<std::string> paths;
    for (const std::string& word : std::vector<std::string>(argv + 1, argv + argc)) {
        const std::string value = word.substr(std::min(word.find('=') + 1, word.size()));
        if (word.starts_with("-max_total_time=")) {
            seconds = std::stol(value);
        } else if (word.starts_with("-seed=")) {
            seed = std::stoull(value);
        } else if (word.starts_with("-artifact_prefix=")) {
            artifact_prefix = value;
        } else if (!word.starts_with('-')) {
            paths.push_back(word);
        }
    }
    for (const int number : {SIGABRT, SIGSEGV, SIGFPE, SIGBUS, SIGILL, SIGALRM})
        std::signal(number, on_signal);
    const std::vector<std::string> inputs = read_inputs(paths);
    for (const std::string& text : inputs) {
        input = text;
        run();
    }
    std::printf("%zu files, no finding\n", inputs.size());
    if (seconds > 0) fuzz(inputs, seconds, seed);
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "unexpected exception: %s\n", error.what());
    save_input();
    return 1;
}
