// The POSIX calls behind AtomicFile. fsync on the folder makes the rename itself survive a power failure.
#include "tandem/core/base/atomic_file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

#include "tandem/core/error.h"

namespace tandem {
namespace {

constexpr const char* kAccessAcl = "system.posix_acl_access";

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// Temporary files are called HEAD, process id, "-", counter, ".tmp". Names have at most 255 bytes, so HEAD is
// cut.
std::string temporary_head(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return "." + (slash == std::string::npos ? path : path.substr(slash + 1)).substr(0, 200) + ".";
}

bool is_folder(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

bool exists(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0;
}

// Whether `path` is a symbolic link in /proc, which refers to an open file whatever its text says.
bool is_process_link(const std::string& path) {
  struct statfs system {};
  constexpr auto kProc = 0x9fa0;
  return ::statfs(folder_of(path).c_str(), &system) == 0 && system.f_type == kProc;
}

struct Target {
  std::string path;
  bool direct;  // must not be replaced
};

Target target_of(std::string path) {
  const std::string given = path;
  for (int links = 0; links <= 40; ++links) {  // as many as the kernel follows
    struct stat status {};
    if (::lstat(path.c_str(), &status) != 0) return {path, false};
    if (!S_ISLNK(status.st_mode)) return {path, !S_ISREG(status.st_mode)};
    if (is_process_link(path)) return {path, true};
    std::string text(4096, '\0');  // PATH_MAX
    const ssize_t length = ::readlink(path.c_str(), text.data(), text.size());
    if (length <= 0) break;
    text.resize(static_cast<std::size_t>(length));
    const std::size_t slash = path.rfind('/');
    path = text[0] == '/' || slash == std::string::npos ? text : path.substr(0, slash + 1) + text;
  }
  fail("cannot write ", given, ": too many symbolic links, or a cycle of them");
}

// Throws Error unless `target` may be written.
void check_kind(const std::string& path, const std::string& target) {
  struct stat status {};
  const bool there = ::stat(target.c_str(), &status) == 0;
  check(!path.empty() && target.back() != '/' && !(there && S_ISDIR(status.st_mode)), "cannot write ", path,
        ": it is a folder");
  if (!there) return;
  check(!S_ISSOCK(status.st_mode), "cannot write ", path, ": it is a socket");
  check(!S_ISBLK(status.st_mode), "cannot write ", path, ": it is a block device; write to a file");
  if (::faccessat(AT_FDCWD, target.c_str(), W_OK, AT_EACCESS) != 0)
    fail("cannot write ", path, ": ", std::strerror(errno));
}

// Copies the old file's access ACL. If it has none, removes the one inherited from the folder's default ACL.
bool keep_acl(int fd, const std::string& old) {
  std::vector<char> acl(65536);
  const ssize_t bytes = ::getxattr(old.c_str(), kAccessAcl, acl.data(), acl.size());
  if (bytes > 0) return ::fsetxattr(fd, kAccessAcl, acl.data(), static_cast<std::size_t>(bytes), 0) == 0;
  return ::fremovexattr(fd, kAccessAcl) == 0 || errno == ENODATA || errno == ENOTSUP;
}

// The owner comes first, because changing it may reset mode bits. A failure never widens the permissions.
bool keep_permissions(int fd, const std::string& old, const struct stat& status) {
  struct stat ours {};
  if (::fstat(fd, &ours) != 0) return false;
  bool group = ours.st_gid == status.st_gid;
  if (!group || ours.st_uid != status.st_uid)
    group = ::fchown(fd, status.st_uid, status.st_gid) == 0 || group ||
            ::fchown(fd, static_cast<uid_t>(-1), status.st_gid) == 0;
  mode_t mode = status.st_mode & 0777;
  if (!keep_acl(fd, old) || !group) {
    const mode_t both = mode >> 3 & mode & 7;
    mode = (mode & 0700) | both << 3 | both;
  }
  return ::fchmod(fd, mode) == 0;
}

// While it lives, a failed write reports an error number and sends no signal.
class NoSignals {
 public:
  NoSignals() {
    sigemptyset(&set_);
    sigaddset(&set_, SIGPIPE);
    sigaddset(&set_, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &set_, &before_);
  }
  ~NoSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;

  // Consumes the signal that a failed write sent to this thread. A signal that the caller blocks stays
  // pending: one that was sent earlier could not be distinguished from it.
  void take() {
    const int kept = errno;
    for (const int signal : {SIGPIPE, SIGXFSZ}) {
      if (sigismember(&before_, signal)) continue;
      sigset_t one;
      sigemptyset(&one);
      sigaddset(&one, signal);
      const timespec at_once{};
      while (sigtimedwait(&one, nullptr, &at_once) < 0 && errno == EINTR) {
      }
    }
    errno = kept;
  }

 private:
  sigset_t set_, before_;
};

template <class Write>
ssize_t write_quietly(const Write& write) {
  NoSignals guard;
  const ssize_t written = write();
  if (written < 0) guard.take();
  return written;
}

}  // namespace

AtomicFile::AtomicFile(std::string path) : AtomicFile() {
  path_ = std::move(path);
  const Target target = target_of(path_);
  check_kind(path_, target.path);
  if (!target.direct) {
    target_ = target.path;
    open_temporary();
    return;
  }
  do fd_ = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY);
  while (fd_ < 0 && errno == EINTR);
  if (fd_ < 0) fail_with("cannot write ", errno);
}

void AtomicFile::open_temporary() {
  static std::atomic<unsigned> counter{0};
  const std::string folder = folder_of(target_), head = temporary_head(target_);
  check(exists(folder), "cannot write ", path_, ": no such folder: ", folder);
  check(is_folder(folder), "cannot write ", path_, ": ", folder, " is not a folder");
  struct stat old {};
  const bool replaces = ::stat(target_.c_str(), &old) == 0;
  std::string name;
  do {  // a leftover of an earlier process with this process id may have that name
    name = concat(folder, "/", head, static_cast<long long>(::getpid()), "-", counter++, ".tmp");
    fd_ = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, replaces ? 0600 : 0666);
  } while (fd_ < 0 && errno == EEXIST);
  if (fd_ < 0) fail("cannot write ", path_, ": folder ", folder, ": ", std::strerror(errno));
  temporary_ = std::move(name);
  if (replaces && !keep_permissions(fd_, target_, old)) fail_with("cannot set the permissions of ", errno);
}

AtomicFile::~AtomicFile() {
  if (fd_ >= 0) ::close(fd_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::write(const void* data, std::size_t bytes) {
  const char* from = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = write_quietly([&] { return ::write(fd_, from, bytes); });
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_with("cannot write ", errno);
    from += written;
    bytes -= static_cast<std::size_t>(written);
  }
}

void AtomicFile::overwrite(uint64_t offset, const void* data, std::size_t bytes) {
  const char* from = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = write_quietly([&] { return ::pwrite(fd_, from, bytes, static_cast<off_t>(offset)); });
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_with("cannot write ", errno);
    from += written;
    offset += static_cast<uint64_t>(written);
    bytes -= static_cast<std::size_t>(written);
  }
}

void AtomicFile::commit() {
  check(fd_ >= 0, path_, ": commit() was already called");
  const auto cannot_flush = [](int error) { return error == EINVAL || error == EROFS || error == ENOTSUP; };
  if (flush_to_disk(fd_) != 0 && (is_atomic() || !cannot_flush(errno))) fail_with("cannot flush ", errno);
  if (::close(std::exchange(fd_, -1)) != 0) fail_with("cannot close ", errno);
  if (!is_atomic()) return;
  if (std::rename(temporary_.c_str(), target_.c_str()) != 0) fail_with("cannot rename to ", errno);
  temporary_.clear();
  // Some file systems refuse to open or flush a folder. The file itself is already safe on disk.
  const int folder = ::open(folder_of(target_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    flush_to_disk(folder);
    ::close(folder);
  }
}

void AtomicFile::fail_with(const char* what, int error_number) const {
  fail(what, path_, ": ", std::strerror(error_number));
}

int flush_to_disk(int fd) {
  int result = 0;
  do result = ::fsync(fd);
  while (result != 0 && errno == EINTR);
  return result;
}

void write_file_atomically(const std::string& path, std::string_view content) {
  AtomicFile file(path);
  file.write(content);
  file.commit();
}

void check_writable(const std::string& path) {
  const Target target = target_of(path);
  if (target.direct)
    check_kind(path, target.path);
  else
    const AtomicFile opened(path);
}

std::string follow_links(const std::string& path) { return target_of(path).path; }

void remove_leftovers_of(const std::string& path) noexcept try {
  namespace fs = std::filesystem;
  const Target target = target_of(path);
  if (target.direct) return;
  const std::string head = temporary_head(target.path), tail = ".tmp";
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder_of(target.path), error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(head) || !name.ends_with(tail) || name.size() <= head.size() + tail.size()) continue;
    const std::string middle = name.substr(head.size(), name.size() - head.size() - tail.size());
    std::error_code ignored;
    if (middle.find_first_not_of("0123456789-") == std::string::npos) fs::remove(entry.path(), ignored);
  }
} catch (...) {  // leftovers only take up disk space
}

}  // namespace tandem
