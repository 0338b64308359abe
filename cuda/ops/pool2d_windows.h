// The geometry of 2-d pooling along one axis, for host and device: the window of an output, and the outputs
// with a given input in their window. The forward pass gathers the window and the backward pass gathers the
// outputs, so it needs no atomics and adds in the order of the outputs, like the CPU.
#pragma once
#include <cstdint>

#include "tandem/core/base/host_device.h"

namespace tandem::cuda_impl {

struct Range {
  int32_t begin, end;
};

/// One axis of Pool2dParameters and its sizes, in 32 bits, with which the device computes faster.
struct PoolAxis {
  int32_t in = 0, out = 0, kernel = 1, stride = 1, pad = 0, dilation = 1;

  /// Window of an average: [begin, end) within the input; `padded` is its length including the padding.
  TANDEM_HD Range window(int32_t o, int32_t& padded) const {
    const int32_t begin = o * stride - pad, end = begin + kernel < in + pad ? begin + kernel : in + pad;
    padded = end - begin;
    return {begin < 0 ? 0 : begin, end < in ? end : in};
  }
  /// Window of a maximum: its first position and its end within the input; positions are `dilation` apart.
  TANDEM_HD Range dilated(int32_t o) const {
    const int32_t begin = o * stride - pad, end = begin + (kernel - 1) * dilation + 1;
    const int32_t skipped = begin < 0 ? (-begin + dilation - 1) / dilation * dilation : 0;
    return {begin + skipped, end < in ? end : in};
  }
  /// Outputs with a window that extends over input i. A dilated window with no position in the input selects
  /// its last one; because pad <= kernel / 2, it extends over that one, too.
  TANDEM_HD Range outputs(int32_t i) const {
    const int32_t reach = (kernel - 1) * dilation, low = i + pad - reach;
    const int32_t begin = low <= 0 ? 0 : (low + stride - 1) / stride;
    const int32_t end = (i + pad) / stride + 1;
    return {begin, end < out ? end : out};
  }
};

/// Windows [floor(o in / out), ceil((o + 1) in / out)).
struct AdaptiveAxis {
  int32_t in = 0, out = 0;

  TANDEM_HD Range window(int32_t o) const {
    return {static_cast<int32_t>(int64_t{o} * in / out), static_cast<int32_t>(((int64_t{o} + 1) * in + out - 1) / out)};
  }
  TANDEM_HD Range outputs(int32_t i) const {
    return {static_cast<int32_t>(int64_t{i} * out / in), static_cast<int32_t>(((int64_t{i} + 1) * out + in - 1) / in)};
  }
};

}  // namespace tandem::cuda_impl
