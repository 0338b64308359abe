// The layout of operations whose kernels, or whose steps, are row-major: channels-last tensors are copied, and so is
// the result. Internal to the sources of operations, which begin with
//
//   if (const auto to = autograd::in_row_major(self)) return to.restored(adaptive_max_pool2d(to(self), output_size));
#pragma once
#include <tuple>

#include "tandem/core/memory_format.h"

namespace tandem::autograd {

/// `t` in this layout, also where sizes of 1 leave its strides open; a view if that is possible. Recorded: the gradient
/// gets the layout `gradient`.
Tensor laid_out(const Tensor& t, MemoryFormat format, MemoryFormat gradient);

/// True if the operation is to be called again with row-major tensors.
class [[nodiscard]] RowMajor {
 public:
  explicit RowMajor(MemoryFormat format) : format_(format) {}

  explicit operator bool() const { return is_channels_last(format_); }
  Tensor operator()(const Tensor& t) const { return t.defined() ? laid_out(t, MemoryFormat::Contiguous, format_) : t; }
  Tensor restored(const Tensor& out) const { return laid_out(out, format_, MemoryFormat::Contiguous); }
  std::tuple<Tensor, Tensor> restored(const std::tuple<Tensor, Tensor>& outs) const {
    return {restored(std::get<0>(outs)), restored(std::get<1>(outs))};
  }

 private:
  MemoryFormat format_;
};

inline RowMajor in_row_major(const Tensor& self) { return RowMajor(self.suggest_memory_format()); }
/// Where only CUDA's kernels take channels-last tensors.
inline RowMajor in_row_major_on_cpu(const Tensor& self) {
  return RowMajor(self.is_cpu() ? self.suggest_memory_format() : MemoryFormat::Contiguous);
}

}  // namespace tandem::autograd
