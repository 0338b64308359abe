// Bad values that only the device sees: an index out of range, an integer division by zero. Operations do not
// read results back on the host. Instead the kernel writes a report (the first one is kept) and continues
// with harmless values; the next synchronisation of the device throws the error that the CPU throws
// immediately.
#pragma once
#include <cstdint>

namespace tandem::cuda_impl {

enum class FaultKind : int32_t { kNone, kIndex, kDivisionByZero, kTarget, kWeights, kOther };

/// A string literal in host memory. Only host code may create it: a literal inside a kernel is in device
/// memory, where the host cannot read it.
struct HostText {
  HostText() = default;
  HostText(const char* literal) : text(literal) {}
  const char* text = nullptr;
};

/// Resides in host memory that the GPU writes to. A kernel claims it, fills it in, and sets `kind` last; the
/// host reads it once `kind` is set, and releases it.
struct Fault {
  int32_t kind = 0;  ///< FaultKind
  int32_t claimed = 0;
  HostText operation;
  int64_t value = 0;  ///< the index, target or row
  int64_t dim = 0,
          size = 0;  ///< kIndex: the dimension and its size; kTarget: size is the number of classes
  HostText text;     ///< kOther and kWeights: the rest of the message
};

}  // namespace tandem::cuda_impl
