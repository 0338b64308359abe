// Which of the named orders a tensor's elements have.
#include "tandem/core/memory_format.h"

#include <algorithm>

#include "tandem/core/tensor.h"

namespace tandem {
namespace {

// The dimensions from the fastest to the slowest.
IntArrayRef channels_last_order(MemoryFormat format) {
  static constexpr int64_t two[] = {1, 3, 2, 0}, three[] = {1, 4, 3, 2, 0};
  if (format == MemoryFormat::ChannelsLast) return two;
  return three;
}

bool is_dense(IntArrayRef sizes, IntArrayRef strides, IntArrayRef order) {
  if (sizes.size() != order.size()) return false;
  int64_t step = 1;
  for (const int64_t dim : order) {
    const auto d = static_cast<std::size_t>(dim);
    if (sizes[d] == 1) continue;
    if (strides[d] != step) return false;
    step *= sizes[d];
  }
  return true;
}

// LibTorch's rule: strides ascend in this order. Where sizes of 1 leave it open, the order is row-major.
bool looks_channels_last(IntArrayRef sizes, IntArrayRef strides, IntArrayRef order) {
  if (sizes.size() != order.size() || strides[1] == 0) return false;
  int64_t least = 0;
  for (const int64_t dim : order) {
    const auto d = static_cast<std::size_t>(dim);
    if (sizes[d] == 0 || strides[d] < least) return false;
    if (d == 0 && least == strides[1]) return false;
    least = strides[d] * std::max<int64_t>(sizes[d], 1);
  }
  return true;
}

}  // namespace

Dims channels_last_strides(IntArrayRef sizes, MemoryFormat format) {
  const IntArrayRef order = channels_last_order(format);
  check(sizes.size() == order.size(), "memory format ", format == MemoryFormat::ChannelsLast ? "" : "3d ",
        "channels last: expected ", order.size(), " dimensions, the sizes are ", sizes);
  Dims strides(sizes.size(), 1);
  int64_t step = 1;
  for (const int64_t dim : order) {
    const auto d = static_cast<std::size_t>(dim);
    strides[d] = step;
    step *= std::max<int64_t>(sizes[d], 1);
  }
  return strides;
}

bool Tensor::is_contiguous(MemoryFormat format) const {
  return is_channels_last(format) ? is_dense(sizes(), strides(), channels_last_order(format)) : is_contiguous();
}

MemoryFormat Tensor::suggest_memory_format(bool exact) const {
  for (const MemoryFormat format : {MemoryFormat::ChannelsLast, MemoryFormat::ChannelsLast3d})
    if (looks_channels_last(sizes(), strides(), channels_last_order(format)) &&
        (!exact || strides() == IntArrayRef(channels_last_strides(sizes(), format))))
      return format;
  return MemoryFormat::Contiguous;
}

bool Tensor::is_set_to(const Tensor& other) const {
  return is_alias_of(other) && storage_offset() == other.storage_offset() && sizes() == other.sizes() &&
         strides() == other.strides();
}

}  // namespace tandem
