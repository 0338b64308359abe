// Finds which of the named orders a tensor's elements have.
#include "tandem/core/memory_format.h"

#include <algorithm>
#include <utility>

#include "tandem/core/base/small_vector.h"

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

namespace {

// The strides of an operand in the dimensions of the result; 0 where it broadcasts.
Dims broadcast_strides(const Tensor& t, IntArrayRef sizes) {
  Dims strides(sizes.size(), 0);
  const std::size_t missing = sizes.size() - t.sizes().size();
  for (std::size_t d = missing; d < sizes.size(); ++d)
    if (t.sizes()[d - missing] == sizes[d]) strides[d] = t.strides()[d - missing];
  return strides;
}

// 1 if dimension a belongs outside of dimension b, -1 if inside, 0 if no operand tells.
int compare(const SmallVector<Dims, 3>& operands, IntArrayRef sizes, int64_t dim_a, int64_t dim_b) {
  const auto a = static_cast<std::size_t>(dim_a), b = static_cast<std::size_t>(dim_b);
  for (const Dims& strides : operands) {
    if (strides[a] == 0 || strides[b] == 0) continue;
    if (strides[a] != strides[b]) return strides[a] < strides[b] ? -1 : 1;
    if (sizes[a] > sizes[b]) return 1;
  }
  return 0;
}

}  // namespace

MemoryFormat elementwise_format(IntArrayRef sizes, std::initializer_list<const Tensor*> tensors) {
  const std::size_t n = sizes.size();
  const auto is_flat = [&](const Tensor* t) { return t->is_contiguous() && t->sizes() == sizes; };
  const auto is_last = [&](const Tensor* t) {
    return t->sizes().size() == n && is_channels_last(t->suggest_memory_format());
  };
  if (std::ranges::all_of(tensors, is_flat) || std::ranges::none_of(tensors, is_last)) return MemoryFormat::Contiguous;
  SmallVector<Dims, 3> operands;
  for (const Tensor* t : tensors) operands.push_back(broadcast_strides(*t, sizes));
  // LibTorch's insertion sort, the innermost dimension first.
  Dims order;
  for (std::size_t i = n; i-- > 0;) order.push_back(static_cast<int64_t>(i));
  for (std::size_t i = 1; i < n; ++i)
    for (std::size_t at = i, below = i; below-- > 0;) {
      const int outside = compare(operands, sizes, order[below], order[at]);
      if (outside < 0) break;
      if (outside > 0) std::swap(order[below], order[std::exchange(at, below)]);
    }
  for (const MemoryFormat format : {MemoryFormat::ChannelsLast, MemoryFormat::ChannelsLast3d})
    if (IntArrayRef(order) == channels_last_order(format)) return format;
  return MemoryFormat::Contiguous;
}

Dims dense_strides(IntArrayRef sizes, MemoryFormat format) {
  return is_channels_last(format) ? channels_last_strides(sizes, format) : contiguous_strides(sizes);
}

Tensor part_like(const Tensor& flat, const Tensor& like, int64_t offset) {
  return alias(flat, like.sizes(), dense_strides(like.sizes(), dense_format(like)), flat.storage_offset() + offset);
}

Tensor flattened_like(const Tensor& t, const Tensor& like) {
  const MemoryFormat format = dense_format(like);
  return is_channels_last(format) ? t.contiguous(format).movedim(1, -1).reshape({-1}) : t.reshape({-1});
}

Tensor in_memory_order(const Tensor& t, MemoryFormat format) {
  if (!is_channels_last(format)) return t;
  Dims sizes(t.sizes());
  const int64_t channels = sizes[1];
  sizes.erase(1);
  sizes.push_back(channels);
  return alias(t, sizes, contiguous_strides(sizes), t.storage_offset());
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
