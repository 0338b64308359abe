// Working memory of kernels. After warm-up neither kind takes anything from the system.
#pragma once
#include <cstddef>
#include <cstdint>

#include "tandem/core/cpu_allocator.h"

namespace tandem::cpu {

/// Independent buffers of one thread, kept from call to call: for what is asked for often and has a modest
/// size. A slot is used by one function at a time: a function that runs inside the body of another's
/// parallel_for must not use a slot which that other function reads in the body.
enum class Scratch {
  kGemmA,
  kGemmB,
  kGemmTile,
  kConvInput,
  kConvOutput,
  kConvWeight,
  kConvColumns,
  kConvRows,
  kConvCols,
  kReduceLevels,
  kCount
};

/// At least `bytes` bytes, aligned to 64, of this thread's buffer `slot`; the contents are not kept from call
/// to call. Throws Error when the system has none left.
void* scratch_bytes(Scratch slot, std::size_t bytes);

template <class T>
T* scratch(Scratch slot, int64_t count) {
  return static_cast<T*>(scratch_bytes(slot, static_cast<std::size_t>(count) * sizeof(T)));
}

/// Frees the calling thread's buffers, which no kernel may be using; other threads free a buffer of theirs
/// when they next ask for it.
void free_scratch();

/// Memory as large as a tensor: it belongs to one call and goes back to the allocator at its end.
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
  /// Once at most.
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
