// Bad values that only the device sees: an index out of range, an integer divided by zero. Nothing is read on
// the host inside an operation, so the kernel writes a report (the first one stands), goes on with harmless
// values, and the next synchronisation of the device throws it with the text that the CPU has at once.
#pragma once
#include <cstdint>

namespace tandem::cuda_impl {

enum class FaultKind : int32_t { kNone, kIndex, kDivisionByZero, kTarget, kWeights, kOther };

/// A string literal in the host's memory. It is made by the host's code alone: a literal in a kernel lies in
/// the card's memory, where the host cannot read it.
struct HostText {
  HostText() = default;
  HostText(const char* literal) : text(literal) {}
  const char* text = nullptr;
};

/// In host memory that the card writes to. A kernel claims it, fills it in, and sets `kind` last; the host
/// reads it when `kind` is set, and gives it back.
struct Fault {
  int32_t kind = 0;  ///< FaultKind
  int32_t claimed = 0;
  HostText operation;
  int64_t value = 0;  ///< the index, target or row
  int64_t dim = 0,
          size = 0;  ///< of kIndex: the dimension and its size; of kTarget: size is the number of classes
  HostText text;     ///< of kOther and kWeights: the rest of the message
};

}  // namespace tandem::cuda_impl
