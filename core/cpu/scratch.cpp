// Working memory of a thread: one growing buffer a slot, freed when the thread ends.
#include "tandem/core/cpu/scratch.h"

#include <new>

namespace tandem::cpu {
namespace {

constexpr std::align_val_t kAlignment{64};

struct Buffers {
  struct Buffer {
    void* data = nullptr;
    std::size_t bytes = 0;
  } slots[static_cast<int>(Scratch::kCount)];

  ~Buffers() {
    for (auto& slot : slots) ::operator delete(slot.data, kAlignment);
  }
};

}  // namespace

void* scratch_bytes(Scratch slot, std::size_t bytes) {
  static thread_local Buffers buffers;
  auto& buffer = buffers.slots[static_cast<int>(slot)];
  if (buffer.bytes < bytes) {
    ::operator delete(buffer.data, kAlignment);
    buffer = {};
    buffer.data = ::operator new(bytes, kAlignment);
    buffer.bytes = bytes;
  }
  return buffer.data;
}

}  // namespace tandem::cpu
