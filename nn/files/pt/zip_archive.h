// The entries of a zip archive, through libzip. Internal to the sources of this folder.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

struct zip;
struct zip_file;

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
  /// Whether there is such an entry. Throws Error if it is encrypted or longer than the file, or if the entries asked
  /// for are longer together than the file: then they overlap. It may be compressed only if `deflated`; it is then at
  /// most 1032 times as long as its bytes in the file, which no compressed data exceeds.
  bool find(const std::string& name, Entry& entry, bool deflated = false);
  /// Reads all bytes of an entry. Throws Error if it is damaged;
  /// its checksum counts unless TANDEM_IGNORE_CHECKSUMS is set.
  void read(const Entry& entry, void* to) const;
  /// The same in parts, one after the other; finish() after the last one verifies the checksum.
  class Parts {
   public:
    Parts(const ZipReader& zip, const Entry& entry);
    void read(void* to, uint64_t bytes);
    void finish();

   private:
    const ZipReader& zip_;
    const Entry& entry_;
    std::unique_ptr<zip_file, int (*)(zip_file*)> file_;
  };
  std::string text(const Entry& entry) const;

 private:
  ZipReader(zip* archive, uint64_t bytes, std::string file);
  std::unique_ptr<zip, void (*)(zip*)> archive_;
  uint64_t file_bytes_, found_bytes_ = 0;
  std::string file_;
};

/// The destination of an archive's bytes.
class ZipSink {
 public:
  virtual ~ZipSink() = default;
  virtual void append(const void* data, std::size_t bytes) = 0;
  /// Replaces bytes that were appended.
  virtual void overwrite(uint64_t offset, const void* data, std::size_t bytes) = 0;
};

/// Writes stored entries. Nothing is copied but small parts on their way to the sink.
class ZipWriter {
 public:
  explicit ZipWriter(ZipSink& sink);
  ~ZipWriter();
  ZipWriter(const ZipWriter&) = delete;
  ZipWriter& operator=(const ZipWriter&) = delete;
  /// The memory must stay valid until finish().
  void add(const std::string& name, const void* data, std::size_t bytes);
  /// An entry of several parts.
  void add(const std::string& name, const std::vector<std::string_view>& parts, bool deflated);
  /// Writes the archive. Throws what the sink throws, and Error.
  void finish();

 private:
  struct Output;
  std::unique_ptr<Output> output_;
  zip* archive_ = nullptr;
};

/// A sink in memory.
class ZipBytes final : public ZipSink {
 public:
  void append(const void* data, std::size_t bytes) override { text.append(static_cast<const char*>(data), bytes); }
  void overwrite(uint64_t offset, const void* data, std::size_t bytes) override;
  std::string text{};
};

/// A file that `write` fills: it appears complete or not at all. Throws Error on failure.
void write_zip_file(const std::string& path, const std::function<void(ZipSink&)>& write);

}  // namespace tandem::serialize::pt
