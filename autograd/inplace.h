// In-place operations that write their tensor when they are recorded, too, where others compute a result and copy it
// (record.h).
#pragma once
#include <type_traits>

#include "tandem/autograd/record.h"

namespace tandem::autograd {

/// A base of nodes that may save the result of written_inplace(). Others may write that memory again, also without
/// history: then the node needs a copy.
struct SavesOutput {
  SavesOutput() = default;
  SavesOutput(const SavesOutput&) = delete;
  virtual ~SavesOutput() = default;
  /// Saves the result; others may write it.
  void save_written(const Tensor& result);
  /// Called before an in-place operation on `output`, or on a view of it.
  void before_write(const Tensor& output);

  SavedTensor saved;
  uint32_t written_version = 0;  // of a result that others may write; otherwise 0
};

/// `direct()` writes self, and `record(result, before)` makes the node and returns it, where `result` is an alias of
/// self, and `before` what self was: a copy, or an alias of what will be overwritten. The node is made first, because
/// other inputs may be views of self.
template <class Direct, class Record, class... Inputs>
inline Tensor& written_inplace(const Tensor& self, const char* operation, Before before, Direct&& direct,
                               Record&& record, const Inputs&... inputs) {
  check_inplace(self, operation);
  if (!recording(self, inputs...)) {
    direct();
    wrote(self, operation);
    return tandem::detail::mutable_handle(self);
  }
  check_recorded_inplace(self, operation);
  const Tensor old = before_inplace(self, before);
  const Tensor result = alias(self, self.sizes(), self.strides(), self.storage_offset());
  auto* node = record(result, old);
  direct();
  wrote(self, operation);
  if constexpr (std::is_base_of_v<SavesOutput, std::remove_pointer_t<decltype(node)>>) node->save_written(result);
  rebase_history(self, gradient_edge(result));
  return tandem::detail::mutable_handle(self);
}

/// Whether a node may save the result: not that of a view, whose base others may write, and not through hooks.
bool may_save_written(const Tensor& self);

}  // namespace tandem::autograd
