// The source of a file's bytes: the file itself, or memory. Reads are explicit copies, not views of a memory
// map: when a mapped file becomes shorter, the next access ends the process with SIGBUS, at any later time and with no
// chance to report it. A read reports it. It also costs no more: from the page cache into huge pages, with all threads,
// 500 MB need about as long as `cat FILE >/dev/null`.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace tandem::serialize {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// The size when it was opened.
  virtual uint64_t size() const = 0;
  /// Reads bytes [offset, offset + bytes), which must be within size(). Thread-safe. Throws Error, naming the file, if
  /// they cannot be read, for example because the file has become shorter.
  virtual void read(void* to, uint64_t offset, std::size_t bytes) const = 0;
};

struct RegularFile {
  int fd;  ///< the caller closes it
  uint64_t bytes;
};
/// Throws Error, naming `path`, unless it is a regular file that can be read.
RegularFile open_regular(const std::string& path);
std::unique_ptr<ByteSource> open_file(const std::string& path);
/// Memory of the caller, which must outlive the source.
std::unique_ptr<ByteSource> memory_source(const void* data, std::size_t bytes);

/// The kind of a file that is often mistaken for one of tensors: "a pointer of Git LFS …"; nullptr for other files.
const char* mistaken_kind(const ByteSource& source);

/// Reads bytes [offset, offset + bytes) with all threads of the current device.
void read_with_threads(const ByteSource& source, void* to, uint64_t offset, uint64_t bytes);

}  // namespace tandem::serialize
