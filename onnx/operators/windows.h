// Windows that move over the spatial dimensions of [N, C, ...]: what convolutions and pooling share.
#pragma once
#include <algorithm>
#include <string>
#include <vector>

#include "tandem/onnx/operators.h"

namespace tandem::onnx {

using List = std::vector<int64_t>;

/// How windows move over the spatial dimensions; one number per dimension.
struct Windows {
  List kernel, stride, dilation, begin, end;
  std::size_t rank() const { return kernel.size(); }
  int64_t span(std::size_t d) const { return dilation[d] * (kernel[d] - 1) + 1; }
  bool is_symmetric() const { return begin == end && *std::min_element(begin.begin(), begin.end()) >= 0; }
  bool is_dilated() const { return *std::max_element(dilation.begin(), dilation.end()) > 1; }
  /// The number of windows along a dimension of `size`. With `ceil`, also one that begins within but ends outside.
  int64_t count(std::size_t d, int64_t size, bool ceil) const {
    const int64_t room = size + begin[d] + end[d] - span(d);
    check(room >= 0, "no window of ", kernel, " fits");
    int64_t out = (room + (ceil ? stride[d] - 1 : 0)) / stride[d] + 1;
    if (ceil && (out - 1) * stride[d] >= size + begin[d]) --out;
    return out;
  }
};

/// One number per dimension, from `least` to INT32_MAX.
inline List numbers_of(const Call& c, const char* attribute, std::size_t count, int64_t otherwise, int64_t least) {
  List out = c.integers(attribute);
  if (out.empty()) out.assign(count, otherwise);
  check(out.size() == count, attribute, " must hold ", count, " numbers, got ", out);
  for (const int64_t number : out)
    check(number >= least && number <= INT32_MAX, attribute, " must be from ", least, " to ", INT32_MAX, ", got ", out);
  return out;
}
inline void read_pads(const Call& c, Windows& w) {
  const List pads = numbers_of(c, "pads", 2 * w.rank(), 0, -INT32_MAX);
  const auto half = pads.begin() + static_cast<std::ptrdiff_t>(w.rank());
  w.begin.assign(pads.begin(), half);
  w.end.assign(half, pads.end());
}
/// Splits `total` between the sides; an odd one more goes to the end for SAME_UPPER.
inline void split_pads(Windows& w, std::size_t d, int64_t total, bool upper) {
  w.begin[d] = upper ? total / 2 : total - total / 2;
  w.end[d] = total - w.begin[d];
}
inline std::string auto_pad_of(const Call& c) {
  std::string mode = c.text("auto_pad", "NOTSET");
  check(mode.empty() || mode == "NOTSET" || mode == "VALID" || mode == "SAME_UPPER" || mode == "SAME_LOWER",
        "unknown auto_pad '", mode, "'");
  return mode;
}

/// `kernel`: empty to read kernel_shape.
inline Windows windows_of(const Call& c, const Tensor& x, IntArrayRef kernel = {}) {
  check(x.dim() >= 3 && x.dim() <= 5, "expected [N, C] and 1 to 3 more dimensions, got ", x);
  const auto rank = static_cast<std::size_t>(x.dim() - 2);
  Windows w;
  w.kernel = kernel.empty() || c.has("kernel_shape") ? numbers_of(c, "kernel_shape", rank, 0, 1)
                                                     : List(kernel.begin(), kernel.end());
  check(kernel.empty() || kernel == IntArrayRef(w.kernel), "kernel_shape ", w.kernel,
        " is not that of the weight: ", kernel);
  w.stride = numbers_of(c, "strides", rank, 1, 1);
  w.dilation = numbers_of(c, "dilations", rank, 1, 1);
  read_pads(c, w);
  const std::string mode = auto_pad_of(c);
  if (mode.empty() || mode == "NOTSET") return w;
  for (std::size_t d = 0; d < rank; ++d) {
    const int64_t size = x.sizes()[d + 2], count = (size + w.stride[d] - 1) / w.stride[d];
    const int64_t total = mode == "VALID" ? 0 : std::max<int64_t>((count - 1) * w.stride[d] + w.span(d) - size, 0);
    split_pads(w, d, total, mode == "SAME_UPPER");
  }
  return w;
}

/// Padding in the order of pad(): the last dimension first.
inline Tensor padded(const Tensor& x, const List& begin, const List& end, const Scalar& value = 0) {
  List pads;
  bool any = false;
  for (std::size_t d = begin.size(); d-- > 0;) {
    pads.insert(pads.end(), {begin[d], end[d]});
    any = any || begin[d] != 0 || end[d] != 0;
  }
  return any ? constant_pad_nd(x, pads, value) : x;
}

/// A row as an image of height 1, for operations that exist in two and three dimensions.
struct Flat {
  Tensor x;
  Windows w;
  bool was_row = false;
  Flat(Tensor tensor, Windows windows) : x(std::move(tensor)), w(std::move(windows)), was_row(w.rank() == 1) {
    if (!was_row) return;
    x = x.unsqueeze(2);
    for (List* list : {&w.kernel, &w.stride, &w.dilation}) list->insert(list->begin(), 1);
    for (List* list : {&w.begin, &w.end}) list->insert(list->begin(), 0);
  }
  Tensor back(const Tensor& out) const { return was_row ? out.squeeze(2) : out; }
};

}  // namespace tandem::onnx
