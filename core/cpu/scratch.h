// Working memory of kernels. After warm-up neither kind requests memory from the system.
#pragma once
#include <cstddef>
#include <cstdint>

#include "tandem/core/memory/cpu_allocator.h"

namespace tandem::cpu {

/// Independent buffers of one thread, reused across calls, for frequent requests of modest size. Only one
/// function may use a slot at a time: a function that runs inside the body of another function's parallel_for
/// must not use a slot that the other function reads in that body.
enum class Scratch {
  kGemmA,
  kGemmB,
  kGemmTile,
  kGemmSums,
  kConvInput,
  kConvOutput,
  kConvWeight,
  kConvColumns,
  kReduceLevels,
  kCount
};

/// At least `bytes` bytes, aligned to 64, from this thread's buffer `slot`. The contents do not persist
/// across calls. Throws Error when the system is out of memory.
void* scratch_bytes(Scratch slot, std::size_t bytes);

template <class T>
T* scratch(Scratch slot, int64_t count) {
  return static_cast<T*>(scratch_bytes(slot, static_cast<std::size_t>(count) * sizeof(T)));
}

/// Frees the calling thread's buffers, which no kernel may be using. Other threads free a buffer the next
/// time they request it.
void free_scratch();

/// Memory as large as a tensor. It belongs to one call and is returned to the allocator at its end.
template <class T>
class Workspace {
 public:
  Workspace() = default;
  explicit Workspace(int64_t count) { resize(count); }
  ~Workspace() {
    if (data_ != nullptr) deallocate(data_, bytes_);
  }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  /// May be called at most once.
  T* resize(int64_t count) {
    bytes_ = static_cast<std::size_t>(count) * sizeof(T);
    data_ = static_cast<T*>(allocate(bytes_));
    return data_;
  }
  T* data() const { return data_; }

 private:
  T* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace tandem::cpu
