// The entries of a zip archive, as PyTorch writes them: stored, not compressed. Internal to the sources of this folder.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

struct zip;

namespace tandem::serialize::pt {

class ZipReader {
 public:
  struct Entry {
    uint64_t index = 0, bytes = 0;
  };

  /// Throws Error, naming `path`, if it is no regular file or no archive.
  static ZipReader open(const std::string& path);
  /// Reads memory, which must outlive the reader.
  static ZipReader of_memory(const void* data, std::size_t bytes, const std::string& name);

  /// All names, in the archive's order.
  std::vector<std::string> names() const;
  /// Whether there is such an entry. Throws Error if it is compressed, encrypted or longer than the file, or if the entries
  /// asked for are longer together than the file: then they overlap.
  bool find(const std::string& name, Entry& entry);
  /// Reads all bytes of an entry. Throws Error if it is damaged; its checksum counts unless TANDEM_IGNORE_CHECKSUMS is set.
  void read(const Entry& entry, void* to) const;
  std::string text(const Entry& entry) const;

 private:
  ZipReader(zip* archive, uint64_t bytes, std::string file);
  std::unique_ptr<zip, void (*)(zip*)> archive_;
  uint64_t file_bytes_, found_bytes_ = 0;
  std::string file_;
};

/// Writes stored entries.
class ZipWriter {
 public:
  ZipWriter();
  ~ZipWriter();
  ZipWriter(const ZipWriter&) = delete;
  ZipWriter& operator=(const ZipWriter&) = delete;
  /// The memory must stay valid until finish().
  void add(const std::string& name, const void* data, std::size_t bytes);
  /// The archive.
  std::string finish();

 private:
  struct Archive;
  std::unique_ptr<Archive> archive_;
};

}  // namespace tandem::serialize::pt
