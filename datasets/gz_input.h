// A file read front to back, gzip or plain: which one is told by its first two bytes, not by its name.
//
// Holds one input buffer; the reader's own buffers bound the memory, so a small file that unpacks to a huge
// one costs no more than what is asked for.
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
  /// Reads from memory that outlives this object; `name` stands in the errors.
  GzInput(const void* bytes, std::size_t size, std::string name);
  ~GzInput();
  GzInput(const GzInput&) = delete;
  GzInput& operator=(const GzInput&) = delete;

  const std::string& name() const { return name_; }
  bool is_gzip() const { return inflate_ != nullptr; }
  /// Bytes of the file as it lies there, packed or not.
  uint64_t file_bytes() const { return file_bytes_; }
  /// No gzip file unpacks to more than this (deflate's limit is 1032 : 1); of a plain file: its size.
  uint64_t most_bytes() const;

  /// Fills `to` with up to `bytes` unpacked bytes; fewer only at the end. Throws Error on a corrupt or
  /// truncated gzip stream, on a wrong check sum and on anything but further gzip members after its end.
  std::size_t read(void* to, std::size_t bytes);

 private:
  struct Inflate;
  void detect();
  std::size_t read_raw(void* to, std::size_t bytes);
  std::size_t read_gzip(void* to, std::size_t bytes);
  void refill();
  void end_of_member();

  std::string name_;
  std::FILE* file_ = nullptr;
  uint64_t file_bytes_ = 0;
  std::unique_ptr<Inflate> inflate_;
};

}  // namespace tandem::data
