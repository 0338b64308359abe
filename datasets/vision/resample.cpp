// Resampling by convolution, one axis after the other, with the weights of autograd/ops/nn/resize_windows.h. uint8
// pixels are summed exactly in 32 bits, with weights of 22 fractional bits, and rounded after each axis: 8 bits of the
// pixel and 2 bits for the negative weights of the cubic filter remain.
#include "tandem/datasets/vision/resample.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "tandem/autograd/ops/nn/resize_windows.h"
#include "tandem/core/error.h"

namespace tandem::vision::detail {
namespace {

struct Fixed {
  using Pixel = uint8_t;
  using Weight = int32_t;
  static constexpr int kBits = 22;
  static constexpr Weight kStart = 1 << (kBits - 1);
  static Weight weight(double w) { return static_cast<Weight>(std::lround(w * (1 << kBits))); }
  static Pixel pixel(Weight sum) { return static_cast<Pixel>(std::clamp(sum >> kBits, 0, 255)); }
};

struct Floating {
  using Pixel = float;
  using Weight = float;
  static constexpr Weight kStart = 0;
  static Weight weight(double w) { return static_cast<Weight>(w); }
  static Pixel pixel(Weight sum) { return sum; }
};

// For each new pixel of a part of an axis, the pixels whose mean it is, and their weights, one window after the other.
template <class Number>
struct Windows {
  std::vector<int64_t> first, count;
  std::vector<typename Number::Weight> weights;
};

template <class Number>
Windows<Number> windows(int64_t from, const Axis& to, InterpolationMode mode) {
  autograd::ResizeWindows w =
      autograd::resize_windows(from, to.first, to.count, static_cast<double>(from) / static_cast<double>(to.size),
                               mode == InterpolationMode::kBicubic);
  Windows<Number> out{std::move(w.first), std::move(w.count), {}};
  for (const double weight : w.weights) out.weights.push_back(Number::weight(weight));
  return out;
}

// `rows` rows of `width` pixels, kLanes at a time: their pixels of one column are adjacent in a tile, so that the inner
// loops have vectors of a fixed length.
template <class Number>
void along_rows(typename Number::Pixel* to, int64_t to_width, const typename Number::Pixel* from, int64_t rows,
                int64_t width, const Windows<Number>& w) {
  constexpr int64_t kLanes = 16;
  std::vector<typename Number::Pixel> tile(static_cast<std::size_t>(width * kLanes));
  for (int64_t row = 0; row < rows; row += kLanes) {
    const int64_t lanes = std::min(kLanes, rows - row);
    for (int64_t r = 0; r < lanes; ++r)
      for (int64_t x = 0; x < width; ++x) tile[static_cast<std::size_t>(x * kLanes + r)] = from[(row + r) * width + x];
    const auto* weight = w.weights.data();
    for (int64_t x = 0; x < to_width; ++x) {
      typename Number::Weight sums[kLanes];
      std::fill(sums, sums + kLanes, Number::kStart);
      const auto* column = &tile[static_cast<std::size_t>(w.first[static_cast<std::size_t>(x)] * kLanes)];
      for (int64_t k = 0; k < w.count[static_cast<std::size_t>(x)]; ++k, ++weight, column += kLanes)
        for (int64_t r = 0; r < kLanes; ++r) sums[r] += *weight * column[r];
      for (int64_t r = 0; r < lanes; ++r) to[(row + r) * to_width + x] = Number::pixel(sums[r]);
    }
  }
}

template <class Number>
void along_columns(typename Number::Pixel* to, int64_t to_height, const typename Number::Pixel* from, int64_t width,
                   const Windows<Number>& w) {
  std::vector<typename Number::Weight> sums(static_cast<std::size_t>(width));
  const auto* weight = w.weights.data();
  for (int64_t y = 0; y < to_height; ++y) {
    std::fill(sums.begin(), sums.end(), Number::kStart);
    const auto* row = from + w.first[static_cast<std::size_t>(y)] * width;
    for (int64_t k = 0; k < w.count[static_cast<std::size_t>(y)]; ++k, ++weight, row += width)
      for (int64_t x = 0; x < width; ++x) sums[static_cast<std::size_t>(x)] += *weight * row[x];
    for (int64_t x = 0; x < width; ++x) *to++ = Number::pixel(sums[static_cast<std::size_t>(x)]);
  }
}

// The order of the axes matters because of the rounding between them. Pillow's (measured with release 13) is this one.
bool columns_first(int64_t to_height, int64_t to_width, int64_t height, int64_t width) {
  return to_height < height && 2 * (width - to_width) < height - to_height;
}

template <class Number, class T>
void convolve(T* to, const Axis& to_rows, const Axis& to_columns, const T* from, int64_t planes, int64_t height,
              int64_t width, InterpolationMode mode) {
  const bool rows_change = !to_columns.is_all_of(width), columns_change = !to_rows.is_all_of(height);
  const auto rows = [&](T* out, const T* in, int64_t count) {
    along_rows<Number>(out, to_columns.count, in, planes * count, width, windows<Number>(width, to_columns, mode));
  };
  const auto columns = [&](T* out, const T* in, int64_t across) {
    const Windows<Number> w = windows<Number>(height, to_rows, mode);
    for (int64_t p = 0; p < planes; ++p)
      along_columns<Number>(out + p * to_rows.count * across, to_rows.count, in + p * height * across, across, w);
  };
  if (!rows_change && !columns_change) {
    std::copy(from, from + planes * height * width, to);
  } else if (!columns_change) {
    rows(to, from, height);
  } else if (!rows_change) {
    columns(to, from, width);
  } else if (columns_first(to_rows.size, to_columns.size, height, width)) {
    std::vector<T> between(static_cast<std::size_t>(planes * to_rows.count * width));
    columns(between.data(), from, width);
    rows(to, between.data(), to_rows.count);
  } else {
    std::vector<T> between(static_cast<std::size_t>(planes * height * to_columns.count));
    rows(between.data(), from, height);
    columns(to, between.data(), to_columns.count);
  }
}

// The pixel that contains the new pixel's centre.
template <class T>
void nearest(T* to, const Axis& to_rows, const Axis& to_columns, const T* from, int64_t planes, int64_t height,
             int64_t width) {
  const auto sources = [](const Axis& axis, int64_t of) {
    std::vector<int64_t> out;
    const double scale = static_cast<double>(of) / static_cast<double>(axis.size);
    // A sum rather than a product, because a centre between two pixels then falls to the same side as in Pillow.
    double center = 0.5 * scale;
    for (int64_t i = 0; i < axis.first + axis.count; ++i, center += scale)
      if (i >= axis.first) out.push_back(std::min(static_cast<int64_t>(center), of - 1));
    return out;
  };
  const std::vector<int64_t> rows = sources(to_rows, height), columns = sources(to_columns, width);
  for (int64_t p = 0; p < planes; ++p)
    for (const int64_t y : rows)
      for (const int64_t x : columns) *to++ = from[(p * height + y) * width + x];
}

}  // namespace

template <class T>
void resample(T* to, const Axis& to_rows, const Axis& to_columns, const T* from, int64_t planes, int64_t height,
              int64_t width, InterpolationMode mode) {
  using Number = std::conditional_t<std::is_same_v<T, uint8_t>, Fixed, Floating>;
  if (mode == InterpolationMode::kNearest)
    nearest(to, to_rows, to_columns, from, planes, height, width);
  else
    convolve<Number>(to, to_rows, to_columns, from, planes, height, width, mode);
}

template void resample(uint8_t*, const Axis&, const Axis&, const uint8_t*, int64_t, int64_t, int64_t,
                       InterpolationMode);
template void resample(float*, const Axis&, const Axis&, const float*, int64_t, int64_t, int64_t, InterpolationMode);

}  // namespace tandem::vision::detail
