// The orders of a tensor's elements in memory that have names.
#pragma once
#include <initializer_list>

#include "tandem/core/tensor.h"

namespace tandem {

/// The strides of a dense tensor whose channels are the last dimension in memory. Throws Error unless there are 4
/// dimensions (ChannelsLast) or 5 (ChannelsLast3d).
Dims channels_last_strides(IntArrayRef sizes, MemoryFormat format);
inline bool is_channels_last(optional<MemoryFormat> format) {
  return format && (*format == MemoryFormat::ChannelsLast || *format == MemoryFormat::ChannelsLast3d);
}

// The layout of a result. Results are row-major but for one case: channels-last arguments give channels-last results,
// as in LibTorch. An elementwise operation asks elementwise_format(); every other one that keeps the layout takes its
// argument's, Tensor::suggest_memory_format(), and a convolution that of the first channels-last of input and weight.

/// Where `format` is none or Preserve, the layout of `self`: what clone(), to() and empty_like() keep.
inline MemoryFormat preserved_format(const Tensor& self, optional<MemoryFormat> format) {
  return format && *format != MemoryFormat::Preserve ? *format : self.suggest_memory_format();
}
/// The layout of an elementwise result of these sizes, to which the operands broadcast. LibTorch's rule: dimensions are
/// ordered by the strides of the first operand in which two of them differ.
/// https://github.com/pytorch/pytorch/blob/v2.10.0/aten/src/ATen/TensorIterator.cpp (reorder_dimensions)
MemoryFormat elementwise_format(IntArrayRef sizes, std::initializer_list<const Tensor*> operands);

/// Row-major strides, or channels-last ones; a size of 0 counts as 1.
Dims dense_strides(IntArrayRef sizes, MemoryFormat format);
/// The layout of a tensor without gaps that is row-major or channels-last, otherwise row-major: in which optimizers step
/// a parameter, and in which flat buffers hold it.
inline MemoryFormat dense_format(const Tensor& t) {
  const MemoryFormat format = t.suggest_memory_format();
  return t.is_contiguous(format) ? format : MemoryFormat::Contiguous;
}
/// Whether it is such a tensor.
inline bool is_dense(const Tensor& t) { return t.is_contiguous(t.suggest_memory_format()); }
/// Whether `t` has the elements of `other` in its memory.
inline bool is_same_memory(const Tensor& t, const Tensor& other) {
  return t.data_ptr() == other.data_ptr() && t.strides() == other.strides();
}
/// The elements from `offset` on of a flat buffer, with the sizes and the layout of `like`. Not recorded.
Tensor part_like(const Tensor& flat, const Tensor& like, int64_t offset);
/// The elements of `t`, [n], in the order in which a flat buffer holds `like`, a tensor of the same sizes.
Tensor flattened_like(const Tensor& t, const Tensor& like);
/// A tensor that is contiguous in `format` as a row-major one, in the order of its memory: [N, H, W, C] if it is
/// channels-last, otherwise `t` itself. Not recorded.
Tensor in_memory_order(const Tensor& t, MemoryFormat format);

/// An uninitialised result of an elementwise operation, without autograd.
template <class... Tensors>
Tensor empty_elementwise(IntArrayRef sizes, ScalarType dtype, Device device, const Tensors&... operands) {
  if (sizes.size() != 4 && sizes.size() != 5) [[likely]]
    return empty_raw(sizes, dtype, device);
  return empty_raw(sizes, dtype, device, elementwise_format(sizes, {&operands...}));
}
/// The same for one operand.
inline Tensor empty_elementwise(const Tensor& like, ScalarType dtype) {
  return empty_elementwise(like.sizes(), dtype, like.device(), like);
}

}  // namespace tandem
