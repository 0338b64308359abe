// Files and folders that are removed when they go out of scope.
#pragma once
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "tandem/core/error.h"

namespace c10 {

/// An open file.
struct TempFile {
  explicit TempFile(std::string_view path, int descriptor = -1) : fd(descriptor), name(path) {}
  TempFile(TempFile&& other) noexcept : fd(std::exchange(other.fd, -1)), name(std::exchange(other.name, {})) {}
  TempFile& operator=(TempFile&& other) noexcept {
    std::swap(fd, other.fd);
    name.swap(other.name);
    return *this;
  }
  ~TempFile() {
    if (!name.empty()) ::unlink(name.c_str());
    if (fd >= 0) ::close(fd);
  }
  int fd;
  std::string name;
};

/// A folder. Only an empty one is removed.
struct TempDir {
  explicit TempDir(std::string_view path) : name(path) {}
  TempDir(TempDir&& other) noexcept : name(std::exchange(other.name, {})) {}
  TempDir& operator=(TempDir&& other) noexcept {
    name.swap(other.name);
    return *this;
  }
  ~TempDir() {
    if (!name.empty()) ::rmdir(name.c_str());
  }
  std::string name;
};

/// In the system's folder for temporary files. nullopt if that is not possible.
inline std::optional<TempFile> try_make_tempfile(std::string_view name_prefix = "torch-file-") {
  std::error_code error;
  std::string name = (std::filesystem::temp_directory_path(error) / name_prefix).string() + "XXXXXX";
  const int fd = error ? -1 : ::mkstemp(name.data());
  if (fd < 0) return std::nullopt;
  return TempFile(name, fd);
}
inline std::optional<TempDir> try_make_tempdir(std::string_view name_prefix = "torch-dir-") {
  std::error_code error;
  std::string name = (std::filesystem::temp_directory_path(error) / name_prefix).string() + "XXXXXX";
  if (error || ::mkdtemp(name.data()) == nullptr) return std::nullopt;
  return TempDir(name);
}
/// These throw Error instead.
inline TempFile make_tempfile(std::string_view name_prefix = "torch-file-") {
  auto file = try_make_tempfile(name_prefix);
  tandem::check(file.has_value(), "Error generating temporary file, file name: ", std::string(name_prefix), "XXXXXX");
  return std::move(*file);
}
inline TempDir make_tempdir(std::string_view name_prefix = "torch-dir-") {
  auto folder = try_make_tempdir(name_prefix);
  tandem::check(folder.has_value(), "Error generating temporary directory, directory name: ", std::string(name_prefix),
                "XXXXXX");
  return std::move(*folder);
}

}  // namespace c10
