// POSIX calls behind AtomicFile. fsync of the folder makes the rename itself survive a power cut.
#include "tandem/core/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "tandem/core/error.h"

namespace tandem {
namespace {

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

bool is_folder(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

bool exists(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0;
}

}  // namespace

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)) {
  static std::atomic<unsigned> counter{0};
  const std::string folder = folder_of(path_);
  check(!path_.empty() && path_.back() != '/' && !is_folder(path_), "cannot write ", path_,
        ": it is a folder");
  check(exists(folder), "cannot write ", path_, ": there is no folder ", folder);
  check(is_folder(folder), "cannot write ", path_, ": ", folder, " is not a folder");
  const std::size_t slash = path_.rfind('/');
  const std::string name = slash == std::string::npos ? path_ : path_.substr(slash + 1);
  do {  // The name of an earlier process with this process's number may be left over.
    temporary_ = concat(folder, "/.", name, ".", static_cast<long long>(::getpid()), "-", counter++, ".tmp");
    fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (fd_ < 0 && errno == EEXIST);
  if (fd_ < 0) fail("cannot write ", path_, ": folder ", folder, ": ", std::strerror(errno));
}

AtomicFile::~AtomicFile() {
  if (fd_ >= 0) ::close(fd_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::write(const void* data, std::size_t bytes) {
  const char* from = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = ::write(fd_, from, bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_with("cannot write ", errno);
    from += written;
    bytes -= static_cast<std::size_t>(written);
  }
}

void AtomicFile::commit() {
  check(fd_ >= 0, path_, ": commit() was already called");
  if (::fsync(fd_) != 0) fail_with("cannot flush ", errno);
  if (::close(std::exchange(fd_, -1)) != 0) fail_with("cannot close ", errno);
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) fail_with("cannot rename to ", errno);
  temporary_.clear();
  // Some file systems refuse to open or flush a folder; the file itself is safe on the disk by now.
  const int folder = ::open(folder_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    ::fsync(folder);
    ::close(folder);
  }
}

void AtomicFile::fail_with(const char* what, int error_number) {
  fail(what, path_, ": ", std::strerror(error_number));
}

void write_file_atomically(const std::string& path, std::string_view content) {
  AtomicFile file(path);
  file.write(content);
  file.commit();
}

}  // namespace tandem
