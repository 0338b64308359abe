#include "tandem/cuda/ops/conv2d_kept.h"

#include <cudnn.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <utility>

#include "tandem/core/base/atomic_file.h"
#include "tandem/core/base/cache_folder.h"
#include "tandem/core/error.h"
#include "tandem/cuda/ops/conv2d_direct.h"

namespace tandem::cuda_impl {
namespace {

// A choice has a few hundred bytes; what is larger is none.
constexpr std::size_t kMaxBytes = 4096;

template <class T>
void append(std::string& text, const T& value) {
  text += concat(' ', static_cast<int64_t>(value));
}
template <class T, std::size_t N>
void append(std::string& text, const std::array<T, N>& values) {
  for (const T& value : values) append(text, value);
}

// One process at a time looks for a file and writes it. Where files cannot be locked, the last one wins.
class FolderLock {
 public:
  explicit FolderLock(const std::string& folder) : fd_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    if (fd_ >= 0) (void)::flock(fd_, LOCK_EX);
  }
  ~FolderLock() {
    if (fd_ >= 0) ::close(fd_);
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int fd_;
};

}  // namespace

const std::string& kept_engines_folder() {
  static const std::string folder = writable_cache_folder("conv2d");
  return folder;
}

KeptEngine::KeptEngine(std::string folder, const Gpu& gpu, const ConvKey& key)
    : folder_(std::move(folder)),
      convolution_(concat("cuDNN ", cudnnGetVersion(), has_direct(key) ? ", own engine 1, " : ", ", gpu.name, ", ",
                          gpu.multiprocessors, " SMs:")) {
  std::apply([&](const auto&... field) { (append(convolution_, field), ...); }, key.fields());
  convolution_ += '\n';
  uint64_t name = 0;
  for (const char c : convolution_) name = mixed(name + static_cast<unsigned char>(c));
  path_ = concat(folder_, '/', name);
}

std::string KeptEngine::find() const {
  std::ifstream file(path_, std::ios::binary);
  std::string text(kMaxBytes, '\0');
  file.read(text.data(), kMaxBytes);
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (!text.starts_with(convolution_) || !text.ends_with('\n')) return "";
  return text.substr(convolution_.size(), text.size() - convolution_.size() - 1);
}

std::string KeptEngine::keep(const std::string& engine) const {
  const FolderLock lock(folder_);
  if (const std::string first = find(); !first.empty()) return first;
  write_file_atomically(path_, convolution_ + engine + '\n');
  return engine;
}

}  // namespace tandem::cuda_impl
