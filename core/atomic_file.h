// A file that appears under its name whole or not at all.
//
// The bytes go to a temporary file in the same folder; commit() flushes it to the disk, renames it and
// flushes the folder. Until then, and after a crash at any moment, the old file of that name is untouched.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace tandem {

class AtomicFile {
 public:
  /// Opens the temporary file. Throws Error naming `path` and the reason: the folder is missing, is no folder
  /// or cannot be written, or `path` is a folder.
  explicit AtomicFile(std::string path);
  /// Removes the temporary file unless committed.
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// Throws Error (disk full, for one).
  void write(const void* data, std::size_t bytes);
  void write(std::string_view text) { write(text.data(), text.size()); }
  /// Call once, after the last write. Throws Error; the old file is then still there.
  void commit();

 private:
  [[noreturn]] void fail_with(const char* what, int error_number);
  std::string path_;
  std::string temporary_;
  int fd_ = -1;
};

/// AtomicFile, one write and commit.
void write_file_atomically(const std::string& path, std::string_view content);

}  // namespace tandem
