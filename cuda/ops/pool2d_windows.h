// The geometry of 2-d pooling along one axis, for host and device: the window of an output, and the outputs
// with a given input in their window. The forward pass gathers the window and the backward pass gathers the
// outputs, so it needs no atomics and adds in the order of the outputs, like the CPU.
#pragma once
#include <cstdint>

#include "tandem/cuda/long_divide.h"

namespace tandem::cuda_impl {

struct Range {
  int32_t begin, end;
};

/// One axis of Pool2dParameters and its sizes, in 32 bits, with which the device computes faster.
struct PoolAxis {
  int32_t in, out, kernel, stride, pad, dilation;
  FastDivide by_stride;

  PoolAxis(int32_t in, int32_t out, int32_t kernel, int32_t stride, int32_t pad, int32_t dilation)
      : in(in),
        out(out),
        kernel(kernel),
        stride(stride),
        pad(pad),
        dilation(dilation),
        by_stride(static_cast<uint32_t>(stride)) {}

  /// Whether no window, the padding included, reaches past the end.
  bool full() const { return (out - 1) * stride + kernel <= in + 2 * pad; }

  /// Window of an average: [begin, end) within the input; `padded` is its length including the padding.
  TANDEM_HD Range window(int32_t o, int32_t& padded) const {
    const int32_t begin = o * stride - pad, end = begin + kernel < in + pad ? begin + kernel : in + pad;
    padded = end - begin;
    return {begin < 0 ? 0 : begin, end < in ? end : in};
  }
  /// Window of a maximum: its first position and its end within the input; positions are `dilation` apart.
  TANDEM_HD Range dilated(int32_t o) const {
    const int32_t begin = o * stride - pad, end = begin + (kernel - 1) * dilation + 1;
    if (dilation == 1) return {begin < 0 ? 0 : begin, end < in ? end : in};  // without a division
    const int32_t skipped = begin < 0 ? (-begin + dilation - 1) / dilation * dilation : 0;
    return {begin + skipped, end < in ? end : in};
  }
  /// Outputs with a window that extends over input i. A dilated window with no position in the input selects
  /// its last one; because pad <= kernel / 2, it extends over that one, too.
  TANDEM_HD Range outputs(int32_t i) const {
    const int32_t reach = (kernel - 1) * dilation, low = i + pad - reach;
    const int32_t begin = low <= 0 ? 0 : over_stride(low + stride - 1), end = over_stride(i + pad) + 1;
    return {begin, end < out ? end : out};
  }
  /// The only output with input i in its window, or -1, for stride >= kernel and dilation 1.
  TANDEM_HD int32_t output(int32_t i) const {
    const int32_t o = over_stride(i + pad);
    return o < out && i + pad - o * stride < kernel ? o : -1;
  }

 private:
  TANDEM_HD int32_t over_stride(int32_t n) const {
    return static_cast<int32_t>(by_stride.quotient(static_cast<uint32_t>(n)));
  }
};

/// Windows [floor(o in / out), ceil((o + 1) in / out)).
struct AdaptiveAxis {
  int32_t in, out;
  LongDivide by_in, by_out;

  AdaptiveAxis(int64_t in, int64_t out)
      : in(static_cast<int32_t>(in)), out(static_cast<int32_t>(out)), by_in(in, limit()), by_out(out, limit()) {}
  TANDEM_HD Range window(int32_t o) const { return range(o, in, out, by_out); }
  TANDEM_HD Range outputs(int32_t i) const { return range(i, out, in, by_in); }

 private:
  int64_t limit() const { return (in + int64_t{1}) * (out + int64_t{1}); }
  // [floor(k to / from), ceil((k + 1) to / from))
  TANDEM_HD static Range range(int64_t k, int64_t to, int64_t from, const LongDivide& by_from) {
    return {static_cast<int32_t>(by_from.quotient(k * to)),
            static_cast<int32_t>(by_from.quotient((k + 1) * to + from - 1))};
  }
};

}  // namespace tandem::cuda_impl
