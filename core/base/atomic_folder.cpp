#include "tandem/core/base/atomic_folder.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "tandem/core/base/atomic_file.h"
#include "tandem/core/error.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

// Without a slash at the end, and with links followed.
std::string target_of(std::string path) {
  const std::string given = path;
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  if (!path.empty() && path != "/") path = follow_links(path);
  const std::string name = fs::path(path).filename().string();
  check(!name.empty() && name != "." && name != ".." && path != "/", "cannot write the folder '", given,
        "': it has no name");
  return path;
}

std::string beside(const std::string& target, const char* ending) {
  const fs::path path(target);
  return (path.parent_path() / ("." + path.filename().string() + ending)).string();
}
std::string old_of(const std::string& target) { return beside(target, ".old"); }

bool exists(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

void remove_folder(const std::string& path) noexcept {
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

void move(const std::string& from, const std::string& to) {
  if (std::rename(from.c_str(), to.c_str()) != 0) fail("cannot rename ", from, " to ", to, ": ", std::strerror(errno));
}

// Some file systems refuse to flush a folder.
void flush_folder(const std::string& path) {
  const int fd = ::open(path.empty() ? "." : path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  flush_to_disk(fd);
  ::close(fd);
}

bool swap_names(const std::string& a, const std::string& b) {
  if (::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) == 0) return true;
  check(errno == EINVAL || errno == ENOSYS || errno == ENOTSUP, "cannot exchange ", a, " and ", b, ": ",
        std::strerror(errno));
  return false;
}

}  // namespace

AtomicFolder::AtomicFolder(const std::string& path) : target_(target_of(path)) {
  const std::string made = new_folder_of(target_), old = old_of(target_);
  if (exists(old) && !exists(target_)) move(old, target_);
  check(!exists(target_) || fs::is_directory(target_), "cannot write the folder ", path, ": it is a file");
  remove_folder(old);
  remove_folder(made);
  std::error_code error;
  fs::create_directory(made, error);
  check(!error, "cannot write the folder ", path, ": ", made, ": ", error.message());
  new_ = made;
  if (exists(target_)) fs::permissions(new_, fs::status(target_).permissions(), error);
}

AtomicFolder::~AtomicFolder() {
  if (!new_.empty()) remove_folder(new_);
}

void AtomicFolder::commit(bool can_exchange) {
  check(!new_.empty(), target_, ": commit() was already called");
  const std::string parent = fs::path(target_).parent_path().string(), old = old_of(target_);
  flush_folder(new_);
  std::string leftover = new_;
  if (!exists(target_)) {
    move(new_, target_);
    leftover.clear();
  } else if (!can_exchange || !swap_names(new_, target_)) {
    move(target_, old);
    if (std::rename(new_.c_str(), target_.c_str()) != 0) {
      const int error = errno;
      move(old, target_);
      fail("cannot rename ", new_, " to ", target_, ": ", std::strerror(error));
    }
    leftover = old;
  }
  new_.clear();
  flush_folder(parent);
  if (!leftover.empty()) remove_folder(leftover);
}

std::string new_folder_of(const std::string& path) { return beside(target_of(path), ".new"); }

std::string readable_folder(const std::string& path) {
  if (path.empty() || exists(path)) return path;
  const std::string old = old_of(target_of(path));
  return exists(old) ? old : path;
}

}  // namespace tandem
