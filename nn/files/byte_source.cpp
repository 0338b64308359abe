// Reading with pread, which several threads may call at once.
#include "tandem/nn/files/byte_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "tandem/core/error.h"
#include "tandem/core/threads/parallel_for.h"

namespace tandem::serialize {
namespace {

class MemorySource final : public ByteSource {
 public:
  MemorySource(const void* data, std::size_t bytes) : data_(static_cast<const char*>(data)), bytes_(bytes) {}
  uint64_t size() const override { return bytes_; }
  void read(void* to, uint64_t offset, std::size_t count) const override {
    if (count != 0) std::memcpy(to, data_ + offset, count);
  }

 private:
  const char* data_;
  std::size_t bytes_;
};

class FileSource final : public ByteSource {
 public:
  explicit FileSource(const std::string& path) : path_(path), file_(open_regular(path)) {}
  ~FileSource() override { ::close(file_.fd); }
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;
  uint64_t size() const override { return file_.bytes; }
  void read(void* to, uint64_t offset, std::size_t count) const override {
    while (count != 0) {
      const ssize_t got = ::pread(file_.fd, to, count, static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR) continue;
      check(got > 0, path_,
            ": cannot be read: ", got < 0 ? std::strerror(errno) : "it has become shorter since it was opened");
      to = static_cast<char*>(to) + got;
      offset += static_cast<uint64_t>(got);
      count -= static_cast<std::size_t>(got);
    }
  }

 private:
  std::string path_;
  RegularFile file_;
};

}  // namespace

RegularFile open_regular(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // O_NONBLOCK: do not wait for a pipe
  check(fd >= 0, path, ": cannot be opened: ", std::strerror(errno));
  struct stat info {};
  if (::fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) return {fd, static_cast<uint64_t>(info.st_size)};
  ::close(fd);
  fail(path, ": is not a regular file");
}

std::unique_ptr<ByteSource> open_file(const std::string& path) { return std::make_unique<FileSource>(path); }
std::unique_ptr<ByteSource> memory_source(const void* data, std::size_t bytes) {
  return std::make_unique<MemorySource>(data, bytes);
}

void read_with_threads(const ByteSource& source, void* to, uint64_t offset, uint64_t bytes) {
  constexpr int64_t kGrain = 1 << 21;
  parallel_for(static_cast<int64_t>(bytes), kGrain, [&](int64_t begin, int64_t end) {
    source.read(static_cast<char*>(to) + begin, offset + static_cast<uint64_t>(begin),
                static_cast<std::size_t>(end - begin));
  });
}

const char* mistaken_kind(const ByteSource& source) {
  std::string start(std::min<uint64_t>(source.size(), 256), '\0');
  source.read(start.data(), 0, start.size());
  for (char& c : start)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  if (start.starts_with("version https://git-lfs")) return "a pointer of Git LFS: fetch the file with git lfs pull";
  if (start.size() > 1 && start[0] == '\x80' && start[1] >= 2 && start[1] <= 5)
    return "a pickle of Python: write the state dict with torch.save or safetensors";
  const std::size_t first = start.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  const std::string_view text = first == std::string::npos ? "" : std::string_view(start).substr(first);
  if (text.starts_with("<!doctype html") || text.starts_with("<html")) return "an HTML page: download the file itself";
  return nullptr;
}

}  // namespace tandem::serialize
