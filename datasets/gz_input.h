// Reads a file sequentially, gzip or plain, as its first two bytes show, not its name.
//
// It has one fixed input buffer and decompresses only as many bytes as the caller requests, so a small file
// that decompresses to a huge one needs no extra memory.
#pragma once
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

namespace tandem::data {

class GzInput {
 public:
  /// Opens a regular file. Throws Error.
  explicit GzInput(const std::string& path);
  /// Reads from memory, which must outlive this object; error messages use `name`.
  GzInput(const void* bytes, std::size_t size, std::string name);
  ~GzInput();
  GzInput(const GzInput&) = delete;
  GzInput& operator=(const GzInput&) = delete;

  const std::string& name() const { return name_; }
  bool is_gzip() const { return inflate_ != nullptr; }
  /// Size of the file itself in bytes, compressed or not.
  uint64_t file_bytes() const { return file_bytes_; }
  /// Upper bound of the decompressed size (deflate's limit is 1032 : 1); for a plain file its size.
  uint64_t max_bytes() const;

  /// Fills `to` with up to `bytes` decompressed bytes; fewer only at the end. Throws Error on a corrupt or
  /// truncated gzip stream, on a wrong checksum, and on bytes after its end that are not further gzip
  /// members.
  std::size_t read(void* to, std::size_t bytes);

 private:
  struct Inflate;
  void detect();
  void check_no_error() const;
  std::size_t read_raw(void* to, std::size_t bytes);
  std::size_t read_gzip(void* to, std::size_t bytes);
  void refill();
  void end_of_member();

  std::string name_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_{nullptr, std::fclose};
  uint64_t file_bytes_ = 0;
  std::unique_ptr<Inflate> inflate_;
};

}  // namespace tandem::data
