// AtomicFile: writes a file so that it appears under its name complete or not at all.
//
// The bytes go to a temporary file in the same folder. commit() flushes it to disk, renames it and flushes
// the folder. Until then, and after a crash at any point, the existing file of that name is untouched.
//
// The effect depends on the file of that name:
//   nothing           A new file is created; the umask sets its mode.
//   a regular file    It is replaced. The new file keeps its mode (without setuid, setgid and sticky bits),
//                     owner, group and access ACL. If the group or the ACL cannot be kept, the group and
//                     others get only the permissions that both had. Other extended attributes are lost.
//                     Other hard links keep the old content. A file without write permission is refused.
//   a symbolic link   It is followed: the target is written, in the target's folder.
//   a character device, a pipe, or a target of /proc/PID/fd (/dev/stdout)
//                     It is written directly, files in append position. This is not atomic: a reader sees
//                     whatever was written before an error.
//   anything else     Folders, sockets and block devices are refused.
//
// No write kills the process: SIGPIPE and SIGXFSZ (`ulimit -f`) are suppressed and reported as an Error.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tandem {

class AtomicFile {
 public:
  /// Opens the temporary file, or the target itself if it is written directly (a pipe blocks until it has a
  /// reader). Throws Error with `path` and the reason if the target is refused, or if its folder is missing
  /// or not writable.
  explicit AtomicFile(std::string path);
  /// Removes the temporary file unless it was committed.
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// Throws Error, for example when the disk is full.
  void write(const void* data, std::size_t bytes);
  void write(std::string_view text) { write(text.data(), text.size()); }
  /// False if the bytes go directly to a device or a pipe.
  bool is_atomic() const { return !target_.empty(); }
  /// Writes bytes at `offset` of the file, also beyond its end. Throws Error. Requires is_atomic().
  void overwrite(uint64_t offset, const void* data, std::size_t bytes);
  /// Call once, after the last write. If it throws Error, the old file is still in place.
  void commit();

 private:
  AtomicFile() = default;  // delegated to, so that the destructor cleans up after a throwing constructor
  void open_temporary();
  [[noreturn]] void fail_with(const char* what, int error_number) const;
  std::string path_;
  std::string target_;     // symbolic links resolved; "" if the bytes go to path_ itself
  std::string temporary_;  // "" while there is none
  int fd_ = -1;
};

/// fsync(), also if signals interrupt it.
int flush_to_disk(int fd);

/// Writes `content` through AtomicFile and commits.
void write_file_atomically(const std::string& path, std::string_view content);

/// Throws what AtomicFile would throw. Leaves nothing behind and does not open a pipe.
void check_writable(const std::string& path);

/// Resolves the symbolic links at the end of `path`; the result need not exist. Throws Error on a cycle.
std::string follow_links(const std::string& path);

/// Removes the temporary files left behind by processes that were killed while writing `path`. No other
/// process may be writing it.
void remove_leftovers_of(const std::string& path) noexcept;

}  // namespace tandem
