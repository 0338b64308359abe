// The layout of operations whose kernels, or whose steps, are row-major: channels-last tensors are copied, and so is
// the result. Internal to the sources of operations, which begin with
//
//   if (const auto to = autograd::in_row_major(self)) return to.restored(adaptive_max_pool2d(to(self), output_size));
#pragma once
#include <tuple>

#include "tandem/core/memory_format.h"

namespace tandem::autograd {

/// True if the operation is to be called again with row-major tensors. Gradients go back in the layout in which they
/// come. Sizes of 1 may leave a layout open: then it is that of the strides, and the memory is shared.
class [[nodiscard]] RowMajor {
 public:
  explicit RowMajor(MemoryFormat format) : format_(format) {}

  explicit operator bool() const { return is_channels_last(format_); }
  Tensor operator()(const Tensor& t) const;
  Tensor restored(const Tensor& out) const;
  std::tuple<Tensor, Tensor> restored(const std::tuple<Tensor, Tensor>& outs) const {
    return {restored(std::get<0>(outs)), restored(std::get<1>(outs))};
  }

 private:
  MemoryFormat format_;
};

inline RowMajor in_row_major(const Tensor& self) { return RowMajor(self.suggest_memory_format()); }
/// Where the CPU's kernels do not take what CUDA's do, and where CUDA's have the CPU's bits.
RowMajor in_row_major_on_cpu(const Tensor& self, bool on_cpu = true);
/// The same where the CPU's take float32 and float64 of which no gradient is recorded.
RowMajor in_row_major_unless_inferred(const Tensor& self);

/// A new contiguous result [N, H, W, C] as a channels-last one [N, C, H, W], not a view. For steps that take dimensions
/// in any order: they get self.movedim(1, -1), and nothing is copied.
Tensor channels_last_result(const Tensor& out);

}  // namespace tandem::autograd
