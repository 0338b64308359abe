// Rows of the columns matrix (im2col) of a convolution, and the sum of such rows.
#pragma once
#include <algorithm>
#include <utility>

#include "tandem/core/cpu/conv/conv2d.h"
#include "tandem/core/cpu/simd.h"

namespace tandem::cpu {

/// First and one-past-last output position with input position `out * stride + shift` in [0, in).
struct PlaceRange {
  int64_t begin, end;
};
inline PlaceRange places_inside(int64_t shift, int64_t stride, int64_t in, int64_t out) {
  const int64_t begin = shift >= 0 ? 0 : (-shift + stride - 1) / stride;
  const int64_t end = in - shift <= 0 ? 0 : (in - shift + stride - 1) / stride;
  return {std::min(begin, out), std::max(std::min(begin, out), std::min(end, out))};
}

/// Reads the inputs that one tap of the kernel meets at consecutive output positions of one image.
template <class T>
class InputLine {
 public:
  /// `x` is the whole input of the convolution, which limits reading with whole vectors.
  InputLine(const Conv2dShape& shape, const T* x)
      : s_(shape), x_end_(x + shape.batch * shape.in_channels * shape.in_plane()) {
    if (s_.is_pointwise()) s_.in_w *= std::exchange(s_.in_h, 1);  // a plane is one row
    out_w_ = s_.out_w();
  }

  /// line[0, count) = the inputs of tap (r, q) of the plane `channel` for the output positions [first, first + count).
  /// May write up to one vector past the end.
  void make(const T* channel, int64_t r, int64_t q, int64_t first, int64_t count, T* line) const {
    const auto [stride_h, stride_w] = s_.p.stride;
    const auto [pad_h, pad_w] = s_.p.padding;
    const auto [dilation_h, dilation_w] = s_.p.dilation;
    const int64_t shift = q * dilation_w - pad_w;
    const PlaceRange inside = places_inside(shift, stride_w, s_.in_w, out_w_);
    int64_t begin = first % out_w_, h = first / out_w_ * stride_h - pad_h + r * dilation_h;
    for (; count > 0; h += stride_h, begin = 0) {
      const int64_t end = std::min(out_w_, begin + count);
      if (h < 0 || h >= s_.in_h)
        std::fill_n(line, end - begin, T(0));
      else
        copy_row(channel + h * s_.in_w + shift, inside, begin, end, line);
      line += end - begin;
      count -= end - begin;
    }
  }

 private:
  // to[0, end - begin) = row[q * stride] for q in [begin, end); zero where q is not `inside` the input.
  void copy_row(const T* row, PlaceRange inside, int64_t begin, int64_t end, T* to) const {
    const int64_t first = std::clamp(inside.begin, begin, end), last = std::clamp(inside.end, first, end);
    const int64_t stride = s_.p.stride[1];
    const T* from = row + first * stride;
    const int64_t count = last - first;
    for (int64_t q = begin; q < first; ++q) *to++ = 0;
    if (stride == 1 && from + count + kLanes<T> <= x_end_) {
      for (int64_t i = 0; i < count; i += kLanes<T>) store(to + i, load(from + i));
    } else if (stride == 2) {
      for (int64_t i = 0; i < count; ++i) to[i] = from[2 * i];
    } else {
      for (int64_t i = 0; i < count; ++i) to[i] = from[i * stride];
    }
    to += count;
    for (int64_t q = last; q < end; ++q) *to++ = 0;
  }

  Conv2dShape s_;
  const T* x_end_;
  int64_t out_w_;
};

/// line[0, count) = row k of the columns matrix of one group, from position `first` of all images' positions.
template <class T>
void make_line(const Conv2dShape& s, const InputLine<T>& lines, const T* x, int64_t group, int64_t k, int64_t first,
               int64_t count, T* line) {
  const int64_t places = s.out_plane(), tap = k % s.kernel_size();
  x += (first / places * s.in_channels + group * s.group_in() + k / s.kernel_size()) * s.in_plane();
  for (int64_t place = first % places; count > 0; place = 0, x += s.in_channels * s.in_plane()) {
    const int64_t here = std::min(count, places - place);
    lines.make(x, tap / s.kernel_w, tap % s.kernel_w, place, here, line);
    line += here;
    count -= here;
  }
}

/// Adds a piece of a row of the columns matrix, that of this tap, to its plane of dx: of `count` output rows from
/// `first` on.
template <class T>
void add_column(const Conv2dShape& s, int64_t tap, int64_t first, int64_t count, const T* column, T* plane) {
  const auto [stride_h, stride_w] = s.p.stride;
  const auto [pad_h, pad_w] = s.p.padding;
  const auto [dilation_h, dilation_w] = s.p.dilation;
  const int64_t oh = s.out_h(), ow = s.out_w();
  const int64_t shift_h = tap / s.kernel_w * dilation_h - pad_h, shift_w = tap % s.kernel_w * dilation_w - pad_w;
  const PlaceRange rows = places_inside(shift_h, stride_h, s.in_h, oh),
                   cols = places_inside(shift_w, stride_w, s.in_w, ow);
  for (int64_t p = std::max(rows.begin, first); p < std::min(rows.end, first + count); ++p) {
    T* row = plane + (p * stride_h + shift_h) * s.in_w + shift_w;
    const T* from = column + (p - first) * ow;
    if (stride_w == 1)
      for (int64_t q = cols.begin; q < cols.end; ++q) row[q] += from[q];
    else
      for (int64_t q = cols.begin; q < cols.end; ++q) row[q * stride_w] += from[q];
  }
}

}  // namespace tandem::cpu
