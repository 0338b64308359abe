// Owns a file descriptor.
#pragma once
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <utility>

namespace tandem::detail {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  /// Whether the file still has this name.
  bool is_file(const std::string& path) const {
    struct stat here {
    }, there{};
    return ::fstat(fd_, &here) == 0 && ::stat(path.c_str(), &there) == 0 && here.st_ino == there.st_ino &&
           here.st_dev == there.st_dev;
  }

 private:
  int fd_ = -1;
};

}  // namespace tandem::detail
