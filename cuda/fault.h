// Bad values that only the device sees: an index out of range, an integer divided by zero. Nothing is read on
// the host inside an operation, so the kernel writes a report (the first one stands), goes on with harmless
// values, and the next synchronisation of the device throws it with the text that the CPU has at once.
#pragma once
#include <cstdint>

namespace tandem::cuda {

enum class FaultKind : int32_t { kNone, kIndex, kDivisionByZero, kTarget, kWeights, kOther };

/// In host memory that the card writes to. Pointers are the host's: string literals.
struct Fault {
  int32_t kind = 0;  ///< FaultKind
  int32_t pad = 0;
  const char* operation = nullptr;
  int64_t value = 0;  ///< the index, target or row
  int64_t dim = 0,
          size = 0;  ///< of kIndex: the dimension and its size; of kTarget: size is the number of classes
  const char* text = nullptr;  ///< of kOther and kWeights: the rest of the message, in the host's memory
};

}  // namespace tandem::cuda
