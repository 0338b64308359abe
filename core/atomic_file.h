// A file that appears under its name whole or not at all.
//
// The bytes go to a temporary file in the same folder; commit() flushes it to the disk, renames it and
// flushes the folder. Until then, and after a crash at any moment, the old file of that name is untouched.
//
// What stands under the name already:
//   nothing           a new file, its mode as the umask says
//   a regular file    is replaced. The new one has its mode (without setuid, setgid and sticky bits), owner,
//                     group and access ACL. Where the group or the ACL cannot be kept, the group's and the
//                     others' permissions become what both had; other extended attributes are not kept.
//                     Other hard links keep the old content. A file without write permission is refused.
//   a symbolic link   is followed: the file it leads to is written, in that file's folder
//   a device for characters, a pipe, what /proc/PID/fd leads to (/dev/stdout): is written to directly, at its
//                     end where it is a file. This is not atomic: a reader sees what came before an error.
//   anything else     is refused: folders, sockets, block devices
//
// No write ends the process: SIGPIPE and SIGXFSZ (`ulimit -f`) are held back, and their cause is an Error.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tandem {

class AtomicFile {
 public:
  /// Opens the temporary file, or what is written to directly; the latter waits for a pipe's reader. Throws
  /// Error naming `path` and the reason: it is refused, or its folder is missing or cannot be written.
  explicit AtomicFile(std::string path);
  /// Removes the temporary file unless committed.
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// Throws Error (disk full, for one).
  void write(const void* data, std::size_t bytes);
  void write(std::string_view text) { write(text.data(), text.size()); }
  /// False where bytes go to a device or a pipe at once.
  bool is_atomic() const { return !target_.empty(); }
  /// Puts other bytes in the place of some that are written. Only where is_atomic().
  void overwrite(uint64_t offset, const void* data, std::size_t bytes);
  /// Call once, after the last write. Throws Error; the old file is then still there.
  void commit();

 private:
  AtomicFile() = default;  // delegated to, so that a constructor that throws is cleaned up by the destructor
  void open_temporary();
  [[noreturn]] void fail_with(const char* what, int error_number) const;
  std::string path_;
  std::string target_;     // behind symbolic links; "" when bytes go to path_ itself
  std::string temporary_;  // while there is one
  int fd_ = -1;
};

/// AtomicFile, one write and commit.
void write_file_atomically(const std::string& path, std::string_view content);

/// Throws what AtomicFile would. Leaves nothing, and does not open a pipe.
void check_writable(const std::string& path);

/// The name that symbolic links at the end of `path` lead to, whether it exists or not. Throws Error when
/// they go round in circles.
std::string follow_links(const std::string& path);

/// Removes what processes that were killed while they wrote `path` have left in its folder. No other process
/// may be writing it.
void remove_leftovers_of(const std::string& path) noexcept;

}  // namespace tandem
