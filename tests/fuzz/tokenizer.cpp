// Vocabularies of byte-pair tokenizers: GPT-2's two files, separated by a zero byte, or a file of tiktoken.
#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include "tandem/core/error.h"
#include "tandem/datasets/text/byte_pair.h"
#include "tandem/tests/fuzz/fuzz.h"

namespace {

// A file in memory.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view content) : fd_(::memfd_create("fuzz", 0)) {
    for (std::string_view rest = content; fd_ >= 0 && !rest.empty();) {
      const ssize_t written = ::write(fd_, rest.data(), rest.size());
      if (written <= 0) break;
      rest.remove_prefix(static_cast<std::size_t>(written));
    }
  }
  ~MemoryFile() { ::close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

}  // namespace

bool tandem::fuzz::accepts(const uint8_t* data, std::size_t size) {
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const std::size_t zero = all.find('\0');
  const MemoryFile first(all.substr(0, zero));
  try {
    if (zero == std::string_view::npos) {
      text::BytePairTokenizer::from_tiktoken(first.path()).encode(all.substr(0, 4096));
    } else {
      const MemoryFile second(all.substr(zero + 1));
      text::BytePairTokenizer::from_files(first.path(), second.path()).encode_with_special(all.substr(0, 4096));
    }
    return true;
  } catch (const Error&) {
    return false;
  }
}
