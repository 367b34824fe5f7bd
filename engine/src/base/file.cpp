// Opened without waiting, because a pipe without a writer would let us wait for ever.
#include "base/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.hpp"

namespace dse {

namespace {

constexpr std::size_t kPiece = std::size_t{1} << 24;  // some ms

[[noreturn]] void fail(const std::string& path, int code) {
    throw InputError(path + ": cannot be read: " + std::strerror(code));
}

}  // namespace

InputFile::InputFile(const std::string& path, std::uint64_t most_bytes)
    : path_(path), descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    if (descriptor_ < 0) fail(path, errno);
    struct stat status{};
    const int code = ::fstat(descriptor_, &status) != 0 ? errno : S_ISDIR(status.st_mode) ? EISDIR : 0;
    const bool regular = S_ISREG(status.st_mode);
    size_ = regular ? static_cast<std::size_t>(status.st_size) : 0;
    if (code == 0 && regular && size_ <= most_bytes) return;
    ::close(descriptor_);
    if (code != 0) fail(path, code);
    if (!regular) throw InputError(path + ": is a pipe or a device; it must be a regular file");
    throw InputError(path + ": has " + std::to_string(size_) + " bytes; at most " +
                     std::to_string(most_bytes) + " are allowed");
}

InputFile::~InputFile() { ::close(descriptor_); }

std::size_t InputFile::read(char* to, const Checkpoint& checkpoint) const {
    std::size_t done = 0;
    while (done < size_) {
        checkpoint.look();
        const ssize_t count = ::read(descriptor_, to + done, std::min(size_ - done, kPiece));
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) fail(path_, errno);
        if (count == 0) break;
        done += static_cast<std::size_t>(count);
    }
    return done;
}

}  // namespace dse
