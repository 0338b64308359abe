// Working memory of a thread, kept from call to call: after warm-up a kernel allocates nothing.
#pragma once
#include <cstddef>
#include <cstdint>

namespace tandem::cpu {

/// Independent buffers of one thread. A slot is used by one function at a time: a function that runs inside
/// the body of another's parallel_for must not use a slot which that other function reads in the body.
enum class Scratch {
  kGemmA,
  kGemmB,
  kGemmTile,
  kConvInput,
  kConvOutput,
  kConvWeight,
  kConvColumns,
  kConvPartial,
  kConvRows,
  kConvCols,
  kLossTerms,
  kReduceLevels,
  kReducePartial,
  kSort,
  kCount
};

/// At least `bytes` bytes, aligned to 64, of this thread's buffer `slot`; the contents are not kept when it
/// grows. Throws std::bad_alloc.
void* scratch_bytes(Scratch slot, std::size_t bytes);

template <class T>
T* scratch(Scratch slot, int64_t count) {
  return static_cast<T*>(scratch_bytes(slot, static_cast<std::size_t>(count) * sizeof(T)));
}

}  // namespace tandem::cpu
