// Files that a user names: opened only if they are regular and of bounded size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/cancellation.hpp"

namespace dse {

/// A regular file, open for reading until the end of the scope.
class InputFile {
public:
    /// Throws InputError if it cannot be opened, is a directory, a pipe or a device, or is too large.
    InputFile(const std::string& path, std::uint64_t most_bytes);
    ~InputFile();
    InputFile(const InputFile&) = delete;
    InputFile& operator=(const InputFile&) = delete;

    /// When it was opened.
    std::size_t size() const { return size_; }

    /// Reads up to `size()` bytes, and returns how many there were.
    std::size_t read(char* to, const Checkpoint& checkpoint) const;

private:
    std::string path_;
    int descriptor_;
    std::size_t size_ = 0;
};

}  // namespace dse
