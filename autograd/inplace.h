// In-place operations that write their tensor when they are recorded, too, where others compute a result and copy it
// (record.h).
#pragma once
#include "tandem/autograd/record.h"

namespace tandem::autograd {

/// `direct()` writes self, and `record(result, before)` makes the node, where `result` is an alias of self that was
/// written, and `before` what self was: a copy, or an alias of what is now overwritten.
template <class Direct, class Record, class... Inputs>
inline Tensor& written_inplace(const Tensor& self, const char* operation, Before before, Direct&& direct,
                               Record&& record, const Inputs&... inputs) {
  check_inplace(self, operation);
  const bool recorded = recording(self, inputs...);
  if (recorded) check_recorded_inplace(self, operation);
  const Tensor old = recorded ? before_inplace(self, before) : Tensor();
  direct();
  wrote(self, operation);
  if (recorded) {
    const Tensor result = alias(self, self.sizes(), self.strides(), self.storage_offset());
    record(result, old);
    rebase_history(self, gradient_edge(result));
  }
  return tandem::detail::mutable_handle(self);
}

/// A base of nodes that may save the result of written_inplace(). Others may write that memory again, also without
/// history: then the node needs a copy.
struct SavesOutput {
  SavesOutput() = default;
  SavesOutput(const SavesOutput&) = delete;
  virtual ~SavesOutput() = default;
  /// After `saved` has been given the result: others may write it.
  void may_be_written(const Tensor& result) { written_version = result._version(); }
  /// Called before an in-place operation on `output`, or on a view of it.
  void before_write(const Tensor& output);

  SavedTensor saved;
  uint32_t written_version = 0;  // of a result that others may write; otherwise 0
};
/// Whether a node may save the result: not that of a view, whose base others may write, and not through hooks.
bool may_save_written(const Tensor& self);

}  // namespace tandem::autograd
