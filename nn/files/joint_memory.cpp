// One anonymous mapping for several tensors.
#include "tandem/nn/files/joint_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/core/memory/cpu_allocator.h"
#include "tandem/core/threads/parallel_for.h"

namespace tandem::serialize {
namespace {

constexpr std::size_t kSmall = std::size_t{1} << 16, kAlign = 64, kHuge = std::size_t{1} << 21;

std::size_t round_up(std::size_t n, std::size_t to) { return (n + to - 1) / to * to; }

class Mapping {
 public:
  explicit Mapping(std::size_t bytes) : bytes_(bytes + kHuge) {
    void* at = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check(at != MAP_FAILED, "out of memory: could not allocate ", bytes, " bytes: ", std::strerror(errno));
    base_ = static_cast<char*>(at);
    ::madvise(base_, bytes_, MADV_HUGEPAGE);
  }
  ~Mapping() { ::munmap(base_, bytes_); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  char* begin() const { return reinterpret_cast<char*>(round_up(reinterpret_cast<std::uintptr_t>(base_), kHuge)); }

 private:
  char* base_;
  std::size_t bytes_;
};

// A tensor's part: its deleter, which is destroyed without a call if the tensor could not be made.
class Part {
 public:
  Part(std::shared_ptr<Mapping> mapping, Device device, std::size_t bytes)
      : mapping_(std::move(mapping)), device_(device), bytes_(bytes) {
    tandem::detail::count_memory(device_, static_cast<int64_t>(bytes_));
  }
  Part(Part&& other) = default;
  ~Part() {
    if (mapping_ != nullptr) tandem::detail::count_memory(device_, -static_cast<int64_t>(bytes_));
  }
  void operator()(void* data) {
    static const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const auto from = round_up(reinterpret_cast<std::uintptr_t>(data), page);
    const auto to = (reinterpret_cast<std::uintptr_t>(data) + bytes_) / page * page;
    if (mapping_.use_count() > 1 && to > from) ::madvise(reinterpret_cast<void*>(from), to - from, MADV_DONTNEED);
  }

 private:
  std::shared_ptr<Mapping> mapping_;
  Device device_;
  std::size_t bytes_;
};

}  // namespace

std::vector<Tensor> empty_together(const std::vector<TensorKind>& kinds) {
  const Device device(kCPU, static_cast<DeviceIndex>(cpu::current_device()));
  std::vector<std::size_t> bytes;
  std::size_t all = 0;
  for (const TensorKind& kind : kinds) {
    bytes.push_back(static_cast<std::size_t>(checked_numel(kind.sizes) * item_size(kind.dtype)));
    if (bytes.back() > kSmall) all += round_up(bytes.back(), kAlign);
  }
  const auto mapping = all == 0 ? nullptr : std::make_shared<Mapping>(all);
  char* at = all == 0 ? nullptr : mapping->begin();
  std::vector<Tensor> out;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const TensorOptions options = TensorOptions(kinds[i].dtype).device(device);
    if (bytes[i] <= kSmall) {
      out.push_back(empty(kinds[i].sizes, options));
      continue;
    }
    out.push_back(from_blob(at, kinds[i].sizes, Part(mapping, device, bytes[i]), options));
    at += round_up(bytes[i], kAlign);
  }
  return out;
}

}  // namespace tandem::serialize
