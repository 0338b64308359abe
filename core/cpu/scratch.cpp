// Working memory of a thread: one buffer per slot, taken from the allocator and freed when the thread ends. A
// buffer grows at once, and shrinks after it was several times too large for many calls in a row.
#include "tandem/core/cpu/scratch.h"

#include <algorithm>
#include <atomic>

#include "tandem/core/threads/of_thread.h"

namespace tandem::cpu {
namespace {

constexpr std::size_t kMaxKeptBytes = std::size_t{1} << 20;  // buffers up to this size do not shrink
constexpr uint32_t kCallsBeforeShrinking = 256;

std::atomic<uint32_t> frees{0};  // calls of free_scratch so far

struct Buffer {
  void* data = nullptr;
  std::size_t bytes = 0, most = 0;  // current size, and the largest recent request
  uint32_t calls = 0;               // calls since `most` was reset
  uint32_t frees = 0;

  void reset(std::size_t size) {
    if (data != nullptr) deallocate(data, bytes);
    *this = {};
    if (size == 0) return;
    frees = cpu::frees.load(std::memory_order_relaxed);
    data = allocate(size);
    bytes = size;
  }
};

struct Buffers {
  Buffer slots[static_cast<int>(Scratch::kCount)];
  ~Buffers() {
    for (Buffer& buffer : slots) buffer.reset(0);
  }
};

bool too_large(Buffer& buffer, std::size_t bytes) {
  buffer.most = std::max(buffer.most, bytes);
  if (++buffer.calls < kCallsBeforeShrinking) return false;
  const std::size_t most = buffer.most;
  buffer.most = buffer.calls = 0;
  return most < buffer.bytes / 4;
}

}  // namespace

void* scratch_bytes(Scratch slot, std::size_t bytes) {
  Buffer& buffer = tandem::detail::of_thread<Buffers>().slots[static_cast<int>(slot)];
  const bool stale = buffer.frees != frees.load(std::memory_order_relaxed);
  if (bytes > buffer.bytes || stale || (buffer.bytes > kMaxKeptBytes && too_large(buffer, bytes))) buffer.reset(bytes);
  return buffer.data;
}

void free_scratch() {
  frees.fetch_add(1, std::memory_order_relaxed);
  for (Buffer& buffer : tandem::detail::of_thread<Buffers>().slots) buffer.reset(0);
}

}  // namespace tandem::cpu
